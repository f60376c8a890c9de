/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: the bytes of a calibration file. A good one has a lens with numbers, and every
 * camera that follows from it has numbers, too.
 */
#include "camera/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pinhole(const struct isp_pinhole *p, const char *name)
{
    if (isfinite(p->fx) && isfinite(p->fy) && isfinite(p->cx) && isfinite(p->cy) && p->fx > 0 &&
        p->fy > 0)
        return;
    fprintf(stderr, "%s: fx %g fy %g cx %g cy %g\n", name, p->fx, p->fy, p->cx, p->cy);
    abort();
}

static void check_lens(const struct calibration *c)
{
    struct isp_pinhole straight;
    for (int i = 0; i < 8; i++)
        if (!isfinite(c->lens.coefficients[i]))
            abort();
    for (int alpha = 0; alpha <= 1; alpha++)
        if (c->width && isp_lens_new_camera(&c->lens, c->width, c->height, alpha, &straight))
            check_pinhole(&straight, "straight");
}

/* The size of the input chooses one of a chain's cameras. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct calibration c;
    char why[CALIBRATION_WHY] = "";
    int err = calibration_parse(data, size, size % 3, &c, why);
    if (err < 0 && !why[0])
        abort();
    if (err < 0)
        return 0;
    check_pinhole(&c.lens.camera, "camera");
    if (c.has_projection)
        check_pinhole(&c.projection, "projection");
    check_lens(&c);
    if (calibration_scale(&c, 640, 480, why) == 0) {
        check_pinhole(&c.lens.camera, "scaled");
        check_lens(&c);
    }
    return 0;
}
