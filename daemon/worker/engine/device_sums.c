/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See device_sums.h.
 */
#include "daemon/worker/engine/device_sums.h"

#include "daemon/worker/clock.h"

#include <inttypes.h>
#include <stdio.h>

void device_sums_step(struct device_sums *s, enum device_step step)
{
    int64_t now = now_ns();
    if (s->since_ns)
        s->seconds[s->step] += 1e-9 * (double)(now - s->since_ns);
    s->since_ns = now;
    s->step = step;
    s->rounds += step == DEVICE_COMPLETES;
}

void device_sums_batch(struct device_sums *s, const struct batch *b, uint32_t frames)
{
    s->batches++;
    s->pictures += b->count;
    s->frames += frames;
    if (!b->count)
        return;
    s->choices++;
    s->ready += b->ready;
    s->blocked += b->blocked;
    s->free_slots += b->free_slots;
    s->short_of_slots += b->short_of_slots;
}

void device_sums_text(const struct device_sums *s, char *line, size_t size)
{
    const double *t = s->seconds, n = s->batches ? (double)s->batches : 1;
    double sum = 0;
    for (int i = 0; i < DEVICE_RESTS; i++)
        sum += t[i];
    const double percent = sum > 0 ? 100 / sum : 0;
    snprintf(line, size,
             "reconstruction: %" PRIu64 " batches, %.2f pictures and %.2f frames each, %" PRIu64
             " rounds; of %.2f s of work: batches done %.0f %%, sessions %.0f %%, pictures chosen "
             "%.0f %%, submitted %.0f %%, all in flight %.0f %%, none ready %.0f %%, nor in flight "
             "%.0f %%",
             s->batches, (double)s->pictures / n, (double)s->frames / n, s->rounds, sum,
             percent * t[DEVICE_COMPLETES], percent * t[DEVICE_TENDS], percent * t[DEVICE_COLLECTS],
             percent * t[DEVICE_SUBMITS], percent * t[DEVICE_WAITS_ROOM],
             percent * t[DEVICE_WAITS_MORE], percent * t[DEVICE_WAITS_ALL]);
}

void device_sums_choice(const struct device_sums *s, char *line, size_t size)
{
    const double n = s->choices ? (double)s->choices : 1;
    snprintf(line, size,
             "reconstruction: before a batch %.1f pictures were ready, %.1f of them waited for "
             "others, and %.1f slots were free; in %.0f %% of batches the next one found no slot",
             (double)s->ready / n, (double)s->blocked / n, (double)s->free_slots / n,
             100 * (double)s->short_of_slots / n);
}

void device_sums_submitting(const struct device_sums *s, char *line, size_t size)
{
    const double *t = s->submitting, ms = s->batches ? 1e3 / (double)s->batches : 0;
    snprintf(line, size,
             "reconstruction: to submit a batch: begun %.3f ms, prepared %.3f, packed %.3f, "
             "recorded %.3f, played %.3f",
             ms * t[RECON_STEP_BEGIN], ms * t[RECON_STEP_PREPARE], ms * t[RECON_STEP_PACK],
             ms * t[RECON_STEP_RECORD], ms * t[RECON_STEP_PLAY]);
}
