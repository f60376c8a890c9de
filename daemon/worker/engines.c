/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Engines by device. The happy path: the devices' names are found, an engine is opened for each, streams go where there are
 * fewest. The failure mode: one of the devices cannot be opened, and then none is used: who names devices means all of them.
 */
#include "daemon/worker/engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };
typedef char device_name[NAME_BYTES];

/* Every usable hardware device by its UUID; on a machine without any, what auto takes. */
static uint32_t all_devices(device_name *names)
{
    struct gpu_device_info *infos = NULL;
    size_t count = 0;
    uint32_t n = 0;
    if (gpu_list(&infos, &count) < 0)
        count = 0;
    for (size_t i = 0; i < count && n < ENGINES_MAX; i++)
        if (infos[i].usable && !infos[i].software)
            snprintf(names[n++], NAME_BYTES, "%s", infos[i].uuid);
    free(infos);
    if (n == 0)
        snprintf(names[n++], NAME_BYTES, "auto");
    return n;
}

/* 0: a name is too long or there are too many. */
static uint32_t split(const char *list, device_name *names)
{
    uint32_t n = 0;
    for (;;) {
        size_t length = strcspn(list, ",");
        if (n == ENGINES_MAX || length >= NAME_BYTES)
            return 0;
        snprintf(names[n++], NAME_BYTES, "%.*s", (int)length, list);
        if (!list[length])
            return n;
        list += length + 1;
    }
}

static int open_one(struct engines *set, uv_loop_t *loop, const struct engine_params *params)
{
    struct engines_entry *entry = &set->entries[set->count];
    int rc = engine_create(loop, params, &entry->engine);
    if (rc < 0)
        return rc;
    entry->set = set;
    entry->streams = 0;
    set->count++;
    set->open++;
    return 0;
}

/* With one device it need not be looked at: its name is the engine's business, however long it is. */
int engines_open(struct engines *set, uv_loop_t *loop, const struct engine_params *params)
{
    device_name names[ENGINES_MAX];
    const char *list = params->device ? params->device : "auto";
    struct engine_params one = *params;
    bool all = !strcmp(list, "all");
    uint32_t n;
    if (!all && !strchr(list, ','))
        return set->count ? 0 : open_one(set, loop, params);
    n = all ? all_devices(names) : split(list, names);
    if (n == 0)
        return PELTON_ERR_NO_DEVICE;
    uint32_t threads = params->threads ? params->threads : (uint32_t)uv_available_parallelism();
    one.threads = (threads + n - 1) / n;
    while (set->count < n) {
        one.device = names[set->count];
        int rc = open_one(set, loop, &one);
        if (rc < 0)
            return rc;
    }
    return 0;
}

struct engines_entry *engines_take(struct engines *set)
{
    struct engines_entry *best = &set->entries[0];
    for (uint32_t i = 1; i < set->count; i++)
        if (set->entries[i].streams < best->streams)
            best = &set->entries[i];
    best->streams++;
    return best;
}

void engines_give(struct engines_entry *entry)
{
    if (entry)
        entry->streams--;
}

static void on_closed(void *ctx)
{
    struct engines *set = ((struct engines_entry *)ctx)->set;
    if (--set->open == 0 && set->closed)
        set->closed(set->ctx);
}

void engines_close(struct engines *set, void (*closed)(void *ctx), void *ctx)
{
    set->closed = closed;
    set->ctx = ctx;
    uint32_t count = set->count;
    set->count = 0;
    if (set->open == 0)
        closed(ctx);
    for (uint32_t i = 0; i < count; i++)
        engine_close(set->entries[i].engine, on_closed, &set->entries[i]);
}
