/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The headers that every answer has.
 */
#ifndef PELTON_HTTP_HEADERS_H
#define PELTON_HTTP_HEADERS_H

#include <microhttpd.h>

void http_headers_common(struct MHD_Response *response, const char *type);

#endif
