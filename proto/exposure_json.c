/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The light in a camera's frame as JSON: see exposure_json.h.
 */
#include "proto/exposure_json.h"

const char *exposure_state(const struct pelton_frame *f)
{
    static const char *const states[] = {"searching", "converged", "locked"};
    return states[f->camera.ae_state];
}

void exposure_json(struct json *j, const struct pelton_frame *f)
{
    const struct pelton_camera *c = &f->camera;
    json_open(j, "exposure", '{');
    json_text(j, "ae_state", exposure_state(f));
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
