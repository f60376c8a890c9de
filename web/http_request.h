/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One HTTP request, and the row of the route table that answers it. Each connection has a thread of
 * its own, so a handler may wait. It returns what the reply functions of http_reply.h return.
 */
#ifndef PELTON_HTTP_REQUEST_H
#define PELTON_HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_NAME = 128, HTTP_PATH = 1024 };

/* What a request needs where tokens are in use. */
enum http_access {
    HTTP_PUBLIC, /* nothing */
    HTTP_READ,   /* a token */
    HTTP_CONTROL /* a token for control; and the page's own origin, or a bearer token */
};

struct web;
struct http_request;
struct http_connection;

typedef enum MHD_Result http_handler(struct http_request *r);

/* A pattern is a path in which one {name} stands for a part without slashes. */
struct http_route {
    const char *method, *pattern;
    http_handler *handler;
    enum http_access access;
    const char *summary; /* for the description of the interface */
    const char *type;    /* of its answer, for the same */
};

struct http_request {
    struct web *web;
    struct MHD_Connection *mhd;
    struct http_connection *connection;
    const struct http_route *route;
    char path[HTTP_PATH]; /* decoded */
    char name[HTTP_NAME]; /* {name} of the pattern, decoded */
    bool head;            /* HEAD: no body goes out */
    char *body;           /* of the request; ends with a 0 beyond body_size */
    size_t body_size;
    bool replied; /* by a check, before the body came */
};

/* The table, in http_routes.c. */
extern const struct http_route http_routes[];
extern const size_t http_route_count;

/* The row for a decoded path, and its {name}. *methods: a bit for each known method that the path
 * has in other rows. NULL: none. */
const struct http_route *http_route_find(const char *method, const char *path, char name[HTTP_NAME],
                                         bool *other_method);

#endif
