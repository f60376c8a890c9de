/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The HTTP server: see http_server.h. The failure modes are an address that is taken or is none,
 * and requests that are broken: those get an answer and cost nothing else.
 */
#include "web/http_server.h"

#include "daemon/log.h"
#include "web/http_connections.h"
#include "web/http_guard.h"
#include "web/http_path.h"
#include "web/http_reply.h"
#include "web/web.h"
#include "web/web_tls.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 256, STACK = 256 * 1024, EXCESS = 64, UNSENT = 128 * 1024 };

struct http_server {
    struct MHD_Daemon *mhd;
    int fd;
};

/* ---- the address ---- */

static bool place_split(const char *place, char address[64], char port[8])
{
    const char *colon = strrchr(place, ':');
    size_t n = colon ? (size_t)(colon - place) : 0, bracket = place[0] == '[';
    if (n < 1 + 2 * bracket || n - 2 * bracket >= 64 || (bracket && place[n - 1] != ']') ||
        strlen(colon + 1) > 5 || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
        return false;
    snprintf(address, 64, "%.*s", (int)(n - 2 * bracket), place + bracket);
    snprintf(port, 8, "%.5s", colon + 1);
    return true;
}

static int bind_to(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol), on = 1;
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* The port may be the kernel's choice. */
static void place_tell(struct web *web, int fd)
{
    struct sockaddr_in6 bound; /* has the port where that of IPv4 has it, too */
    socklen_t size = sizeof(bound);
    unsigned port = getsockname(fd, (struct sockaddr *)&bound, &size) == 0 ? bound.sin6_port : 0;
    bool bracket = strchr(web->address, ':');
    snprintf(web->place, sizeof(web->place), "%s%.60s%s:%u", bracket ? "[" : "", web->address,
             bracket ? "]" : "", ntohs((uint16_t)port));
}

/* False: the place is none. The caller frees *found by freeaddrinfo. */
static bool place_resolve(struct web *web, struct addrinfo **found, char *why, size_t size)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    char port[8];
    if (place_split(web->options.listen, web->address, port) &&
        getaddrinfo(web->address, port, &hints, found) == 0)
        return true;
    snprintf(why, size, "%.80s: expected ADDRESS:PORT with a number as address",
             web->options.listen);
    return false;
}

bool http_place_check(struct web *web, char *why, size_t size)
{
    struct addrinfo *found = NULL;
    bool good = place_resolve(web, &found, why, size);
    if (good)
        freeaddrinfo(found);
    return good;
}

int http_listen(struct web *web, char *why, size_t size)
{
    struct addrinfo *found = NULL;
    if (!place_resolve(web, &found, why, size))
        return -1;
    int fd = bind_to(found);
    if (fd < 0)
        snprintf(why, size, "%.80s: %s", web->options.listen, strerror(errno));
    else
        place_tell(web, fd);
    freeaddrinfo(found);
    return fd;
}

/* ---- requests ---- */

static void request_free(struct http_request *r)
{
    if (r)
        free(r->body);
    free(r);
}

static enum MHD_Result route_take(struct http_request *r, const char *url, const char *method)
{
    bool other = false;
    if (!http_path_decode(url, r->path, sizeof(r->path)))
        return http_fail(r, MHD_HTTP_BAD_REQUEST, "/ is the page, /api/v1/openapi.json the list",
                         "the path is malformed");
    r->route = http_route_find(method, r->path, r->name, &other);
    if (r->route)
        return MHD_YES;
    if (other)
        return http_fail(r, MHD_HTTP_METHOD_NOT_ALLOWED, "/api/v1/openapi.json lists the methods",
                         "%.20s: not for this path", method);
    return http_fail(r, MHD_HTTP_NOT_FOUND, "/ is the page, /api/v1/openapi.json the list",
                     "%.200s: no such path", r->path);
}

/* The first call for a request, before its body. */
static enum MHD_Result request_begin(struct web *web, struct MHD_Connection *mhd, const char *url,
                                     const char *method, void **state)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_request *r = info && info->socket_context ? calloc(1, sizeof(*r)) : NULL;
    enum MHD_Result result = MHD_YES;
    if (!r)
        return MHD_NO;
    *state = r;
    r->web = web;
    r->mhd = mhd;
    r->connection = info->socket_context;
    r->head = strcmp(method, "HEAD") == 0;
    if (http_guard_admit(r, &result))
        result = route_take(r, url, method);
    if (!r->replied)
        http_guard_pass(r, &result);
    return result;
}

/* A part of the body. What is too much is thrown away: the answer comes when all has come. */
static void request_body(struct http_request *r, const char *part, size_t *size)
{
    size_t most = r->web->options.limits.body_bytes;
    char *grown = *size <= most && r->body_size <= most - *size
                      ? realloc(r->body, r->body_size + *size + 1)
                      : NULL;
    if (grown) {
        memcpy(grown + r->body_size, part, *size);
        r->body = grown;
        r->body_size += *size;
        grown[r->body_size] = 0;
    }
    if (grown || r->replied)
        *size = 0;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *part,
                                  size_t *size, void **state)
{
    struct http_request *r = *state;
    if (!r)
        return request_begin(cls, mhd, url, method, state);
    if (*size) {
        request_body(r, part, size);
        return *size ? MHD_NO : MHD_YES; /* too large, though its length said otherwise: cut */
    }
    return r->replied ? MHD_YES : r->route->handler(r);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct http_request *r = *state;
    if (r)
        http_connection_rests(r->connection);
    request_free(r);
    *state = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct web *web = cls;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context)
            http_connection_remove(*context);
        *context = NULL;
        return;
    }
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    int unsent = UNSENT; /* frames wait here, where newer ones can take their place */
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
    const struct sockaddr *address =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    *context = http_connection_add(web->connections, fd, address);
}

/* Texts stay as they came: http_path.c decodes them, and refuses what is broken. */
static size_t no_unescape(void *cls, struct MHD_Connection *mhd, char *text)
{
    return strlen(text);
}

static void on_message(void *cls, const char *format, va_list args)
{
    char text[256];
    vsnprintf(text, sizeof(text), format, args);
    text[strcspn(text, "\n")] = 0;
    log_line(LOG_LEVEL_DEBUG, "server: %s", text);
}

/* ---- life ---- */

static struct MHD_Daemon *daemon_start(struct web *web, int fd)
{
    const struct web_limits *l = &web->options.limits;
    return MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ERROR_LOG |
            MHD_USE_ITC | (web->tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, web, MHD_OPTION_EXTERNAL_LOGGER, on_message, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)l->connections + EXCESS, MHD_OPTION_CONNECTION_TIMEOUT, 0U,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)l->header_bytes, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, NULL, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection, web,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK,
        web->tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, WEB_TLS_PRIORITIES,
        MHD_OPTION_HTTPS_CERT_CALLBACK2, web_tls_certificate, MHD_OPTION_END);
}

struct http_server *http_server_start(struct web *web, int fd)
{
    struct http_server *s = calloc(1, sizeof(*s));
    if (s) {
        s->fd = fd;
        s->mhd = daemon_start(web, fd);
    }
    if (s && s->mhd)
        return s;
    free(s);
    close(fd);
    log_line(LOG_LEVEL_ERROR, "the HTTP server did not start");
    return NULL;
}

void http_server_stop(struct http_server *s)
{
    if (s)
        MHD_stop_daemon(s->mhd);
    free(s);
}
