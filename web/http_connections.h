/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of connections: how many there are of each address, and for how long each of them has
 * been at what it does. One thread looks four times a second and cuts those that take too long. The
 * server library has no limit for a client that sends one byte now and then.
 *
 * Thread: any; the table has a lock.
 */
#ifndef PELTON_HTTP_CONNECTIONS_H
#define PELTON_HTTP_CONNECTIONS_H

#include "web/web_options.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct http_connections;
struct http_connection;

struct http_connection_counts {
    uint64_t open, accepted;
    uint64_t cut_header, cut_idle, cut_stall; /* by time */
    uint64_t refused_connections, refused_rate, refused_tokens;
};

/* NULL: no memory, no thread. */
struct http_connections *http_connections_new(const struct web_limits *limits);
void http_connections_free(struct http_connections *t);
void http_connections_count(struct http_connections *t, struct http_connection_counts *out);

/* NULL: no memory. */
struct http_connection *http_connection_add(struct http_connections *t, int fd,
                                            const struct sockaddr *address);
/* Before its descriptor is closed. */
void http_connection_remove(struct http_connection *c);

enum http_admission { HTTP_ADMITTED, HTTP_TOO_MANY, HTTP_TOO_MANY_OF_ADDRESS, HTTP_TOO_OFTEN };
/* A request begins. */
enum http_admission http_connection_asks(struct http_connection *c);
/* Whether its address may show another token; it has shown a wrong one. */
bool http_connection_may_guess(struct http_connection *c);
void http_connection_guessed(struct http_connection *c);
void http_connection_rests(struct http_connection *c); /* its request is answered */
void http_connection_waits(struct http_connection *c); /* for something to send */
void http_connection_sends(struct http_connection *c); /* one piece, from now on */
/* The other side has closed, or the connection was cut. */
bool http_connection_gone(const struct http_connection *c);

#endif
