/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a request has to show before its handler runs. Refusals are answers with cause and hint.
 */
#ifndef PELTON_HTTP_GUARD_H
#define PELTON_HTTP_GUARD_H

#include "web/http_request.h"

/* True: the request may go on. False: it has been answered; *result is the server's. */
bool http_guard_pass(struct http_request *r, enum MHD_Result *result);

#endif
