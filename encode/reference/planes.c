/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma planes of the motion search.
 */
#include "encode/reference/planes.h"

#include <stdlib.h>
#include <string.h>

bool plane_create(struct sample_plane *plane, int width, int height, int margin)
{
    size_t rows = (size_t)(height + 2 * margin);
    memset(plane, 0, sizeof(*plane));
    plane->width = width;
    plane->height = height;
    plane->margin = margin;
    plane->stride = width + 2 * margin;
    plane->memory = calloc(rows * (size_t)plane->stride, sizeof(plane->memory[0]));
    if (!plane->memory)
        return false;
    plane->origin = plane->memory + margin * plane->stride + margin;
    return true;
}

void plane_free(struct sample_plane *plane)
{
    free(plane->memory);
    memset(plane, 0, sizeof(*plane));
}

void plane_extend(struct sample_plane *plane)
{
    size_t row_size = (size_t)plane->stride * sizeof(uint16_t);
    for (int y = 0; y < plane->height; y++) {
        uint16_t *row = plane_at(plane, 0, y);
        for (int i = 1; i <= plane->margin; i++) {
            row[-i] = row[0];
            row[plane->width - 1 + i] = row[plane->width - 1];
        }
    }
    for (int i = 1; i <= plane->margin; i++) {
        memcpy(plane_at(plane, -plane->margin, -i), plane_at(plane, -plane->margin, 0), row_size);
        memcpy(plane_at(plane, -plane->margin, plane->height - 1 + i),
               plane_at(plane, -plane->margin, plane->height - 1), row_size);
    }
}

void plane_reduce(const struct sample_plane *from, struct sample_plane *to)
{
    for (int y = 0; y < to->height; y++)
        for (int x = 0; x < to->width; x++) {
            const uint16_t *s = plane_at(from, 2 * x, 2 * y);
            *plane_at(to, x, y) =
                (uint16_t)((s[0] + s[1] + s[from->stride] + s[from->stride + 1] + 2) >> 2);
        }
    plane_extend(to);
}

bool luma_planes_create(struct luma_planes *p, int width, int height, bool half_samples)
{
    bool good = true;
    memset(p, 0, sizeof(*p));
    for (int i = 0; i < (half_samples ? HALF_COUNT : 1); i++)
        good = good && plane_create(&p->full[i], width, height, PLANE_MARGIN);
    good = good && plane_create(&p->half, width / 2, height / 2, PLANE_MARGIN) &&
           plane_create(&p->quarter, width / 4, height / 4, PLANE_MARGIN);
    if (!good)
        luma_planes_free(p);
    return good;
}

void luma_planes_free(struct luma_planes *p)
{
    for (int i = 0; i < HALF_COUNT; i++)
        plane_free(&p->full[i]);
    plane_free(&p->half);
    plane_free(&p->quarter);
}

static int tap6(int a, int b, int c, int d, int e, int f)
{
    return a - 5 * b + 20 * c + 20 * d - 5 * e + f;
}

static int tap6_at(const uint16_t *s, ptrdiff_t step)
{
    return tap6(s[-2 * step], s[-step], s[0], s[step], s[2 * step], s[3 * step]);
}

static uint16_t clip8(int v)
{
    return (uint16_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* All positions whose filter stays in the margin */
static void make_half_samples(struct luma_planes *p)
{
    const struct sample_plane *g = &p->full[HALF_NONE];
    int edge = g->margin - 3;
    for (int y = -edge; y < g->height + edge; y++)
        for (int x = -edge; x < g->width + edge; x++) {
            const uint16_t *s = plane_at(g, x, y);
            *plane_at(&p->full[HALF_X], x, y) = clip8((tap6_at(s, 1) + 16) >> 5);
            *plane_at(&p->full[HALF_Y], x, y) = clip8((tap6_at(s, g->stride) + 16) >> 5);
            *plane_at(&p->full[HALF_XY], x, y) =
                clip8((tap6(tap6_at(s - 2 * g->stride, 1), tap6_at(s - g->stride, 1), tap6_at(s, 1),
                            tap6_at(s + g->stride, 1), tap6_at(s + 2 * g->stride, 1),
                            tap6_at(s + 3 * g->stride, 1)) +
                       512) >>
                      10);
        }
}

void luma_planes_load(struct luma_planes *p, const uint16_t *samples, ptrdiff_t stride)
{
    struct sample_plane *full = &p->full[HALF_NONE];
    for (int y = 0; y < full->height; y++)
        memcpy(plane_at(full, 0, y), samples + y * stride, (size_t)full->width * sizeof(*samples));
    plane_extend(full);
    plane_reduce(full, &p->half);
    plane_reduce(&p->half, &p->quarter);
    if (p->full[HALF_XY].memory)
        make_half_samples(p);
}

/* The sample at a position in half samples */
static const uint16_t *half_sample_at(const struct luma_planes *p, int x, int y)
{
    return plane_at(&p->full[(x & 1) + 2 * (y & 1)], x >> 1, y >> 1);
}

/* Table 8-12: a sample on the grid of half samples, or the mean of two next to it. Where both
 * coordinates are odd, these are b or s, and h or m. */
void luma_planes_block(const struct luma_planes *p, int x, int y, int w, int h, uint16_t *pred)
{
    int x0 = x >> 1, y0 = y >> 1, x1 = (x + 1) >> 1, y1 = (y + 1) >> 1;
    const uint16_t *a, *b;
    if (x & y & 1) {
        a = half_sample_at(p, x0 & 1 ? x0 : x1, y0 & 1 ? y1 : y0);
        b = half_sample_at(p, x0 & 1 ? x1 : x0, y0 & 1 ? y0 : y1);
    } else {
        a = half_sample_at(p, x0, y0);
        b = half_sample_at(p, x1, y1);
    }
    for (int j = 0; j < h; j++)
        for (int i = 0; i < w; i++) {
            ptrdiff_t at = j * p->full[0].stride + i;
            pred[j * w + i] = (uint16_t)((a[at] + b[at] + 1) >> 1);
        }
}
