/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: what pelton-web reads. The first byte says which: whole requests to a server
 * that asks for tokens and has no daemon, paths, queries, hosts, the file of tokens, the file of
 * options, or the body of PATCH. What is taken keeps the promises of its header.
 */
#include "daemon/log.h"
#include "web/control_wishes.h"
#include "web/daemon_watch.h"
#include "web/http_connections.h"
#include "web/http_path.h"
#include "web/http_query.h"
#include "web/http_request.h"
#include "web/http_server.h"
#include "web/web.h"
#include "web/web_feed.h"
#include "web/web_tokens.h"

#include <arpa/inet.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "fuzz-token-0123456789"

enum { ANSWER = 1 << 16, WAIT_MS = 300 };

static struct web web;
static struct http_server *server;
static uint16_t port;
static char path[64];

static void promise(bool kept, const char *what)
{
    if (kept)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

/* ---- whole requests ---- */

static void server_start(void)
{
    char why[256], *words[] = {"pelton-web", "--socket",    "/nonexistent/pelton.sock",
                               "--listen",   "127.0.0.1:0", "--requests-per-second",
                               "100000",     "--log-level", "quiet",
                               NULL};
    struct option_fault fault;
    log_init("fuzz", LOG_LEVEL_QUIET);
    signal(SIGPIPE, SIG_IGN);
    promise(web_options_parse(9, words, &web.options, &fault) == 0, "options");
    web.tokens = web_tokens_new();
    web.connections = http_connections_new(&web.options.limits);
    web.controls = control_board_new();
    web.watch = daemon_watch_new(web.options.socket, web.controls);
    web.feed = feed_new(web.options.socket);
    int fd = web.tokens && web.connections && web.controls && web.watch && web.feed
                 ? http_listen(&web, why, sizeof(why))
                 : -1;
    promise(fd >= 0 && web_tokens_parse(web.tokens, "control " TOKEN "\n", why) == 0, "a place");
    server = http_server_start(&web, fd);
    promise(server, "a server");
    port = (uint16_t)atoi(strrchr(web.place, ':') + 1);
}

/* Each connection has an address of its own: there are limits for one. -1: not now. */
static int server_try(void)
{
    static uint32_t host;
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(0x7f010000 + host++ % 0x10000)};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval wait = {.tv_usec = WAIT_MS * 1000};
    struct linger reset = {.l_onoff = 1}; /* no port stays in use afterwards */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    promise(fd >= 0, "a socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    if (bind(fd, (struct sockaddr *)&from, sizeof(from)) == 0 &&
        connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* libFuzzer's own signals interrupt connect(). */
static int server_connect(void)
{
    int fd = -1;
    for (int i = 0; fd < 0 && i < 500; i++) {
        fd = server_try();
        if (fd < 0)
            usleep(10000);
    }
    promise(fd >= 0, "a connection");
    return fd;
}

static bool has(const char *text, const char *word)
{
    return strcasestr(text, word) != NULL;
}

static void requests_send(const uint8_t *data, size_t size)
{
    static char request[ANSWER], answer[ANSWER];
    size_t n = 0, sent = 0;
    ssize_t part = 1;
    int fd = server_connect();
    while (sent < size && (part = send(fd, data + sent, size - sent, 0)) > 0)
        sent += (size_t)part;
    shutdown(fd, SHUT_WR);
    while (n < sizeof(answer) - 1 && (part = recv(fd, answer + n, sizeof(answer) - 1 - n, 0)) > 0)
        n += (size_t)part;
    close(fd);
    answer[n] = 0;
    size = size < sizeof(request) - 1 ? size : sizeof(request) - 1;
    for (size_t i = 0; i < size; i++)
        request[i] = data[i] ? (char)data[i] : ' ';
    request[size] = 0;
    promise(n == 0 || strncmp(answer, "HTTP/1.1 ", 9) == 0, "an answer is one of HTTP");
    promise(strncmp(answer, "HTTP/1.1 200", 12) != 0 || has(request, "localhost") ||
                has(request, "127.0.0.1") || has(request, "::1"),
            "a stranger's name is refused");
    promise(has(request, TOKEN) || has(request, "basic") ||
                (!has(answer, "\"openapi\": ") && !has(answer, "# HELP pelton_") &&
                 !has(answer, "\"connected\": ")),
            "nothing is told without a token");
}

/* ---- texts ---- */

static void path_read(const char *text)
{
    char out[HTTP_PATH], name[HTTP_NAME];
    bool other;
    if (!http_path_decode(text, out, sizeof(out)))
        return;
    promise(out[0] == '/' && strlen(out) < sizeof(out), "a path begins with a slash");
    promise(!strstr(out, "/../") && !strstr(out, "//") && !strchr(out, '\\') &&
                !strpbrk(out, "\r\n"),
            "no path leads elsewhere");
    if (http_route_find("GET", out, name, &other))
        promise(strlen(name) < sizeof(name) && !strchr(name, '/'), "a name is one part");
}

/* NAME=VALUE&NAME=VALUE, as libmicrohttpd cuts it. */
static void query_read(char *text)
{
    struct stream_query q;
    char why[QUERY_WHY] = "", *rest = NULL;
    stream_query_preset(&q);
    for (char *name = strtok_r(text, "&", &rest); name; name = strtok_r(NULL, "&", &rest)) {
        char *value = strchr(name, '=');
        if (value)
            *value++ = 0;
        if (!stream_query_set(&q, name, value, why)) {
            promise(why[0] && strlen(why) < QUERY_WHY, "a refusal has words");
            return;
        }
    }
    promise(q.width <= QUERY_SIZE_MOST && q.height <= QUERY_SIZE_MOST && q.width % 2 == 0 &&
                q.quality >= 1 && q.quality <= 100 && isfinite(q.fps) && q.fps >= 0 &&
                strlen(q.pix_fmt) < sizeof(q.pix_fmt),
            "values lie in their limits");
}

static void host_read(const char *text)
{
    char host[64];
    if (http_host_split(text, host, sizeof(host)))
        promise(host[0] && host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:")] == 0,
                "a host has its characters alone");
}

static void tokens_read(const char *text)
{
    char why[TOKENS_WHY] = "";
    struct web_tokens *t = web_tokens_new();
    int rc = t ? web_tokens_parse(t, text, why) : 0;
    promise(!t || (rc == 0) == web_tokens_any(t), "a file has tokens, or is refused");
    promise(rc == 0 || why[0], "a refusal has words");
    web_tokens_free(t);
}

static void options_read(const void *data, size_t size)
{
    char *words[] = {"pelton-web", "-c", path, NULL};
    struct option_fault fault = {.cause = ""};
    struct web_options o;
    FILE *file = fopen(path, "we");
    promise(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "a file");
    if (web_options_parse(3, words, &o, &fault) < 0)
        promise(strncmp(fault.cause, path, strlen(path)) == 0, "a mistake is named with its file");
    else
        promise(o.limits.body_bytes >= 1024 && o.limits.connections >= 1 &&
                    o.n_names <= WEB_NAMES && o.n_owned <= WEB_TEXTS,
                "options lie in their limits");
    web_options_free(&o);
}

static void wishes_read(const char *text, size_t size)
{
    char why[WISHES_WHY] = "";
    struct control_list list;
    if (!control_wishes_read(text, size, &list, why)) {
        promise(why[0], "a refusal has words");
        return;
    }
    promise(list.n >= 1 && list.n <= PELTON_MAX_CONTROLS, "their number");
    for (uint32_t i = 0; i < list.n; i++) {
        const struct pelton_control *c = &list.control[i];
        promise(c->n >= 1 && c->n <= PELTON_CONTROL_VALUES && strlen(c->name) < sizeof(c->name),
                "a control's form");
        for (uint32_t k = 0; k < c->n; k++)
            promise(isfinite(c->value[k]), "values are finite");
    }
}

static void world_end(void)
{
    unlink(path);
    web.stopping = true;
    http_server_stop(server);
    feed_free(web.feed);
    daemon_watch_free(web.watch);
    control_board_free(web.controls);
    http_connections_free(web.connections);
    web_tokens_free(web.tokens);
    web_options_free(&web.options);
}

static void world_create(void)
{
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof(path), "%s/pelton-fuzz-web-XXXXXX", folder);
    int fd = mkstemp(path);
    promise(fd >= 0 && close(fd) == 0, "a file");
    server_start();
    promise(atexit(world_end) == 0, "an end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool created;
    if (!created)
        world_create();
    created = true;
    char *text = size ? calloc(1, size) : NULL;
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    switch (data[0] % 8) {
    case 1:
        path_read(text);
        break;
    case 2:
        query_read(text);
        break;
    case 3:
        host_read(text);
        break;
    case 4:
        tokens_read(text);
        break;
    case 5:
        options_read(text, size - 1);
        break;
    case 6:
        wishes_read(text, size - 1);
        break;
    default:
        requests_send(data + 1, size - 1);
    }
    free(text);
    return 0;
}
