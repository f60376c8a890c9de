/* SPDX-License-Identifier: BSD-2-Clause
 *
 * GPU time per stage. A timestamp is written when all commands before it on its queue have
 * finished. The time between two timestamps belongs to the commands between them. The sum over the
 * stages of a queue is the time that it worked on the batch. Queues work in parallel, so the sum
 * over all stages may exceed the elapsed time.
 */
#include "gpu/h264/recon_internal.h"

#include <string.h>

void recon_stamp(struct recon *r, struct recon_flight *f, enum recon_stage stage, uint32_t pass)
{
    gpu_work_stamp(f->s, (uint32_t)stage | pass << 8);
}

static void add_seconds(void *ctx, uint32_t name, double seconds)
{
    struct recon *r = ctx;
    const uint32_t stage = name & 0xff, pass = name >> 8;
    r->times.seconds[stage] += seconds;
    if (pass < RECON_MAX_PASSES)
        r->pass_seconds[pass] += seconds;
}

void recon_times_add(struct recon *r, const struct gpu_submission *s)
{
    gpu_work_times(s, add_seconds, r);
}

void recon_pass_times(struct recon *r, double seconds[RECON_MAX_PASSES])
{
    pthread_mutex_lock(&r->lock);
    memcpy(seconds, r->pass_seconds, sizeof(r->pass_seconds));
    pthread_mutex_unlock(&r->lock);
}

void recon_times(struct recon *r, struct recon_times *out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->times;
    pthread_mutex_unlock(&r->lock);
}
