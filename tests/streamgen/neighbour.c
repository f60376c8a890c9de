/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Neighbouring macroblocks and locations (6.4.8 to 6.4.12), Table 6-4 line by line.
 */
#include "mbw.h"

/* The macroblock, or the top one of the pair in MBAFF frames, dx columns and dy rows away; NULL:
 * not available. */
static const struct mb *unit(const struct mbw *w, int dx, int dy)
{
    unsigned mbaff = w->pic->mbaff, at = w->addr >> mbaff;
    int x = (int)(at % w->pic->width) + dx, y = (int)(at / w->pic->width) + dy;
    const struct mb *mb;
    if (x < 0 || y < 0 || x >= (int)w->pic->width)
        return NULL;
    mb = &w->pic->mbs[(unsigned)(y * (int)w->pic->width + x) << mbaff];
    return mb->slice == w->number ? mb : NULL;
}

const struct mb *pair_a(const struct mbw *w)
{
    return unit(w, -1, 0);
}

const struct mb *pair_b(const struct mbw *w)
{
    return unit(w, 0, -1);
}

/* Table 6-4, xN < 0, yN < 0 */
static struct location left_above(const struct mbw *w, int y, int height)
{
    bool frame = !w->mb->field, top = !(w->addr & 1);
    const struct mb *d = unit(w, -1, -1), *a = pair_a(w);
    if (frame && !top) {
        if (!a)
            return (struct location){0};
        return a->field ? (struct location){a + 1, -1, (y + height) >> 1}
                        : (struct location){a, -1, y};
    }
    if (!d)
        return (struct location){0};
    if (frame || !top)
        return (struct location){d + 1, -1, y};
    return d->field ? (struct location){d, -1, y} : (struct location){d + 1, -1, 2 * y};
}

/* Table 6-4, xN < 0, yN >= 0 */
static struct location left(const struct mbw *w, int y, int height)
{
    bool frame = !w->mb->field, top = !(w->addr & 1);
    const struct mb *a = pair_a(w);
    int row;
    if (!a)
        return (struct location){0};
    if (frame == !a->field)
        return (struct location){a + !top, -1, y};
    if (frame) { /* rows of the fields alternate */
        row = top ? y : y + height;
        return (struct location){a + (row & 1), -1, row >> 1};
    }
    row = top ? 2 * y : 2 * y + 1;
    return row < height ? (struct location){a, -1, row}
                        : (struct location){a + 1, -1, row - height};
}

/* Table 6-4, 0 <= xN < maxW, yN < 0 */
static struct location above(const struct mbw *w, int y)
{
    bool frame = !w->mb->field, top = !(w->addr & 1);
    const struct mb *b = pair_b(w);
    if (frame && !top)
        return (struct location){w->mb - 1, 0, y};
    if (!b)
        return (struct location){0};
    if (frame || !top)
        return (struct location){b + 1, 0, y};
    return b->field ? (struct location){b, 0, y} : (struct location){b + 1, 0, 2 * y};
}

struct location neighbour(const struct mbw *w, int x, int y, int width, int height)
{
    struct location at = {w->mb, x, y};
    if (x >= 0 && y >= 0)
        return at;
    if (!w->pic->mbaff) {
        at.mb = unit(w, x < 0 ? -1 : 0, y < 0 ? -1 : 0);
    } else if (x < 0) {
        at = y < 0 ? left_above(w, y, height) : left(w, y, height);
    } else {
        at = above(w, y);
        at.x = x;
    }
    at.x = (at.x + width) % width; /* 6.4.12.1: xW, yW */
    at.y = (at.y + 2 * height) % height;
    return at;
}

const struct mb *neighbour_a(const struct mbw *w)
{
    return neighbour(w, -1, 0, 16, 16).mb;
}

const struct mb *neighbour_b(const struct mbw *w)
{
    return neighbour(w, 0, -1, 16, 16).mb;
}
