/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Scaling of blurred rectangles to the size that the frames have now.
 */
#include "daemon/worker/feed/blur_rects.h"

#include <stdio.h>

_Static_assert(PELTON_MAX_BLURS <= RECON_BLURS, "a delivery takes them all");

bool blur_outside(const struct pelton_open_params *p, uint32_t width, uint32_t height,
                  char why[128])
{
    for (uint32_t i = 0; i < p->n_blur; i++) {
        const struct pelton_rect *r = &p->blur[i];
        if (r->x >= width || r->y >= height) {
            snprintf(why, 128,
                     "the rectangle to be blurred at %u,%u lies outside of the picture, %ux%u",
                     r->x, r->y, width, height);
            return true;
        }
    }
    return false;
}

bool blur_admit(struct pelton_open_params *p, struct feed_format *format, bool fields,
                char why[128])
{
    if (!p->n_blur)
        return true;
    if (!p->blur_width) {
        p->blur_width = format->picture_width;
        p->blur_height = format->picture_height * (fields ? 2 : 1);
    }
    format->blur_width = p->blur_width;
    format->blur_height = p->blur_height;
    return !blur_outside(p, p->blur_width, p->blur_height, why);
}

/* [*begin, *begin + *size) of `was` samples to as many of `is` as touch it. Coordinates are below
 * 2^16 (blur_rect_valid). */
static void scale(uint32_t was, uint32_t is, uint32_t *begin, uint32_t *size)
{
    uint64_t end = (uint64_t)*begin + *size;
    end = end > was ? was : end;
    end = (end * is + was - 1) / was;
    *begin = (uint32_t)((uint64_t)*begin * is / was);
    *size = (uint32_t)end - *begin;
}

struct pelton_rect blur_scaled(const struct pelton_open_params *p, uint32_t i, uint32_t width,
                               uint32_t height)
{
    struct pelton_rect r = p->blur[i];
    scale(p->blur_width ? p->blur_width : width, width, &r.x, &r.width);
    scale(p->blur_height ? p->blur_height : height, height, &r.y, &r.height);
    return r;
}

/* The rows of a rectangle that lie in one field. It has one more row where it begins or ends
 * between two. */
static struct pelton_rect rect_in_field(struct pelton_rect r)
{
    uint32_t end = (r.y + r.height + 1) / 2;
    r.y /= 2;
    r.height = end - r.y;
    return r;
}

void blur_delivery(const struct pelton_open_params *p, struct recon_delivery *d)
{
    bool field = d->structure == REC_TOP || d->structure == REC_BOTTOM;
    d->blur_count = p->n_blur;
    for (uint32_t i = 0; i < d->blur_count; i++) {
        struct pelton_rect r = blur_scaled(p, i, d->width, d->height * (field ? 2 : 1));
        r = field ? rect_in_field(r) : r;
        d->blur[i] = (struct recon_rect){r.x, r.y, r.width, r.height};
    }
}
