/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Macroblock syntax elements coded with CABAC: binarizations (9.3.2) and context increments (9.3.3.1). Context numbers are
 * those of Table 9-34. Residual data is in residual_cabac_tmpl.c.
 */
#include "codec/macroblock.h"

static unsigned flags_inc(const struct mb_parser *p, unsigned flag)
{
    return !!(p->a->flags & flag) + !!(p->b->flags & flag);
}

/* 9.3.3.1.1.1 */
unsigned h264_cabac_mb_skip_flag(struct mb_parser *p)
{
    return mb_context_bin(p, (p->slice_type == H264_B ? 24 : 11) + flags_inc(p, EDGE_CODED));
}

/* 9.3.3.1.1.2 */
unsigned h264_cabac_mb_field_decoding_flag(struct mb_parser *p)
{
    const struct mb_pair *a = p->mbaff.a, *b = p->mbaff.b;

    return mb_context_bin(p, 70 + (a && a->field) + (b && b->field));
}

/* Table 9-36 after its first bin. tail: ctxIdx of the bins for luma, chroma (twice) and prediction mode (twice). */
static unsigned intra_16x16_type(struct mb_parser *p, const uint8_t tail[5])
{
    unsigned type;

    if (h264_cabac_terminate(&p->cabac.e))
        return 25; /* I_PCM */
    type = 1 + 12 * mb_context_bin(p, tail[0]);
    if (mb_context_bin(p, tail[1]))
        type += 4 + 4 * mb_context_bin(p, tail[2]);
    type += 2 * mb_context_bin(p, tail[3]);
    return type + mb_context_bin(p, tail[4]);
}

static unsigned mb_type_i(struct mb_parser *p)
{
    static const uint8_t tail[5] = {6, 7, 8, 9, 10};

    return mb_context_bin(p, 3 + flags_inc(p, EDGE_NOT_I_NXN)) ? intra_16x16_type(p, tail) : 0;
}

/* 9.3.3.1.1.3, ctxIdxOffset 0: the prefix is 0 for SI. */
static unsigned mb_type_si(struct mb_parser *p)
{
    unsigned a = (p->a->flags & (EDGE_AVAILABLE | EDGE_SI)) == EDGE_AVAILABLE;
    unsigned b = (p->b->flags & (EDGE_AVAILABLE | EDGE_SI)) == EDGE_AVAILABLE;

    return mb_context_bin(p, a + b) ? 1 + mb_type_i(p) : 0;
}

static unsigned mb_type_p(struct mb_parser *p)
{
    static const uint8_t tail[5] = {18, 19, 19, 20, 20};

    if (mb_context_bin(p, 14))
        return 5 + (mb_context_bin(p, 17) ? intra_16x16_type(p, tail) : 0);
    if (mb_context_bin(p, 15))
        return mb_context_bin(p, 17) ? 1 : 2;
    return mb_context_bin(p, 16) ? 3 : 0;
}

static unsigned mb_type_b(struct mb_parser *p)
{
    static const uint8_t tail[5] = {33, 34, 34, 35, 35};
    unsigned v;

    if (!mb_context_bin(p, 27 + flags_inc(p, EDGE_NOT_DIRECT)))
        return 0;
    if (!mb_context_bin(p, 30))
        return 1 + mb_context_bin(p, 32);
    v = mb_context_bin(p, 31) << 3;
    v |= mb_context_bin(p, 32) << 2;
    v |= mb_context_bin(p, 32) << 1;
    v |= mb_context_bin(p, 32);
    if (v < 8)
        return 3 + v;
    if (v == 13)
        return 23 + (mb_context_bin(p, 32) ? intra_16x16_type(p, tail) : 0);
    if (v >= 14)
        return v == 14 ? 11 : 22;
    return 12 + 2 * (v - 8) + mb_context_bin(p, 32);
}

unsigned h264_cabac_mb_type(struct mb_parser *p)
{
    if (p->slice_type == H264_I)
        return p->si_slice ? mb_type_si(p) : mb_type_i(p);
    return p->slice_type == H264_P ? mb_type_p(p) : mb_type_b(p);
}

/* Table 9-38 */
unsigned h264_cabac_sub_mb_type(struct mb_parser *p)
{
    unsigned v;

    if (p->slice_type == H264_P) {
        if (mb_context_bin(p, 21))
            return 0;
        if (!mb_context_bin(p, 22))
            return 1;
        return mb_context_bin(p, 23) ? 2 : 3;
    }
    if (!mb_context_bin(p, 36))
        return 0;
    if (!mb_context_bin(p, 37))
        return 1 + mb_context_bin(p, 39);
    if (!mb_context_bin(p, 38)) {
        v = mb_context_bin(p, 39) << 1;
        return 3 + (v | mb_context_bin(p, 39));
    }
    if (mb_context_bin(p, 39))
        return 11 + mb_context_bin(p, 39);
    v = mb_context_bin(p, 39) << 1;
    return 7 + (v | mb_context_bin(p, 39));
}

/* 9.3.3.1.1.6; inc: condTermFlagA + 2 * condTermFlagB. Stops at 32, which no list allows. */
unsigned h264_cabac_ref_idx(struct mb_parser *p, unsigned inc)
{
    unsigned v = 0;

    if (!mb_context_bin(p, 54 + inc))
        return 0;
    v = 1;
    if (!mb_context_bin(p, 58))
        return v;
    for (v = 2; v < 32 && mb_context_bin(p, 59); v++)
        ;
    return v;
}

/* UEG3 with signedValFlag 1, uCoff 9; sum: absMvdComp of A and B (9.3.3.1.1.7) */
int32_t h264_cabac_mvd(struct mb_parser *p, unsigned component, unsigned sum)
{
    unsigned base = component ? 47 : 40, v = 1;

    if (!mb_context_bin(p, base + (sum > 2) + (sum > 32)))
        return 0;
    while (v < 9 && mb_context_bin(p, base + (v < 4 ? 2 + v : 6)))
        v++;
    if (v == 9)
        v += h264_cabac_exp_golomb(&p->cabac.e, 3);
    return h264_cabac_bypass(&p->cabac.e) ? -(int32_t)v : (int32_t)v;
}

/* 9.3.2.7. Stops at a value past every range of mb_qp_delta. */
int32_t h264_cabac_mb_qp_delta(struct mb_parser *p)
{
    unsigned k = 0;

    if (!mb_context_bin(p, 60 + p->last_delta))
        return 0;
    for (k = 1; k < 256 && mb_context_bin(p, k == 1 ? 62 : 63); k++)
        ;
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
    unsigned v;

    if (mb_context_bin(p, 68))
        return -1;
    v = mb_context_bin(p, 69);
    v |= mb_context_bin(p, 69) << 1;
    v |= mb_context_bin(p, 69) << 2;
    return (int)v;
}

/* 9.3.3.1.1.4: for luma a neighbouring 8x8 block counts when its bit is clear. */
unsigned h264_cabac_coded_block_pattern(struct mb_parser *p)
{
    unsigned a = ~p->a->cbp, b = ~p->b->cbp, cbp, inc;

    cbp = mb_context_bin(p, 73 + (a >> 1 & 1) + (b >> 1 & 2));
    cbp |= mb_context_bin(p, 73 + !(cbp & 1) + (b >> 2 & 2)) << 1;
    cbp |= mb_context_bin(p, 73 + (a >> 3 & 1) + 2 * !(cbp & 1)) << 2;
    cbp |= mb_context_bin(p, 73 + !(cbp & 4) + 2 * !(cbp & 2)) << 3;
    if (p->chroma_array_type == 0 || p->chroma_array_type == 3)
        return cbp;
    a = p->a->cbp >> 4;
    b = p->b->cbp >> 4;
    inc = (a != 0) + 2 * (b != 0);
    if (mb_context_bin(p, 77 + inc))
        cbp |= 16u << mb_context_bin(p, 81 + (a == 2) + 2 * (b == 2));
    return cbp;
}

unsigned h264_cabac_transform_size_8x8_flag(struct mb_parser *p)
{
    return mb_context_bin(p, 399 + flags_inc(p, EDGE_TRANSFORM_8X8));
}
