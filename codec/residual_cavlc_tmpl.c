/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual() with CAVLC: residual_block_cavlc (7.3.5.3.2, 9.2). Compiled for 16-bit and 32-bit
 * levels, see residual_tmpl.c.
 */

static inline uint64_t NAME(window)(const struct h264_bits *b, size_t pos)
{
    struct h264_bits at = {.data = b->data, .pos = pos};
    return h264_bits_window(&at);
}

/* level_prefix, level_suffix and the level (9.2.2.1) of coefficients from_one .. total - 1, after
 * the trailing ones. *sum gains each |level|. */
static inline __attribute__((always_inline)) bool NAME(levels_cavlc)(const struct h264_bits *b,
                                                                     size_t *pos, unsigned ones,
                                                                     unsigned total,
                                                                     int32_t level[16],
                                                                     uint32_t *sum)
{
    unsigned suffix_length = total > 10 && ones < 3, good = 1;
    for (unsigned i = ones; i < total; i++) {
        uint64_t w = NAME(window)(b, *pos);
        unsigned prefix = (unsigned)__builtin_clzll(w | 1), size = suffix_length;
        uint32_t code;
        if (prefix > 25) /* more than levels of 14 bits need */
            return false;
        if (prefix == 14 && !suffix_length)
            size = 4;
        else if (prefix >= 15)
            size = prefix - 3;
        code = (prefix < 15 ? prefix : 15) << suffix_length;
        if (size)
            code += (uint32_t)(w << (prefix + 1) >> (64 - size));
        if (prefix >= 15 && !suffix_length)
            code += 15;
        if (prefix >= 16)
            code += (1u << (prefix - 3)) - 4096;
        if (i == ones && ones < 3)
            code += 2;
        *pos += prefix + 1 + size;
        level[i] = code & 1 ? -(int32_t)((code + 1) >> 1) : (int32_t)((code + 2) >> 1);
        good &= LEVEL_FITS(level[i]);
        *sum += (code >> 1) + 1;
        if (!suffix_length)
            suffix_length = 1;
        /* 9.2.2.1: |level| > 3 << (suffixLength - 1); levelCode + 2 is 2 * |level| or one more */
        if (((code >> 1) + 1) > 3u << (suffix_length - 1) && suffix_length < 6)
            suffix_length++;
    }
    return good;
}

uint32_t NAME(h264_cavlc_levels)(struct h264_bits *b, unsigned token, unsigned max_coeff,
                                 const uint8_t *scan, unsigned scan_shift, COEFF *out)
{
    unsigned ones = token & 3, total = token >> 2 & 31, zeros = 0, at, entry;
    size_t pos = b->pos + (token >> 8);
    uint64_t w = NAME(window)(b, pos);
    uint32_t sum = ones;
    int32_t level[16];
    if (total > max_coeff)
        return 0;
    for (unsigned i = 0; i < ones; i++)
        level[i] = (int32_t)(1 - 2 * (w >> (63 - i) & 1));
    pos += ones;
    if (total > ones && !NAME(levels_cavlc)(b, &pos, ones, total, level, &sum))
        return 0;
    w = NAME(window)(b, pos);
    if (total < max_coeff) {
        entry = h264_cavlc_zeros(w, total, max_coeff);
        zeros = entry & 15;
        if (!entry || total + zeros > max_coeff)
            return 0;
        pos += entry >> 4;
        w <<= entry >> 4;
    }
    at = total + zeros - 1;
    out[scan[at << scan_shift]] = (COEFF)level[0];
    for (unsigned i = 1; i < total; i++) {
        unsigned run = 0;
        if (zeros) {
            entry = h264_cavlc_run(w, zeros);
            run = entry & 15;
            if (!entry || run > zeros)
                return 0;
            pos += entry >> 4;
            zeros -= run;
            w = run > 6 || !(i & 7) ? NAME(window)(b, pos) : w << (entry >> 4);
        }
        at -= run + 1;
        out[scan[at << scan_shift]] = (COEFF)level[i];
    }
    b->pos = pos < b->limit ? pos : b->limit;
    return sum;
}

/* nC (9.2.1) of the block at column x, row y: the border of the grid is 0 where a neighbour is not
 * available. */
static inline enum h264_nc_class NAME(nc_class)(const struct mb_parser *p, const uint8_t *total,
                                                unsigned x, unsigned y)
{
    unsigned shift =
        (x || p->near.a->flags & EDGE_AVAILABLE) && (y || p->near.b->flags & EDGE_AVAILABLE);
    const uint8_t *at = total + GRID((int)x, (int)y);
    return h264_cavlc_nc_class((at[-1] + at[-GRID_ROW] + shift) >> shift);
}

/* A block whose levels go to out, or to a coefficient block that is taken. Returns TotalCoeff, or
 * -1. */
static inline int NAME(block_cavlc)(struct mb_parser *p, enum h264_nc_class column,
                                    unsigned max_coeff, const uint8_t *scan, unsigned scan_shift,
                                    COEFF *out)
{
    struct h264_bits *b = &p->bits;
    unsigned token = h264_cavlc_token(h264_bits_window(b), column);
    if (!token)
        return -1;
    if (!(token & 0xff)) {
        h264_bits_skip(b, token >> 8);
        return 0;
    }
    if (!out)
        out = NAME(new_blocks)(p, 1);
    uint32_t sum = NAME(h264_cavlc_levels)(b, token, max_coeff, scan, scan_shift, out);
    mb_level_sum(p, sum);
    return sum ? (int)(token >> 2 & 31) : -1;
}

/* total_coeff grid of a component of w x h blocks: borders from the neighbours, inside 0; and back
 * to the edge. */
static void NAME(total_begin)(struct mb_parser *p, unsigned c)
{
    uint8_t *total = p->grid.total[c];
    memset(total, 0, GRID_SIZE);
    memcpy(total + GRID(0, -1), p->near.b->u.total.bottom[c], 4);
    for (int y = 0; y < 4; y++)
        total[GRID(-1, y)] = p->near.a->u.total.right[c][y];
}

static void NAME(total_end)(struct mb_parser *p, unsigned c, int w, int h)
{
    const uint8_t *total = p->grid.total[c];
    memcpy(p->edge.u.total.bottom[c], total + GRID(0, h - 1), 4);
    for (int y = 0; y < h; y++)
        p->edge.u.total.right[c][y] = total[GRID(w - 1, y)];
}

/* An 8x8 block is four interleaved lists (7.3.5.3.1). Returns whether any level was nonzero, or -1.
 */
static int NAME(block_8x8_cavlc)(struct mb_parser *p, uint8_t *total, unsigned first)
{
    const uint8_t *scan = h264_scan_8x8[p->field];
    COEFF *coeff_blocks = NULL;
    uint32_t sums = 0;

    for (unsigned i = 0; i < 4; i++) {
        unsigned x = mb_blk_x(first + i), y = mb_blk_y(first + i);
        unsigned token =
            h264_cavlc_token(h264_bits_window(&p->bits), NAME(nc_class)(p, total, x, y));
        if (!token)
            return -1;
        if (!(token & 0xff)) {
            h264_bits_skip(&p->bits, token >> 8);
            continue;
        }
        if (!coeff_blocks)
            coeff_blocks = NAME(new_blocks)(p, 4);
        uint32_t sum = NAME(h264_cavlc_levels)(&p->bits, token, 16, scan + i, 2, coeff_blocks);
        if (!sum)
            return -1;
        sums += sum;
        total[GRID((int)x, (int)y)] = (uint8_t)(token >> 2 & 31);
    }
    mb_level_sum(p, (sums + 1) / 2); /* an 8x8 block may have twice as much */
    return coeff_blocks != NULL;
}

/* An error in a block: those before it stay, for h264_macroblock_keep_prediction. */
static bool NAME(component_cut)(struct mb_parser *p, unsigned c, unsigned coded)
{
    p->mb->coded[c] = (uint16_t)coded;
    if (!c)
        NAME(record_nonzero)(p);
    return false;
}

/* residual_luma() (7.3.5.3.1) for luma, or a chroma component of 4:4:4 */
static bool NAME(luma_cavlc)(struct mb_parser *p, unsigned c)
{
    unsigned i16 = p->mb->kind == REC_MB_INTRA_16X16, coded = 0;
    const uint8_t *scan = h264_scan_4x4[p->field] + i16;
    uint8_t *total = p->grid.total[c];
    COEFF *coeff_blocks = NULL;

    NAME(total_begin)(p, c);
    if (i16) {
        static const uint8_t identity[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        COEFF dc[16] = {0};
        int got = NAME(block_cavlc)(p, NAME(nc_class)(p, total, 0, 0), 16, identity, 0, dc);

        if (got < 0)
            return false;
        if (got) {
            coeff_blocks = NAME(take_luma_dc)(p, dc);
            coded = 0xffff;
        }
    }
    for (unsigned blk = 0; blk < 16; blk++) {
        unsigned x = mb_blk_x(blk), y = mb_blk_y(blk);
        int got;
        if (!(p->cbp >> (blk >> 2) & 1)) {
            blk |= 3;
        } else if (p->mb->flags & REC_MB_TRANSFORM_8X8) {
            got = NAME(block_8x8_cavlc)(p, total, blk);
            if (got < 0)
                return NAME(component_cut)(p, c, coded);
            coded |= got ? 0xfu << blk : 0;
            blk |= 3;
        } else {
            got = NAME(block_cavlc)(p, NAME(nc_class)(p, total, x, y), 16 - i16, scan, 0,
                                    coeff_blocks ? coeff_blocks + blk * 16 : NULL);
            if (got < 0)
                return NAME(component_cut)(p, c, coded);
            coded |= (unsigned)!!got << blk;
            total[GRID((int)x, (int)y)] = (uint8_t)got;
        }
    }
    NAME(total_end)(p, c, 4, 4);
    p->mb->coded[c] = (uint16_t)coded;
    return true;
}

/* 4:2:0 and 4:2:2: DC of both components comes before the AC of both. */
static bool NAME(chroma_cavlc)(struct mb_parser *p)
{
    static const uint8_t identity[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    unsigned blocks = p->format.chroma_blocks;
    enum h264_nc_class dc_class = blocks == 4 ? H264_NC_CHROMA_DC_420 : H264_NC_CHROMA_DC_422;
    const uint8_t *scan = h264_scan_4x4[p->field] + 1;
    COEFF dc[2][8] = {{0}};
    int got[2];

    for (unsigned i = 0; i < 2; i++) {
        got[i] = NAME(block_cavlc)(p, dc_class, blocks, identity, 0, dc[i]);
        if (got[i] < 0)
            return false;
    }
    for (unsigned c = 1; c < 3; c++) {
        unsigned coded = got[c - 1] ? (1u << blocks) - 1 : 0;
        COEFF *coeff_blocks = got[c - 1] ? NAME(take_chroma_dc)(p, dc[c - 1]) : NULL;

        if (p->cbp & 0x20) {
            uint8_t *total = p->grid.total[c];
            NAME(total_begin)(p, c);
            for (unsigned blk = 0; blk < blocks; blk++) {
                unsigned x = blk & 1, y = blk >> 1;
                int ac = NAME(block_cavlc)(p, NAME(nc_class)(p, total, x, y), 15, scan, 0,
                                           coeff_blocks ? coeff_blocks + blk * 16 : NULL);
                if (ac < 0)
                    return NAME(component_cut)(p, c, coded);
                coded |= (unsigned)!!ac << blk;
                total[GRID((int)x, (int)y)] = (uint8_t)ac;
            }
            NAME(total_end)(p, c, 2, (int)blocks / 2);
        }
        p->mb->coded[c] = (uint16_t)coded;
    }
    return true;
}

bool NAME(h264_residual_cavlc)(struct mb_parser *p)
{
    if (!NAME(luma_cavlc)(p, 0))
        return false;
    NAME(record_nonzero)(p);
    if (p->format.chroma_array_type == 3)
        return NAME(luma_cavlc)(p, 1) && NAME(luma_cavlc)(p, 2);
    return !(p->cbp & 0x30) || NAME(chroma_cavlc)(p);
}
