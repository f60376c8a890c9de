/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The states of named sources, as words.
 */
#include "client/source_state.h"

const char *source_state_name(enum pelton_source_state state)
{
    static const char *const names[] = {"closed",   "opening", "running", "lost",
                                        "back-off", "ended",   "removed"};
    return names[state];
}
