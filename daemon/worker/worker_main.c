/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker process: bound to the broker that started it, then the loop.
 *
 * The happy path is worker_run until the broker says Shutdown. The failure modes are: the broker
 * dies (the kernel kills this process; where it cannot, the end of the socketpair is seen), or it
 * was dead before we could ask for that.
 */
#include "daemon/worker/worker_main.h"

#include "daemon/log.h"
#include "daemon/worker/worker_proto.h"
#include "gpu/engine/driver_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int worker_process(const struct settings *settings, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (settings->process.parent <= 0 || getppid() != (pid_t)settings->process.parent) {
        log_line(LOG_LEVEL_ERROR, "a worker is started by its broker only");
        return 1;
    }
    prctl(PR_SET_NAME, "pelton-worker");
    signal(SIGINT, SIG_IGN); /* the terminal's keys are for the client */
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    fcntl(settings->process.worker_fd, F_SETFD, FD_CLOEXEC);
    if (driver_cache_guard())
        log_line(LOG_LEVEL_NOTICE, "the cache folder is full: the driver keeps no shaders");
    return worker_run(settings);
}
