/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rectangles of a session to those of a delivery: in the size that the frames have now, and in rows of a field where that leaves.
 */
#include "daemon/worker/blur.h"

#include <stdio.h>

_Static_assert(PELTON_MAX_BLURS <= RECON_BLURS, "a delivery takes them all");

bool blur_admit(struct session *s, struct session_format *format, bool fields, char why[128])
{
    struct pelton_open_params *p = &s->params;
    if (!p->n_blur)
        return true;
    if (!p->blur_width) {
        p->blur_width = format->width;
        p->blur_height = format->height * (fields ? 2 : 1);
    }
    for (uint32_t i = 0; i < p->n_blur; i++) {
        const struct pelton_rect *r = &p->blur[i];
        if (r->x >= p->blur_width || r->y >= p->blur_height) {
            snprintf(why, 128, "the rectangle to be blurred at %u,%u lies outside of the picture, %ux%u", r->x, r->y, p->blur_width, p->blur_height);
            return false;
        }
    }
    format->blur_width = p->blur_width;
    format->blur_height = p->blur_height;
    return true;
}

/* [*begin, *begin + *size) of `was` samples to as many of `is` as touch it. Coordinates are below 2^16 (blur_rect_valid). */
static void scale(uint32_t was, uint32_t is, uint32_t *begin, uint32_t *size)
{
    uint64_t end = (uint64_t)*begin + *size;
    end = end > was ? was : end;
    end = (end * is + was - 1) / was;
    *begin = (uint32_t)((uint64_t)*begin * is / was);
    *size = (uint32_t)end - *begin;
}

void blur_delivery(const struct session *s, struct recon_delivery *d)
{
    bool field = d->structure == REC_TOP || d->structure == REC_BOTTOM;
    d->blur_count = s->params.n_blur;
    for (uint32_t i = 0; i < d->blur_count; i++) {
        const struct pelton_rect *r = &s->params.blur[i];
        struct recon_rect *to = &d->blur[i];
        *to = (struct recon_rect){r->x, r->y, r->width, r->height};
        scale(s->params.blur_width, d->width, &to->x, &to->width);
        scale(s->params.blur_height, d->height * (field ? 2 : 1), &to->y, &to->height);
        if (field) { /* its rows that lie in it, and one more where it begins or ends between two */
            uint32_t end = (to->y + to->height + 1) / 2;
            to->y /= 2;
            to->height = end - to->y;
        }
    }
}
