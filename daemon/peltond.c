/* SPDX-License-Identifier: BSD-2-Clause
 *
 * peltond: the broker, or with --worker-fd the worker that a broker has started. The worker alone
 * loads drivers and demuxers, and is a program of its own, peltond-worker: the same parts with the
 * worker's. A static build is one program.
 */
#include "daemon/broker/broker_main.h"
#include "daemon/log.h"
#include "daemon/sandbox.h"
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

/* Rings of io_uring go past the filters of system calls. libuv 1.50 makes one for each loop, and
 * ends the process if a filter refuses its use later. Without rings it works as before. Workers
 * inherit the refusal. */
static void refuse_rings(void)
{
    struct sandbox_filter *f = sandbox_filter_new(false, false);
    sandbox_filter_unknown(f, "io_uring_setup");
    sandbox_filter_install(f);
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
    if (s->process.worker_fd >= 0)
        return worker_process(s, argv);
    if (s->limits.sandbox)
        refuse_rings();
    return broker_run(s);
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct option_fault fault;
    open_standard_files();
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
