/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The model of pelton bench --stages.
 *
 * Bytes: the least that a pass moves through device memory. Caches hold nothing of the pass before,
 * and all of the pass itself; each record and sample counts once. Arithmetic follows the standard's
 * formulas; additions, multiplications and shifts count alike. An inverse 4x4 transform with
 * scaling takes 96 for 16 coefficients (8.5.12). Six taps take 11, and both directions 2.3 times
 * that, with the rows around the block. Bilinear chroma takes 8 (8.4.2.2), a filtered line of 8
 * samples 20 (8.7.2), an intra sample 4 (8.3).
 *
 * The model does not know the number of intra macroblocks: its intra pass only looks for them.
 */
#include "client/bench_model.h"

#include <stdio.h>
#include <string.h>

#define RECORD_BYTES 32.0  /* struct rec_mb */
#define MOTION_BYTES 136.0 /* struct rec_motion */
/* classification writes one word for each luma block, and one for each chroma quadrant */
#define LIST_BYTES     80.0
#define STRENGTH_BYTES 32.0

bool bench_model(const struct bench *b, struct model_pass passes[MODEL_PASSES])
{
    const struct bench_run *run = &b->runs[BENCH_DELIVERED];
    const struct pelton_stats *s = &run->total;
    const uint64_t columns = b->info.coded_width / 16, rows = b->info.coded_height / 16;
    double frames = (double)run->frames, mbs = (double)(columns * rows);
    double luma = mbs * 256, frame = luma * 1.5;
    if (run->frames == 0 || s->gpu_deblock <= 0 || strcmp(b->info.pix_fmt, "yuv420p"))
        return false;
    double uploaded = (double)s->bytes_uploaded / frames,
           records = mbs * (RECORD_BYTES + MOTION_BYTES);
    double levels = uploaded > records ? uploaded - records : 0;
    const struct model_pass p[MODEL_PASSES] = {
        {"upload", 0, uploaded, uploaded, true, s->gpu_upload / frames, 0},
        {"classify", mbs * 16 * 20, records, mbs * LIST_BYTES, false, s->gpu_classify / frames, 0},
        {"residual", levels / 2 * 6, levels, levels, false, s->gpu_residual / frames, 0},
        {"inter", luma * (11 * 2.3 + 8 * 0.5), frame + mbs * MOTION_BYTES + levels, frame, false,
         s->gpu_inter / frames, 0},
        {"intra", 0, mbs * RECORD_BYTES, 0, false, s->gpu_intra / frames, 0},
        {"deblock", luma * 1.5 * (2.0 / 4 * 20), frame + mbs * (RECORD_BYTES + STRENGTH_BYTES),
         frame, false, s->gpu_deblock / frames, 0},
        {"deliver", 0, frame, (double)s->bytes_delivered / frames, true, s->gpu_deliver / frames,
         0},
    };
    memcpy(passes, p, sizeof(p));
    for (int i = 0; i < MODEL_PASSES; i++)
        if (!passes[i].bus && s->device_bandwidth > 0)
            passes[i].floor = (passes[i].bytes_in + passes[i].bytes_out) / s->device_bandwidth;
    return true;
}

void bench_model_print(const struct bench *b)
{
    struct model_pass passes[MODEL_PASSES];
    if (!bench_model(b, passes))
        return;
    printf("\nmodel of a frame; device memory %.0f GB/s, read and written\n",
           b->runs[BENCH_DELIVERED].total.device_bandwidth * 1e-9);
    printf("  %-10s %8s %8s %8s %10s %12s %8s\n", "pass", "Mop", "MB in", "MB out", "floor, us",
           "measured, us", "ratio");
    for (int i = 0; i < MODEL_PASSES; i++) {
        const struct model_pass *p = &passes[i];
        printf("  %-10s %8.1f %8.2f %8.2f ", p->name, p->operations * 1e-6, p->bytes_in * 1e-6,
               p->bytes_out * 1e-6);
        if (p->floor > 0) {
            printf("%10.1f %12.1f %8.1f\n", p->floor * 1e6, p->seconds * 1e6,
                   p->seconds / p->floor);
        } else if (p->bus && p->seconds > 0) {
            printf("%10s %12.1f %8s (%.1f GB/s over the bus)\n", "-", p->seconds * 1e6, "-",
                   p->bytes_out / p->seconds * 1e-9);
        } else {
            printf("%10s %12.1f %8s\n", "-", p->seconds * 1e6, "-");
        }
    }
}
