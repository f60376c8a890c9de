/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The descriptors of the broker: see descriptor_reserve.h. A new descriptor has the lowest free
 * number, so its number tells how many there are.
 */
#include "daemon/broker/descriptor_reserve.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

void descriptors_raise(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

int descriptors_used(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return INT_MAX;
    close(fd);
    return fd;
}

bool descriptors_short(enum descriptors_for what, unsigned promised)
{
    struct rlimit r;
    int used = descriptors_used();
    return used == INT_MAX || (getrlimit(RLIMIT_NOFILE, &r) == 0 &&
                               (rlim_t)used + promised >= r.rlim_cur - r.rlim_cur / what);
}
