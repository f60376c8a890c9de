/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The state of the program. It is made before the first request and freed after the last.
 */
#ifndef PELTON_WEB_H
#define PELTON_WEB_H

#include "web/web_options.h"

#include <stdatomic.h>

struct control_board;
struct daemon_watch;
struct feed;
struct http_connections;
struct web_tls;
struct web_tokens;

struct web {
    struct web_options options;
    char address[64]; /* where it listens, without the port */
    char place[80];   /* with the port, which the kernel chose where 0 was asked for */
    atomic_bool stopping;
    struct http_connections *connections;
    struct daemon_watch *watch;
    struct feed *feed;
    struct control_board *controls;
    struct web_tls *tls; /* NULL: plain HTTP */
    struct web_tokens *tokens;
};

#endif
