/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a request has to show before its handler runs. Refusals are answers with cause and hint.
 */
#ifndef PELTON_HTTP_GUARD_H
#define PELTON_HTTP_GUARD_H

#include "web/http_request.h"

/* True: the request may go on. False: it has been answered; *result is the server's. The first is
 * about limits and the server's name, the second about the rights that its route needs. */
bool http_guard_admit(struct http_request *r, enum MHD_Result *result);
bool http_guard_pass(struct http_request *r, enum MHD_Result *result);

/* Copies the token of "Authorization: Bearer TOKEN": room for TOKEN_MOST + 1 bytes. False: none. */
bool http_guard_bearer(const struct http_request *r, char *out);

#endif
