/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records of intra pictures without a bitstream: all that records_validate asks for, else at
 * random.
 */
#include "bench/wavefront_pictures.h"
#include "bench/kernels_internal.h"

#include <stdlib.h>
#include <string.h>

#define COEFF_BLOCKS_PER_MB 16u /* at most; most macroblocks have none */

/* Which neighbours a mode needs: A left, B above, D the corner (8.3.1.2, 8.3.2.2, 8.3.3, 8.3.4). */
enum { NEED_A = 1, NEED_B = 2, NEED_D = 4, NEED_ALL = 7 };
static const uint8_t needs_nxn[9] = {NEED_B,   NEED_A,   0,      NEED_B, NEED_ALL,
                                     NEED_ALL, NEED_ALL, NEED_B, NEED_A};
static const uint8_t needs_16x16[4] = {NEED_B, NEED_A, 0, NEED_ALL};
static const uint8_t needs_chroma[4] = {0, NEED_A, NEED_B, NEED_ALL};

static uint32_t below(uint64_t *random, uint32_t n)
{
    return kernel_random(random) % n;
}

static uint32_t pick(uint64_t *random, const uint8_t *needs, uint32_t count, uint32_t has)
{
    uint32_t mode;
    do
        mode = below(random, count);
    while (needs[mode] & ~has);
    return mode;
}

/* Neighbours of a macroblock in a picture of one slice; records are in raster order, those of an
 * MBAFF pair one above the other (6.4.12). */
static void place(const struct wavefront_picture *p, uint32_t addr)
{
    struct rec_mb *m = &p->mbs[addr];
    uint32_t width = p->view.head.mb_width, x = addr % width, y = addr / width;
    bool mbaff = p->view.head.mbaff, lower_frame = mbaff && !(m->flags & REC_MB_FIELD) && y % 2;
    bool left = x > 0, above = mbaff && !lower_frame ? y >= 2 : y > 0;
    m->intra_avail = (left ? REC_AVAIL_A : 0) | (above ? REC_AVAIL_B : 0) |
                     (above && left ? REC_AVAIL_D : 0) |
                     (above && !lower_frame && x + 1 < width ? REC_AVAIL_C : 0);
    m->deblock =
        REC_DEBLOCK_INTERNAL | (left ? REC_DEBLOCK_LEFT : 0) | (above ? REC_DEBLOCK_TOP : 0);
}

/* The same for a block of it at (x, y), in blocks of 4 x 4. */
static uint32_t block_has(uint32_t avail, uint32_t x, uint32_t y)
{
    bool a = x > 0 || (avail & REC_AVAIL_A), b = y > 0 || (avail & REC_AVAIL_B);
    bool d = x > 0 && y > 0 ? true : x > 0 ? b : y > 0 ? a : (avail & REC_AVAIL_D) != 0;
    return (a ? NEED_A : 0) | (b ? NEED_B : 0) | (d ? NEED_D : 0);
}

static void choose_modes(struct rec_mb *m, uint64_t *random)
{
    uint32_t whole = block_has(m->intra_avail, 0, 0), step = m->kind == REC_MB_INTRA_8X8 ? 4 : 1;
    m->flags |= m->kind == REC_MB_INTRA_8X8 ? REC_MB_TRANSFORM_8X8 : 0;
    m->intra_chroma_mode = (uint8_t)pick(random, needs_chroma, 4, whole);
    if (m->kind == REC_MB_INTRA_16X16) {
        m->intra_mode[0] = pick(random, needs_16x16, 4, whole);
        return;
    }
    for (uint32_t blk = 0; blk < 16; blk += step) { /* 6.4.3 */
        uint32_t x = (blk & 1) | (blk >> 1 & 2), y = (blk >> 1 & 1) | (blk >> 2 & 2);
        m->intra_mode[blk >> 3] |= pick(random, needs_nxn, 9, block_has(m->intra_avail, x, y))
                                   << 4 * (blk & 7);
    }
}

/* Luma of 4x4 and 8x8 macroblocks: quadrants with small levels. */
static void choose_levels(struct wavefront_picture *p, struct rec_mb *m, uint64_t *random)
{
    m->coeff = p->view.coeff_block_count;
    if (m->kind == REC_MB_INTRA_16X16 || below(random, 3))
        return;
    for (uint32_t quadrant = 0; quadrant < 4; quadrant++) {
        if (below(random, 2))
            continue;
        m->coded[0] |= (uint16_t)(15u << 4 * quadrant);
        m->nonzero |= (uint16_t)(0x33u << (quadrant & 1) * 2 << (quadrant >> 1) * 8);
        for (uint32_t i = 0; i < 4; i++) {
            int16_t *levels = p->coeffs + 16ull * p->view.coeff_block_count++;
            for (uint32_t k = 0; k < 4; k++)
                levels[below(random, 16)] = (int16_t)((int)below(random, 9) - 4);
        }
    }
}

bool wavefront_picture_create(uint32_t mb_width, uint32_t mb_height, bool mbaff, uint64_t *random,
                              struct wavefront_picture *p)
{
    uint32_t count = mb_width * mb_height;
    *p = (struct wavefront_picture){0};
    p->mbs = calloc(count, sizeof(*p->mbs));
    p->slice = calloc(1, sizeof(*p->slice));
    p->scaling = malloc(sizeof(*p->scaling));
    p->coeffs = calloc((size_t)count * COEFF_BLOCKS_PER_MB * 16, sizeof(*p->coeffs));
    if (!p->mbs || !p->slice || !p->scaling || !p->coeffs)
        return false;
    memset(p->scaling, 16, sizeof(*p->scaling)); /* Flat_4x4_16, Flat_8x8_16 */
    p->slice->slice_type = 2;
    p->view = (struct rec_view){.head = {.mb_width = mb_width,
                                         .mb_height = mb_height,
                                         .structure = REC_FRAME,
                                         .mbaff = mbaff,
                                         .chroma_format_idc = 1,
                                         .bit_depth = {8, 8},
                                         .coeff_bytes = 2,
                                         .has_intra = 1,
                                         .has_deblock = 1,
                                         .mb_count = count},
                                .mbs = p->mbs,
                                .slices = p->slice,
                                .coeffs = p->coeffs,
                                .scaling = p->scaling,
                                .slice_count = 1,
                                .scaling_count = 1};
    for (uint32_t addr = 0; addr < count && mbaff; addr++)
        if (!(addr / mb_width & 1) && below(random, 2))
            p->mbs[addr].flags = p->mbs[addr + mb_width].flags = REC_MB_FIELD;
    for (uint32_t addr = 0; addr < count; addr++) {
        struct rec_mb *m = &p->mbs[addr];
        m->kind = (uint8_t)below(random, 3); /* INTRA_4X4, INTRA_8X8, INTRA_16X16 */
        m->qp[0] = (int8_t)(20 + below(random, 16));
        m->qp[1] = m->qp[2] = (int8_t)(20 + below(random, 12));
        place(p, addr);
        choose_modes(m, random);
        choose_levels(p, m, random);
    }
    return true;
}

void wavefront_picture_free(struct wavefront_picture *p)
{
    free(p->mbs);
    free(p->slice);
    free(p->scaling);
    free(p->coeffs);
    *p = (struct wavefront_picture){0};
}
