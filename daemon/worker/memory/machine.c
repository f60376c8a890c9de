/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits of control groups, and free memory. A group's own limit and those of all groups above it
 * count. Inside a container the path in /proc/self/cgroup may be the host's; then the files of the
 * mounted root are the container's.
 */
#include "daemon/worker/memory/machine.h"

#include <limits.h>
#include <stdbool.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cgroup {
    char mount[32]; /* below /sys/fs/cgroup */
    char path[PATH_MAX];
};

static bool file_line(const char *root, const char *path, const char *name, char *line, int size)
{
    char full[2 * PATH_MAX];
    if (snprintf(full, sizeof(full), "%s%s/%s", root, path, name) >= (int)sizeof(full))
        return false;
    FILE *f = fopen(full, "re");
    bool found = f && fgets(line, size, f);
    if (f)
        fclose(f);
    return found;
}

/* A number alone on its line; "max" and text are none. */
static bool file_number(const char *root, const char *path, const char *name, long long *out)
{
    char line[64], *end;
    if (!file_line(root, path, name, line, sizeof(line)))
        return false;
    *out = strtoll(line, &end, 10);
    return end != line && *out >= 0;
}

static bool list_has(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
            return true;
    return false;
}

/* A line is "number:controllers:path"; version 2 names no controllers. */
static bool cgroup_parse(char *line, const char *controller, struct cgroup *out)
{
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
    if (!path)
        return false;
    *path++ = 0;
    path[strcspn(path, "\n")] = 0;
    list++;
    if (*list && !list_has(list, controller))
        return false;
    snprintf(out->mount, sizeof(out->mount), "%s", *list ? controller : "");
    snprintf(out->path, sizeof(out->path), "%s", path);
    return true;
}

/* Version 1 goes before version 2: a system with both has its controllers in the former. */
static bool cgroup_find(const char *root, const char *controller, struct cgroup *out)
{
    char name[PATH_MAX], line[PATH_MAX + 256];
    struct cgroup one;
    bool found = false;
    snprintf(name, sizeof(name), "%.4000s/proc/self/cgroup", root);
    FILE *f = fopen(name, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (!cgroup_parse(line, controller, &one) || (found && !one.mount[0]))
            continue;
        *out = one;
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

/* Calls back for the group and for those above it, up to the mounted root. */
static void cgroup_walk(const char *root, const char *controller,
                        void (*each)(const char *root, const char *path, bool v2, void *ctx),
                        void *ctx)
{
    struct cgroup group;
    char path[PATH_MAX + 64];
    if (!cgroup_find(root, controller, &group))
        return;
    for (;;) {
        snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s%s", group.mount[0] ? "/" : "", group.mount,
                 strcmp(group.path, "/") ? group.path : "");
        each(root, path, !group.mount[0], ctx);
        char *slash = strrchr(group.path, '/');
        if (!slash || !strcmp(group.path, "/"))
            return;
        slash[slash == group.path] = 0;
    }
}

/* ---- memory ---- */

static void group_memory(const char *root, const char *path, bool v2, void *ctx)
{
    uint64_t *most = ctx;
    long long limit, used = 0;
    if (!file_number(root, path, v2 ? "memory.max" : "memory.limit_in_bytes", &limit))
        return;
    file_number(root, path, v2 ? "memory.current" : "memory.usage_in_bytes", &used);
    uint64_t left = limit > used ? (uint64_t)(limit - used) : 1;
    *most = left < *most ? left : *most;
}

static uint64_t system_memory(const char *root)
{
    char name[PATH_MAX], line[256];
    unsigned long long kib = 0;
    snprintf(name, sizeof(name), "%.4000s/proc/meminfo", root);
    FILE *f = fopen(name, "re");
    while (f && !kib && fgets(line, sizeof(line), f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
            kib = 0;
    if (f)
        fclose(f);
    return kib << 10;
}

uint64_t machine_free_memory(const char *root)
{
    uint64_t most = system_memory(root);
    if (most)
        cgroup_walk(root, "memory", group_memory, &most);
    return most;
}

/* ---- processors ---- */

static void group_cpus(const char *root, const char *path, bool v2, void *ctx)
{
    unsigned *cpus = ctx;
    long long quota = 0, period = 0;
    char line[64];
    if (v2) {
        if (!file_line(root, path, "cpu.max", line, sizeof(line)) ||
            sscanf(line, "%lld %lld", &quota, &period) != 2)
            return;
    } else if (!file_number(root, path, "cpu.cfs_quota_us", &quota) ||
               !file_number(root, path, "cpu.cfs_period_us", &period)) {
        return;
    }
    if (quota <= 0 || period <= 0)
        return;
    long long most = quota / period + (quota % period != 0);
    if (most < *cpus)
        *cpus = (unsigned)most;
}

unsigned machine_cpus(const char *root, unsigned cpus)
{
    cpus = cpus ? cpus : 1;
    cgroup_walk(root, "cpu", group_cpus, &cpus);
    return cpus;
}

unsigned machine_threads(unsigned most)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    unsigned cpus = machine_cpus("", (unsigned)n);
    return cpus > most ? most : cpus;
}
