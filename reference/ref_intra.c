/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: intra prediction (8.3).
 */
#include "ref_internal.h"

/* p[x, -1] and p[-1, y] with p[-1, -1] at index -1 of both. */
static int top(const struct ref_neighbours *n, int x)
{
    return x < 0 ? n->corner_sample : n->top_samples[x];
}

static int left(const struct ref_neighbours *n, int y)
{
    return y < 0 ? n->corner_sample : n->left_samples[y];
}

static int tap3(int a, int b, int c)
{
    return (a + 2 * b + c + 2) >> 2;
}

static int tap2(int a, int b)
{
    return (a + b + 1) >> 1;
}

/* DC of size x size from what is available (8.3.1.2.3, 8.3.2.2.4, 8.3.3.3) */
static int dc_value(const struct ref_neighbours *n, int size, int bit_depth)
{
    int sum_top = 0, sum_left = 0;
    for (int i = 0; i < size; i++) {
        sum_top += n->top ? n->top_samples[i] : 0;
        sum_left += n->left ? n->left_samples[i] : 0;
    }
    if (n->top && n->left)
        return (sum_top + sum_left + size) / (2 * size);
    if (n->top || n->left)
        return (sum_top + sum_left + size / 2) / size;
    return 1 << (bit_depth - 1);
}

static int diagonal_down_right(const struct ref_neighbours *n, int x, int y)
{
    if (x > y)
        return tap3(top(n, x - y - 2), top(n, x - y - 1), top(n, x - y));
    if (x < y)
        return tap3(left(n, y - x - 2), left(n, y - x - 1), left(n, y - x));
    return tap3(top(n, 0), n->corner_sample, left(n, 0));
}

static int vertical_right(const struct ref_neighbours *n, int x, int y)
{
    int z = 2 * x - y, i = x - (y >> 1);
    if (z >= 0 && z % 2 == 0)
        return tap2(top(n, i - 1), top(n, i));
    if (z >= 0)
        return tap3(top(n, i - 2), top(n, i - 1), top(n, i));
    if (z == -1)
        return tap3(left(n, 0), n->corner_sample, top(n, 0));
    return tap3(left(n, y - 2 * x - 1), left(n, y - 2 * x - 2), left(n, y - 2 * x - 3));
}

static int horizontal_down(const struct ref_neighbours *n, int x, int y)
{
    int z = 2 * y - x, i = y - (x >> 1);
    if (z >= 0 && z % 2 == 0)
        return tap2(left(n, i - 1), left(n, i));
    if (z >= 0)
        return tap3(left(n, i - 2), left(n, i - 1), left(n, i));
    if (z == -1)
        return tap3(left(n, 0), n->corner_sample, top(n, 0));
    return tap3(top(n, x - 2 * y - 1), top(n, x - 2 * y - 2), top(n, x - 2 * y - 3));
}

static int horizontal_up(const struct ref_neighbours *n, int x, int y, int size)
{
    int z = x + 2 * y, i = y + (x >> 1), last = size - 1;
    if (z > 2 * size - 3)
        return left(n, last);
    if (z == 2 * size - 3)
        return (left(n, last - 1) + 3 * left(n, last) + 2) >> 2;
    return z % 2 == 0 ? tap2(left(n, i), left(n, i + 1))
                      : tap3(left(n, i), left(n, i + 1), left(n, i + 2));
}

static int vertical_left(const struct ref_neighbours *n, int x, int y)
{
    int i = x + (y >> 1);
    return y % 2 == 0 ? tap2(top(n, i), top(n, i + 1))
                      : tap3(top(n, i), top(n, i + 1), top(n, i + 2));
}

static int diagonal_down_left(const struct ref_neighbours *n, int x, int y, int size)
{
    if (x == size - 1 && y == size - 1)
        return (top(n, 2 * size - 2) + 3 * top(n, 2 * size - 1) + 2) >> 2;
    return tap3(top(n, x + y), top(n, x + y + 1), top(n, x + y + 2));
}

/* 8.3.1.2.1 to .9 and 8.3.2.2.2 to .10 are the same formulas in the block size. */
static int directional(int mode, const struct ref_neighbours *n, int x, int y, int size,
                       int bit_depth)
{
    switch (mode) {
    case 0:
        return top(n, x);
    case 1:
        return left(n, y);
    case 2:
        return dc_value(n, size, bit_depth);
    case 3:
        return diagonal_down_left(n, x, y, size);
    case 4:
        return diagonal_down_right(n, x, y);
    case 5:
        return vertical_right(n, x, y);
    case 6:
        return horizontal_down(n, x, y);
    case 7:
        return vertical_left(n, x, y);
    default:
        return horizontal_up(n, x, y, size);
    }
}

/* Samples marked not available at x = size.. are replaced by p[size - 1, -1]. */
static void substitute_top_right(struct ref_neighbours *n, int size)
{
    for (int x = size; x < 2 * size && n->top && !n->top_right; x++)
        n->top_samples[x] = n->top_samples[size - 1];
}

void ref_intra_4x4(int mode, const struct ref_neighbours *n, int bit_depth, uint16_t pred[16])
{
    struct ref_neighbours p = *n;
    substitute_top_right(&p, 4);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            pred[4 * y + x] = (uint16_t)directional(mode, &p, x, y, 4, bit_depth);
}

/* 8.3.2.2.1 */
static struct ref_neighbours filtered_neighbours(const struct ref_neighbours *n)
{
    struct ref_neighbours f = *n;
    if (n->top) {
        f.top_samples[0] = n->corner ? tap3(top(n, -1), top(n, 0), top(n, 1))
                                     : (3 * top(n, 0) + top(n, 1) + 2) >> 2;
        for (int x = 1; x < 15; x++)
            f.top_samples[x] = tap3(top(n, x - 1), top(n, x), top(n, x + 1));
        f.top_samples[15] = (top(n, 14) + 3 * top(n, 15) + 2) >> 2;
    }
    if (n->corner && n->top && n->left)
        f.corner_sample = tap3(top(n, 0), n->corner_sample, left(n, 0));
    else if (n->corner && n->top)
        f.corner_sample = (3 * n->corner_sample + top(n, 0) + 2) >> 2;
    else if (n->corner && n->left)
        f.corner_sample = (3 * n->corner_sample + left(n, 0) + 2) >> 2;
    if (n->left) {
        f.left_samples[0] = n->corner ? tap3(left(n, -1), left(n, 0), left(n, 1))
                                      : (3 * left(n, 0) + left(n, 1) + 2) >> 2;
        for (int y = 1; y < 7; y++)
            f.left_samples[y] = tap3(left(n, y - 1), left(n, y), left(n, y + 1));
        f.left_samples[7] = (left(n, 6) + 3 * left(n, 7) + 2) >> 2;
    }
    return f;
}

void ref_intra_8x8(int mode, const struct ref_neighbours *n, int bit_depth, uint16_t pred[64])
{
    struct ref_neighbours p = *n;
    substitute_top_right(&p, 8);
    p = filtered_neighbours(&p);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            pred[8 * y + x] = (uint16_t)directional(mode, &p, x, y, 8, bit_depth);
}

/* 8.3.3.4 and 8.3.4.4; b and c factors follow from the size in each direction */
static void plane(const struct ref_neighbours *n, int width, int height, int bit_depth,
                  uint16_t *pred)
{
    int half_w = width / 2, half_h = height / 2, h = 0, v = 0, a, b, c;
    for (int i = 0; i < half_w; i++)
        h += (i + 1) * (top(n, half_w + i) - top(n, half_w - 2 - i));
    for (int i = 0; i < half_h; i++)
        v += (i + 1) * (left(n, half_h + i) - left(n, half_h - 2 - i));
    a = 16 * (left(n, height - 1) + top(n, width - 1));
    b = ((width == 16 ? 5 : 34) * h + 32) >> 6;
    c = ((height == 16 ? 5 : 34) * v + 32) >> 6;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            pred[y * width + x] = (uint16_t)ref_clip1(
                (a + b * (x - half_w + 1) + c * (y - half_h + 1) + 16) >> 5, bit_depth);
}

void ref_intra_16x16(int mode, const struct ref_neighbours *n, int bit_depth, uint16_t pred[256])
{
    if (mode == 3) {
        plane(n, 16, 16, bit_depth, pred);
        return;
    }
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 16; x++)
            pred[16 * y + x] = (uint16_t)(mode == 0   ? top(n, x)
                                          : mode == 1 ? left(n, y)
                                                      : dc_value(n, 16, bit_depth));
}

/* 8.3.4.1 to .3: DC of the 4x4 chroma block at (x, y) */
static int chroma_dc(const struct ref_neighbours *n, int x, int y, int bit_depth)
{
    struct ref_neighbours p = *n;
    for (int i = 0; i < 4; i++) {
        p.top_samples[i] = n->top ? n->top_samples[x + i] : 0;
        p.left_samples[i] = n->left ? n->left_samples[y + i] : 0;
    }
    if (x > 0 && y == 0 && n->top)
        p.left = false;
    if (x == 0 && y > 0 && n->left)
        p.top = false;
    return dc_value(&p, 4, bit_depth);
}

void ref_intra_chroma(int mode, const struct ref_neighbours *n, int height, int bit_depth,
                      uint16_t *pred)
{
    if (mode == 3) {
        plane(n, 8, height, bit_depth, pred);
        return;
    }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < 8; x++)
            pred[8 * y + x] = (uint16_t)(mode == 0   ? chroma_dc(n, x & ~3, y & ~3, bit_depth)
                                         : mode == 1 ? left(n, y)
                                                     : top(n, x));
}

/* ---- in the picture ---- */

void ref_intra_avail(uint8_t intra_avail, int blk_x, int blk_y, int size, struct ref_neighbours *n)
{
    int step = size / 4; /* blk_x, blk_y in units of 4 samples */
    bool a = (intra_avail & (blk_y < 2 ? REC_AVAIL_A_UPPER : REC_AVAIL_A_LOWER)) != 0;
    bool b = (intra_avail & REC_AVAIL_B) != 0;
    if (size == 16)
        a = (intra_avail & REC_AVAIL_A) == REC_AVAIL_A;
    n->left = blk_x > 0 || a;
    n->top = blk_y > 0 || b;
    if (blk_x > 0)
        n->corner = blk_y > 0 || b;
    else if (blk_y > 0) /* in A, one row above the block */
        n->corner = (intra_avail & (blk_y == 2   ? REC_AVAIL_A_UPPER | REC_AVAIL_D8
                                    : blk_y == 1 ? REC_AVAIL_A_UPPER
                                                 : REC_AVAIL_A_LOWER)) != 0;
    else
        n->corner = (intra_avail & REC_AVAIL_D) != 0;
    if (blk_y == 0)
        n->top_right = blk_x + step < 4 ? b : (intra_avail & REC_AVAIL_C) != 0;
    else /* inside the macroblock: decoded already? (6.4.3) */
        n->top_right =
            blk_x + step < 4 && ref_blk_idx(blk_x + step, blk_y - 1) < ref_blk_idx(blk_x, blk_y);
}

/* Where a macroblock's component lies, and the samples around it; those that are not available are
 * NULL. */
struct target {
    const struct rec_view *view;
    uint32_t mb;
    int component;
    uint16_t *origin; /* its upper left sample */
    ptrdiff_t stride;
    int width, height;
    int bit_depth;
    const int32_t *residual; /* stride width */
    const uint16_t *left[16], *top, *top_right, *corner;
};

/* The sample at (x, y) relative to the macroblock, outside of it (6.4.12) */
static const uint16_t *outside(const struct target *t, const struct ref_plane *plane, int x, int y)
{
    int row;
    uint32_t mb = ref_neighbour_mb(t->view, t->mb, x, y, t->width, t->height, &row);
    struct ref_place at = ref_place_of(t->view, mb, t->component);
    return plane->samples + (at.y + row * at.step) * plane->stride + at.x +
           (x + t->width) % t->width;
}

static void find_outside(struct target *t, const struct ref_plane *plane)
{
    unsigned avail = t->view->mbs[t->mb].intra_avail;
    for (int y = 0; y < t->height; y++)
        if (avail & (y < t->height / 2 ? REC_AVAIL_A_UPPER : REC_AVAIL_A_LOWER))
            t->left[y] = outside(t, plane, -1, y);
    if (avail & REC_AVAIL_D8)
        t->left[t->height / 2 - 1] = outside(t, plane, -1, t->height / 2 - 1);
    if (avail & REC_AVAIL_B)
        t->top = outside(t, plane, 0, -1);
    if (avail & REC_AVAIL_C)
        t->top_right = outside(t, plane, t->width, -1);
    if (avail & REC_AVAIL_D)
        t->corner = outside(t, plane, -1, -1);
}

static int above(const struct target *t, int x, int y)
{
    if (y > 0)
        return t->origin[(y - 1) * t->stride + x];
    return x < t->width ? t->top[x] : t->top_right[x - t->width];
}

static int corner_of(const struct target *t, int x, int y)
{
    if (x > 0)
        return above(t, x - 1, y);
    return y > 0 ? *t->left[y - 1] : *t->corner;
}

static void load_neighbours(const struct target *t, int x, int y, int width, int height,
                            struct ref_neighbours *n)
{
    for (int i = 0; n->left && i < height; i++)
        n->left_samples[i] = x > 0 ? t->origin[(y + i) * t->stride + x - 1] : *t->left[y + i];
    for (int i = 0; n->top && i < width; i++)
        n->top_samples[i] = above(t, x + i, y);
    for (int i = width; n->top_right && i < 2 * width; i++)
        n->top_samples[i] = above(t, x + i, y);
    if (n->corner)
        n->corner_sample = corner_of(t, x, y);
}

/* 8.5.14: u = Clip1(pred + residual) */
static void add_residual(const struct target *t, int x, int y, int width, int height,
                         const uint16_t *pred)
{
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            t->origin[(y + j) * t->stride + x + i] = (uint16_t)ref_clip1(
                pred[j * width + i] + t->residual[(y + j) * t->width + x + i], t->bit_depth);
}

static void store(const struct target *t, int x, int y, int width, int height,
                  const uint16_t *samples)
{
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            t->origin[(y + j) * t->stride + x + i] = samples[j * width + i];
}

static void intra_nxn(const struct rec_mb *mb, const struct target *t, int size)
{
    int step = size / 4;
    for (int blk = 0; blk < 16; blk += step * step) {
        int mode = (int)(mb->intra_mode[blk >> 3] >> (4 * (blk & 7)) & 15);
        int bx = ref_blk_x(blk), by = ref_blk_y(blk);
        struct ref_neighbours n = {0};
        uint16_t pred[64];
        ref_intra_avail(mb->intra_avail, bx, by, size, &n);
        load_neighbours(t, 4 * bx, 4 * by, size, size, &n);
        if (size == 4)
            ref_intra_4x4(mode, &n, t->bit_depth, pred);
        else
            ref_intra_8x8(mode, &n, t->bit_depth, pred);
        if (ref_is_switching(t->view, t->mb)) {
            ref_switching_luma(t->view, t->mb, blk, pred, pred);
            store(t, 4 * bx, 4 * by, 4, 4, pred);
        } else {
            add_residual(t, 4 * bx, 4 * by, size, size, pred);
        }
    }
}

static void intra_16x16(const struct rec_mb *mb, const struct target *t)
{
    struct ref_neighbours n = {0};
    uint16_t pred[256];
    ref_intra_avail(mb->intra_avail, 0, 0, 16, &n);
    n.top_right = false;
    load_neighbours(t, 0, 0, t->width, t->height, &n);
    ref_intra_16x16((int)(mb->intra_mode[0] & 15), &n, t->bit_depth, pred);
    add_residual(t, 0, 0, t->width, t->height, pred);
}

/* DC prediction looks at each 4x4 block's own neighbours (8.3.4), so the halves of A count
 * separately. */
static void predict_chroma(const struct rec_mb *mb, const struct target *t, uint16_t pred[128])
{
    struct ref_neighbours n = {0};
    ref_intra_avail(mb->intra_avail, 0, 0, 16, &n);
    n.top_right = false;
    if (mb->intra_chroma_mode != 0 || n.left || !(mb->intra_avail & REC_AVAIL_A)) {
        load_neighbours(t, 0, 0, t->width, t->height, &n);
        ref_intra_chroma(mb->intra_chroma_mode, &n, t->height, t->bit_depth, pred);
        return;
    }
    load_neighbours(t, 0, 0, t->width, t->height, &n);
    for (int half = 0; half < 2; half++) {
        struct ref_neighbours part = n;
        uint16_t whole[128];
        int from = half * t->height / 2;
        part.left = mb->intra_avail & (half ? REC_AVAIL_A_LOWER : REC_AVAIL_A_UPPER);
        for (int y = from; part.left && y < from + t->height / 2; y++)
            part.left_samples[y] = *t->left[y];
        ref_intra_chroma(0, &part, t->height, t->bit_depth, whole);
        memcpy(pred + from * 8, whole + from * 8, (size_t)t->height / 2 * 8 * sizeof(pred[0]));
    }
}

static void intra_chroma(const struct rec_mb *mb, const struct target *t)
{
    uint16_t pred[128];
    predict_chroma(mb, t, pred);
    if (ref_is_switching(t->view, t->mb)) {
        ref_switching_chroma(t->view, t->mb, t->component, pred, pred);
        store(t, 0, 0, t->width, t->height, pred);
    } else {
        add_residual(t, 0, 0, t->width, t->height, pred);
    }
}

void ref_intra_mb(const struct rec_view *view, uint32_t mb, const int32_t residual[3][256],
                  struct ref_frame *unfiltered)
{
    static const uint16_t zero[256];
    const struct rec_mb *m = &view->mbs[mb];
    for (int i = 0; i < 3; i++) {
        struct ref_place at = ref_place_of(view, mb, i);
        struct target t = {
            .view = view,
            .mb = mb,
            .component = i,
            .width = at.width,
            .height = at.height,
            .bit_depth = ref_bit_depth(view, i),
            .residual = residual[i],
        };
        struct ref_plane plane;

        if (!t.width)
            continue;
        plane = ref_plane_of(unfiltered, ref_plane_index(view, i), view->head.structure);
        t.origin = plane.samples + at.y * plane.stride + at.x;
        t.stride = plane.stride * at.step;
        find_outside(&t, &plane);
        if (m->kind == REC_MB_INTRA_PCM)
            add_residual(&t, 0, 0, t.width, t.height, zero);
        else if (i > 0 && view->head.chroma_format_idc != 3)
            intra_chroma(m, &t);
        else if (m->kind == REC_MB_INTRA_16X16)
            intra_16x16(m, &t);
        else
            intra_nxn(m, &t, m->kind == REC_MB_INTRA_8X8 ? 8 : 4);
    }
}
