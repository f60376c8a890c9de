/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The slow reference of the privacy blur (gpu/shaders/lib/blur.glsl), sample by sample.
 */
#ifndef PELTON_REF_BLUR_H
#define PELTON_REF_BLUR_H

#include <stdbool.h>
#include <stdint.h>

struct ref_rect {
    uint32_t x, y, width, height; /* luma samples */
};

/* A plane of the picture that leaves. */
struct ref_blur_plane {
    uint32_t width, height; /* of the plane, in samples */
    /* how often it is halved against luma, whose size is picture_width x picture_height */
    uint32_t shift_x, shift_y;
    uint32_t picture_width, picture_height;
    bool woven; /* rows of two fields alternate */
};

/* to[height][width] is from with the rectangles blurred. */
void ref_blur(const struct ref_blur_plane *plane, const struct ref_rect *rects, uint32_t count,
              const uint16_t *from, uint16_t *to);

#endif
