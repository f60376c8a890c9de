/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mb_pred() and sub_mb_pred() (7.3.5.1, 7.3.5.2): intra modes whose neighbours are available (8.3),
 * partitions, references and vector differences.
 */
#include "mbw.h"

#include "codec/macroblock.h"

#include <string.h>

/* "available for Intra prediction" (8.3.1.2, 8.3.3, 8.3.4) */
static bool serves(const struct mbw *w, struct location n)
{
    if (!n.mb)
        return false;
    if (!w->pps->constrained_intra_pred_flag || n.mb == w->mb)
        return true;
    return mb_intra(n.mb) && (n.mb->kind != MB_SI || w->mb->kind == MB_SI);
}

enum { NEED_A = 1, NEED_B = 2, NEED_D = 4 };

/* Which of A, B and D serve a block of luma samples. */
static unsigned sides(const struct mbw *w, int x, int y, int size)
{
    unsigned avail = NEED_A;
    for (int i = 0; i < size; i++)
        if (!serves(w, neighbour(w, x - 1, y + i, 16, 16)))
            avail = 0;
    return avail | (serves(w, neighbour(w, x, y - 1, 16, 16)) ? NEED_B : 0) |
           (serves(w, neighbour(w, x - 1, y - 1, 16, 16)) ? NEED_D : 0);
}

bool intra_16x16_allowed(const struct mbw *w, unsigned mode)
{
    static const uint8_t needs[4] = {NEED_B, NEED_A, 0, NEED_A | NEED_B | NEED_D};
    return !(needs[mode] & ~sides(w, 0, 0, 16));
}

void write_chroma_mode(struct mbw *w)
{
    static const uint8_t needs[4] = {0, NEED_A, NEED_B, NEED_A | NEED_B | NEED_D};
    unsigned avail = sides(w, 0, 0, 16), mode;
    if (w->chroma_array_type == 0 || w->chroma_array_type == 3)
        return;
    do {
        mode = rng_below(&w->rng, 4);
    } while (needs[mode] & ~avail);
    w->mb->chroma_mode = (uint8_t)mode;
    put_chroma_mode(w, mode);
}

/* intraMxMPredModeN (8.3.1.1, 8.3.2.1); -1: sets dcPredModePredictedFlag. above: N is B. */
static int mode_of(const struct mbw *w, struct location n, bool t8x8, bool above, bool lower)
{
    unsigned at = raster_block(n);
    if (!n.mb || (!mb_intra(n.mb) && w->pps->constrained_intra_pred_flag))
        return -1;
    if (n.mb->kind != MB_I4X4 && n.mb->kind != MB_I8X8 && n.mb->kind != MB_SI)
        return 2;
    if (t8x8 && n.mb->kind != MB_I8X8) {
        unsigned row = above || (w->pic->mbaff && !w->mb->field && n.mb->field && lower);
        at = (at & ~5u) | row * 4 | !above;
    }
    return n.mb->mode[at];
}

static void write_mode(struct mbw *w, int x, int y, bool t8x8)
{
    static const uint8_t needs[9] = {NEED_B, NEED_A, 0, NEED_B, 7, 7, 7, NEED_B, NEED_A};
    int a = mode_of(w, neighbour(w, x - 1, y, 16, 16), t8x8, false, y == 8 && x == 0);
    int b = mode_of(w, neighbour(w, x, y - 1, 16, 16), t8x8, true, false);
    unsigned avail = sides(w, x, y, t8x8 ? 8 : 4),
             predicted = a < 0 || b < 0 ? 2 : (unsigned)(a < b ? a : b), mode;
    int8_t *at = &w->mb->mode[y / 4 * 4 + x / 4];
    do {
        mode = rng_one_in(&w->rng, 4) ? predicted : rng_below(&w->rng, 9);
    } while (needs[mode] & ~avail);
    put_intra_mode(w, predicted, mode);
    at[0] = (int8_t)mode;
    if (t8x8)
        at[1] = at[4] = at[5] = (int8_t)mode;
}

void write_intra_modes(struct mbw *w, bool t8x8)
{
    for (int blk = 0; blk < 16; blk += t8x8 ? 4 : 1)
        write_mode(w, ((blk & 1) | (blk >> 1 & 2)) * 4, ((blk >> 1 & 1) | (blk >> 2 & 2)) * 4,
                   t8x8);
}

/* ref_idx of w x h quadrants */
static void write_ref(struct mbw *w, unsigned list, unsigned q, unsigned width, unsigned height,
                      bool ref0)
{
    unsigned twice = w->pic->mbaff && w->mb->field ? 2 : 1,
             num = w->slice->hdr.num_ref[list] * twice;
    unsigned usable = w->slice->usable[list] * twice, value = 0;
    if (!ref0 && !rng_one_in(&w->rng, 3))
        value = rng_below(&w->rng, usable);
    put_ref_idx(w, list, q, ref0 ? 1 : num, value);
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++)
            w->mb->ref[list][q + y * 2 + x] = (int8_t)value;
}

static int mvd_component(struct mbw *w, unsigned component, bool far)
{
    struct rng *r = &w->rng;
    unsigned limit = sets_vector_limit(component, w->sps->level_idc),
             most = rng_one_in(r, 3) ? 80 : 14;
    if (component && (w->mb->field || w->pic->structure != REC_FRAME))
        limit /= 2;
    if (far)
        most = rng_one_in(r, 8) ? limit : limit < 1800 ? limit / 3 : 600;
    else if (rng_one_in(r, 4))
        return 0;
    most >>= w->g->limits.mvd_shift;
    return rng_range(r, -(int)most, (int)most);
}

/* mvd of width x height blocks at column x, row y */
static void write_mvd(struct mbw *w, unsigned list, unsigned x, unsigned y, unsigned width,
                      unsigned height)
{
    bool far = gen_use(w->g, &w->rng, F_FARMV, 5);
    int16_t mvd[2];
    for (unsigned i = 0; i < 2; i++)
        mvd[i] = (int16_t)mvd_component(w, i, far);
    put_mvd(w, list, x, y, mvd);
    for (unsigned j = 0; j < height; j++)
        for (unsigned i = 0; i < width; i++)
            memcpy(w->mb->mvd[list][(y + j) * 4 + x + i], mvd, sizeof(mvd));
}

static void write_partitions(struct mbw *w, const struct mb_inter_type *type)
{
    unsigned parts = type->part == H264_PART_16X16 ? 1 : 2,
             second = type->part == H264_PART_16X8 ? 2 : 1;
    unsigned width = type->part == H264_PART_8X16 ? 1 : 2,
             height = type->part == H264_PART_16X8 ? 1 : 2;
    for (unsigned list = 0; list < 2; list++)
        for (unsigned i = 0; i < parts; i++)
            if (type->lists[i] >> list & 1)
                write_ref(w, list, i * second, width, height, false);
    for (unsigned list = 0; list < 2; list++)
        for (unsigned i = 0; i < parts; i++)
            if (type->lists[i] >> list & 1)
                write_mvd(w, list, (i * second & 1) * 2, i * second & 2, width * 2, height * 2);
}

static void write_sub_mvds(struct mbw *w, unsigned list, unsigned q, unsigned sub)
{
    unsigned width = sub == H264_SUB_8X8 || sub == H264_SUB_8X4 ? 2 : 1;
    unsigned height = sub == H264_SUB_8X8 || sub == H264_SUB_4X8 ? 2 : 1;
    for (unsigned y = 0; y < 2; y += height)
        for (unsigned x = 0; x < 2; x += width)
            write_mvd(w, list, (q & 1) * 2 + x, (q & 2) + y, width, height);
}

static void write_sub_macroblocks(struct mbw *w, bool ref0, const uint8_t sub_types[4])
{
    const struct mb_sub_type *table = w->type == H264_B ? h264_sub_mb_type_b : h264_sub_mb_type_p;
    for (unsigned q = 0; q < 4; q++)
        put_sub_mb_type(w, sub_types[q]);
    for (unsigned list = 0; list < 2; list++)
        for (unsigned q = 0; q < 4; q++)
            if (table[sub_types[q]].lists >> list & 1)
                write_ref(w, list, q, 1, 1, ref0);
    for (unsigned list = 0; list < 2; list++)
        for (unsigned q = 0; q < 4; q++)
            if (table[sub_types[q]].lists >> list & 1)
                write_sub_mvds(w, list, q, table[sub_types[q]].sub);
}

void write_inter(struct mbw *w, unsigned mb_type, const uint8_t sub_types[4])
{
    const struct mb_inter_type *type =
        w->type == H264_B ? &h264_mb_type_b[mb_type] : &h264_mb_type_p[mb_type];
    if (type->part == H264_PART_8X8)
        write_sub_macroblocks(w, w->type == H264_P && mb_type == 4, sub_types);
    else if (type->part != H264_PART_DIRECT)
        write_partitions(w, type);
}
