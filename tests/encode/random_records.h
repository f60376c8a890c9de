/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Random valid records of small pictures, for tests of the writer.
 */
#ifndef PELTON_TESTS_RANDOM_RECORDS_H
#define PELTON_TESTS_RANDOM_RECORDS_H

#include "encode/reference/motion_predict.h"
#include "encode/slice_writer.h"
#include "codec/macroblock.h"
#include "tests/streamgen/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#define MOST_MBS 64

enum { PLAIN, ALL_SKIP, ALL_PCM, LARGE_LEVELS, FAR_VECTORS, QP_JUMPS, STYLES };

/* A picture under construction */
struct made {
    struct rec_mb mbs[MOST_MBS];
    struct rec_motion motion[MOST_MBS];
    struct rec_slice slices[ENCODING_SLICES];
    int16_t coeffs[MOST_MBS * 24][16];
    struct rec_scaling scaling; /* flat */
    struct rec_view view;
};

struct world {
    struct rng rng;
    struct encoding e;
    struct encoding_limits limits;
    struct h264_sps sps;
    struct h264_pps pps;
    unsigned style, num_ref;
    bool p;
    uint32_t cuts[ENCODING_SLICES]; /* first macroblocks */
    unsigned slices;
    int qp; /* of the macroblock before */
    struct made made;
    struct bit_writer out;
};

static inline unsigned below(struct world *w, unsigned n)
{
    return rng_below(&w->rng, n);
}

static inline bool one_in(struct world *w, unsigned n)
{
    return rng_one_in(&w->rng, n);
}

/* ---- macroblocks ---- */

static inline int16_t random_level(struct world *w)
{
    int most = one_in(w, 4) ? 40 : 2;
    if (w->style == LARGE_LEVELS && one_in(w, 3))
        most = w->limits.max_level;
    int level = 1 + (int)below(w, (unsigned)most);
    if (w->style == LARGE_LEVELS && one_in(w, 8))
        level = w->limits.max_level;
    return (int16_t)(one_in(w, 2) ? level : -level);
}

/* n blocks more, zeroed */
static inline int16_t *more_blocks(struct world *w, unsigned n)
{
    int16_t *at = w->made.coeffs[w->made.view.coeff_block_count];
    w->made.view.coeff_block_count += n;
    memset(at, 0, n * 16 * sizeof(*at));
    return at;
}

/* Levels in places from first on; there is one at least. */
static inline void fill_levels(struct world *w, int16_t *block, unsigned first, unsigned count)
{
    unsigned n = one_in(w, 4) ? count : 1 + below(w, 4);
    for (unsigned i = 0; i < n; i++)
        block[first + below(w, count - first)] = random_level(w);
    if (one_in(w, 10))
        for (unsigned i = first; i < count; i++)
            block[i] = random_level(w);
}

/* A component whose DC levels are apart; returns coded */
static inline uint16_t fill_with_dc(struct world *w, unsigned blocks)
{
    unsigned coded = one_in(w, 2) ? below(w, 1u << blocks) : 0, all = (1u << blocks) - 1;
    bool dc = one_in(w, 2);
    unsigned any_dc = below(w, blocks);
    for (unsigned b = 0; b < blocks; b++) {
        int16_t *block;
        if (!dc && !(coded >> b & 1))
            continue;
        block = more_blocks(w, 1);
        if (dc && (b == any_dc || one_in(w, 3)))
            block[0] = random_level(w);
        if (coded >> b & 1)
            fill_levels(w, block, 1, 16);
    }
    return (uint16_t)(dc ? all : coded);
}

static inline void fill_luma(struct world *w, struct rec_mb *mb)
{
    unsigned quadrants = one_in(w, 3) ? 0 : below(w, 16);
    if (mb->kind == REC_MB_INTRA_16X16) {
        mb->coded[0] = fill_with_dc(w, 16);
        return;
    }
    for (unsigned b = 0; b < 16; b++) {
        if (!(quadrants >> b / 4 & 1))
            continue;
        if (mb->flags & REC_MB_TRANSFORM_8X8) {
            fill_levels(w, more_blocks(w, 4), 0, 64);
            mb->coded[0] |= (uint16_t)(15u << b);
            b |= 3;
        } else if (one_in(w, 2)) {
            fill_levels(w, more_blocks(w, 1), 0, 16);
            mb->coded[0] |= (uint16_t)(1u << b);
        }
    }
}

static inline void fill_qp(struct world *w, struct rec_mb *mb, int qp)
{
    mb->qp[0] = (int8_t)qp;
    for (unsigned c = 0; c < 2; c++) {
        int index = qp + w->pps.chroma_qp_offset[c];
        mb->qp[1 + c] = (int8_t)h264_chroma_qpc[index < 0 ? 0 : index > 51 ? 51 : index];
    }
}

static inline void fill_residual(struct world *w, struct rec_mb *mb)
{
    bool whole = mb->flags & REC_MB_TRANSFORM_8X8;
    int qp = w->style == QP_JUMPS ? (int)below(w, 52) : w->qp;
    fill_luma(w, mb);
    /* bits 1 and 2 of blkIdx change places */
    for (unsigned b = 0; b < 16; b++)
        if (mb->coded[0] >> b & 1)
            mb->nonzero |= (uint16_t)(1u << (mb_blk_y(b) * 4 + mb_blk_x(b)));
    for (unsigned c = 1; c < 3 && w->e.chroma_format_idc; c++)
        mb->coded[c] = one_in(w, 3) ? 0 : fill_with_dc(w, 4);
    if (mb->kind == REC_MB_INTER && whole && !mb->coded[0])
        mb->flags &= (uint8_t)~REC_MB_TRANSFORM_8X8;
    if (!(mb->coded[0] | mb->coded[1] | mb->coded[2]) && mb->kind != REC_MB_INTRA_16X16)
        qp = w->qp;
    fill_qp(w, mb, qp);
    w->qp = qp;
}

static inline void fill_pcm(struct world *w, struct rec_mb *mb)
{
    unsigned blocks = w->e.chroma_format_idc ? 24 : 16, flat = below(w, 3);
    int16_t *at = more_blocks(w, blocks);
    for (unsigned i = 0; i < blocks * 16; i++)
        at[i] = (int16_t)(flat == 0 ? 0 : flat == 1 ? 255 : below(w, 256));
    mb->coded[0] = mb->nonzero = 0xffff;
    mb->coded[1] = mb->coded[2] = w->e.chroma_format_idc ? 15 : 0;
    fill_qp(w, mb, 0);
}

/* A mode whose neighbours are there: left, top, corner as REC_NEED_* */
static inline unsigned random_mode(struct world *w, unsigned most, unsigned table, unsigned there)
{
    unsigned mode;
    do {
        mode = below(w, most + 1);
    } while (REC_NEEDS(table, mode) & ~there);
    return mode;
}

static inline unsigned there_of(unsigned avail, unsigned x, unsigned y)
{
    bool left = x || avail & REC_AVAIL_A, top = y || avail & REC_AVAIL_B;
    bool corner = x && y ? true
                  : x    ? (avail & REC_AVAIL_B) != 0
                  : y    ? (avail & REC_AVAIL_A) != 0
                         : (avail & REC_AVAIL_D) != 0;
    return (left ? REC_NEED_LEFT : 0) | (top ? REC_NEED_TOP : 0) | (corner ? REC_NEED_CORNER : 0);
}

static inline void fill_intra(struct world *w, struct rec_mb *mb)
{
    static const uint8_t kinds[3] = {REC_MB_INTRA_4X4, REC_MB_INTRA_16X16, REC_MB_INTRA_8X8};
    unsigned step;
    mb->kind = kinds[below(w, w->e.transform_8x8 ? 3 : 2)];
    if (w->style == ALL_PCM || one_in(w, 12)) {
        mb->kind = REC_MB_INTRA_PCM;
        fill_pcm(w, mb);
        return;
    }
    if (mb->kind == REC_MB_INTRA_8X8)
        mb->flags |= REC_MB_TRANSFORM_8X8;
    step = mb->kind == REC_MB_INTRA_8X8 ? 4 : 1;
    if (mb->kind == REC_MB_INTRA_16X16)
        mb->intra_mode[0] = random_mode(w, 3, REC_NEEDS_16X16, there_of(mb->intra_avail, 0, 0));
    for (unsigned b = 0; b < 16 && mb->kind != REC_MB_INTRA_16X16; b += step)
        mb->intra_mode[b >> 3] |=
            random_mode(w, 8, REC_NEEDS_NXN, there_of(mb->intra_avail, mb_blk_x(b), mb_blk_y(b)))
            << 4 * (b & 7);
    if (w->e.chroma_format_idc)
        mb->intra_chroma_mode =
            (uint8_t)random_mode(w, 3, REC_NEEDS_CHROMA, there_of(mb->intra_avail, 0, 0));
    fill_residual(w, mb);
}

static inline int random_component(struct world *w, int limit, int near)
{
    if (w->style == FAR_VECTORS && one_in(w, 3))
        return one_in(w, 2) ? limit : -limit - 1;
    if (w->style == FAR_VECTORS && one_in(w, 2))
        return (int)below(w, 2 * (unsigned)limit) - limit;
    return one_in(w, 2) ? near : near / 2 + (int)below(w, 40) - 20;
}

/* Vectors in blocks of width x height, references by quadrants */
static inline void fill_motion(struct world *w, struct rec_motion *m, unsigned width,
                               unsigned height)
{
    int near[2] = {0, 0};
    for (unsigned q = 0; q < 4; q++)
        m->ref_idx[0][q] =
            (int8_t)(q && one_in(w, 3) ? m->ref_idx[0][0] : (int8_t)below(w, w->num_ref));
    for (unsigned b = 0; b < 16; b++) {
        unsigned x = b % 4 / width * width, y = b / 4 / height * height;
        if (x == b % 4 && y == b / 4) {
            near[0] = random_component(w, w->limits.mv_x, near[0]);
            near[1] = random_component(w, w->limits.mv_y, near[1]);
            m->mv[0][b][0] = (int16_t)near[0];
            m->mv[0][b][1] = (int16_t)near[1];
        } else {
            memcpy(m->mv[0][b], m->mv[0][4 * y + x], sizeof(m->mv[0][b]));
        }
    }
    for (unsigned q = 0; q < 4; q++)
        if (width == 4 || height == 4)
            m->ref_idx[0][q] = m->ref_idx[0][width == 4 && height == 4 ? 0
                                             : width == 4              ? q & 2
                                                                       : q & 1];
}

static inline void fill_inter(struct world *w, uint32_t i, struct rec_mb *mb)
{
    static const uint8_t shapes[8][2] = {{4, 4}, {4, 2}, {2, 4}, {2, 2},
                                         {2, 1}, {1, 2}, {1, 1}, {4, 4}};
    struct rec_motion *m = &w->made.motion[i];
    unsigned shape = below(w, 8);
    mb->kind = REC_MB_INTER;
    if (w->style == ALL_SKIP || one_in(w, 3)) {
        struct motion_field field = {w->made.mbs, w->made.motion, w->limits.mb_width};
        int16_t mv[2];
        mb->flags = REC_MB_SKIP;
        motion_predict_skip(&field, i, mv);
        memset(m->ref_idx[0], 0, sizeof(m->ref_idx[0]));
        for (unsigned b = 0; b < 16; b++)
            memcpy(m->mv[0][b], mv, sizeof(mv));
        fill_qp(w, mb, w->qp);
        return;
    }
    fill_motion(w, m, shapes[shape][0], shapes[shape][1]);
    if (w->e.transform_8x8 && shapes[shape][0] > 1 && shapes[shape][1] > 1 && one_in(w, 2))
        mb->flags |= REC_MB_TRANSFORM_8X8;
    fill_residual(w, mb);
}

/* ---- pictures ---- */

static inline bool same_slice_at(const struct world *w, uint32_t i, int dx, int dy)
{
    int x = (int)(i % w->limits.mb_width) + dx;
    int64_t at = (int64_t)i + dx + (int64_t)dy * w->limits.mb_width;
    return x >= 0 && x < (int)w->limits.mb_width && at >= 0 &&
           w->made.mbs[at].slice == w->made.mbs[i].slice;
}

static inline bool serves(const struct world *w, uint32_t i, int dx, int dy)
{
    return same_slice_at(w, i, dx, dy) &&
           (!w->e.constrained_intra ||
            w->made.mbs[(int64_t)i + dx + (int64_t)dy * w->limits.mb_width].kind != REC_MB_INTER);
}

static inline void fill_place(struct world *w, uint32_t i)
{
    struct rec_mb *mb = &w->made.mbs[i];
    bool left = i % w->limits.mb_width, top = i >= w->limits.mb_width;
    mb->intra_avail = (uint8_t)((serves(w, i, -1, 0) ? REC_AVAIL_A : 0) |
                                (serves(w, i, 0, -1) ? REC_AVAIL_B : 0) |
                                (serves(w, i, 1, -1) ? REC_AVAIL_C : 0) |
                                (serves(w, i, -1, -1) ? REC_AVAIL_D : 0));
    if (w->e.deblocking == 1)
        return;
    if (w->e.deblocking == 2) {
        left = same_slice_at(w, i, -1, 0);
        top = same_slice_at(w, i, 0, -1);
    }
    mb->deblock = (uint8_t)(REC_DEBLOCK_INTERNAL | (left ? REC_DEBLOCK_LEFT : 0) |
                            (top ? REC_DEBLOCK_TOP : 0));
}

static inline void make_mb(struct world *w, uint32_t i)
{
    struct rec_mb *mb = &w->made.mbs[i];
    unsigned slice = 0;
    while (slice + 1 < w->slices && i >= w->cuts[slice + 1])
        slice++;
    if (i == w->cuts[slice])
        w->qp = (int)below(w, 52);
    *mb = (struct rec_mb){.slice = slice, .coeff = w->made.view.coeff_block_count};
    memset(&w->made.motion[i], 0, sizeof(w->made.motion[i]));
    memset(w->made.motion[i].ref_idx, -1, sizeof(w->made.motion[i].ref_idx));
    fill_place(w, i);
    if (w->made.slices[slice].slice_type == H264_P && (w->style == ALL_SKIP || !one_in(w, 4)))
        fill_inter(w, i, mb);
    else
        fill_intra(w, mb);
}

/* All slices are P slices, or I slices, or either */
static inline void make_picture(struct world *w)
{
    struct rec_view *v = &w->made.view;
    unsigned mbs = w->limits.mb_width * w->limits.mb_height;
    *v = (struct rec_view){.mbs = w->made.mbs,
                           .motion = w->made.motion,
                           .slices = w->made.slices,
                           .coeffs = w->made.coeffs,
                           .scaling = &w->made.scaling,
                           .scaling_count = 1,
                           .slice_count = w->slices};
    memset(&w->made.scaling, 16, sizeof(w->made.scaling));
    for (unsigned i = 0; i < w->slices; i++)
        w->made.slices[i] =
            (struct rec_slice){.slice_type = w->p && !one_in(w, 6) ? H264_P : H264_I,
                               .filter_offset_a = (int8_t)(2 * w->e.filter_offset_a),
                               .filter_offset_b = (int8_t)(2 * w->e.filter_offset_b)};
    for (unsigned i = 0; i < w->slices; i++)
        if (w->made.slices[i].slice_type == H264_P)
            w->made.slices[i].num_ref[0] = (uint8_t)w->num_ref;
    for (unsigned i = 0; i < w->slices && w->e.deblocking == 1; i++)
        w->made.slices[i].filter_offset_a = w->made.slices[i].filter_offset_b = 0;
    for (uint32_t i = 0; i < mbs; i++)
        make_mb(w, i);
    v->head = (struct rec_picture){.mb_width = w->limits.mb_width,
                                   .mb_height = w->limits.mb_height,
                                   .structure = REC_FRAME,
                                   .chroma_format_idc = w->e.chroma_format_idc,
                                   .bit_depth = {8, 8},
                                   .coeff_bytes = 2,
                                   .mb_count = mbs};
    for (uint32_t i = 0; i < mbs; i++) {
        v->head.has_intra |= w->made.mbs[i].kind != REC_MB_INTER;
        v->head.has_inter |= w->made.mbs[i].kind == REC_MB_INTER;
        v->head.has_deblock |= w->made.mbs[i].deblock != 0;
    }
}

static inline void begin_world(struct world *w, uint32_t mb_width, uint32_t mb_height)
{
    char why[ENCODING_WHY];
    struct encoding *e = &w->e;
    encoding_default(e, mb_width * 16, mb_height * 16);
    e->profile = below(w, 3);
    e->cabac = e->profile != ENCODING_BASELINE && one_in(w, 2);
    e->transform_8x8 = e->profile == ENCODING_HIGH && !one_in(w, 3);
    e->chroma_format_idc = e->profile != ENCODING_HIGH || !one_in(w, 4);
    e->references = (uint8_t)(1 + below(w, 4));
    e->constrained_intra = one_in(w, 2);
    e->deblocking = (uint8_t)below(w, 3);
    e->filter_offset_a = (int)below(w, 13) - 6;
    e->filter_offset_b = (int)below(w, 13) - 6;
    e->chroma_qp_offset = (int)below(w, 25) - 12;
    e->qp = (int)below(w, 52);
    if (one_in(w, 3))
        e->level_idc = one_in(w, 2) ? 62 : 51;
    if (encoding_check(e, &w->limits, why))
        fail_msg("%s", why);
    encoding_sets(e, &w->limits, &w->sps, &w->pps);
    w->slices = 1;
    w->cuts[0] = 0;
}

static inline uint64_t seed_of_day(void)
{
    const char *text = getenv("PELTON_SEED");
    time_t now = time(NULL);
    struct tm day;
    uint64_t start = text ? strtoull(text, NULL, 10) : 0;
    if (!text && gmtime_r(&now, &day))
        start = (uint64_t)(day.tm_year + 1900) * 10000 + (uint64_t)(day.tm_mon + 1) * 100 +
                (uint64_t)day.tm_mday;
    print_message("PELTON_SEED=%llu\n", (unsigned long long)start);
    return start;
}

static inline struct world *world_create(uint64_t start)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->rng.state = start;
    return w;
}

#endif
