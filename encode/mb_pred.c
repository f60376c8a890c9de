/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mb_pred() and sub_mb_pred() (7.3.5.1, 7.3.5.2): prediction of intra modes (8.3.1.1, 8.3.2.1),
 * references and vector differences with the sums of those around them.
 */
#include "encode/mb_writer.h"

#include "codec/motion_grid.h"

/* ---- intra modes ---- */

void write_intra_modes(struct mb_writer *w)
{
    bool t8x8 = w->mb->flags & REC_MB_TRANSFORM_8X8;
    int8_t grid[GRID_SIZE];
    memcpy(&grid[GRID(0, -1)], w->b->mode_bottom, 4);
    for (int y = 0; y < 4; y++)
        grid[GRID(-1, y)] = w->a->mode_right[y];
    for (unsigned blk = 0; blk < 16; blk += t8x8 ? 4 : 1) {
        int8_t *at = &grid[GRID((int)mb_blk_x(blk), (int)mb_blk_y(blk))];
        int mode = (int)(w->mb->intra_mode[blk >> 3] >> 4 * (blk & 7) & 15),
            predicted = at[-1] < at[-GRID_ROW] ? at[-1] : at[-GRID_ROW];

        put_intra_mode(w, predicted == MODE_NONE ? 2 : predicted, mode);
        at[0] = (int8_t)mode;
        if (t8x8)
            at[1] = at[GRID_ROW] = at[GRID_ROW + 1] = (int8_t)mode;
    }
    for (int y = 0; y < 4; y++)
        w->edge.mode_right[y] = grid[GRID(3, y)];
    memcpy(w->edge.mode_bottom, &grid[GRID(0, 3)], 4);
}

/* ---- references ---- */

/* Of a quadrant: ref_idx > 0 of A and B, inside the macroblock or in their edges */
static unsigned ref_inc(const struct mb_writer *w, unsigned q)
{
    const int8_t *ref = w->motion->ref_idx[0];
    unsigned a = q & 1 ? ref[q - 1] > 0 : w->a->ref_gt0 >> (q + 1) & 1,
             b = q & 2 ? ref[q - 2] > 0 : w->b->ref_gt0 >> (q + 2) & 1;
    return a + 2 * b;
}

static void write_refs(struct mb_writer *w)
{
    static const uint8_t parts[4][4] = {{0}, {0, 2}, {0, 1}, {0, 1, 2, 3}}; /* first quadrants */
    static const uint8_t counts[4] = {1, 2, 2, 4};
    for (unsigned i = 0; i < counts[w->plan.part]; i++) {
        unsigned q = parts[w->plan.part][i];
        put_ref_idx(w, ref_inc(w, q), (unsigned)w->motion->ref_idx[0][q]);
    }
    for (unsigned q = 0; q < 4; q++)
        w->edge.ref_gt0 |= (uint8_t)((w->motion->ref_idx[0][q] > 0) << q);
}

/* ---- vector differences ---- */

/* |mvd| of blocks and of those around the macroblock, at GRID(x, y) */
struct mvd_grid {
    uint8_t of[GRID_SIZE][2];
};

static void mvd_begin(const struct mb_writer *w, struct mvd_grid *g)
{
    memcpy(g->of[GRID(0, -1)], w->b->u.mvd.bottom[0], 8);
    for (int y = 0; y < 4; y++)
        memcpy(g->of[GRID(-1, y)], w->a->u.mvd.right[0][y], 2);
}

static void mvd_end(struct mb_writer *w, const struct mvd_grid *g)
{
    memcpy(w->edge.u.mvd.bottom[0], g->of[GRID(0, 3)], 8);
    for (int y = 0; y < 4; y++)
        memcpy(w->edge.u.mvd.right[0][y], g->of[GRID(3, y)], 2);
}

static uint8_t clamped(int mvd)
{
    int magnitude = mvd < 0 ? -mvd : mvd;
    return (uint8_t)(magnitude < 255 ? magnitude : 255);
}

/* Of the partition of width x height blocks at (x, y) */
static void write_mvd(struct mb_writer *w, struct mvd_grid *g, int x, int y, int width, int height)
{
    const int16_t *mvd = w->plan.mvd[4 * y + x];
    uint8_t(*at)[2] = &g->of[GRID(x, y)];
    const unsigned sum[2] = {(unsigned)at[-1][0] + at[-GRID_ROW][0],
                             (unsigned)at[-1][1] + at[-GRID_ROW][1]};
    put_mvd(w, sum, mvd);
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            for (int k = 0; k < 2; k++)
                at[j * GRID_ROW + i][k] = clamped(mvd[k]);
}

static void write_sub_mvds(struct mb_writer *w, struct mvd_grid *g, int q)
{
    int x0 = (q & 1) * 2, y0 = q & 2, width = sub_width[w->plan.sub[q]],
        height = sub_height[w->plan.sub[q]];
    for (int y = y0; y < y0 + 2; y += height)
        for (int x = x0; x < x0 + 2; x += width)
            write_mvd(w, g, x, y, width, height);
}

static void write_mvds(struct mb_writer *w, struct mvd_grid *g)
{
    switch (w->plan.part) {
    case H264_PART_16X16:
        write_mvd(w, g, 0, 0, 4, 4);
        break;
    case H264_PART_16X8:
        write_mvd(w, g, 0, 0, 4, 2);
        write_mvd(w, g, 0, 2, 4, 2);
        break;
    case H264_PART_8X16:
        write_mvd(w, g, 0, 0, 2, 4);
        write_mvd(w, g, 2, 0, 2, 4);
        break;
    default:
        for (int q = 0; q < 4; q++)
            write_sub_mvds(w, g, q);
    }
}

void write_inter_pred(struct mb_writer *w)
{
    struct mvd_grid grid = {0};
    for (unsigned q = 0; q < 4 && w->plan.part == H264_PART_8X8; q++)
        put_sub_mb_type(w, w->plan.sub[q]);
    write_refs(w);
    if (mb_writer_cabac(w))
        mvd_begin(w, &grid);
    write_mvds(w, &grid);
    if (mb_writer_cabac(w))
        mvd_end(w, &grid);
}
