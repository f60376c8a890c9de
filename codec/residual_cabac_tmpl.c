/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual() with CABAC: residual_block_cabac (7.3.5.3.3), its binarization (9.3.2) and contexts
 * (9.3.3.1.1.9, 9.3.3.1.3). Compiled for 16-bit and 32-bit levels, see residual_tmpl.c.
 */

/* First contexts of a block category. */
struct NAME(contexts) {
    uint64_t *cbf, *sig, *last, *abs;
};

static struct NAME(contexts) NAME(category)(struct mb_parser *p, unsigned cat)
{
    uint64_t *state = p->cabac.state;
    return (struct NAME(contexts)){
        state + h264_cabac_cbf_base[cat], state + h264_cabac_sig_base[p->field][cat],
        state + h264_cabac_last_base[p->field][cat], state + h264_cabac_abs_base[cat]};
}

/* coeff_abs_level_minus1 and coeff_sign_flag of n coefficients, last one first. gt1_max: 3 for
 * chroma DC, else 4. *most: at least the sum of all |level|. */
static inline __attribute__((always_inline)) bool NAME(levels)(struct h264_cabac_engine *e,
                                                               uint64_t *abs_ctx, unsigned gt1_max,
                                                               const uint8_t *at, unsigned n,
                                                               COEFF *out, uint32_t *most)
{
    uint32_t sum = n;
    uint64_t *ctx = abs_ctx + 1, *gt1_ctx = abs_ctx + 5, *gt1_last = gt1_ctx + gt1_max;
    bool good = true;
    while (n--) {
        int32_t level = 1, sign;
        if (h264_cabac_bin(e, ctx)) {
            do
                h264_cabac_ready(e);
            while (++level < 15 && h264_cabac_bin(e, gt1_ctx));
            if (level == 15)
                level += (int32_t)h264_cabac_exp_golomb(e, 0);
            sum += (uint32_t)level - 1;
            gt1_ctx += gt1_ctx < gt1_last;
            ctx = abs_ctx;
        } else {
            ctx += (size_t)(ctx - abs_ctx - 1) < 3; /* 0 stays, 4 stays */
        }
        sign = -(int32_t)h264_cabac_bypass_bin(e);
        h264_cabac_ready(e);
        level = (level ^ sign) - sign;
        good &= LEVEL_FITS(level);
        out[at[n]] = (COEFF)level;
    }
    if (sum > *most)
        *most = sum;
    return good;
}

/* A block of 4x4 shape, 15 or 16 coefficients, with its coded_block_flag. coefficient block: where
 * levels go, NULL: a coefficient block is taken. scan starts at the first coefficient. Returns 1
 * when coded, 0 when not, -1 on an error. */
static inline __attribute__((always_inline)) int NAME(block_4x4)(
    struct mb_parser *p, struct h264_cabac_engine *e, const struct NAME(contexts) * cx,
    unsigned cbf_inc, const uint8_t *scan, unsigned count, COEFF *coeff_block)
{
    uint64_t *sig = cx->sig, *last = cx->last;
    uint8_t at[16];
    unsigned n = 0, i = 0;
    if (!h264_cabac_decide(e, cx->cbf + cbf_inc))
        return 0;
    h264_cabac_fill(e);
    for (i = 0; i < count - 1; i++) {
        if (h264_cabac_bin_select(e, sig + i)) {
            at[n++] = scan[i];
            if (h264_cabac_bin(e, last + i))
                break;
        }
        h264_cabac_ready(e);
    }
    h264_cabac_ready(e);
    if (i == count - 1)
        at[n++] = scan[i];
    if (!coeff_block)
        coeff_block = NAME(new_blocks)(p, 1);
    return NAME(levels)(e, cx->abs, 4, at, n, coeff_block, &p->level_sum) ? 1 : -1;
}

/* The same for blocks that are rare enough to share the code. */
static __attribute__((noinline)) int NAME(block_ac)(struct mb_parser *p,
                                                    const struct NAME(contexts) * cx,
                                                    unsigned cbf_inc, const uint8_t *scan,
                                                    unsigned count, COEFF *coeff_block)
{
    struct h264_cabac_engine e = p->cabac.e;
    int got = NAME(block_4x4)(p, &e, cx, cbf_inc, scan, count, coeff_block);
    h264_cabac_save(&p->cabac.e, &e);
    return got;
}

/* Chroma DC of 4 or 8 coefficients */
static int NAME(block_chroma_dc)(struct mb_parser *p, const struct NAME(contexts) * cx,
                                 unsigned cbf_inc, unsigned count, COEFF *out)
{
    struct h264_cabac_engine e = p->cabac.e;
    uint8_t at[8];
    unsigned n = 0, i = 0, c8x8 = count / 4;
    bool good;
    h264_cabac_fill(&e);
    if (!h264_cabac_decide(&e, cx->cbf + cbf_inc)) {
        h264_cabac_save(&p->cabac.e, &e);
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
    good = NAME(levels)(&e, cx->abs, 3, at, n, out, &p->level_sum);
    h264_cabac_save(&p->cabac.e, &e);
    return good ? 1 : -1;
}

/* 64 coefficients; cbf_inc is not used, and coded_block_flag inferred to be 1, unless
 * ChromaArrayType is 3. */
static inline __attribute__((always_inline)) int NAME(block_8x8)(struct mb_parser *p,
                                                                 struct h264_cabac_engine *e,
                                                                 const struct NAME(contexts) * cx,
                                                                 unsigned cbf_inc)
{
    const uint8_t *scan = h264_scan_8x8[p->field], *sig_inc = h264_cabac_sig_8x8[p->field];
    /* those of 0 are the first */
    uint64_t *sig = cx->sig, *last = cx->last, *sig_ctx = sig, *last_ctx = last;
    uint8_t at[64];
    unsigned n = 0, i;
    uint32_t sum = 0;

    if (p->format.chroma_array_type == 3 && !h264_cabac_decide(e, cx->cbf + cbf_inc))
        return 0;
    h264_cabac_fill(e);
    /* the next contexts are found before it is known where this one leads */
    for (i = 0; i < 63; i++) {
        uint64_t *sig_now = sig_ctx, *last_now = last_ctx;
        sig_ctx = sig + sig_inc[i + 1];
        last_ctx = last + h264_cabac_last_8x8[i + 1];
        if (h264_cabac_bin_select(e, sig_now)) {
            at[n++] = scan[i];
            if (h264_cabac_bin(e, last_now))
                break;
        }
        h264_cabac_ready(e);
    }
    h264_cabac_ready(e);
    if (i == 63)
        at[n++] = scan[63];
    if (!NAME(levels)(e, cx->abs, 4, at, n, NAME(new_blocks)(p, 4), &sum))
        return -1;
    mb_level_sum(p, (sum + 1) / 2); /* an 8x8 block may have twice as much */
    return 1;
}

/* The borders of the coded_block_flag grid of a component w blocks wide and h blocks high. */
static uint32_t NAME(cbf_grid)(const struct mb_parser *p, unsigned c, unsigned w, unsigned h)
{
    bool intra = p->mb->kind != REC_MB_INTER;
    return (h264_neighbour_cbf(p->near.a, intra)->cbf[c] >> w & CBF_LEFT) |
           (h264_neighbour_cbf(p->near.b, intra)->cbf[c] >> 5 * h & CBF_TOP);
}

/* For an 8x8 block a neighbour with 4x4 blocks has no transBlockN: its coded_block_flag counts as 0
 * (9.3.3.1.1.9). */
static inline bool NAME(lacks_8x8)(const struct mb_edge *n)
{
    return n->flags & EDGE_AVAILABLE && !(n->flags & (EDGE_TRANSFORM_8X8 | EDGE_PCM));
}

static uint32_t NAME(cbf_8x8_mask)(const struct mb_parser *p)
{
    uint32_t upper = CBF_LEFT & ((1u << CBF_BIT(-1, 2)) - 1);
    return (NAME(lacks_8x8)(p->near.a) ? 0 : upper) |
           (NAME(lacks_8x8)(p->near.a_lower) ? 0 : CBF_LEFT & ~upper) |
           (NAME(lacks_8x8)(p->near.b) ? 0 : CBF_TOP);
}

static unsigned NAME(cbf_dc_inc)(const struct mb_parser *p, unsigned c)
{
    bool intra = p->mb->kind != REC_MB_INTER;
    unsigned a = h264_neighbour_cbf(p->near.a, intra)->flags,
             b = h264_neighbour_cbf(p->near.b, intra)->flags;
    return (unsigned)!!(a & EDGE_CBF_DC << c) + 2u * !!(b & EDGE_CBF_DC << c);
}

static inline unsigned NAME(cbf_inc)(uint32_t grid, unsigned bit)
{
    return (grid >> (bit - 1) & 1) | (grid >> (bit - 5) & 1) << 1;
}

/* Luma, or a chroma component of 4:4:4, with the 8x8 transform */
static bool NAME(luma_8x8)(struct mb_parser *p, unsigned c)
{
    struct NAME(contexts) cx = NAME(category)(p, c ? 5 + 4 * c : 5);
    uint32_t grid = NAME(cbf_grid)(p, c, 4, 4) & NAME(cbf_8x8_mask)(p);
    struct h264_cabac_engine e = p->cabac.e;
    unsigned coded = 0;

    for (unsigned q = 0; q < 4; q++) {
        unsigned bit = CBF_BIT((q & 1) * 2, q & 2);
        int got;
        if (!(p->cbp >> q & 1))
            continue;
        got = NAME(block_8x8)(p, &e, &cx, NAME(cbf_inc)(grid, bit));
        if (got < 0)
            return false;
        grid |= got ? 0x63u << bit : 0;
        coded |= got ? 0xfu << 4 * q : 0;
    }
    h264_cabac_save(&p->cabac.e, &e);
    p->edge.cbf[c] = grid;
    p->mb->coded[c] = (uint16_t)coded;
    return true;
}

/* The same in 4x4 blocks */
static bool NAME(luma_4x4)(struct mb_parser *p, unsigned c)
{
    struct NAME(contexts) cx = NAME(category)(p, c ? 4 + 4 * c : 2);
    const uint8_t *scan = h264_scan_4x4[p->field];
    uint32_t grid = NAME(cbf_grid)(p, c, 4, 4);
    struct h264_cabac_engine e = p->cabac.e;
    unsigned coded = 0;

    for (unsigned blk = 0; blk < 16; blk++) {
        unsigned bit = CBF_BIT(mb_blk_x(blk), mb_blk_y(blk));
        int got;
        if (!(p->cbp >> (blk >> 2) & 1)) {
            blk |= 3;
            continue;
        }
        got = NAME(block_4x4)(p, &e, &cx, NAME(cbf_inc)(grid, bit), scan, 16, NULL);
        if (got < 0)
            return false;
        grid |= (unsigned)got << bit;
        coded |= (unsigned)got << blk;
    }
    h264_cabac_save(&p->cabac.e, &e);
    p->edge.cbf[c] = grid;
    p->mb->coded[c] = (uint16_t)coded;
    return true;
}

/* Intra_16x16: DC, then AC where CodedBlockPatternLuma is 15 */
static bool NAME(luma_16x16)(struct mb_parser *p, unsigned c)
{
    static const uint8_t identity[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    unsigned cat = c ? 2 + 4 * c : 0, coded = 0;
    struct NAME(contexts) dc_cx = NAME(category)(p, cat), cx = NAME(category)(p, cat + 1);
    const uint8_t *scan = h264_scan_4x4[p->field] + 1;
    uint32_t grid = NAME(cbf_grid)(p, c, 4, 4);
    COEFF *coeff_blocks = NULL, dc[16] = {0};
    int got = NAME(block_ac)(p, &dc_cx, NAME(cbf_dc_inc)(p, c), identity, 16, dc);

    if (got > 0) {
        coeff_blocks = NAME(take_luma_dc)(p, dc);
        p->edge.flags |= (uint16_t)(EDGE_CBF_DC << c);
        coded = 0xffff;
    }
    for (unsigned blk = 0; blk < 16 && p->cbp & 15 && got >= 0; blk++) {
        unsigned bit = CBF_BIT(mb_blk_x(blk), mb_blk_y(blk));
        got = NAME(block_ac)(p, &cx, NAME(cbf_inc)(grid, bit), scan, 15,
                             coeff_blocks ? coeff_blocks + blk * 16 : NULL);
        grid |= (unsigned)(got > 0) << bit;
        coded |= (unsigned)(got > 0) << blk;
    }
    p->edge.cbf[c] = grid;
    p->mb->coded[c] = (uint16_t)coded;
    return got >= 0;
}

/* residual_luma() (7.3.5.3.1) for luma, or a chroma component of 4:4:4 */
static bool NAME(luma_cabac)(struct mb_parser *p, unsigned c)
{
    if (p->mb->flags & REC_MB_TRANSFORM_8X8)
        return NAME(luma_8x8)(p, c);
    return p->mb->kind == REC_MB_INTRA_16X16 ? NAME(luma_16x16)(p, c) : NAME(luma_4x4)(p, c);
}

/* 4:2:0 and 4:2:2: DC of both components comes before the AC of both. */
static bool NAME(chroma_cabac)(struct mb_parser *p)
{
    unsigned blocks = p->format.chroma_blocks;
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
        COEFF *coeff_blocks = got[i] ? NAME(take_chroma_dc)(p, dc[i]) : NULL;

        if (p->cbp & 0x20) {
            uint32_t grid = NAME(cbf_grid)(p, i + 1, 2, blocks / 2);
            for (unsigned blk = 0; blk < blocks; blk++) {
                unsigned bit = CBF_BIT(blk & 1, blk >> 1);
                int ac = NAME(block_ac)(p, &ac_cx, NAME(cbf_inc)(grid, bit), scan, 15,
                                        coeff_blocks ? coeff_blocks + blk * 16 : NULL);
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
    if (p->format.chroma_array_type == 3)
        return NAME(luma_cabac)(p, 1) && NAME(luma_cabac)(p, 2);
    return !(p->cbp & 0x30) || NAME(chroma_cabac)(p);
}
