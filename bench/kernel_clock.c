/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How fast a device's clocks run, by the time that a fixed number of dependent operations takes.
 */
#include "bench/kernel_bench.h"

#include <stdlib.h>

#define STEPS          16384 /* about 35 us at 1,980 MHz */
#define UP             0.97  /* of the highest clocks seen */
#define RISE_SECONDS   0.3   /* in which they rise, if they do */
#define RAISE_SECONDS  0.05  /* of pulses, between rounds that let them fall */
#define REPEAT_SECONDS 1.0   /* of rounds that are repeated */
#define FIRST_SECONDS  0.1   /* of pulses, to see the highest */

static void record_pulse(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    struct kernel_bench *b = ctx;
    g->vk.vkCmdResetQueryPool(commands, b->queries, 0, 2);
    g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->queries, 0);
    gpu_pulse_record(b->pulse, commands);
    g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->queries, 1);
}

/* *clock: as a part of the highest seen; 0: not known. */
static int read_clock(struct kernel_bench *b, double *clock)
{
    struct gpu *g = b->g;
    uint64_t ticks[2];
    int err = GPU_OK;
    if (!b->pulse) {
        *clock = 0;
        return GPU_OK;
    }
    TRY(gpu_run(g, record_pulse, b));
    VK(g, g->vk.vkGetQueryPoolResults(g->device, b->queries, 0, 2, sizeof(ticks), ticks,
                                      sizeof(*ticks),
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    double seconds =
        (double)((ticks[1] - ticks[0]) & g->main->tick_mask) * g->limits.timestampPeriod * 1e-9;
    if (seconds > 0 && (b->fastest <= 0 || seconds < b->fastest))
        b->fastest = seconds;
    *clock = seconds > 0 ? b->fastest / seconds : 0;
error:
    return err;
}

int kernel_clock_open(struct kernel_bench *b)
{
    double unused, start = kernel_seconds();
    if (!b->rounds || b->g->info.software)
        return GPU_OK;
    int err = gpu_pulse_create(b->g, STEPS, &b->pulse);
    while (err == GPU_OK && kernel_seconds() - start < FIRST_SECONDS)
        err = read_clock(b, &unused);
    return err;
}

void kernel_clock_close(struct kernel_bench *b)
{
    gpu_pulse_free(b->pulse);
    b->pulse = NULL;
}

int kernel_watch_begin(struct kernel_bench *b, kernel_round_fn round, void *ctx,
                       struct kernel_watch *w)
{
    double clock = 0, unused, start = kernel_seconds();
    int err;
    do {
        err = round(ctx, &unused);
        if (err == GPU_OK)
            err = read_clock(b, &clock);
    } while (err == GPU_OK && b->pulse && clock < UP && kernel_seconds() - start < RISE_SECONDS);
    *w = (struct kernel_watch){
        .start = kernel_seconds(), .before = clock, .least = b->pulse ? 1 : 0};
    return err;
}

int kernel_watch_round(struct kernel_bench *b, struct kernel_watch *w, bool *counts)
{
    double clock = 0;
    int err = read_clock(b, &clock);
    if (err < 0)
        return err;
    double least = clock < w->before ? clock : w->before, start = kernel_seconds();
    while (b->pulse && clock < UP && kernel_seconds() - start < RAISE_SECONDS &&
           (err = read_clock(b, &clock)) == GPU_OK) {
    }
    if (err < 0)
        return err;
    w->before = clock;
    *counts = !b->pulse || least >= UP || kernel_seconds() - w->start > REPEAT_SECONDS;
    if (*counts && least < w->least)
        w->least = least;
    return GPU_OK;
}

struct steady {
    double median, spread, clock; /* as in kernel_result */
};

static int steady(struct kernel_bench *b, kernel_round_fn round, void *ctx, uint32_t rounds,
                  struct steady *out)
{
    struct kernel_watch w;
    double *samples = malloc(rounds * sizeof(*samples));
    int err = samples ? kernel_watch_begin(b, round, ctx, &w) : GPU_ERR_NOMEM;
    for (uint32_t i = 0; i < rounds && err == GPU_OK;) {
        bool counts = false;
        err = round(ctx, &samples[i]);
        if (err == GPU_OK)
            err = kernel_watch_round(b, &w, &counts);
        i += counts;
    }
    if (err == GPU_OK) {
        double median = kernel_median(samples, rounds);
        *out = (struct steady){median, median > 0 ? (samples[rounds - 1] - samples[0]) / median : 0,
                               w.least};
    }
    free(samples);
    return err;
}

int kernel_steady(struct kernel_bench *b, kernel_round_fn round, void *alone, void *batch,
                  uint32_t batches, struct kernel_result *out)
{
    struct steady one, many;
    int err = steady(b, round, alone, b->rounds, &one);
    if (err == GPU_OK)
        err = steady(b, round, batch, batches, &many);
    if (err < 0)
        return err;
    out->alone = one.median;
    out->batch = many.median;
    out->spread = batches > 1 ? many.spread : one.spread;
    out->clock = one.clock < many.clock ? one.clock : many.clock;
    return GPU_OK;
}
