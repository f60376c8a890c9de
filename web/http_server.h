/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The HTTP server: libmicrohttpd with one thread for each connection.
 *
 * Why this library: a handler may wait, so that a slow reader holds its own thread and nothing
 * else, and chunked bodies and TLS by GnuTLS come with it. It is in Debian.
 */
#ifndef PELTON_HTTP_SERVER_H
#define PELTON_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct web;
struct http_server;

/* Fills web->address from options.listen. False: the reason. */
bool http_place_check(struct web *web, char *why, size_t size);
/* Binds options.listen and fills web->address and web->place. The descriptor, or -1 with the
 * reason.
 */
int http_listen(struct web *web, char *why, size_t size);
/* Takes the descriptor. NULL: it could not start; the log says why. */
struct http_server *http_server_start(struct web *web, int fd);
/* Ends all connections; web->stopping is true. */
void http_server_stop(struct http_server *s);

#endif
