/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A macroblock of records as syntax: type, partitions, coded_block_pattern, vector differences.
 * Records that no syntax gives are refused.
 */
#include "codec/macroblock.h"
#include "codec/motion_grid.h"
#include "codec/motion_parts.h"
#include "encode/mb_writer.h"

#include <inttypes.h>
#include <stdio.h>

bool mb_refuse(struct mb_writer *w, const char *cause)
{
    snprintf(w->why, ENCODING_WHY, "macroblock %" PRIu32 ": %s", w->addr, cause);
    return false;
}

/* ---- coefficients ---- */

static bool any_level(const int16_t *block, bool with_dc)
{
    uint64_t words[4], dc = 0;
    memcpy(words, block, sizeof(words));
    if (!with_dc)
        memcpy(&dc, block, sizeof(*block));
    return ((words[0] ^ dc) | words[1] | words[2] | words[3]) != 0;
}

/* DC is apart: it makes all blocks of the component coded (records.h). */
static bool plan_dc_apart(struct mb_writer *w, unsigned c, unsigned all)
{
    unsigned coded = w->mb->coded[c];
    const int16_t *block = mb_levels(w, c);
    for (unsigned left = coded; left; left &= left - 1, block += 16) {
        w->plan.ac[c] |= (uint16_t)(any_level(block, false) ? left & -left : 0);
        w->plan.dc[c] |= block[0] != 0;
    }
    if (w->plan.dc[c] ? coded != all : coded != w->plan.ac[c])
        return mb_refuse(w, w->plan.dc[c] ? "a DC level, and blocks that are not coded"
                                          : "a coded block without levels");
    return true;
}

static bool plan_luma(struct mb_writer *w)
{
    const int16_t *block = mb_levels(w, 0);
    unsigned coded = w->mb->coded[0];
    if (w->mb->kind == REC_MB_INTRA_16X16) {
        if (!plan_dc_apart(w, 0, 0xffff))
            return false;
        w->plan.cbp = w->plan.ac[0] ? 15 : 0;
        return true;
    }
    for (unsigned left = coded; left; left &= left - 1, block += 16)
        w->plan.ac[0] |= (uint16_t)(any_level(block, true) ? left & -left : 0);
    for (unsigned q = 0; q < 4; q++) {
        unsigned of_quadrant = w->plan.ac[0] >> 4 * q & 15;
        if (w->mb->flags & REC_MB_TRANSFORM_8X8 && of_quadrant)
            w->plan.ac[0] |= (uint16_t)(15u << 4 * q);
        w->plan.cbp |= (uint8_t)((of_quadrant != 0) << q);
    }
    return coded == w->plan.ac[0] || mb_refuse(w, "a coded block without levels");
}

/* Luma bits by blkIdx to bits by raster block: bits 1 and 2 of the index change places. */
static unsigned raster_mask(unsigned mask)
{
    unsigned swap = (mask >> 2 ^ mask) & 0x0c0c;
    return mask ^ swap ^ swap << 2;
}

/* QPY of macroblocks without mb_qp_delta is the one before (7.4.5). Where it changes without a
 * level, an empty block is coded, so that there is a delta. */
static bool plan_carry_qp(struct mb_writer *w)
{
    if (w->plan.cbp || w->mb->kind == REC_MB_INTRA_16X16 || w->mb->qp[0] == w->qp)
        return true;
    if (w->mb->flags & REC_MB_SKIP)
        return mb_refuse(w, "QP changes in a skipped macroblock");
    if (w->slice.view->head.chroma_format_idc)
        w->plan.cbp = 1 << 4;
    else if (w->mb->flags & REC_MB_TRANSFORM_8X8 && mb_writer_cabac(w))
        return mb_refuse(w, "QP changes in 8x8 blocks without levels");
    else
        w->plan.cbp = 1;
    return true;
}

static bool plan_coefficients(struct mb_writer *w)
{
    struct mb_plan *plan = &w->plan;
    if (!plan_luma(w) || !plan_dc_apart(w, 1, 15) || !plan_dc_apart(w, 2, 15))
        return false;
    if (w->mb->nonzero != raster_mask(w->mb->coded[0]))
        return mb_refuse(w, "nonzero does not agree with coded");
    plan->cbp |= (uint8_t)(plan->ac[1] | plan->ac[2] ? 2 << 4 : (plan->dc[1] | plan->dc[2]) << 4);
    if (mb_is_intra(w->mb) || !(plan->flags & REC_MB_TRANSFORM_8X8) || plan->cbp & 15)
        return plan_carry_qp(w);
    if (mb_writer_cabac(w))
        return mb_refuse(w, "8x8 transform without levels");
    plan->cbp |= 1;
    return true;
}

/* ---- partitions: the largest that have one vector and one reference ---- */

static bool same_mv(const struct rec_motion *m, unsigned a, unsigned b)
{
    return memcmp(m->mv[0][a], m->mv[0][b], sizeof(m->mv[0][0])) == 0;
}

/* Quadrants q and r have one reference and one vector. */
static bool same_quadrants(const struct rec_motion *m, unsigned q, unsigned r)
{
    return m->ref_idx[0][q] == m->ref_idx[0][r] &&
           same_mv(m, (q & 2) * 4 + (q & 1) * 2, (r & 2) * 4 + (r & 1) * 2);
}

static unsigned sub_shape(const struct rec_motion *m, unsigned q)
{
    unsigned at = (q & 2) * 4 + (q & 1) * 2;
    bool rows = same_mv(m, at, at + 1) && same_mv(m, at + 4, at + 5),
         columns = same_mv(m, at, at + 4) && same_mv(m, at + 1, at + 5);
    return rows && columns ? H264_SUB_8X8
           : rows          ? H264_SUB_8X4
           : columns       ? H264_SUB_4X8
                           : H264_SUB_4X4;
}

static void plan_partitions(const struct rec_motion *m, struct mb_plan *plan)
{
    bool whole = true, rows, columns;
    for (unsigned q = 0; q < 4; q++) {
        plan->sub[q] = (uint8_t)sub_shape(m, q);
        whole &= plan->sub[q] == H264_SUB_8X8;
    }
    rows = whole && same_quadrants(m, 0, 1) && same_quadrants(m, 2, 3);
    columns = whole && same_quadrants(m, 0, 2) && same_quadrants(m, 1, 3);
    plan->part = rows && columns ? H264_PART_16X16
                 : rows          ? H264_PART_16X8
                 : columns       ? H264_PART_8X16
                                 : H264_PART_8X8;
    plan->mb_type = plan->part;
}

/* ---- vector differences (8.4.1.3) ---- */

static void plan_mvd(struct mb_writer *w, unsigned block, struct motion_mv predicted)
{
    const int16_t *mv = w->motion->mv[0][block];
    w->plan.mvd[block][0] = (int16_t)(uint16_t)(mv[0] - predicted.x);
    w->plan.mvd[block][1] = (int16_t)(uint16_t)(mv[1] - predicted.y);
}

static void plan_sub_mvds(struct mb_writer *w, struct motion_grid *g, int q)
{
    int x0 = (q & 1) * 2, y0 = q & 2, ref = w->motion->ref_idx[0][q],
        width = sub_width[w->plan.sub[q]], height = sub_height[w->plan.sub[q]];
    for (int y = y0; y < y0 + 2; y += height)
        for (int x = x0; x < x0 + 2; x += width) {
            struct motion_neighbour own = {ref, motion_load(w->motion, 0, 4 * y + x)};
            plan_mvd(w, (unsigned)(4 * y + x), grid_predict(g, x, y, width, ref, false));
            grid_fill(g, GRID_AT(x, y), width, height, own);
        }
}

static void plan_mvds(struct mb_writer *w)
{
    const struct motion_walk *walk = &w->walk;
    const int8_t *ref = w->motion->ref_idx[0];
    struct motion_neighbour first = {ref[0], motion_load(w->motion, 0, 0)};
    struct motion_grid grid;
    switch (w->plan.part) {
    case H264_PART_16X16:
        plan_mvd(w, 0, motion_predict_16x16(walk, 0, ref[0]));
        break;
    case H264_PART_16X8:
        plan_mvd(w, 0, motion_predict_16x8_upper(walk, 0, ref[0]));
        plan_mvd(w, 8, motion_predict_16x8_lower(walk, 0, ref[2], first));
        break;
    case H264_PART_8X16:
        plan_mvd(w, 0, motion_predict_8x16_left(walk, 0, ref[0]));
        plan_mvd(w, 2, motion_predict_8x16_right(walk, 0, ref[1], first));
        break;
    default:
        grid_load_frame(&grid, walk, 0);
        for (int q = 0; q < 4; q++)
            plan_sub_mvds(w, &grid, q);
    }
}

/* Vectors in the range of the level (A.3.1) */
static bool check_vectors(struct mb_writer *w)
{
    const struct encoding_limits *l = w->slice.limits;
    for (unsigned i = 0; i < 16 && l; i++) {
        const int16_t *mv = w->motion->mv[0][i];
        if (mv[0] > l->mv_x || mv[0] < -l->mv_x - 1 || mv[1] > l->mv_y || mv[1] < -l->mv_y - 1)
            return mb_refuse(w, "a vector beyond the range of the level");
    }
    return true;
}

/* Levels whose level_prefix is at most 15 (9.2.2.1) */
static bool check_levels(struct mb_writer *w)
{
    const struct encoding_limits *l = w->slice.limits;
    const int16_t *level = mb_levels(w, 0);
    unsigned blocks = 0;
    if (!l || l->max_level == INT16_MAX)
        return true;
    for (unsigned c = 0; c < 3; c++)
        blocks += (unsigned)__builtin_popcount(w->mb->coded[c]);
    for (unsigned i = 0; i < 16 * blocks; i++)
        if (level[i] > l->max_level || level[i] < -l->max_level)
            return mb_refuse(w, "a level that CAVLC cannot code below the profile high");
    return true;
}

/* ---- the macroblock ---- */

static bool plan_skip(struct mb_writer *w)
{
    struct motion_mv mv = motion_skip_vector(&w->walk);
    w->plan.part = H264_PART_SKIP;
    for (unsigned i = 0; i < 4; i++)
        if (w->motion->ref_idx[0][i])
            return mb_refuse(w, "skipped, with a reference that is not the first");
    for (unsigned i = 0; i < 16; i++)
        if (w->motion->mv[0][i][0] != mv.x || w->motion->mv[0][i][1] != mv.y)
            return mb_refuse(w, "skipped, with another vector than the predicted one");
    return (!w->plan.cbp && !(w->plan.flags & REC_MB_TRANSFORM_8X8)) ||
           mb_refuse(w, "skipped, with levels");
}

static bool plan_inter(struct mb_writer *w)
{
    static const int8_t unused[4] = {-1, -1, -1, -1};
    if (w->slice.type != H264_P)
        return mb_refuse(w, "inter, in an I slice");
    if (memcmp(w->motion->ref_idx[1], unused, sizeof(unused)) != 0)
        return mb_refuse(w, "a reference of list 1");
    if (w->plan.flags & REC_MB_SKIP)
        return plan_skip(w);
    plan_partitions(w->motion, &w->plan);
    for (unsigned q = 0; q < 4 && w->plan.flags & REC_MB_TRANSFORM_8X8; q++)
        if (w->plan.sub[q] != H264_SUB_8X8)
            return mb_refuse(w, "8x8 transform, and partitions less than 8x8");
    plan_mvds(w);
    return check_vectors(w);
}

/* Table 7-11 */
static void plan_intra(struct mb_writer *w)
{
    struct mb_plan *plan = &w->plan;
    plan->part = H264_PART_INTRA;
    plan->mb_type = 0;
    if (w->mb->kind == REC_MB_INTRA_16X16)
        plan->mb_type = (uint8_t)(1 + (w->mb->intra_mode[0] & 15) + 4 * (plan->cbp >> 4) +
                                  (plan->cbp & 15 ? 12 : 0));
}

/* QPC follows from QPY (8.5.8). */
static bool plan_check_qp(struct mb_writer *w)
{
    for (unsigned c = 0; c < 2 && w->slice.view->head.chroma_format_idc; c++) {
        int index = w->mb->qp[0] + w->slice.pps->chroma_qp_offset[c];
        index = index < 0 ? 0 : index > 51 ? 51 : index;
        if (w->mb->qp[1 + c] != (int)h264_chroma_qpc[index])
            return mb_refuse(w, "QP of chroma is not that of luma and the offset");
    }
    return true;
}

bool mb_plan_make(struct mb_writer *w)
{
    unsigned allowed = REC_MB_SKIP;
    if (w->slice.pps->transform_8x8_mode_flag)
        allowed |= REC_MB_TRANSFORM_8X8;
    w->plan = (struct mb_plan){.flags = w->mb->flags};
    if (w->mb->flags & ~allowed)
        return mb_refuse(w, "flags that the parameter sets do not allow");
    if (w->mb->kind == REC_MB_INTRA_PCM) {
        w->plan.part = H264_PART_INTRA;
        w->plan.mb_type = 25;
        return true;
    }
    if (!plan_check_qp(w) || !plan_coefficients(w) || !check_levels(w))
        return false;
    if (w->mb->kind == REC_MB_INTER)
        return plan_inter(w);
    plan_intra(w);
    return true;
}
