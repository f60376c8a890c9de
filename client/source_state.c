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

enum ui_colour source_state_colour(enum pelton_source_state state)
{
    static const enum ui_colour colours[] = {UI_PLAIN,  UI_CYAN,  UI_GREEN, UI_YELLOW,
                                             UI_YELLOW, UI_PLAIN, UI_PLAIN};
    return colours[state];
}
