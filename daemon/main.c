/* SPDX-License-Identifier: BSD-2-Clause
 *
 * peltond: the broker, or with --worker-fd the worker that a broker has started. Only the worker
 * loads a driver or a demuxer.
 */
#include "daemon/broker/broker_main.h"
#include "daemon/log.h"
#include "daemon/settings.h"
#include "daemon/worker/worker_main.h"

#include <fcntl.h>
#include <stdio.h>
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
    struct options options;
    char error[256];
    open_standard_files();
    if (options_parse(argc, argv, &options, error) < 0) {
        fprintf(stderr, "peltond: %s\n", error);
        return EXIT_USAGE;
    }
    if (options.help) {
        options_usage(stdout);
        return 0;
    }
    if (options.version) {
        puts("peltond " PELTON_VERSION);
        return 0;
    }
    if (options.check || options.print) {
        if (options.print)
            options_print(&options, stdout);
        else
            puts("the configuration is good");
        options_free(&options);
        return 0;
    }
    log_init(options.worker_fd >= 0 ? "peltond worker" : "peltond", options.log_level);
    int rc = options.worker_fd >= 0 ? worker_process(&options) : broker_run(&options);
    options_free(&options);
    return rc;
}
