/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vectors for missing macroblocks. Candidates are the vectors of the blocks around each quadrant,
 * and those at its place in the picture before. All are scaled by picture order count to one
 * reference. The candidate with the least weighted sum of distances to the others is taken: a
 * weighted vector median (Astola, Haavisto, Neuvo, "Vector median filters", Proc. IEEE 78, 1990).
 */
#include "codec/conceal.h"
#include "codec/h264_picture.h"
#include "codec/motion_derive.h"

#define CANDIDATES_MAX 48

struct candidate {
    /* as a vector to a reference one unit of POC before, in 1/256 of a quarter sample */
    int32_t x, y;
    uint32_t weight;
};

struct conceal_candidates {
    struct candidate items[CANDIDATES_MAX];
    unsigned count;
};

/* ---- references ---- */

static void add_reference(struct conceal *c, uint32_t slice, int list, unsigned i, uint32_t most)
{
    const struct h264_slice *s = &c->pic->slices[slice];
    uint32_t id = s->ref[list][i].id;
    int64_t distance = (int64_t)c->pic->output_poc - s->ref[list][i].poc;
    if (!s->ref[list][i].pic || c->count >= most)
        return;
    for (unsigned k = 0; k < c->count; k++)
        if (c->refs[k].id == id)
            return;
    c->refs[c->count] = (struct conceal_ref){id, s->ref[list][i].long_term ? 0 : distance};
    c->pic->damage.conceal_refs[c->count].slice = slice;
    c->pic->damage.conceal_refs[c->count].list = (uint8_t)list;
    c->pic->damage.conceal_refs[c->count].index = (uint8_t)i;
    c->count++;
}

/* The nearest reference in output order whose distance has this sign; fields: the first one, which
 * has the parity of the current field where there is one. */
static int nearest(const struct conceal *c, int sign)
{
    int best = -1;
    for (unsigned i = 0; i < c->count; i++) {
        int64_t d = c->refs[i].distance * sign;
        if (d > 0 &&
            (best < 0 || (c->pic->structure == REC_FRAME && d < c->refs[best].distance * sign)))
            best = (int)i;
    }
    return best;
}

/* Records of others than reference pictures may be the device's. */
static bool comparable(const struct h264_picture *pic, const struct h264_picture *col)
{
    return col && col != pic && !col->non_existing && col->motion_done && col->nal_ref_idc &&
           col->arrays.motion && col->mb_count == pic->mb_count && col->mb_width == pic->mb_width &&
           col->mbaff == pic->mbaff &&
           (col->structure == REC_FRAME) == (pic->structure == REC_FRAME);
}

/* The first entry of a list, in the slices that have one. */
static struct h264_picture *first_listed(const struct h264_picture *pic, int list)
{
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        if (slice->num_ref[list] && slice->ref[list][0].pic)
            return h264_colocated_plane(pic, h264_picture_of_parity(slice->ref[list][0].pic,
                                                                    slice->ref[list][0].structure));
    }
    return NULL;
}

/* A picture of B slices goes on with what it already waits for. */
static struct h264_picture *motion_source(const struct h264_picture *pic)
{
    struct h264_picture *col = first_listed(pic, 1);
    col = col ? col : first_listed(pic, 0);
    /* whose planes may be gone */
    return col || pic->sps->separate_colour_plane_flag ? col : pic->damage.previous;
}

/* Macroblocks are missing, or may be once redundant slices were tried in place of a bad one. */
static bool may_be_missing(const struct h264_picture *pic)
{
    uint64_t decoded = 0;
    bool bad = false;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        if (slice->hdr.redundant_pic_cnt)
            continue;
        decoded += slice->mbs_decoded;
        bad |= slice->status < 0;
    }
    return bad || decoded < pic->mb_count;
}

uint32_t h264_picture_conceal_source(const struct h264_picture *pic, struct h264_picture **out)
{
    if (!may_be_missing(pic))
        return 0;
    *out = motion_source(pic);
    return *out && !(*out)->non_existing;
}

const struct h264_picture *h264_conceal_colocated(const struct h264_picture *pic)
{
    struct h264_picture *col = motion_source(pic);
    return comparable(pic, col) ? col : NULL;
}

/* How far col is from its own reference, as the next picture will be from col. */
static int64_t usual_distance(const struct h264_picture *col)
{
    for (uint32_t i = 0; col && i < col->slice_count; i++) {
        const struct h264_slice *slice = &col->slices[i];
        if (slice->num_ref[0] && slice->ref[0][0].id != UINT32_MAX && !slice->ref[0][0].long_term)
            return (int64_t)col->output_poc - slice->ref[0][0].poc;
    }
    return 0;
}

bool h264_conceal_references(struct conceal *c)
{
    struct h264_picture *pic = c->pic;
    uint32_t most = pic->mbaff ? REC_MAX_REFS / 2 : REC_MAX_REFS;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        for (int list = 0; list < 2; list++)
            for (unsigned k = 0; k < pic->slices[i].num_ref[list] && c->count < most; k++)
                add_reference(c, i, list, k, most);
    c->col = h264_conceal_colocated(pic);
    if (!c->count && pic->damage.previous) {
        h264_picture_hold(pic, pic->damage.previous);
        c->refs[0] = (struct conceal_ref){pic->damage.previous->id * 4 + pic->structure,
                                          usual_distance(c->col)};
        pic->damage.conceal_refs[0].slice = REC_NO_SLICE;
        c->count = 1;
    }
    c->target[0] = nearest(c, 1);
    c->target[1] = pic->has_b_slices ? nearest(c, -1) : -1;
    if (c->target[0] < 0 && c->target[1] < 0)
        c->target[0] = 0;
    pic->damage.conceal_ref_count = (uint8_t)c->count;
    pic->arrays.rec_slices[pic->slice_count].num_ref[0] =
        pic->arrays.rec_slices[pic->slice_count].num_ref[1] = (uint8_t)c->count;
    pic->arrays.rec_slices[pic->slice_count].slice_type = pic->has_b_slices ? H264_B : H264_P;
    return c->count > 0;
}

/* ---- candidates ---- */

/* A vector to a reference at this distance; 0 counts as 1. */
static void add_candidate(struct conceal_candidates *list, struct motion_mv mv, int64_t distance,
                          uint32_t weight)
{
    int64_t d = distance ? distance : 1;
    if (list->count == CANDIDATES_MAX)
        return;
    list->items[list->count++] = (struct candidate){(int32_t)(mv.x * CONCEAL_UNIT / d),
                                                    (int32_t)(mv.y * CONCEAL_UNIT / d), weight};
}

/* Distance of the reference that a block of a macroblock uses; 0 where it is not known. */
static int64_t reference_distance(const struct h264_picture *pic, uint32_t mb, int list, int ref)
{
    const struct h264_slice *slice;
    uint32_t index = pic->arrays.mbs[mb].slice;
    if (pic->mbaff && (pic->arrays.mbs[mb].flags & REC_MB_FIELD))
        ref >>= 1;
    if (index >= pic->slice_count)
        return 0;
    slice = &pic->slices[index];
    if (ref >= slice->num_ref[list] || slice->ref[list][ref].long_term ||
        !slice->ref[list][ref].id || slice->ref[list][ref].id == UINT32_MAX)
        return 0;
    return (int64_t)pic->output_poc - slice->ref[list][ref].poc;
}

bool h264_conceal_vector(const struct h264_picture *pic, uint32_t mb, int block, int32_t v[2])
{
    const struct rec_motion *m = &pic->arrays.motion[mb];
    int quadrant = (block >> 1 & 1) + (block >> 3) * 2;
    int list = m->ref_idx[0][quadrant] < 0, ref = m->ref_idx[list][quadrant];
    struct motion_mv mv = motion_load(m, list, block);
    int64_t d = ref < 0 ? 0 : reference_distance(pic, mb, list, ref);
    if (ref < 0)
        return false;
    d = d ? d : 1;
    v[0] = (int32_t)(mv.x * CONCEAL_UNIT / d);
    v[1] = (int32_t)(mv.y * CONCEAL_UNIT / d);
    return true;
}

/* The vectors of one 4x4 block of a macroblock that was decoded, or concealed before. */
static void add_block(const struct conceal *c, struct conceal_candidates *list, uint32_t mb,
                      int block, uint32_t weight)
{
    const struct rec_motion *m = &c->pic->arrays.motion[mb];
    int quadrant = (block >> 1 & 1) + (block >> 3) * 2;
    for (int k = 0; k < 2; k++) {
        int ref = m->ref_idx[k][quadrant];
        int64_t distance;
        if (ref < 0)
            continue;
        distance = c->depth[mb] == CONCEAL_KNOWN ? reference_distance(c->pic, mb, k, ref)
                                                 : c->refs[c->target[k]].distance;
        add_candidate(list, motion_load(m, k, block), distance, weight);
    }
}

/* Blocks at the border of neighbouring macroblock mb that is nearest to the quadrant; step: from
 * one block to the other. */
static void add_neighbour(const struct conceal *c, struct conceal_candidates *list, uint32_t i,
                          uint32_t mb, int block, int step, uint32_t weight)
{
    if (c->depth[mb] >= c->depth[i] ||
        ((c->pic->arrays.mbs[mb].flags ^ c->pic->arrays.mbs[i].flags) & REC_MB_FIELD))
        return;
    weight /= 1u + c->depth[mb];
    add_block(c, list, mb, block, weight);
    add_block(c, list, mb, block + step, weight);
}

/* Quadrant q (x, y of 0 and 1) of macroblock i: its own side of each neighbour weighs more than the
 * far one. */
static void add_neighbours(const struct conceal *c, struct conceal_candidates *list, uint32_t i,
                           int q)
{
    uint32_t width = c->pic->mb_width, x = i % width;
    int qx = q & 1, qy = q >> 1;
    if (x > 0)
        add_neighbour(c, list, i, i - 1, 8 * qy + 3, 4, qx ? 24 : 64);
    if (x + 1 < width)
        add_neighbour(c, list, i, i + 1, 8 * qy, 4, qx ? 64 : 24);
    if (i >= width)
        add_neighbour(c, list, i, i - width, 12 + 2 * qx, 1, qy ? 24 : 64);
    if (i + width < c->pic->mb_count)
        add_neighbour(c, list, i, i + width, 2 * qx, 1, qy ? 64 : 24);
}

/* What moves at this place in the picture before goes on moving. */
static void add_colocated(const struct conceal *c, struct conceal_candidates *list, uint32_t i,
                          int q)
{
    const struct h264_picture *col = c->col;
    const struct rec_motion *m = col ? &col->arrays.motion[i] : NULL;
    if (!col || ((col->arrays.mbs[i].flags ^ c->pic->arrays.mbs[i].flags) & REC_MB_FIELD))
        return;
    for (int k = 0; k < 4; k++) {
        int block = (q >> 1) * 8 + (q & 1) * 2 + (k >> 1) * 4 + (k & 1);
        for (int l = 0; l < 2; l++)
            if (m->ref_idx[l][q] >= 0)
                add_candidate(list, motion_load(m, l, block),
                              reference_distance(col, i, l, m->ref_idx[l][q]), 12);
    }
}

/* ---- choice ---- */

static uint64_t distance_to_all(const struct conceal_candidates *list, unsigned i)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < list->count; k++) {
        int64_t x = (int64_t)list->items[i].x - list->items[k].x,
                y = (int64_t)list->items[i].y - list->items[k].y;
        sum += (uint64_t)((x < 0 ? -x : x) + (y < 0 ? -y : y)) * list->items[k].weight;
    }
    return sum;
}

static struct candidate vector_median(const struct conceal_candidates *list)
{
    struct candidate best = {0, 0, 0};
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < list->count; i++) {
        uint64_t d = distance_to_all(list, i);
        if (d < least) {
            least = d;
            best = list->items[i];
        }
    }
    return best;
}

static int16_t motion_scale(int32_t unit, int64_t distance)
{
    int64_t v = (int64_t)unit * (distance ? distance : 1);
    v = (v + (v < 0 ? -128 : 128)) / 256;
    return (int16_t)(v < -2048 ? -2048 : v > 2047 ? 2047 : v);
}

void h264_conceal_motion(struct conceal *c, uint32_t mb)
{
    struct rec_motion *m = &c->pic->arrays.motion[mb];
    int field = c->pic->mbaff && (c->pic->arrays.mbs[mb].flags & REC_MB_FIELD) ? 1 : 0;
    for (int q = 0; q < 4; q++) {
        struct conceal_candidates list = {.count = 0};
        struct candidate best;
        add_neighbours(c, &list, mb, q);
        add_colocated(c, &list, mb, q);
        best = vector_median(&list);
        for (int l = 0; l < 2; l++) {
            int64_t distance = c->target[l] < 0 ? 0 : c->refs[c->target[l]].distance;
            struct motion_mv mv = {motion_scale(best.x, distance), motion_scale(best.y, distance)};
            if (c->target[l] < 0)
                continue;
            m->ref_idx[l][q] = (int8_t)(c->target[l] << field);
            for (int k = 0; k < 4; k++)
                motion_store(m, l, (q >> 1) * 8 + (q & 1) * 2 + (k >> 1) * 4 + (k & 1), mv);
        }
    }
}
