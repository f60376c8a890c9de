/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Barriers that tests leave out (barrier_drop.h).
 */
#include "gpu/engine/barrier_drop.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 96
#define MOST_SITES 1024

struct gpu_barrier_drop {
    pthread_mutex_t lock;
    bool list;
    char wanted[NAME_BYTES];
    unsigned long dropped;
    uint32_t count;
    char seen[MOST_SITES][NAME_BYTES];
};

/* Letters of a set of stages. */
static void stages_write(unsigned stages, char out[BARRIER_STAGES + 1])
{
    static const char letters[BARRIER_STAGES] = {[BARRIER_TRANSFER] = 't',
                                                 [BARRIER_COMPUTE] = 'c',
                                                 [BARRIER_INDIRECT] = 'i',
                                                 [BARRIER_HOST] = 'h'};
    for (int i = 0; i < BARRIER_STAGES; i++)
        if (stages & (1u << i))
            *out++ = letters[i];
    *out = 0;
}

/* PLACE/WAITS>FOLLOWS/FLUSHED/READS/WRITES, without spaces. */
static void site_name(const char *place, const struct barrier_access *a,
                      const struct barrier_need *need, char name[NAME_BYTES])
{
    char from[BARRIER_STAGES + 1], to[BARRIER_STAGES + 1], flush[BARRIER_STAGES + 1];
    stages_write(need->from, from);
    stages_write(need->to, to);
    stages_write(need->flush, flush);
    snprintf(name, NAME_BYTES, "%s/%s>%s/%s/%x/%x", place, from, to, flush, a->reads, a->writes);
    for (char *c = name; *c; c++)
        *c = *c == ' ' || *c == ',' ? '-' : *c;
}

/* With the lock held. */
static void site_list(struct gpu *g, struct gpu_barrier_drop *drop, const char name[NAME_BYTES])
{
    for (uint32_t i = 0; i < drop->count; i++)
        if (!strcmp(drop->seen[i], name))
            return;
    if (drop->count == MOST_SITES)
        return;
    memcpy(drop->seen[drop->count++], name, NAME_BYTES);
    gpu_log(g, 1, "barrier %s", name);
}

static bool barrier_dropped(void *ctx, const char *place, const struct barrier_access *access,
                            const struct barrier_need *need)
{
    struct gpu *g = ctx;
    struct gpu_barrier_drop *drop = g->barrier_drop;
    char name[NAME_BYTES] = {0};
    site_name(place, access, need, name);
    pthread_mutex_lock(&drop->lock);
    bool dropped = !drop->list && !strcmp(name, drop->wanted);
    drop->dropped += dropped;
    if (drop->list)
        site_list(g, drop, name);
    pthread_mutex_unlock(&drop->lock);
    return dropped;
}

int gpu_barrier_drop_open(struct gpu *g, const char *site)
{
    struct gpu_barrier_drop *drop = site ? calloc(1, sizeof(*drop)) : NULL;
    if (!site)
        return GPU_OK;
    if (!drop)
        return GPU_ERR_NOMEM;
    if (pthread_mutex_init(&drop->lock, NULL)) {
        free(drop);
        return GPU_ERR_NOMEM;
    }
    drop->list = !strcmp(site, "list");
    snprintf(drop->wanted, sizeof(drop->wanted), "%s", site);
    g->barrier_drop = drop;
    g->barrier_watch.dropped = barrier_dropped;
    return GPU_OK;
}

void gpu_barrier_drop_close(struct gpu *g)
{
    struct gpu_barrier_drop *drop = g->barrier_drop;
    if (!drop)
        return;
    if (!drop->list)
        gpu_log(g, 1, "barrier %s was left out %lu times", drop->wanted, drop->dropped);
    g->barrier_drop = NULL;
    g->barrier_watch.dropped = NULL;
    pthread_mutex_destroy(&drop->lock);
    free(drop);
}
