/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Privacy blur, plainly: which samples of a plane are inside, the mean of each cell, and straight
 * lines between the cells' middles.
 */
#include "reference/ref_blur.h"

struct area {
    uint32_t left, top, right, bottom; /* samples of the plane */
    uint32_t columns, rows;            /* cells */
};

/* The plane's sample that belongs to a luma sample (6.2); in a woven picture the rows of both
 * fields count. */
static void grow(const struct ref_blur_plane *p, uint32_t x, uint32_t y, struct area *a)
{
    uint32_t px = x >> p->shift_x, top = y >> p->shift_y, bottom = top;
    if (p->woven && p->shift_y) {
        top = 2 * (y >> 2);
        bottom = top + 1;
    }
    a->left = px < a->left ? px : a->left;
    a->right = px + 1 > a->right ? px + 1 : a->right;
    a->top = top < a->top ? top : a->top;
    a->bottom = bottom + 1 > a->bottom ? bottom + 1 : a->bottom;
    a->bottom = a->bottom > p->height ? p->height : a->bottom;
}

/* 16 luma samples or more a cell, at most 8 cells. */
static uint32_t cells(uint32_t luma)
{
    return luma < 32 ? 1 : luma / 16 > 8 ? 8 : luma / 16;
}

static struct area area_of(const struct ref_blur_plane *p, const struct ref_rect *r)
{
    struct area a = {.left = UINT32_MAX, .top = UINT32_MAX};
    uint32_t width = 0, height = 0;
    for (uint32_t y = r->y; y < p->picture_height && y - r->y < r->height; y++, height++) {
        width = 0;
        for (uint32_t x = r->x; x < p->picture_width && x - r->x < r->width; x++, width++)
            grow(p, x, y, &a);
    }
    a.columns = cells(width);
    a.rows = cells(height);
    return a;
}

static uint32_t mean(const struct ref_blur_plane *p, const struct area *a, uint32_t column,
                     uint32_t row, const uint16_t *from)
{
    uint32_t w = a->right - a->left, h = a->bottom - a->top;
    uint32_t x0 = column * w / a->columns, x1 = (column + 1) * w / a->columns,
             y0 = row * h / a->rows, y1 = (row + 1) * h / a->rows;
    /* large cells are sampled */
    uint32_t skip_x = (x1 - x0 + 255) / 256, skip_y = (y1 - y0 + 255) / 256;
    uint64_t sum = 0, count = 0;
    for (uint32_t y = y0; y < y1; y += skip_y)
        for (uint32_t x = x0; x < x1; x += skip_x, count++)
            sum += from[(uint64_t)(a->top + y) * p->width + a->left + x];
    return (uint32_t)((sum + count / 2) / count);
}

/* Where a sample lies between the middles of two cells, in 1/64. */
static void between(uint32_t at, uint32_t size, uint32_t n, uint32_t cell[2], uint32_t *part)
{
    int64_t u = (int64_t)(2 * at + 1) * n * 32 / size - 32;
    int64_t first = u < 0 ? -1 : u / 64;
    *part = (uint32_t)(u - 64 * first);
    cell[0] = first < 0 ? 0 : (uint32_t)first;
    cell[1] = first + 1 >= n ? n - 1 : (uint32_t)(first + 1);
}

static uint16_t joined(const struct area *a, uint32_t means[8][8], uint32_t x, uint32_t y)
{
    uint32_t cx[2], cy[2], fx, fy;
    between(x - a->left, a->right - a->left, a->columns, cx, &fx);
    between(y - a->top, a->bottom - a->top, a->rows, cy, &fy);
    uint32_t upper = (64 - fx) * means[cy[0]][cx[0]] + fx * means[cy[0]][cx[1]];
    uint32_t lower = (64 - fx) * means[cy[1]][cx[0]] + fx * means[cy[1]][cx[1]];
    return (uint16_t)(((64 - fy) * upper + fy * lower + 2048) / 4096);
}

void ref_blur(const struct ref_blur_plane *p, const struct ref_rect *rects, uint32_t count,
              const uint16_t *from, uint16_t *to)
{
    for (uint64_t i = 0; i < (uint64_t)p->width * p->height; i++)
        to[i] = from[i];
    for (uint32_t i = count; i-- > 0;) { /* the first rectangle stays on top */
        struct area a = area_of(p, &rects[i]);
        uint32_t means[8][8];
        for (uint32_t row = 0; row < a.rows; row++)
            for (uint32_t column = 0; column < a.columns; column++)
                means[row][column] = mean(p, &a, column, row, from);
        for (uint32_t y = a.top; y < a.bottom; y++)
            for (uint32_t x = a.left; x < a.right; x++)
                to[(uint64_t)y * p->width + x] = joined(&a, means, x, y);
    }
}
