/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See entropy_sums.h.
 */
#include "daemon/worker/steps/entropy_sums.h"

#include <stdio.h>

void entropy_sums_step(struct entropy_sums *s, enum entropy_step step, int64_t now_ns)
{
    if (s->step_ns)
        s->steps[step] += 1e-9 * (double)(now_ns - s->step_ns);
    s->step_ns = now_ns;
}

void entropy_sums_look(struct entropy_sums *s, enum entropy_wait wait, uint32_t busy, bool works,
                       int64_t now_ns)
{
    double seconds = 1e-9 * (double)(now_ns - s->look_ns);
    if (s->look_ns && works) {
        s->waits[s->wait] += seconds;
        s->total += seconds;
        s->busy += seconds * busy;
    }
    s->wait = wait;
    s->look_ns = now_ns;
}

void entropy_sums_text(const struct entropy_sums *s, uint32_t most, uint64_t bytes, double cpu,
                       char *line, size_t size)
{
    double n = (double)s->batches;
    snprintf(line, size,
             "entropy decoding on the GPU: %llu batches, at most %u at once, %llu pictures, %llu "
             "given back, %llu late; "
             "a batch: %.1f ms, %.1f until decoded, %.1f of the device's, %.0f bytes, its largest "
             "slice as %.0f bytes; "
             "coefficients of %llu stayed there, at most %llu MiB; "
             "the thread's CPU time: %.3f s",
             (unsigned long long)s->batches, most, (unsigned long long)s->decoded,
             (unsigned long long)s->given_back, (unsigned long long)s->late, 1e3 * s->seconds / n,
             1e3 * s->decoding / n, 1e3 * s->device / n, s->bytes / n, s->largest / n,
             (unsigned long long)s->stayed, (unsigned long long)(bytes >> 20), cpu);
}

void entropy_sums_waits(const struct entropy_sums *s, char *line, size_t size)
{
    const double *w = s->waits, percent = s->total > 0 ? 100 / s->total : 0;
    snprintf(
        line, size,
        "entropy decoding on the GPU: %.2f batches in work on average of %.1f s; of this time "
        "none more began: all in work %.0f %%, short queue %.0f %%, arrays made %.0f %%, no "
        "memory %.0f %%, results wait %.0f %%, needed too soon %.0f %%; seconds of the thread: "
        "motion %.2f, decoded %.2f, begins %.2f, rests %.2f",
        s->total > 0 ? s->busy / s->total : 0, s->total, percent * w[ENTROPY_WAIT_BATCH],
        percent * w[ENTROPY_WAIT_PICTURES], percent * w[ENTROPY_WAIT_ARRAYS],
        percent * w[ENTROPY_WAIT_MEMORY], percent * w[ENTROPY_WAIT_KEPT],
        percent * w[ENTROPY_WAIT_FAR], s->steps[ENTROPY_STEP_MOTION],
        s->steps[ENTROPY_STEP_DECODED], s->steps[ENTROPY_STEP_BEGINS],
        s->steps[ENTROPY_STEP_RESTS]);
}
