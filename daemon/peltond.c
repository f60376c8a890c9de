/* SPDX-License-Identifier: BSD-2-Clause
 *
 * peltond: the broker, or with --worker-fd the worker that a broker has started. Only the worker
 * loads a driver or a demuxer.
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
    if (settings.process.help) {
        settings_usage();
        return 0;
    }
    if (settings.process.version) {
        puts("peltond " PELTON_VERSION);
#ifdef PELTON_LIBCAMERA
        puts("libcamera " PELTON_LIBCAMERA);
#else
        puts("libcamera: not in this build");
#endif
        return 0;
    }
    if (settings.process.list) {
        settings_list(stdout);
        return 0;
    }
    log_init(settings.process.worker_fd >= 0 ? "peltond worker" : "peltond",
             settings.process.log_level);
    start_trace("settings are read");
    if (settings.process.worker_fd < 0)
        environment_check();
    if (settings.process.check || settings.process.print) {
        if (settings.process.print)
            settings_print(&settings, stdout);
        else
            puts("the configuration is good");
        settings_free(&settings);
        return 0;
    }
    int rc = settings.process.worker_fd >= 0 ? worker_process(&settings) : broker_run(&settings);
    settings_free(&settings);
    start_trace("end");
    return rc;
}
