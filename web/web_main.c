/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton-web: HTTP for a pelton daemon. It is a client of the daemon like any other: its end costs
 * previews, and no frame of another reader.
 */
#include "daemon/log.h"
#include "web/control_board.h"
#include "web/daemon_watch.h"
#include "web/web_feed.h"
#include "web/http_connections.h"
#include "web/http_server.h"
#include "web/web.h"

#include <libavutil/log.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { EXIT_OTHER = 1, EXIT_USAGE = 2 };

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

static void signals_wait(const sigset_t *set)
{
    int number = 0;
    do {
        if (sigwait(set, &number) != 0)
            return;
    } while (number == SIGHUP);
}

static int serve(struct web *w, const sigset_t *signals, int fd)
{
    w->connections = http_connections_new(&w->options.limits);
    w->watch = daemon_watch_new(w->options.socket);
    w->feed = feed_new(w->options.socket);
    w->controls = control_board_new();
    struct http_server *server =
        w->connections && w->watch && w->feed && w->controls ? http_server_start(w, fd) : NULL;
    if (server) {
        log_line(LOG_LEVEL_NOTICE, "listening at %s", w->place);
        signals_wait(signals);
    }
    w->stopping = true;
    http_server_stop(server);
    feed_free(w->feed);
    control_board_free(w->controls);
    daemon_watch_free(w->watch);
    http_connections_free(w->connections);
    return server ? 0 : EXIT_OTHER;
}

static int run(struct web *w)
{
    char why[256];
    sigset_t signals;
    log_init("pelton-web", w->options.log_level);
    log_limit(10);
    av_log_set_level(AV_LOG_QUIET); /* failures come as codes, and are told in words */
    signals_block(&signals);
    int fd = http_listen(w, why, sizeof(why));
    if (fd < 0) {
        log_line(LOG_LEVEL_ERROR, "%s", why);
        log_line(LOG_LEVEL_ERROR, "hint: name another place by --listen ADDRESS:PORT");
        return EXIT_USAGE;
    }
    return serve(w, &signals, fd);
}

int main(int argc, char **argv)
{
    static struct web w;
    struct option_fault fault;
    int rc = EXIT_USAGE;
    if (web_options_parse(argc, argv, &w.options, &fault) < 0) {
        fprintf(stderr, "pelton-web: %s\nhint: %s\n", fault.cause, fault.hint);
    } else if (w.options.help || w.options.version || w.options.check) {
        if (w.options.help)
            web_options_usage();
        else
            puts(w.options.version ? "pelton-web " PELTON_VERSION : "the options are good");
        rc = 0;
    } else {
        rc = run(&w);
    }
    web_options_free(&w.options);
    return rc;
}
