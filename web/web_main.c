/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton-web: HTTP for a pelton daemon. It is a client of the daemon like any other: its end costs
 * previews, and no frame of another reader.
 */
#include "daemon/log.h"
#include "daemon/notify.h"
#include "web/control_board.h"
#include "web/daemon_watch.h"
#include "web/web_feed.h"
#include "web/http_connections.h"
#include "web/http_server.h"
#include "web/web.h"
#include "web/web_sandbox.h"
#include "web/web_tls.h"
#include "web/web_tokens.h"

#include <libavutil/log.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EXIT_OTHER = 1, EXIT_USAGE = 2, WHY = 256 /* room for each reason */ };

/* All threads inherit the mask, and main alone waits for signals. */
static void signals_block(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigprocmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Certificates and tokens, at SIGHUP. What is wrong is told, and the old ones stay. */
static void files_reload(struct web *w)
{
    char why[WHY];
    if (w->tls && web_tls_reload(w->tls, why) < 0)
        log_line(LOG_LEVEL_ERROR, "%s; the old certificate stays", why);
    else if (w->tls)
        log_line(LOG_LEVEL_NOTICE, "the certificate is read again");
    if (w->options.tokens && web_tokens_read(w->tokens, w->options.tokens, why) < 0)
        log_line(LOG_LEVEL_ERROR, "%s; the old tokens stay", why);
    else if (w->options.tokens)
        log_line(LOG_LEVEL_NOTICE, "the tokens are read again");
}

static void signals_wait(struct web *w, const sigset_t *set)
{
    int number = 0;
    while (sigwait(set, &number) == 0 && number == SIGHUP)
        files_reload(w);
}

static int serve(struct web *w, const sigset_t *signals, int fd)
{
    w->connections = http_connections_new(&w->options.limits);
    w->controls = control_board_new();
    w->watch = w->controls ? daemon_watch_new(w->options.socket, w->controls) : NULL;
    w->feed = feed_new(w->options.socket);
    if (w->watch)
        daemon_watch_begin(w->watch); /* the first request finds the sources */
    struct http_server *server =
        w->connections && w->watch && w->feed ? http_server_start(w, fd) : NULL;
    if (server) {
        log_line(LOG_LEVEL_NOTICE, "listening at %s%s", w->place, w->tls ? ", TLS" : "");
        service_notify("READY=1");
        signals_wait(w, signals);
    }
    w->stopping = true;
    http_server_stop(server);
    feed_free(w->feed);
    daemon_watch_free(w->watch);
    control_board_free(w->controls);
    http_connections_free(w->connections);
    return server ? 0 : EXIT_OTHER;
}

static int refuse(const char *cause, const char *hint)
{
    log_line(LOG_LEVEL_ERROR, "%s", cause);
    log_line(LOG_LEVEL_ERROR, "hint: %s", hint);
    return EXIT_USAGE;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* Files that the options name. 0, or an exit code: the log says why. */
static int files_read(struct web *w)
{
    char why[WHY];
    const struct web_options *o = &w->options;
    if (!o->certificate != !o->key)
        return refuse("--certificate and --key go together", "name both files");
    w->tokens = web_tokens_new();
    if (!w->tokens || (o->tokens && web_tokens_read(w->tokens, o->tokens, why) < 0))
        return refuse(w->tokens ? why : "no memory", "lines are: control TOKEN, or: read TOKEN");
    w->tls = o->certificate ? web_tls_new(o->certificate, o->key, why) : NULL;
    if (o->certificate && !w->tls)
        return refuse(why, "name files in PEM: the certificate, and its key");
    if (is_loopback(w->address) || (w->tls && o->tokens))
        return 0;
    return refuse("other machines reach this address: it needs TLS and a token",
                  "give --certificate, --key and --tokens, or listen at 127.0.0.1");
}

/* The socket is bound before rights are given up, and threads start after that. */
static int start(struct web *w)
{
    char why[WHY];
    sigset_t signals;
    signals_block(&signals);
    int fd = http_listen(w, why, sizeof(why));
    if (fd < 0)
        return refuse(why, "name another place by --listen ADDRESS:PORT");
    web_sandbox(&w->options);
    return serve(w, &signals, fd);
}

static int run(struct web *w)
{
    char why[WHY];
    log_init("pelton-web", w->options.log_level);
    log_limit(10);
    av_log_set_level(AV_LOG_QUIET); /* failures come as codes, and are told in words */
    if (!http_place_check(w, why, sizeof(why)))
        return refuse(why, "as in: --listen 127.0.0.1:8790");
    int rc = files_read(w);
    if (rc == 0 && w->options.check)
        puts("the options are good");
    else if (rc == 0)
        rc = start(w);
    web_tls_free(w->tls);
    web_tokens_free(w->tokens);
    return rc;
}

int main(int argc, char **argv)
{
    static struct web w;
    struct option_fault fault;
    int rc = EXIT_USAGE;
    if (web_options_parse(argc, argv, &w.options, &fault) < 0) {
        fprintf(stderr, "pelton-web: %s\nhint: %s\n", fault.cause, fault.hint);
    } else if (w.options.help || w.options.version) {
        if (w.options.help)
            web_options_usage();
        else
            puts("pelton-web " PELTON_VERSION);
        rc = 0;
    } else {
        rc = run(&w);
    }
    web_options_free(&w.options);
    return rc;
}
