/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra modes by SATD, predicted from source samples: no macroblock waits for another. I pictures
 * have two rounds: the first finds the modes of 4x4 blocks without rates, the second takes these
 * for the modes of neighbours, which the rates depend on (8.3.1.1).
 *
 * In P pictures the search comes before. Where it has found a prediction that is near, or where the
 * best one of whole luma costs a quarter more, intra prediction is left out. The others have no 4x4
 * blocks: their reconstruction waits longest for neighbours. Most neighbours are inter, so DC is
 * taken for the predicted mode.
 */
#include "encode/reference/cost.h"
#include "encode/reference/intra_blocks.h"

#include <string.h>

/* Bits of a kind: 4x4, 8x8, 16x16. Predictions from source samples flatter small blocks, whose real
 * neighbours are reconstructed. So these have more than their syntax takes; docs/design/encode.md
 * has the figures. */
static const uint8_t kind_bits[3] = {40, 20, 5};
/* 8x8 blocks of P pictures have these. */
#define P_8X8_BITS 30

/* The cost of inter prediction, in bits, below which intra prediction is left out */
#define LEFT_OUT_BITS 100

static struct intra_place place_of(const struct picture_work *w, uint32_t mb, int component)
{
    return (struct intra_place){
        .origin = work_samples(w, w->source, mb, component),
        .stride = (ptrdiff_t)w->source->stride[component],
        .avail = w->mbs[mb].intra_avail,
    };
}

/* The mode of a 4x4 block of the first round, in units of blocks from a macroblock's corner; -1:
 * not available */
static int mode_near(const struct picture_work *w, uint32_t mb, int x, int y)
{
    static const uint8_t blk_of[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    unsigned avail = w->mbs[mb].intra_avail;
    if ((x < 0 && !(avail & REC_AVAIL_A)) || (y < 0 && !(avail & REC_AVAIL_B)))
        return -1;
    mb -= x < 0 ? 1 : y < 0 ? w->mb_width : 0;
    return w->intra[mb].mode4[blk_of[4 * (y & 3) + (x & 3)]];
}

/* predIntra4x4PredMode by the modes of the first round */
static int mode_predicted(const struct picture_work *w, uint32_t mb, int x, int y)
{
    if (w->ref_count > 0)
        return 2;
    int a = mode_near(w, mb, x - 1, y), b = mode_near(w, mb, x, y - 1);
    return a < 0 || b < 0 ? 2 : a < b ? a : b;
}

/* The best mode of a 4x4 or 8x8 block. predicted: -1 leaves rates out. */
static uint32_t choose_block(const struct picture_work *w, const struct intra_place *place, int x,
                             int y, int size, int predicted, uint8_t *mode)
{
    struct ref_neighbours n = intra_neighbours(place, x, y, size, size);
    const uint16_t *source = place->origin + y * place->stride + x;
    uint32_t best = UINT32_MAX;
    for (int i = 0; i <= REC_MAX_MODE_NXN; i++) {
        uint16_t pred[64];
        uint32_t cost;
        if (!intra_mode_serves(&n, REC_NEEDS_NXN, i))
            continue;
        if (size == 4)
            ref_intra_4x4(i, &n, 8, pred);
        else
            ref_intra_8x8(i, &n, 8, pred);
        cost = cost_satd(source, place->stride, pred, size, size, size);
        cost += predicted < 0 ? 0 : w->lambda * (i == predicted ? 1 : 6) / 16;
        if (cost < best) {
            best = cost;
            *mode = (uint8_t)i;
        }
    }
    return best;
}

static int blk_x(int blk)
{
    return 4 * ((blk & 1) + (blk >> 1 & 2));
}

static int blk_y(int blk)
{
    return 4 * ((blk >> 1 & 1) + (blk >> 2 & 2));
}

static void choose_nxn(struct picture_work *w, uint32_t mb, int kind)
{
    struct intra_place place = place_of(w, mb, 0);
    struct intra_choice *c = &w->intra[mb];
    int size = kind == REC_MB_INTRA_8X8 ? 8 : 4, step = size * size / 16;
    memset(c->kind_modes[kind], 0, sizeof(c->kind_modes[kind]));
    c->kind_cost[kind] = w->lambda * (w->ref_count > 0 ? P_8X8_BITS : kind_bits[kind]) / 16;
    for (int blk = 0; blk < 16; blk += step) {
        int x = blk_x(blk), y = blk_y(blk);
        uint8_t mode = 2;
        c->kind_cost[kind] +=
            choose_block(w, &place, x, y, size, mode_predicted(w, mb, x / 4, y / 4), &mode);
        c->kind_modes[kind][blk >> 3] |= (uint32_t)mode << 4 * (blk & 7);
    }
}

/* The best mode of whole luma or chroma. Chroma: both components count. */
static uint32_t choose_whole(const struct picture_work *w, uint32_t mb, bool chroma, uint8_t *mode)
{
    uint32_t best = UINT32_MAX;
    int size = chroma ? 8 : 16;
    for (int i = 0; i <= 3; i++) {
        uint32_t cost = w->lambda * (unsigned)cost_ue_bits(chroma ? (unsigned)i : 0) / 16;
        bool serves = true;
        for (int component = chroma; component <= 2 * chroma && serves; component++) {
            struct intra_place place = place_of(w, mb, component);
            struct ref_neighbours n = intra_neighbours(&place, 0, 0, 16, size);
            uint16_t pred[256];
            serves = intra_mode_serves(&n, chroma ? REC_NEEDS_CHROMA : REC_NEEDS_16X16, i);
            if (!serves)
                break;
            if (chroma)
                ref_intra_chroma(i, &n, 8, 8, pred);
            else
                ref_intra_16x16(i, &n, 8, pred);
            cost += cost_satd(place.origin, place.stride, pred, size, size, size);
        }
        if (serves && cost < best) {
            best = cost;
            *mode = (uint8_t)i;
        }
    }
    return best;
}

/* First round: 4x4 modes without rates */
static void choose_first(struct picture_work *w, uint32_t mb, uint32_t unused)
{
    struct intra_place place = place_of(w, mb, 0);
    for (int blk = 0; blk < 16; blk++)
        choose_block(w, &place, blk_x(blk), blk_y(blk), 4, -1, &w->intra[mb].mode4[blk]);
}

/* P: the least cost of a whole macroblock's vector; UINT32_MAX: there are no references */
static uint32_t inter_cost(const struct picture_work *w, uint32_t mb)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t ref = 0; ref < w->ref_count; ref++) {
        const struct motion_search *s = &w->search[ref][mb];
        uint32_t bits = work_vector_bits(s->part[0].mv, s->predicted);
        uint32_t cost = s->part[0].cost + w->lambda * bits / 16;
        best = cost < best ? cost : best;
    }
    return best;
}

static uint32_t whole_cost(const struct picture_work *w, uint32_t mb, uint8_t *mode)
{
    return choose_whole(w, mb, false, mode) + w->lambda * kind_bits[REC_MB_INTRA_16X16] / 16;
}

/* P: is a vector of the search good enough? */
static bool is_left_out(const struct picture_work *w, uint32_t mb)
{
    uint32_t inter = inter_cost(w, mb);
    uint8_t mode;
    return w->ref_count > 0 &&
           (inter < w->lambda * LEFT_OUT_BITS / 16 || whole_cost(w, mb, &mode) > inter + inter / 4);
}

static void choose_kind(struct picture_work *w, uint32_t mb)
{
    struct intra_choice *c = &w->intra[mb];
    uint8_t mode = 2;
    memset(c->kind_cost, 0xff, sizeof(c->kind_cost));
    memset(c->kind_modes, 0, sizeof(c->kind_modes));
    if (w->ref_count == 0)
        choose_nxn(w, mb, REC_MB_INTRA_4X4);
    if (w->encoding->transform_8x8)
        choose_nxn(w, mb, REC_MB_INTRA_8X8);
    c->kind_cost[REC_MB_INTRA_16X16] = whole_cost(w, mb, &mode);
    c->kind_modes[REC_MB_INTRA_16X16][0] = mode;
    c->kind = REC_MB_INTRA_4X4;
    for (uint8_t kind = REC_MB_INTRA_8X8; kind <= REC_MB_INTRA_16X16; kind++)
        if (c->kind_cost[kind] < c->kind_cost[c->kind])
            c->kind = kind;
    memcpy(c->modes, c->kind_modes[c->kind], sizeof(c->modes));
    c->cost = c->kind_cost[c->kind];
    c->chroma_mode = 0;
    if (w->encoding->chroma_format_idc)
        c->cost += choose_whole(w, mb, true, &c->chroma_mode);
}

static void choose_mb(struct picture_work *w, uint32_t mb, uint32_t unused)
{
    if (is_left_out(w, mb))
        w->intra[mb] = (struct intra_choice){.cost = UINT32_MAX};
    else
        choose_kind(w, mb);
}

void intra_choose(struct picture_work *w)
{
    if (w->ref_count == 0)
        work_each(w, choose_first, 0);
    work_each(w, choose_mb, 0);
}
