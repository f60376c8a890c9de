/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The times of a variant.
 *
 * Two times are taken. "Alone": one run after the other with barriers between them, the median.
 * "Batch": every pass for all sets of buffers, then a barrier: as a decoder works that has many
 * pictures at hand. The sets are more than the caches of a GPU hold.
 */
#include "bench/kernel_bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double kernel_median(double *values, uint32_t n)
{
    if (!n)
        return 0;
    qsort(values, n, sizeof(*values), by_value);
    return values[n / 2];
}

double kernel_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How long a CPU takes to read one result out of memory that the device has written. */
static double read_by_host(const struct kernel_bench *b, const uint8_t *map, uint8_t *to)
{
    double start = kernel_seconds();
    memcpy(to, map, b->data.size[BENCH_BIND_OUTPUT]);
    return kernel_seconds() - start;
}

static int one_round(void *ctx, double *seconds)
{
    struct kernel_bench *b = ctx;
    *seconds = 0; /* kernel_time_rounds reads more of them */
    return gpu_run(b->g, kernel_record_round, b);
}

int kernel_time_rounds(struct kernel_bench *b, const uint8_t *map, struct kernel_result *out)
{
    struct gpu *g = b->g;
    int err = GPU_OK;
    uint64_t ticks[KERNEL_QUERIES];
    uint32_t alone = 0;
    struct kernel_watch watch;
    double *samples = malloc((size_t)b->rounds * (b->sets + 2) * sizeof(*samples)), *batches,
           *hosts;
    uint8_t *to = malloc(b->data.size[BENCH_BIND_OUTPUT]);
    if (!samples || !to) {
        free(samples);
        free(to);
        return GPU_ERR_NOMEM;
    }
    batches = samples + (size_t)b->rounds * b->sets;
    hosts = batches + b->rounds;
    TRY(kernel_watch_begin(b, one_round, b, &watch));
    for (uint32_t r = 0; r < b->rounds;) {
        bool counts;
        TRY(gpu_run(g, kernel_record_round, b));
        VK(g, g->vk.vkGetQueryPoolResults(g->device, b->queries, 0, 2 * b->sets + 2, sizeof(ticks),
                                          ticks, sizeof(*ticks),
                                          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
        hosts[r] = map ? read_by_host(b, map, to) : 0;
        TRY(kernel_watch_round(b, &watch, &counts));
        if (!counts)
            continue;
        double unit = g->limits.timestampPeriod * 1e-9;
        for (uint32_t s = 0; s < b->sets; s++)
            samples[alone++] =
                (double)((ticks[2 * s + 1] - ticks[2 * s]) & g->main->tick_mask) * unit;
        batches[r++] =
            (double)((ticks[2 * b->sets + 1] - ticks[2 * b->sets]) & g->main->tick_mask) * unit /
            b->sets;
    }
    out->alone = kernel_median(samples, alone);
    out->batch = kernel_median(batches, b->rounds);
    out->spread = out->batch > 0 ? (batches[b->rounds - 1] - batches[0]) / out->batch : 0;
    out->host = kernel_median(hosts, b->rounds);
    out->clock = watch.least;
error:
    free(samples);
    free(to);
    return err;
}
