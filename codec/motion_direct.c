/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3: direct prediction in B slices (8.4.1.2), spatial and temporal.
 *
 * The colocated picture may be finished long ago. Only its records, its motion and the identities
 * in its slices are read.
 */
#include "codec/motion_derive.h"

static inline int64_t clip3(int64_t low, int64_t high, int64_t v)
{
    return v < low ? low : v > high ? high : v;
}

int h264_dist_scale_factor(int64_t tb, int64_t td)
{
    int b = (int)clip3(-128, 127, tb), d = (int)clip3(-128, 127, td);
    int half = d / 2, tx = (16384 + (half < 0 ? -half : half)) / d;
    return (int)clip3(-1024, 1023, (b * tx + 32) >> 6);
}

/* direct_8x8_inference_flag: the corner of the macroblock stands for its quadrant. */
static const uint8_t corner_block[4] = {0, 3, 12, 15};
static const uint8_t first_block[4] = {0, 2, 8, 10};
static const uint8_t block_offset[4] = {0, 1, 4, 5};

/* ---- spatial (8.4.1.2.2) ---- */

static inline int min_positive(int a, int b)
{
    return a >= 0 && b >= 0 ? (a < b ? a : b) : (a > b ? a : b);
}

/* References and predicted vectors of the whole macroblock. */
struct spatial {
    int ref[2];
    struct motion_mv mv[2];
};

static struct spatial spatial_prediction(const struct motion_walk *w)
{
    struct spatial s;
    struct motion_neighbour n[2][3];
    for (int list = 0; list < 2; list++) {
        if (w->pic->mbaff)
            h264_motion_neighbours_mbaff(w, list, n[list]);
        else
            motion_neighbours_16x16(w, list, n[list]);
        s.ref[list] = min_positive(n[list][0].ref, min_positive(n[list][1].ref, n[list][2].ref));
        s.mv[list] = (struct motion_mv){0, 0};
    }
    if (s.ref[0] < 0 && s.ref[1] < 0) { /* directZeroPredictionFlag */
        s.ref[0] = s.ref[1] = 0;
        return s;
    }
    for (int list = 0; list < 2; list++)
        if (s.ref[list] < 0)
            s.ref[list] = -1;
        else
            s.mv[list] = motion_predict(n[list][0], n[list][1], n[list][2], s.ref[list]);
    return s;
}

/* colZeroFlag, where RefPicList1[0] lets it be. Where frames and fields meet vectors are not
 * scaled. */
static inline bool col_zero(const struct motion_walk *w, int block)
{
    struct motion_colocated c;
    if (w->direct.col_zero)
        return w->direct.col_zero[w->mb] >> block & 1;
    c = w->direct.crossed ? h264_colocated_crossed(w, block)
                          : motion_colocated_block(&w->direct.col->arrays.motion[w->mb], block);
    return c.ref == 0 && c.mv.x >= -1 && c.mv.x <= 1 && c.mv.y >= -1 && c.mv.y <= 1;
}

/* Each vector is the predicted one, or zero where index 0 meets a block that stands still
 * (8.4.1.2.2). */
static inline struct motion_mv spatial_mv(const struct spatial *s, int list, bool still)
{
    return still && s->ref[list] == 0 ? (struct motion_mv){0, 0} : s->mv[list];
}

/* matters: a colocated block that stands still could change something. */
static void spatial_quadrant(struct motion_walk *w, const struct spatial *s, bool matters,
                             int quadrant)
{
    bool still = matters && w->direct.inference_8x8 && col_zero(w, corner_block[quadrant]);
    for (int i = 0; i < 4; i++) {
        int block = first_block[quadrant] + block_offset[i];
        if (matters && !w->direct.inference_8x8)
            still = col_zero(w, block);
        for (int list = 0; list < 2; list++)
            motion_store(w->cur, list, block, spatial_mv(s, list, still));
    }
}

/* The four vectors of a quadrant */
static inline void quadrant_fill(struct rec_motion *m, int list, int quadrant, struct motion_mv mv)
{
    struct motion_mv row[2] = {mv, mv};
    memcpy(m->mv[list][first_block[quadrant]], row, sizeof(row));
    memcpy(m->mv[list][first_block[quadrant] + 4], row, sizeof(row));
}

/* A whole macroblock; the corners of the colocated one, which lies where it lies, stand for its
 * quadrants. */
static void spatial_corners(struct motion_walk *w, const struct spatial *s, bool matters)
{
    unsigned still = 0;
    for (int q = 0; q < 4 && matters; q++)
        still |= (unsigned)col_zero(w, corner_block[q]) << q;
    for (int list = 0; list < 2; list++) {
        memset(w->cur->ref_idx[list], s->ref[list], sizeof(w->cur->ref_idx[list]));
        motion_fill(w->cur, list, s->mv[list]);
        for (int q = 0; q < 4 && s->ref[list] == 0 && still; q++)
            if (still >> q & 1)
                quadrant_fill(w->cur, list, q, (struct motion_mv){0, 0});
    }
}

static void direct_spatial(struct motion_walk *w, unsigned quadrants)
{
    struct spatial s = spatial_prediction(w);
    bool matters = w->direct.may_stand_still && ((s.ref[0] == 0 && !motion_is_zero(s.mv[0])) ||
                                                 (s.ref[1] == 0 && !motion_is_zero(s.mv[1])));
    if (quadrants == 15 && (!matters || (w->direct.inference_8x8 && !w->direct.crossed))) {
        spatial_corners(w, &s, matters);
        return;
    }
    for (int q = 0; q < 4; q++)
        if (quadrants >> q & 1) {
            w->cur->ref_idx[0][q] = (int8_t)s.ref[0];
            w->cur->ref_idx[1][q] = (int8_t)s.ref[1];
            spatial_quadrant(w, &s, matters, q);
        }
}

/* ---- temporal (8.4.1.2.3) ---- */

/* The references of slice map_slice of the colocated picture, found in list 0: the lowest refIdxL0
 * that names the same picture.
 */
static void map_references(struct motion_walk *w, uint32_t map_slice)
{
    const struct h264_slice *slice = w->slice, *col = &w->direct.col->slices[map_slice];
    w->direct.map_slice = map_slice;
    for (int list = 0; list < 2; list++)
        for (unsigned i = 0; i < REC_MAX_REFS; i++) {
            int found = -1;
            for (unsigned j = 0; i < col->num_ref[list] && j < slice->num_ref[0] && found < 0; j++)
                if (slice->ref[0][j].pic && slice->ref[0][j].id == col->ref[list][i].id)
                    found = (int)j;
            w->direct.map[list][i] = (int8_t)found;
        }
}

/* MapColToList0: a picture that is not in list 0 any more breaks a rule of the standard; index 0
 * stands for it. */
static int map_to_list0(struct motion_walk *w, const struct motion_colocated *c)
{
    uint32_t slice = w->direct.col->arrays.mbs[w->mb].slice;
    int found;
    if (slice >= w->direct.col->slice_count) /* concealed */
        return 0;
    if (slice != w->direct.map_slice)
        map_references(w, slice);
    found = c->ref < REC_MAX_REFS ? w->direct.map[c->list][c->ref] : -1;
    if (found < 0)
        w->lost_reference = true;
    return found < 0 ? 0 : found;
}

static void temporal_block(struct motion_walk *w, int block, int ref, struct motion_mv col)
{
    struct motion_mv mv0 = col, mv1 = {0, 0};
    int scale = w->direct.scale[w->kind][ref];
    if (!w->direct.unscaled[w->kind][ref]) {
        mv0 = (struct motion_mv){(int16_t)((scale * col.x + 128) >> 8),
                                 (int16_t)((scale * col.y + 128) >> 8)};
        mv1 = (struct motion_mv){(int16_t)(mv0.x - col.x), (int16_t)(mv0.y - col.y)};
    }
    motion_store(w->cur, 0, block, mv0);
    motion_store(w->cur, 1, block, mv1);
}

/* The colocated block, its reference found in list 0. */
static inline struct motion_colocated temporal_colocated(struct motion_walk *w, int block)
{
    struct motion_colocated c = {0, 0, {0, 0}};
    if (!w->direct.col)
        return c;
    if (w->direct.crossed)
        return h264_colocated_temporal(w, block);
    c = motion_colocated_block(&w->direct.col->arrays.motion[w->mb], block);
    c.ref = c.ref < 0 ? 0 : map_to_list0(w, &c);
    return c;
}

static void temporal_quadrant(struct motion_walk *w, int quadrant)
{
    struct motion_colocated c = {0, 0, {0, 0}};
    for (int i = 0; i < 4; i++) {
        int block = first_block[quadrant] + block_offset[i];
        if (i == 0 || !w->direct.inference_8x8)
            c = temporal_colocated(w, w->direct.inference_8x8 ? corner_block[quadrant] : block);
        temporal_block(w, block, c.ref, c.mv);
    }
    w->cur->ref_idx[0][quadrant] = (int8_t)c.ref; /* blocks of a quadrant share refIdxCol */
    w->cur->ref_idx[1][quadrant] = 0;
}

static void direct_temporal(struct motion_walk *w, unsigned quadrants)
{
    for (int q = 0; q < 4; q++)
        if (quadrants >> q & 1)
            temporal_quadrant(w, q);
}

/* ---- */

/* DistScaleFactor of refIdxL0 i for one kind of macroblock; POCs of currPicOrField, pic1 and pic0
 */
static void set_scale(struct motion_direct *d, enum motion_kind kind, unsigned i, bool long_term,
                      int64_t current, int64_t poc1, int64_t poc0)
{
    d->unscaled[kind][i] = long_term || poc1 == poc0;
    d->scale[kind][i] =
        (int16_t)(d->unscaled[kind][i] ? 256 : h264_dist_scale_factor(current - poc0, poc1 - poc0));
}

static void temporal_scales(struct motion_walk *w)
{
    const struct h264_slice *slice = w->slice;
    struct motion_direct *d = &w->direct;
    d->unscaled[0][0] = d->unscaled[1][0] = d->unscaled[2][0] = true; /* where list 0 is empty */
    for (unsigned i = 0; i < slice->num_ref[0]; i++)
        set_scale(d, MOTION_PLAIN, i, slice->ref[0][i].long_term, slice->pic->output_poc,
                  slice->ref[1][0].poc, slice->ref[0][i].poc);
    for (unsigned bottom = 0; bottom < 2 && slice->pic->mbaff; bottom++)
        for (unsigned i = 0; i < 2u * slice->num_ref[0]; i++)
            set_scale(d, bottom ? MOTION_BOTTOM_FIELD : MOTION_TOP_FIELD, i,
                      slice->ref[0][i >> 1].long_term, slice->pic->poc[bottom],
                      slice->ref[1][0].field_poc[bottom],
                      slice->ref[0][i >> 1].field_poc[bottom ^ (i & 1)]);
}

/* A picture of the other view counts as neither short-term nor long-term (H.8.4). */
static bool is_short_term(const struct h264_slice *slice, unsigned list, unsigned i)
{
    const struct h264_picture *ref = slice->ref[list][i].pic;
    return !slice->ref[list][i].long_term && (!ref || ref->view == slice->pic->view);
}

const uint16_t *h264_colocated_map(const struct h264_slice *slice)
{
    struct motion_walk w = {.pic = slice->pic, .slice = slice};
    h264_colocated_begin(&w);
    return w.direct.col && !w.direct.crossed && is_short_term(slice, 1, 0)
               ? w.direct.col->arrays.col_zero
               : NULL;
}

static void direct_begin(struct motion_walk *w)
{
    const uint16_t *map = w->slice->kept_map;
    h264_colocated_begin(w);
    if (w->direct.col && !w->direct.crossed)
        map = w->direct.col->arrays.col_zero;
    w->direct.col_zero = map;
    w->direct.may_stand_still = (w->direct.col || map) && is_short_term(w->slice, 1, 0);
    w->direct.inference_8x8 = w->slice->sps->direct_8x8_inference_flag;
    w->direct.map_slice = REC_NO_SLICE;
    if (!w->slice->hdr.direct_spatial_mv_pred_flag)
        temporal_scales(w);
}

void h264_motion_enter_slice(struct motion_walk *w, uint32_t index)
{
    w->slice_index = index;
    w->slice = &w->pic->slices[index];
    w->lists = w->slice->hdr.type == H264_B ? 2 : 1;
    if (w->slice->hdr.type == H264_B)
        direct_begin(w);
}

/* The colocated picture's motion was written long ago and is in no cache: ask for that of a
 * macroblock soon to come. Corners of list 0 lie in the first two lines, the indices in the last.
 * GCC takes a call of what only prefetches for one without any effect. */
__attribute__((always_inline)) static inline void prefetch_colocated(const struct motion_walk *w)
{
    uint32_t mb = w->mb + 16;
    if (w->direct.col && !w->direct.col_zero && mb < w->direct.col->mb_count) {
        __builtin_prefetch(w->direct.col->arrays.motion[mb].mv[0]);
        __builtin_prefetch(w->direct.col->arrays.motion[mb].mv[0] + 15);
        __builtin_prefetch(w->direct.col->arrays.motion[mb].ref_idx);
    }
}

void h264_motion_direct(struct motion_walk *w, unsigned quadrants)
{
    prefetch_colocated(w);
    if (w->slice->hdr.direct_spatial_mv_pred_flag)
        direct_spatial(w, quadrants);
    else
        direct_temporal(w, quadrants);
}
