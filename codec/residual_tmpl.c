/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Coefficient blocks, for both entropy codings. Compiled for 16-bit and for 32-bit levels. COEFF is
 * the type, NAME(x) adds the suffix, LEVEL_FITS(level) tells whether the standard allows a level.
 */

/* The next n coefficient blocks, zeroed. h264_coeff_blocks_reserve has made room for all that a
 * macroblock can have. */
static inline __attribute__((always_inline)) COEFF *NAME(new_blocks)(struct mb_parser *p,
                                                                     unsigned n)
{
    COEFF *coeff_block = (COEFF *)p->to.coeffs + (size_t)(p->chunk.next - p->chunk.base) * 16;

    p->chunk.next += n;
    /* one memset of all would be a call, or a loop whose end is badly foreseen */
    for (unsigned i = 0; i < n; i++)
        memset(coeff_block + i * 16, 0, 16 * sizeof(COEFF));
    return coeff_block;
}

/* Intra16x16 DC levels in scan order: every block of the component gets a coefficient block. */
static COEFF *NAME(take_luma_dc)(struct mb_parser *p, const COEFF dc[16])
{
    COEFF *coeff_block = NAME(new_blocks)(p, 16);
    const uint8_t *blk = h264_scan_luma_dc[p->field];

    for (unsigned i = 0; i < 16; i++)
        coeff_block[blk[i] * 16] = dc[i];
    return coeff_block;
}

/* Chroma DC levels in the order of the stream (8.5.11.1). */
static COEFF *NAME(take_chroma_dc)(struct mb_parser *p, const COEFF *dc)
{
    unsigned blocks = p->format.chroma_blocks;
    COEFF *coeff_block = NAME(new_blocks)(p, blocks);

    for (unsigned i = 0; i < blocks; i++)
        coeff_block[(blocks == 8 ? h264_scan_chroma_dc_422[i] : i) * 16] = dc[i];
    return coeff_block;
}

/* Luma bits by blkIdx to bits by raster block: bits 1 and 2 of the index change places. */
static void NAME(record_nonzero)(struct mb_parser *p)
{
    unsigned mask = p->mb->coded[0], swap = (mask >> 2 ^ mask) & 0x0c0c;
    p->mb->nonzero = (uint16_t)(mask ^ swap ^ swap << 2);
}
