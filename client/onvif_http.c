/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One HTTP request: see onvif_http.h. RFC 9112.
 *
 * The connection is asked to close, so the end of the answer is the end of the connection, its
 * Content-Length or its last chunk. An answer that is longer than the limit is refused.
 */
#include "client/onvif_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- addresses ---- */

/* Port and path behind "scheme://"; user and host are left out. */
static bool address_split(const char *text, size_t length, unsigned long port, uint16_t *port_out,
                          char *path, size_t room)
{
    size_t n = 0;
    while (n < length && text[n] != '/' && text[n] != '?')
        n++;
    size_t host = n;
    while (host > 0 && text[host - 1] >= '0' && text[host - 1] <= '9')
        host--;
    if (host > 0 && text[host - 1] == ':' && host < n && n - host <= 5)
        port = strtoul(text + host, NULL, 10);
    if (n == 0 || port == 0 || port > UINT16_MAX || length - n + 2 > room)
        return false;
    for (size_t i = n; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
            return false;
    snprintf(path, room, "%s%.*s", n < length && text[n] == '/' ? "" : "/", (int)(length - n),
             text + n);
    *port_out = (uint16_t)port;
    return true;
}

bool onvif_place_take(struct onvif_place *place, const char *addresses)
{
    for (const char *at = addresses; *at;) {
        size_t n = strcspn(at, " \t\r\n");
        if (n > 7 && !strncasecmp(at, "http://", 7) &&
            address_split(at + 7, n - 7, 80, &place->port, place->path, sizeof(place->path)))
            return true;
        at += n + strspn(at + n, " \t\r\n");
    }
    return false;
}

bool onvif_stream_address(struct in_addr host, const char *text, char *out, size_t size)
{
    char name[INET_ADDRSTRLEN], path[ONVIF_PATH];
    uint16_t port;
    if (strncasecmp(text, "rtsp://", 7) != 0 ||
        !address_split(text + 7, strlen(text + 7), 554, &port, path, sizeof(path)) ||
        !inet_ntop(AF_INET, &host, name, sizeof(name)))
        return false;
    int n = port == 554 ? snprintf(out, size, "rtsp://%s%s", name, path)
                        : snprintf(out, size, "rtsp://%s:%u%s", name, port, path);
    return n > 0 && (size_t)n < size;
}

/* ---- the connection ---- */

int64_t onvif_clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool socket_waits(int fd, short events, int64_t until_ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left = until_ms - onvif_clock_ms();
    return left > 0 && poll(&p, 1, (int)left) > 0;
}

static int place_connect(const struct onvif_place *to, int64_t until_ms, char why[64])
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(to->port), .sin_addr = to->host};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    socklen_t length = sizeof(error);
    if (fd < 0 || (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 && errno != EINPROGRESS))
        error = errno;
    else if (!socket_waits(fd, POLLOUT, until_ms))
        error = ETIMEDOUT;
    else
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0)
        return fd;
    snprintf(why, 64, "its service: %s", strerror(error));
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool all_sent(int fd, const char *text, size_t size, int64_t until_ms)
{
    while (size > 0) {
        ssize_t n = send(fd, text, size, MSG_NOSIGNAL);
        if (n < 0 && (errno != EAGAIN || !socket_waits(fd, POLLOUT, until_ms)))
            return false;
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

struct http_answer {
    char *bytes; /* of head and body, ended by zero */
    size_t size;
    const char *body;
    long long length; /* -1: up to the end */
    bool chunked;
};

/* The value of a field of the head. */
static const char *field_find(const struct http_answer *a, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(a->bytes, "\r\n"); at && at + 2 < a->body;
         at = strstr(at + 2, "\r\n"))
        if (!strncasecmp(at + 2, name, n) && at[2 + n] == ':')
            return at + 3 + n + strspn(at + 3 + n, " \t");
    return NULL;
}

/* Once the head is there. */
static void head_read(struct http_answer *a)
{
    char *end = strstr(a->bytes, "\r\n\r\n");
    if (!end)
        return;
    a->body = end + 4;
    const char *length = field_find(a, "Content-Length"),
               *kind = field_find(a, "Transfer-Encoding");
    a->chunked = kind && !strncasecmp(kind, "chunked", 7);
    a->length = length && !a->chunked ? strtoll(length, NULL, 10) : -1;
}

static size_t body_size(const struct http_answer *a)
{
    return (size_t)(a->bytes + a->size - a->body);
}

static bool answer_complete(const struct http_answer *a)
{
    if (!a->body)
        return false;
    if (a->chunked)
        return a->size >= 5 && !memcmp(a->bytes + a->size - 5, "0\r\n\r\n", 5);
    return a->length >= 0 && body_size(a) >= (unsigned long long)a->length;
}

/* 1: there is more to come. 0: it is over. -1: too long, or too late. */
static int answer_more(int fd, struct http_answer *a, int64_t until_ms, char why[64])
{
    snprintf(why, 64, "its service is silent");
    if (!socket_waits(fd, POLLIN, until_ms))
        return -1;
    snprintf(why, 64, "its service says too much");
    if (a->size == ONVIF_BODY_MOST)
        return -1;
    ssize_t n = recv(fd, a->bytes + a->size, ONVIF_BODY_MOST - a->size, 0);
    if (n < 0 && errno != EAGAIN)
        snprintf(why, 64, "its service: %s", strerror(errno));
    if (n <= 0)
        return n == 0 ? 0 : errno == EAGAIN ? 1 : -1;
    a->size += (size_t)n;
    a->bytes[a->size] = 0;
    if (!a->body)
        head_read(a);
    return !answer_complete(a);
}

/* Chunks become one text, in place. False: they are none. */
static bool chunks_join(char *body, size_t size, size_t *joined)
{
    size_t at = 0, out = 0;
    while (at < size) {
        char *end;
        unsigned long n = strtoul(body + at, &end, 16);
        size_t line = strcspn(body + at, "\n");
        if (end == body + at || at + line >= size)
            return false;
        at += line + 1;
        if (n == 0) {
            *joined = out;
            return true;
        }
        if (n > size - at)
            return false;
        memmove(body + out, body + at, n);
        out += n;
        at += n;
        at += at < size && body[at] == '\r';
        at += at < size && body[at] == '\n';
    }
    return false;
}

/* The status, with the body in its place; -1: it is no answer of HTTP. */
static int answer_take(struct http_answer *a, size_t *size, char why[64])
{
    int status = 0;
    snprintf(why, 64, "its service speaks no HTTP");
    if (!a->body || sscanf(a->bytes, "HTTP/1.%*1d %3d", &status) != 1 || status < 100)
        return -1;
    *size = body_size(a);
    if (a->length >= 0 && *size > (unsigned long long)a->length)
        *size = (size_t)a->length;
    memmove(a->bytes, a->body, body_size(a) + 1);
    return a->chunked && !chunks_join(a->bytes, *size, size) ? -1 : status;
}

static int exchange(int fd, const char *request, int64_t until_ms, struct http_answer *a,
                    size_t *size, char why[64])
{
    int more = 1;
    snprintf(why, 64, "its service took no request");
    if (!all_sent(fd, request, strlen(request), until_ms))
        return -1;
    while (more > 0)
        more = answer_more(fd, a, until_ms, why);
    return more < 0 ? -1 : answer_take(a, size, why);
}

int onvif_post(const struct onvif_place *to, const char *text, int64_t until_ms, char **body,
               size_t *size, char why[64])
{
    struct http_answer a = {.bytes = calloc(1, ONVIF_BODY_MOST + 1), .length = -1};
    char host[INET_ADDRSTRLEN] = "", *request = NULL;
    int fd = -1, status = -1;
    snprintf(why, 64, "out of memory");
    inet_ntop(AF_INET, &to->host, host, sizeof(host));
    if (a.bytes && asprintf(&request,
                            "POST %s HTTP/1.1\r\nHost: %s:%u\r\nConnection: close\r\nContent-Type: "
                            "application/soap+xml; charset=utf-8\r\nContent-Length: %zu\r\n\r\n%s",
                            to->path, host, to->port, strlen(text), text) >= 0)
        fd = place_connect(to, until_ms, why);
    if (fd >= 0) {
        status = exchange(fd, request, until_ms, &a, size, why);
        close(fd);
    }
    free(request);
    if (status < 0)
        free(a.bytes);
    else
        *body = a.bytes;
    return status;
}
