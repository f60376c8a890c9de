/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual() (7.3.5.3): levels within the bounds of 8.5, in CAVLC (9.2) or CABAC
 * (9.3.2, 9.3.3.1.1.9, 9.3.3.1.3).
 */
#include "mbw.h"

#include "codec/cabac.h"
#include "codec/cavlc.h"
#include "encode/bin_elements.h"

#include <stdlib.h>
#include <string.h>

enum block_type { DC16, AC15, BLOCK4, CHROMA_DC, CHROMA_AC, BLOCK8 }; /* ctxBlockCat 0 to 5 */

struct block {
    enum block_type type;
    unsigned component, x, y, count; /* x, y: first 4x4 block; count: maxNumCoeff */
    int32_t level[64];               /* in scan order */
};

/* normAdjust (8.5.9): of DC; the largest of 4x4 and of 8x8 */
static const uint8_t norm_dc[6] = {10, 11, 13, 14, 16, 18}, norm_4x4[6] = {16, 18, 20, 23, 25, 29},
                     norm_8x8[6] = {32, 35, 42, 45, 51, 58};

/* QP'Y, QP'C of a component (8.5.8) */
static unsigned component_qp(const struct mbw *w, unsigned c)
{
    static const uint8_t qpc[22] = {29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36,
                                    36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39};
    int offset = 6 * (w->sps->bit_depth[c > 0] - 8), qp = w->qp;
    if (c) {
        qp += w->pps->chroma_qp_offset[c - 1];
        qp = qp < -offset ? -offset : qp > 51 ? 51 : qp;
        qp = qp < 30 ? qp : qpc[qp - 30];
    }
    return (unsigned)(qp + offset);
}

static bool bypass(const struct mbw *w)
{
    return w->sps->qpprime_y_zero_transform_bypass_flag && component_qp(w, 0) == 0;
}

/* The sum of magnitudes that keeps every value of the transforms inside -2^(7 + bitDepth) .. 2^(7 +
 * bitDepth) - 1 (8.5.10 to 8.5.13): each level at the position of the largest scale, DC and AC half
 * each. */
static unsigned level_budget(const struct mbw *w, const struct block *b)
{
    unsigned depth = w->sps->bit_depth[b->component > 0], qp = component_qp(w, b->component);
    uint64_t limit = (1u << (7 + depth)) - 65, scale = w->g->max_weight, cost = 0;
    if (bypass(w))
        return (1u << depth) - 1;
    if (w->slice->hdr.type == H264_SP || w->si)
        limit /= 4;
    switch (b->type) {
    case DC16:
        limit /= 2;
        cost = (scale * norm_dc[qp % 6] << qp / 6) / 64 + 1;
        break;
    case CHROMA_DC:
        limit /= 2;
        qp += b->count == 8 ? 3 : 0;
        cost = (scale * norm_dc[qp % 6] << qp / 6) / (b->count == 8 ? 64 : 32) + 1;
        break;
    case AC15:
    case CHROMA_AC:
        limit /= 2;
        cost = (scale * norm_4x4[qp % 6] << qp / 6) / 16 + 1;
        break;
    case BLOCK4:
        cost = (scale * norm_4x4[qp % 6] << qp / 6) / 16 + 1;
        break;
    case BLOCK8:
        limit /= 3;
        cost = (scale * norm_8x8[qp % 6] << qp / 6) / 64 + 1;
        break;
    }
    return (unsigned)(limit / cost);
}

/* Levels at random: how many, where and how large are chosen each with their own bias. */
static void choose_levels(struct mbw *w, struct block *b)
{
    struct rng *r = &w->rng;
    unsigned budget = level_budget(w, b), largest = 1, n;
    bool low_profile = w->sps->profile_idc < 100; /* level_prefix at most 15 (9.2.2.1) */
    memset(b->level, 0, sizeof(b->level));
    if (w->sparse || w->g->limits.no_residual || rng_one_in(r, 3))
        return;
    n = rng_one_in(r, 6) ? b->count
                         : 1 + rng_below(r, rng_one_in(r, 3) ? b->count
                                            : b->count < 4   ? b->count
                                                             : 4);
    if (gen_use(w->g, r, F_BIGCOEFF, 12))
        largest = budget;
    else if (rng_one_in(r, 3))
        largest = 1 + rng_below(r, 24);
    for (; n && budget; n--) {
        unsigned at =
            rng_one_in(r, 3) ? rng_below(r, b->count) : rng_below(r, 1 + rng_below(r, b->count));
        unsigned most = largest < budget ? largest : budget, level;
        if (low_profile && most > 2000)
            most = 2000;
        level = 1 + (rng_one_in(r, 2) ? 0 : rng_below(r, most));
        if (b->level[at])
            continue;
        budget -= level;
        b->level[at] = rng_one_in(r, 2) ? -(int32_t)level : (int32_t)level;
    }
}

/* ---- CAVLC ---- */

/* nC (9.2.1) */
static enum h264_nc_class nc_class(const struct mbw *w, const struct block *b)
{
    int width = b->component && w->chroma_array_type < 3 ? 8 : 16,
        height = w->chroma_array_type == 1 && b->component ? 8 : 16;
    int x = (int)b->x * 4, y = (int)b->y * 4;
    struct location n[2] = {neighbour(w, x - 1, y, width, height),
                            neighbour(w, x, y - 1, width, height)};
    unsigned nc = 0, available = 0;
    if (b->type == CHROMA_DC)
        return b->count == 4 ? H264_NC_CHROMA_DC_420 : H264_NC_CHROMA_DC_422;
    for (unsigned i = 0; i < 2; i++) {
        if (!n[i].mb)
            continue;
        available++;
        if (!(w->partitioned && w->pps->constrained_intra_pred_flag && mb_intra(w->mb) &&
              !mb_intra(n[i].mb)))
            nc += n[i].mb->total[b->component][raster_block(n[i])];
    }
    nc = available == 2 ? (nc + 1) / 2 : nc;
    return nc < 2 ? H264_NC_0 : nc < 4 ? H264_NC_2 : nc < 8 ? H264_NC_4 : H264_NC_8;
}

/* residual_block_cavlc; returns TotalCoeff. */
static unsigned block_cavlc(struct mbw *w, const struct block *b)
{
    struct bit_writer *s = w->out[w->partitioned ? mb_intra(w->mb) ? 1 : 2 : 0];
    return cavlc_block(s, &w->g->codes, nc_class(w, b), b->level, b->count);
}

/* ---- CABAC ---- */

/* transBlockN is there and its coded_block_flag is 1 (9.3.3.1.1.9) */
static bool coded_block(const struct mbw *w, const struct block *b, struct location n)
{
    unsigned c = b->component;
    if (!n.mb)
        return mb_intra(w->mb);
    if (n.mb->kind == MB_PCM)
        return true;
    if (b->type == DC16 || b->type == CHROMA_DC)
        return n.mb->cbf_dc >> c & 1;
    if (b->type == BLOCK8 && !n.mb->t8x8)
        return false;
    return n.mb->cbf[c] >> raster_block(n) & 1;
}

static unsigned cbf_context(const struct mbw *w, const struct block *b)
{
    int width = b->component && w->chroma_array_type < 3 ? 8 : 16,
        height = w->chroma_array_type == 1 && b->component ? 8 : 16;
    int x = (int)b->x * 4, y = (int)b->y * 4;
    return coded_block(w, b, neighbour(w, x - 1, y, width, height)) +
           2u * coded_block(w, b, neighbour(w, x, y - 1, width, height));
}

/* ctxBlockCat with those of Cb and Cr in 4:4:4 */
static unsigned category(const struct block *b)
{
    static const uint8_t chroma_444[6] = {6, 7, 8, 3, 4, 9};
    if (!b->component || b->type == CHROMA_DC || b->type == CHROMA_AC)
        return b->type;
    return chroma_444[b->type] + (b->component == 2 ? 4u : 0);
}

static bool any_level(const struct block *b)
{
    for (unsigned i = 0; i < b->count; i++)
        if (b->level[i])
            return true;
    return false;
}

/* residual_block_cabac; returns coded_block_flag. */
static bool block_cabac(struct mbw *w, const struct block *b)
{
    unsigned cat = category(b), n = 0;
    int32_t nonzero[64];
    uint64_t places = 0;
    for (unsigned i = 0; i < b->count; i++)
        if (b->level[i]) {
            places |= UINT64_C(1) << i;
            nonzero[n++] = b->level[i];
        }
    bool coded = n > 0;
    if (b->type != BLOCK8 || w->chroma_array_type == 3)
        bins_put(&w->bins, h264_cabac_cbf_base[cat] + cbf_context(w, b), coded);
    if (coded)
        bins_residual(&w->bins, cat, w->mb->field, places, nonzero, b->count);
    return coded;
}

/* ---- residual() ---- */

static void write_block(struct mbw *w, struct block *b)
{
    unsigned at = b->y * 4 + b->x, c = b->component;
    choose_levels(w, b);
    if (!w->cabac_mode) {
        unsigned total = block_cavlc(w, b);
        if (b->type != DC16 && b->type != CHROMA_DC)
            w->mb->total[c][at] = (uint8_t)total;
    } else if (block_cabac(w, b)) {
        if (b->type == DC16 || b->type == CHROMA_DC)
            w->mb->cbf_dc |= (uint8_t)(1u << c);
        else
            w->mb->cbf[c] |= (uint16_t)(1u << at);
    }
}

/* 64 levels: in CAVLC four blocks of every fourth (7.3.5.3.1); in CABAC coded_block_flag is
 * inferred but for 4:4:4. */
static void write_8x8(struct mbw *w, struct block *b)
{
    uint16_t bits = (uint16_t)(0x33u << (b->y * 4 + b->x));
    b->type = BLOCK8;
    b->count = 64;
    choose_levels(w, b);
    if (w->cabac_mode) {
        if (w->chroma_array_type != 3 && !any_level(b))
            b->level[rng_below(&w->rng, 64)] = 1;
        if (block_cabac(w, b))
            w->mb->cbf[b->component] |= bits;
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        struct block part = {.type = BLOCK4,
                             .component = b->component,
                             .x = b->x + (i & 1),
                             .y = b->y + (i >> 1),
                             .count = 16};
        for (unsigned k = 0; k < 16; k++)
            part.level[k] = b->level[4 * k + i];
        w->mb->total[b->component][part.y * 4 + part.x] = (uint8_t)block_cavlc(w, &part);
    }
}

/* residual_luma(), of Cb and Cr in 4:4:4 too */
static void write_luma(struct mbw *w, unsigned c)
{
    bool i16 = w->mb->kind == MB_I16X16;
    if (i16)
        write_block(w, &(struct block){.type = DC16, .component = c, .count = 16});
    for (unsigned blk = 0; blk < 16; blk++) {
        struct block b = {
            .component = c, .x = (blk & 1) | (blk >> 1 & 2), .y = (blk >> 1 & 1) | (blk >> 2 & 2)};

        if (!(w->mb->cbp >> blk / 4 & 1))
            continue;
        if (w->mb->t8x8) {
            if (blk % 4 == 0)
                write_8x8(w, &b);
            continue;
        }
        b.type = i16 ? AC15 : BLOCK4;
        b.count = i16 ? 15 : 16;
        write_block(w, &b);
    }
}

void write_residual(struct mbw *w)
{
    unsigned blocks = w->chroma_array_type == 2 ? 8 : 4;
    write_luma(w, 0);
    if (w->chroma_array_type == 3) {
        write_luma(w, 1);
        write_luma(w, 2);
        return;
    }
    for (unsigned c = 1; c < 3 && w->mb->cbp >> 4; c++)
        write_block(w, &(struct block){.type = CHROMA_DC, .component = c, .count = blocks});
    for (unsigned c = 1; c < 3 && w->mb->cbp >> 5; c++)
        for (unsigned i = 0; i < blocks; i++)
            write_block(
                w, &(struct block){
                       .type = CHROMA_AC, .component = c, .x = i & 1, .y = i >> 1, .count = 15});
}
