/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Macroblock syntax elements coded with CABAC: binarizations (9.3.2) and context increments
 * (9.3.3.1). Context numbers are those of Table 9-34. Residual data is in residual_cabac_tmpl.c.
 */
#include "codec/cabac.h"
#include "codec/macroblock.h"

/* Several bins of one syntax element. The engine is a copy, which stays in registers: that of the
 * parser would be stored and loaded with every bin, because the byte of a context that is stored
 * could be part of it. */
struct bins {
    struct h264_cabac_engine e;
    uint64_t *context;
};

static inline __attribute__((always_inline)) struct bins bins_begin(struct mb_parser *p)
{
    return (struct bins){p->cabac.e, p->cabac.state};
}

static inline __attribute__((always_inline)) void bins_end(struct mb_parser *p,
                                                           const struct bins *b)
{
    h264_cabac_save(&p->cabac.e, &b->e);
}

static inline __attribute__((always_inline)) unsigned bin(struct bins *b, unsigned ctx)
{
    return h264_cabac_decide(&b->e, b->context + ctx);
}

static unsigned flags_inc(const struct mb_parser *p, unsigned flag)
{
    return (unsigned)!!(p->near.a->flags & flag) + !!(p->near.b->flags & flag);
}

/* 9.3.3.1.1.1 */
unsigned h264_cabac_mb_skip_flag(struct mb_parser *p)
{
    return mb_context_bin(p, (p->format.slice_type == H264_B ? 24 : 11) + flags_inc(p, EDGE_CODED));
}

/* 9.3.3.1.1.2 */
unsigned h264_cabac_mb_field_decoding_flag(struct mb_parser *p)
{
    const struct mb_pair *a = p->mbaff.a, *b = p->mbaff.b;
    return mb_context_bin(p, 70u + (a && a->field) + (b && b->field));
}

/* Table 9-36 after its first bin. tail: ctxIdx of the bins for luma, chroma (twice) and prediction
 * mode (twice). */
static inline __attribute__((always_inline)) unsigned intra_16x16_type(struct bins *b,
                                                                       const uint8_t tail[5])
{
    unsigned type;
    if (h264_cabac_terminate(&b->e))
        return 25; /* I_PCM */
    type = 1 + 12 * bin(b, tail[0]);
    if (bin(b, tail[1]))
        type += 4 + 4 * bin(b, tail[2]);
    type += 2 * bin(b, tail[3]);
    return type + bin(b, tail[4]);
}

static inline __attribute__((always_inline)) unsigned mb_type_i(const struct mb_parser *p,
                                                                struct bins *b)
{
    static const uint8_t tail[5] = {6, 7, 8, 9, 10};
    return bin(b, 3 + flags_inc(p, EDGE_NOT_I_NXN)) ? intra_16x16_type(b, tail) : 0;
}

/* 9.3.3.1.1.3, ctxIdxOffset 0: the prefix is 0 for SI. */
static inline __attribute__((always_inline)) unsigned mb_type_si(const struct mb_parser *p,
                                                                 struct bins *b)
{
    unsigned inc = (p->near.a->flags & (EDGE_AVAILABLE | EDGE_SI)) == EDGE_AVAILABLE;
    inc += (p->near.b->flags & (EDGE_AVAILABLE | EDGE_SI)) == EDGE_AVAILABLE;
    return bin(b, inc) ? 1 + mb_type_i(p, b) : 0;
}

static inline __attribute__((always_inline)) unsigned mb_type_p(struct bins *b)
{
    static const uint8_t tail[5] = {18, 19, 19, 20, 20};
    if (bin(b, 14))
        return 5 + (bin(b, 17) ? intra_16x16_type(b, tail) : 0);
    if (bin(b, 15))
        return bin(b, 17) ? 1 : 2;
    return bin(b, 16) ? 3 : 0;
}

static inline __attribute__((always_inline)) unsigned mb_type_b(const struct mb_parser *p,
                                                                struct bins *b)
{
    static const uint8_t tail[5] = {33, 34, 34, 35, 35};
    unsigned v;
    if (!bin(b, 27 + flags_inc(p, EDGE_NOT_DIRECT)))
        return 0;
    if (!bin(b, 30))
        return 1 + bin(b, 32);
    v = bin(b, 31) << 3;
    v |= bin(b, 32) << 2;
    v |= bin(b, 32) << 1;
    v |= bin(b, 32);
    if (v < 8)
        return 3 + v;
    if (v == 13)
        return 23 + (bin(b, 32) ? intra_16x16_type(b, tail) : 0);
    if (v >= 14)
        return v == 14 ? 11 : 22;
    return 12 + 2 * (v - 8) + bin(b, 32);
}

unsigned h264_cabac_mb_type(struct mb_parser *p)
{
    struct bins b = bins_begin(p);
    unsigned type;
    if (p->format.slice_type == H264_I)
        type = p->format.si_slice ? mb_type_si(p, &b) : mb_type_i(p, &b);
    else
        type = p->format.slice_type == H264_P ? mb_type_p(&b) : mb_type_b(p, &b);
    bins_end(p, &b);
    return type;
}

/* Table 9-38 */
static inline __attribute__((always_inline)) unsigned sub_type_p(struct bins *b)
{
    if (bin(b, 21))
        return 0;
    if (!bin(b, 22))
        return 1;
    return bin(b, 23) ? 2 : 3;
}

static inline __attribute__((always_inline)) unsigned sub_type_b(struct bins *b)
{
    unsigned v;
    if (!bin(b, 36))
        return 0;
    if (!bin(b, 37))
        return 1 + bin(b, 39);
    if (!bin(b, 38)) {
        v = bin(b, 39) << 1;
        return 3 + (v | bin(b, 39));
    }
    if (bin(b, 39))
        return 11 + bin(b, 39);
    v = bin(b, 39) << 1;
    return 7 + (v | bin(b, 39));
}

unsigned h264_cabac_sub_mb_type(struct mb_parser *p)
{
    struct bins b = bins_begin(p);
    unsigned type = p->format.slice_type == H264_P ? sub_type_p(&b) : sub_type_b(&b);
    bins_end(p, &b);
    return type;
}

/* 9.3.3.1.1.6; inc: condTermFlagA + 2 * condTermFlagB. Stops at 32, which no list allows. */
unsigned h264_cabac_ref_idx(struct mb_parser *p, unsigned inc)
{
    struct bins b = bins_begin(p);
    unsigned v = bin(&b, 54 + inc);
    if (v && bin(&b, 58))
        for (v = 2; v < 32 && bin(&b, 59); v++)
            ;
    bins_end(p, &b);
    return v;
}

/* UEG3 with signedValFlag 1, uCoff 9; sum: absMvdComp of A and B (9.3.3.1.1.7) */
static inline __attribute__((always_inline)) int32_t mvd_component(struct bins *b, unsigned base,
                                                                   unsigned sum)
{
    int32_t v = 1, sign;
    if (!bin(b, base + (sum > 2) + (sum > 32)))
        return 0;
    while (v < 4 && bin(b, base + 2 + (unsigned)v))
        v++;
    if (v == 4)
        while (v < 9 && bin(b, base + 6))
            v++;
    if (v == 9)
        v += (int32_t)h264_cabac_exp_golomb(&b->e, 3);
    sign = -(int32_t)h264_cabac_bypass(&b->e);
    return (v ^ sign) - sign;
}

void h264_cabac_mvd(struct mb_parser *p, unsigned sum_x, unsigned sum_y, int32_t mvd[2])
{
    struct bins b = bins_begin(p);
    h264_cabac_fill(&b.e);
    mvd[0] = mvd_component(&b, 40, sum_x);
    mvd[1] = mvd_component(&b, 47, sum_y);
    bins_end(p, &b);
}

/* 9.3.2.7. Stops at a value past every range of mb_qp_delta. */
int32_t h264_cabac_mb_qp_delta(struct mb_parser *p)
{
    struct bins b = bins_begin(p);
    unsigned k = bin(&b, 60 + p->last_delta);
    if (k && bin(&b, 62))
        for (k = 2; k < 256 && bin(&b, 63); k++)
            ;
    bins_end(p, &b);
    return k & 1 ? (int32_t)(k + 1) / 2 : -(int32_t)(k / 2);
}

unsigned h264_cabac_intra_chroma_pred_mode(struct mb_parser *p)
{
    unsigned v = 0;
    if (!mb_context_bin(p, 64 + flags_inc(p, EDGE_CHROMA_MODE)))
        return 0;
    for (v = 1; v < 3 && mb_context_bin(p, 67); v++)
        ;
    return v;
}

int h264_cabac_intra_pred_mode(struct mb_parser *p)
{
    struct bins b = bins_begin(p);
    int v = -1;
    if (!bin(&b, 68)) {
        v = (int)bin(&b, 69);
        v |= (int)bin(&b, 69) << 1;
        v |= (int)bin(&b, 69) << 2;
    }
    bins_end(p, &b);
    return v;
}

/* 9.3.3.1.1.4: for luma a neighbouring 8x8 block counts when its bit is clear. */
unsigned h264_cabac_coded_block_pattern(struct mb_parser *p)
{
    struct bins bins = bins_begin(p);
    unsigned a = ~p->near.a->cbp, b = ~p->near.b->cbp, cbp;
    h264_cabac_fill(&bins.e);
    cbp = bin(&bins, 73 + (a >> 1 & 1) + (b >> 1 & 2));
    cbp |= bin(&bins, 73u + !(cbp & 1) + (b >> 2 & 2)) << 1;
    cbp |= bin(&bins, 73 + (a >> 3 & 1) + 2u * !(cbp & 1)) << 2;
    cbp |= bin(&bins, 73u + !(cbp & 4) + 2u * !(cbp & 2)) << 3;
    a = p->near.a->cbp >> 4;
    b = p->near.b->cbp >> 4;
    if (p->format.chroma_array_type && p->format.chroma_array_type < 3 &&
        bin(&bins, 77u + (a != 0) + 2u * (b != 0)))
        cbp |= 16u << bin(&bins, 81u + (a == 2) + 2u * (b == 2));
    bins_end(p, &bins);
    return cbp;
}

unsigned h264_cabac_transform_size_8x8_flag(struct mb_parser *p)
{
    return mb_context_bin(p, 399 + flags_inc(p, EDGE_TRANSFORM_8X8));
}
