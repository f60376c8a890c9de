/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The light in a camera's frame: see exposure_report.h.
 */
#include "client/exposure_report.h"

#include <math.h>
#include <stdio.h>

static const char *const states[] = {"searching", "converged", "locked"};

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
           states[c->ae_state], c->exposure_us, c->analogue_gain, c->digital_gain, c->mean,
           f->exposure.target, 100 * c->clipped);
    printf("black|");
    print_bars(&f->exposure);
    printf("|white\n%*s\n", 6 + (int)exposure_bin(f->exposure.target) + 8, "^ target");
}

void exposure_json(struct json *j, const struct pelton_frame *f)
{
    const struct pelton_camera *c = &f->camera;
    json_open(j, "exposure", '{');
    json_text(j, "state", states[c->ae_state]);
    json_number(j, "exposure_us", c->exposure_us);
    json_number(j, "analogue_gain", c->analogue_gain);
    json_number(j, "digital_gain", c->digital_gain);
    json_number(j, "mean", c->mean);
    json_number(j, "target", f->exposure.target);
    json_number(j, "clipped", c->clipped);
    json_open(j, "histogram", '[');
    for (uint32_t i = 0; i < PELTON_HISTOGRAM_BINS; i++)
        json_int(j, NULL, f->exposure.histogram[i]);
    json_close(j, ']');
    json_close(j, '}');
}
