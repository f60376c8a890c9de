/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits of control groups, from files as Linux writes them.
 */
#include "daemon/worker/memory/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#define GIB (1ull << 30)

static char root[64];

static void file_write(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(full, 0755);
        *at = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int begin(void **state)
{
    snprintf(root, sizeof(root), "/tmp/pelton-machine-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    file_write("/proc/meminfo", "MemTotal: 99 kB\nMemFree: 5 kB\nMemAvailable: 8388608 kB\n");
    return 0;
}

static int end(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static void no_groups(void **state)
{
    assert_int_equal(machine_free_memory(root), 8 * GIB);
    assert_int_equal(machine_cpus(root, 16), 16);
    assert_int_equal(machine_free_memory("/nowhere"), 0);
    assert_int_equal(machine_cpus("/nowhere", 0), 1);
}

/* The least of all limits on the way up counts, less what is in use there. */
static void version_2(void **state)
{
    file_write("/proc/self/cgroup", "0::/system.slice/peltond.service\n");
    file_write("/sys/fs/cgroup/system.slice/peltond.service/memory.max", "max\n");
    file_write("/sys/fs/cgroup/system.slice/memory.max", "4294967296\n");
    file_write("/sys/fs/cgroup/system.slice/memory.current", "1073741824\n");
    file_write("/sys/fs/cgroup/system.slice/peltond.service/cpu.max", "250000 100000\n");
    file_write("/sys/fs/cgroup/system.slice/cpu.max", "max 100000\n");
    assert_int_equal(machine_free_memory(root), 3 * GIB);
    assert_int_equal(machine_cpus(root, 16), 3);
    assert_int_equal(machine_cpus(root, 2), 2);
}

/* A container with a group namespace: the mounted root is its own. */
static void version_2_container(void **state)
{
    file_write("/proc/self/cgroup", "0::/\n");
    file_write("/sys/fs/cgroup/memory.max", "2147483648\n");
    file_write("/sys/fs/cgroup/memory.current", "9147483648\n");
    file_write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_int_equal(machine_free_memory(root), 1); /* more in use than allowed */
    assert_int_equal(machine_cpus(root, 16), 1);
}

/* The path is the host's, and is not there; the mounted root is the container's. */
static void version_1(void **state)
{
    file_write("/proc/self/cgroup", "5:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n0::/x\n");
    file_write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4294967296\n");
    file_write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "2147483648\n");
    file_write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
    file_write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(machine_free_memory(root), 2 * GIB);
    assert_int_equal(machine_cpus(root, 16), 2);
    file_write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(machine_cpus(root, 16), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_groups, begin, end),
        cmocka_unit_test_setup_teardown(version_2, begin, end),
        cmocka_unit_test_setup_teardown(version_2_container, begin, end),
        cmocka_unit_test_setup_teardown(version_1, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
