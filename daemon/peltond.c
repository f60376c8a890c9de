/* SPDX-License-Identifier: BSD-2-Clause
 *
 * peltond: the broker, or with --worker-fd the worker that a broker has started. The worker alone
 * loads drivers and demuxers, and is a program of its own, peltond-worker: the same parts with the
 * worker's. A static build is one program.
 */
#include "daemon/broker/broker_main.h"
#include "daemon/log.h"
#include "daemon/settings.h"
#include "daemon/settings_environment.h"
#include "daemon/settings_list.h"
#include "daemon/worker/worker_main.h"
#include "proto/start_trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

/* 0, 1 and 2 are open, so that no socket gets their numbers. */
static void open_standard_files(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static void version_print(void)
{
    puts("peltond " PELTON_VERSION);
#ifdef PELTON_LIBCAMERA
    puts("libcamera " PELTON_LIBCAMERA);
#else
    puts("libcamera: not in this build");
#endif
}

/* What needs neither log nor loop. False: there is more to do. */
static bool settings_told(const struct settings *s)
{
    if (s->process.help)
        settings_usage();
    else if (s->process.version)
        version_print();
    else if (s->process.list)
        settings_list(stdout);
    else
        return false;
    return true;
}

static int run(const struct settings *s, char **argv)
{
    if (settings_told(s))
        return 0;
    log_limit(s->limits.log_lines);
    log_init(s->process.worker_fd >= 0 ? "peltond worker" : "peltond", s->process.log_level);
    start_trace("settings are read");
    if (s->process.worker_fd < 0)
        environment_check();
    if (s->process.print)
        settings_print(s, stdout);
    else if (s->process.check)
        puts("the configuration is good");
    if (s->process.check || s->process.print)
        return 0;
    return s->process.worker_fd >= 0 ? worker_process(s, argv) : broker_run(s);
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct option_fault fault;
    open_standard_files();
    setenv("UV_USE_IO_URING", "0", 1); /* its rings go past the filters of system calls */
    start_trace_init(argc > 1 && !strcmp(argv[1], "--worker-fd") ? "worker" : "broker");
    if (settings_parse(argc, argv, &settings, &fault) < 0) {
        fprintf(stderr, "peltond: %s\nhint: %s\n", fault.cause, fault.hint);
        return EXIT_USAGE;
    }
    int rc = run(&settings, argv);
    settings_free(&settings);
    start_trace("end");
    return rc;
}
