/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra part of mb_pred() (7.3.5.1), prediction of intra modes (8.3.1.1, 8.3.2.1), and I_PCM
 * samples (7.3.5).
 */
#include "codec/cabac.h"
#include "codec/macroblock.h"

#define NEED_A   REC_AVAIL_A
#define NEED_B   REC_AVAIL_B
#define NEED_ABD (REC_AVAIL_A | REC_AVAIL_B | REC_AVAIL_D)
/* REC_AVAIL_* of the neighbours that a mode needs */
#define NEEDS(table, mode)                                                                         \
    ((REC_NEEDS(table, mode) & REC_NEED_LEFT ? REC_AVAIL_A : 0) |                                  \
     (REC_NEEDS(table, mode) & REC_NEED_TOP ? REC_AVAIL_B : 0) |                                   \
     (REC_NEEDS(table, mode) & REC_NEED_CORNER ? REC_AVAIL_D : 0))

/* Neighbours that each Intra4x4PredMode and Intra8x8PredMode needs (8.3.1.2.1
 * to 8.3.1.2.9, 8.3.2.2.2 to 8.3.2.2.10). */
static const uint8_t nxn_needs[REC_MAX_MODE_NXN + 1] = {
    NEEDS(REC_NEEDS_NXN, 0), NEEDS(REC_NEEDS_NXN, 1), NEEDS(REC_NEEDS_NXN, 2),
    NEEDS(REC_NEEDS_NXN, 3), NEEDS(REC_NEEDS_NXN, 4), NEEDS(REC_NEEDS_NXN, 5),
    NEEDS(REC_NEEDS_NXN, 6), NEEDS(REC_NEEDS_NXN, 7), NEEDS(REC_NEEDS_NXN, 8)};

/* Availability of A, B and D for the block at column x, row y of the macroblock. A is that of the
 * half where the block lies; D of the blocks in the left column lies beside the block above. */
static unsigned block_avail(const struct mb_parser *p, unsigned x, unsigned y)
{
    static const uint8_t half[4] = {REC_AVAIL_A_UPPER, REC_AVAIL_A_UPPER, REC_AVAIL_A_LOWER,
                                    REC_AVAIL_A_LOWER};
    unsigned avail = p->intra_avail, a;
    if (x && y)
        return NEED_ABD;
    if (x)
        return NEED_A | (avail & NEED_B ? NEED_B | REC_AVAIL_D : 0);
    a = avail & half[y] ? NEED_A : 0;
    if (y)
        return NEED_B | a | (avail & half[y - 1] ? REC_AVAIL_D : 0);
    return a | (avail & (NEED_B | REC_AVAIL_D));
}

/* predIntra4x4PredMode and the mode itself; -1 when the mode needs a neighbour that is not
 * available. */
static int read_mode(struct mb_parser *p, unsigned x, unsigned y)
{
    int a = p->grid.mode[GRID((int)x - 1, (int)y)], b = p->grid.mode[GRID((int)x, (int)y - 1)];
    int pred = a < b ? a : b, rem;
    unsigned avail = block_avail(p, x, y);
    if (pred == MODE_NONE)
        pred = 2;
    if (p->format.cabac_mode)
        rem = h264_cabac_intra_pred_mode(p);
    else
        rem = h264_bits_flag(&p->bits) ? -1 : (int)h264_bits_u(&p->bits, 3);
    if (rem >= 0)
        pred = rem < pred ? rem : rem + 1;
    return (nxn_needs[pred] & ~avail) == 0 ? pred : -1;
}

bool h264_intra_nxn_modes(struct mb_parser *p, bool transform_8x8)
{
    unsigned step = transform_8x8 ? 4 : 1;
    memcpy(&p->grid.mode[GRID(0, -1)], p->near.b->mode_bottom, 4);
    for (int y = 0; y < 4; y++)
        p->grid.mode[GRID(-1, y)] = p->near.a->mode_right[y];
    for (unsigned blk = 0; blk < 16; blk += step) {
        unsigned x = mb_blk_x(blk), y = mb_blk_y(blk);
        int8_t *at = &p->grid.mode[GRID((int)x, (int)y)];
        int mode = read_mode(p, x, y);
        if (mode < 0)
            return false;
        p->mb->intra_mode[blk >> 3] |= (uint32_t)mode << ((blk & 7) * 4);
        *at = (int8_t)mode;
        if (transform_8x8)
            at[1] = at[GRID_ROW] = at[GRID_ROW + 1] = (int8_t)mode;
    }
    for (int y = 0; y < 4; y++)
        p->edge.mode_right[y] = p->grid.mode[GRID(3, y)];
    memcpy(p->edge.mode_bottom, &p->grid.mode[GRID(0, 3)], 4);
    return true;
}

/* Intra16x16PredMode: vertical, horizontal, DC, plane (8.3.3) */
bool h264_intra_16x16_mode(struct mb_parser *p, unsigned mode)
{
    static const uint8_t needs[4] = {NEEDS(REC_NEEDS_16X16, 0), NEEDS(REC_NEEDS_16X16, 1),
                                     NEEDS(REC_NEEDS_16X16, 2), NEEDS(REC_NEEDS_16X16, 3)};
    p->mb->intra_mode[0] = mode;
    return (needs[mode] & ~p->intra_avail) == 0;
}

/* intra_chroma_pred_mode: DC, horizontal, vertical, plane (8.3.4) */
bool h264_intra_chroma_mode(struct mb_parser *p)
{
    static const uint8_t needs[4] = {NEEDS(REC_NEEDS_CHROMA, 0), NEEDS(REC_NEEDS_CHROMA, 1),
                                     NEEDS(REC_NEEDS_CHROMA, 2), NEEDS(REC_NEEDS_CHROMA, 3)};
    uint32_t mode;
    if (p->format.chroma_array_type == 0 || p->format.chroma_array_type == 3)
        return true;
    mode = p->format.cabac_mode ? h264_cabac_intra_chroma_pred_mode(p) : h264_bits_ue(&p->bits);
    if (mode > 3 || needs[mode] & ~p->intra_avail)
        return false;
    p->mb->intra_chroma_mode = (uint8_t)mode;
    if (mode)
        p->edge.flags |= EDGE_CHROMA_MODE;
    return true;
}

static void store_sample(const struct mb_parser *p, size_t at, uint32_t sample)
{
    at -= (size_t)p->chunk.base * 16;
    if (p->format.wide)
        ((int32_t *)p->to.coeffs)[at] = (int32_t)sample;
    else
        ((int16_t *)p->to.coeffs)[at] = (int16_t)sample;
}

/* pcm_sample_luma, pcm_sample_chroma: raster order in the stream, coefficient blocks of 4x4 blocks
 * in the record
 */
static bool pcm_samples(struct mb_parser *p)
{
    struct h264_bits *b = &p->bits;
    size_t coeff_block = p->chunk.next;
    for (unsigned c = 0; c < (p->format.chroma_blocks ? 3 : 1); c++) {
        unsigned blocks = c ? p->format.chroma_blocks : 16, w = blocks == 16 ? 4 : 2,
                 depth = p->sps->bit_depth[c != 0];
        for (unsigned y = 0; y < blocks / w * 4; y++) {
            for (unsigned x = 0; x < w * 4; x++) {
                unsigned bx = x >> 2, by = y >> 2;
                unsigned blk =
                    w == 2 ? by * 2 + bx : (bx & 1) | (by & 1) << 1 | (bx & 2) << 1 | (by & 2) << 2;
                store_sample(p, (coeff_block + blk) * 16 + (y & 3) * 4 + (x & 3),
                             h264_bits_u(b, depth));
            }
        }
        p->mb->coded[c] = (uint16_t)((1u << blocks) - 1);
        coeff_block += blocks;
    }
    p->chunk.next = (uint32_t)coeff_block;
    return !h264_bits_overrun(b);
}

/* The samples stand in the slice's data, or in partition B. */
static bool pcm_read(struct mb_parser *p)
{
    struct h264_bits a = p->bits;
    bool good;
    if (p->format.partitioned)
        p->bits = p->part[0];
    if (p->format.cabac_mode)
        p->bits.pos = (size_t)(h264_cabac_tail(&p->cabac.e) - p->bits.data) * 8;
    else
        h264_bits_align(&p->bits);
    good = !h264_bits_overrun(&p->bits) && pcm_samples(p);
    if (good && p->format.cabac_mode)
        h264_cabac_start(&p->cabac.e, p->bits.data + (p->bits.pos >> 3),
                         p->bits.data + p->bits.size);
    if (p->format.partitioned) {
        p->part[0] = p->bits;
        p->bits = a;
    }
    return good;
}

bool h264_intra_pcm(struct mb_parser *p)
{
    struct mb_edge *edge = &p->edge;
    int8_t qp = p->qp;
    if (p->format.partitioned && !p->part[0].data) { /* lost: a flat macroblock stands for it */
        p->mb->kind = REC_MB_INTRA_16X16;
        p->mb->intra_mode[0] = 2;
        p->lost_partition = true;
        return true;
    }
    p->mb->kind = REC_MB_INTRA_PCM;
    if (!h264_coeff_blocks_reserve(p))
        return false;
    p->mb->coeff = p->chunk.next;
    if (!pcm_read(p))
        return false;
    h264_coeff_blocks_done(p);
    p->mb->nonzero = 0xffff;
    p->last_delta = 0;
    edge->flags |= EDGE_PCM | EDGE_NOT_I_NXN | EDGE_CBF_DC * 7;
    edge->cbp = 0x2f;
    if (p->format.cabac_mode)
        edge->cbf[0] = edge->cbf[1] = edge->cbf[2] = CBF_ALL;
    else
        memset(&edge->u.total, 16, sizeof(edge->u.total));
    /* The record has QPY 0; the next mb_qp_delta adds to the QP before (7.4.5). */
    h264_set_qp(p, 0);
    p->mb->qp[0] = p->qp;
    p->mb->qp[1] = p->qpc[0];
    p->mb->qp[2] = p->qpc[1];
    h264_set_qp(p, qp);
    return true;
}
