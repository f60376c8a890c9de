/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The light in a camera's frame: see exposure_report.h.
 */
#include "client/exposure_report.h"

#include "proto/exposure_json.h"

#include <math.h>
#include <stdio.h>

static uint32_t exposure_largest(const struct pelton_exposure *e)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < PELTON_HISTOGRAM_BINS; i++)
        most = e->histogram[i] > most ? e->histogram[i] : most;
    return most;
}

/* A bin with any cell has a bar. Heights go by the root, so that small bins are seen. */
static void print_bars(const struct pelton_exposure *e)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most = exposure_largest(e);
    for (uint32_t i = 0; i < PELTON_HISTOGRAM_BINS; i++)
        printf("%s", bars[(int)ceil(8 * sqrt(e->histogram[i] / most))]);
}

static uint32_t exposure_bin(double luminance)
{
    double bin = luminance * PELTON_HISTOGRAM_BINS;
    return bin < PELTON_HISTOGRAM_BINS ? (uint32_t)bin : PELTON_HISTOGRAM_BINS - 1;
}

void exposure_print(const struct pelton_frame *f)
{
    const struct pelton_camera *c = &f->camera;
    printf("exposure: %s, %g us, gain %g x %g, mean %.3f, target %.3f, clipped %.1f %%\n",
           exposure_state(f), c->exposure_us, c->analogue_gain, c->digital_gain, c->mean,
           f->exposure.target, 100 * c->clipped);
    printf("black|");
    print_bars(&f->exposure);
    printf("|white\n%*s\n", 6 + (int)exposure_bin(f->exposure.target) + 8, "^ target");
}
