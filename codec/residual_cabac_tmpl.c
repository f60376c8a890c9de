/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual() with CABAC: residual_block_cabac (7.3.5.3.3), its binarization (9.3.2) and contexts (9.3.3.1.1.9, 9.3.3.1.3).
 * Compiled for 16-bit and 32-bit levels, see residual_tmpl.c.
 */

/* First contexts of a block category. */
struct NAME(contexts) {
    uint8_t *cbf, *sig, *last, *abs;
};

static struct NAME(contexts) NAME(category)(struct mb_parser *p, unsigned cat)
{
    uint8_t *state = p->cabac.state;

    return (struct NAME(contexts)){state + h264_cabac_cbf_base[cat], state + h264_cabac_sig_base[p->field][cat],
                                   state + h264_cabac_last_base[p->field][cat], state + h264_cabac_abs_base[cat]};
}

/* coeff_abs_level_minus1 and coeff_sign_flag of n coefficients, last one first. gt1_max: 3 for chroma DC, else 4. */
static inline __attribute__((always_inline)) bool NAME(levels)(struct h264_cabac_engine *e, uint8_t *abs_ctx, unsigned gt1_max,
                                                               const uint8_t *at, unsigned n, COEFF *out)
{
    unsigned inc = 1, gt1 = 0, good = 1;

    while (n--) {
        int32_t level = 1, sign;

        if (h264_cabac_decide(e, abs_ctx + inc)) {
            uint8_t *ctx = abs_ctx + 5 + gt1;

            for (level = 2; level < 15 && h264_cabac_decide(e, ctx); level++)
                ;
            if (level == 15)
                level += (int32_t)h264_cabac_exp_golomb(e, 0);
            gt1 += gt1 < gt1_max;
            inc = 0;
        } else {
            inc += (unsigned)(inc - 1) < 3; /* 0 stays, 4 stays */
        }
        sign = -(int32_t)h264_cabac_bypass(e);
        level = (level ^ sign) - sign;
        good &= LEVEL_FITS(level);
        out[at[n]] = (COEFF)level;
    }
    return good;
}

/* A block of 4x4 shape, 15 or 16 coefficients, with its coded_block_flag. unit: where levels go, NULL: a unit is taken. scan
 * starts at the first coefficient. Returns 1 when coded, 0 when not, -1 on an error. */
static int NAME(block_4x4)(struct mb_parser *p, const struct NAME(contexts) *cx, unsigned cbf_inc, const uint8_t *scan,
                           unsigned count, COEFF *unit)
{
    struct h264_cabac_engine e = p->cabac.e;
    uint8_t at[16];
    unsigned n = 0, i = 0;
    bool good;

    if (!h264_cabac_decide(&e, cx->cbf + cbf_inc)) {
        p->cabac.e = e;
        return 0;
    }
    for (i = 0; i < count - 1; i++) {
        if (h264_cabac_decide(&e, cx->sig + i)) {
            at[n++] = scan[i];
            if (h264_cabac_decide(&e, cx->last + i))
                break;
        }
    }
    if (i == count - 1)
        at[n++] = scan[i];
    if (!unit)
        unit = NAME(take_units)(p, 1);
    good = NAME(levels)(&e, cx->abs, 4, at, n, unit);
    p->cabac.e = e;
    return good ? 1 : -1;
}

/* Chroma DC of 4 or 8 coefficients */
static int NAME(block_chroma_dc)(struct mb_parser *p, const struct NAME(contexts) *cx, unsigned cbf_inc, unsigned count,
                                 COEFF *out)
{
    struct h264_cabac_engine e = p->cabac.e;
    uint8_t at[8];
    unsigned n = 0, i = 0, c8x8 = count / 4;
    bool good;

    if (!h264_cabac_decide(&e, cx->cbf + cbf_inc)) {
        p->cabac.e = e;
        return 0;
    }
    for (i = 0; i < count - 1; i++) {
        unsigned inc = i / c8x8 < 2 ? i / c8x8 : 2;

        if (h264_cabac_decide(&e, cx->sig + inc)) {
            at[n++] = (uint8_t)i;
            if (h264_cabac_decide(&e, cx->last + inc))
                break;
        }
    }
    if (i == count - 1)
        at[n++] = (uint8_t)i;
    good = NAME(levels)(&e, cx->abs, 3, at, n, out);
    p->cabac.e = e;
    return good ? 1 : -1;
}

/* 64 coefficients; cbf_inc is not used, and coded_block_flag inferred to be 1, unless ChromaArrayType is 3. */
static int NAME(block_8x8)(struct mb_parser *p, const struct NAME(contexts) *cx, unsigned cbf_inc)
{
    const uint8_t *scan = h264_scan_8x8[p->field], *sig_inc = h264_cabac_sig_8x8[p->field];
    struct h264_cabac_engine e = p->cabac.e;
    uint8_t at[64];
    unsigned n = 0, i;
    bool good;

    if (p->chroma_array_type == 3 && !h264_cabac_decide(&e, cx->cbf + cbf_inc)) {
        p->cabac.e = e;
        return 0;
    }
    for (i = 0; i < 63; i++) {
        if (h264_cabac_decide(&e, cx->sig + sig_inc[i])) {
            at[n++] = scan[i];
            if (h264_cabac_decide(&e, cx->last + h264_cabac_last_8x8[i]))
                break;
        }
    }
    if (i == 63)
        at[n++] = scan[63];
    good = NAME(levels)(&e, cx->abs, 4, at, n, NAME(take_units)(p, 4));
    p->cabac.e = e;
    return good ? 1 : -1;
}

/* The borders of the coded_block_flag grid of a component w blocks wide and h blocks high. */
static uint32_t NAME(cbf_grid)(const struct mb_parser *p, unsigned c, unsigned w, unsigned h)
{
    bool intra = p->mb->kind != REC_MB_INTER;

    return (h264_neighbour_cbf(p->a, intra)->cbf[c] >> w & CBF_LEFT) |
           (h264_neighbour_cbf(p->b, intra)->cbf[c] >> 5 * h & CBF_TOP);
}

/* For an 8x8 block a neighbour with 4x4 blocks has no transBlockN: its coded_block_flag counts as 0 (9.3.3.1.1.9). */
static inline bool NAME(lacks_8x8)(const struct mb_edge *n)
{
    return n->flags & EDGE_AVAILABLE && !(n->flags & (EDGE_TRANSFORM_8X8 | EDGE_PCM));
}

static uint32_t NAME(cbf_8x8_mask)(const struct mb_parser *p)
{
    uint32_t upper = CBF_LEFT & ((1u << CBF_BIT(-1, 2)) - 1);

    return (NAME(lacks_8x8)(p->a) ? 0 : upper) | (NAME(lacks_8x8)(p->a_lower) ? 0 : CBF_LEFT & ~upper) |
           (NAME(lacks_8x8)(p->b) ? 0 : CBF_TOP);
}

static unsigned NAME(cbf_dc_inc)(const struct mb_parser *p, unsigned c)
{
    bool intra = p->mb->kind != REC_MB_INTER;
    unsigned a = h264_neighbour_cbf(p->a, intra)->flags, b = h264_neighbour_cbf(p->b, intra)->flags;

    return !!(a & EDGE_CBF_DC << c) + 2 * !!(b & EDGE_CBF_DC << c);
}

static inline unsigned NAME(cbf_inc)(uint32_t grid, unsigned bit)
{
    return (grid >> (bit - 1) & 1) | (grid >> (bit - 5) & 1) << 1;
}

/* residual_luma() (7.3.5.3.1) for luma, or a chroma component of 4:4:4 */
static bool NAME(luma_cabac)(struct mb_parser *p, unsigned c)
{
    unsigned cat = c ? 2 + 4 * c : 0, i16 = p->mb->kind == REC_MB_INTRA_16X16, coded = 0;
    bool t8 = p->mb->flags & REC_MB_TRANSFORM_8X8;
    struct NAME(contexts) cx = NAME(category)(p, t8 ? c ? cat + 3 : 5 : i16 ? cat + 1 : cat + 2);
    const uint8_t *scan = h264_scan_4x4[p->field] + i16;
    uint32_t grid = NAME(cbf_grid)(p, c, 4, 4);
    COEFF *units = NULL;

    if (t8)
        grid &= NAME(cbf_8x8_mask)(p);
    if (i16) {
        static const uint8_t identity[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        struct NAME(contexts) dc_cx = NAME(category)(p, cat);
        COEFF dc[16] = {0};
        int got = NAME(block_4x4)(p, &dc_cx, NAME(cbf_dc_inc)(p, c), identity, 16, dc);

        if (got < 0)
            return false;
        if (got) {
            units = NAME(take_luma_dc)(p, dc);
            p->edge.flags |= (uint16_t)(EDGE_CBF_DC << c);
            coded = 0xffff;
        }
    }
    for (unsigned blk = 0; blk < 16; blk++) {
        unsigned bit = CBF_BIT(mb_blk_x(blk), mb_blk_y(blk));
        int got;

        if (!(p->cbp >> (blk >> 2) & 1)) {
            blk |= 3;
            continue;
        }
        if (t8) {
            got = NAME(block_8x8)(p, &cx, NAME(cbf_inc)(grid, bit));
            grid |= got > 0 ? 0x63u << bit : 0;
            coded |= got > 0 ? 0xfu << blk : 0;
            blk |= 3;
        } else {
            got = NAME(block_4x4)(p, &cx, NAME(cbf_inc)(grid, bit), scan, 16 - i16, units ? units + blk * 16 : NULL);
            grid |= got > 0 ? 1u << bit : 0;
            coded |= got > 0 ? 1u << blk : 0;
        }
        if (got < 0)
            return false;
    }
    p->edge.cbf[c] = grid;
    p->mb->coded[c] = (uint16_t)coded;
    return true;
}

/* 4:2:0 and 4:2:2: DC of both components comes before the AC of both. */
static bool NAME(chroma_cabac)(struct mb_parser *p)
{
    unsigned blocks = p->chroma_blocks;
    struct NAME(contexts) dc_cx = NAME(category)(p, 3), ac_cx = NAME(category)(p, 4);
    const uint8_t *scan = h264_scan_4x4[p->field] + 1;
    COEFF dc[2][8] = {{0}};
    int got[2];

    for (unsigned i = 0; i < 2; i++) {
        got[i] = NAME(block_chroma_dc)(p, &dc_cx, NAME(cbf_dc_inc)(p, i + 1), blocks, dc[i]);
        if (got[i] < 0)
            return false;
        if (got[i])
            p->edge.flags |= (uint16_t)(EDGE_CBF_DC << (i + 1));
    }
    for (unsigned i = 0; i < 2; i++) {
        unsigned coded = got[i] ? (1u << blocks) - 1 : 0;
        COEFF *units = got[i] ? NAME(take_chroma_dc)(p, dc[i]) : NULL;

        if (p->cbp & 0x20) {
            uint32_t grid = NAME(cbf_grid)(p, i + 1, 2, blocks / 2);

            for (unsigned blk = 0; blk < blocks; blk++) {
                unsigned bit = CBF_BIT(blk & 1, blk >> 1);
                int ac = NAME(block_4x4)(p, &ac_cx, NAME(cbf_inc)(grid, bit), scan, 15, units ? units + blk * 16 : NULL);

                if (ac < 0)
                    return false;
                grid |= (unsigned)ac << bit;
                coded |= (unsigned)ac << blk;
            }
            p->edge.cbf[i + 1] = grid;
        }
        p->mb->coded[i + 1] = (uint16_t)coded;
    }
    return true;
}

bool NAME(h264_residual_cabac)(struct mb_parser *p)
{
    if (!NAME(luma_cabac)(p, 0))
        return false;
    NAME(record_nonzero)(p);
    if (p->chroma_array_type == 3)
        return NAME(luma_cabac)(p, 1) && NAME(luma_cabac)(p, 2);
    return !(p->cbp & 0x30) || NAME(chroma_cabac)(p);
}
