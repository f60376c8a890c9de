/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rights that pelton-web gives up: docs/privileges.md.
 */
#ifndef PELTON_WEB_SANDBOX_H
#define PELTON_WEB_SANDBOX_H

#include "web/web_options.h"

/* Before any thread. The place to listen at is bound already. */
void web_sandbox(const struct web_options *options);

#endif
