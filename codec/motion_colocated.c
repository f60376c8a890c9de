/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3: the colocated picture of direct prediction (Table 8-6). It also finds colocated blocks
 * where frames and fields meet (8.4.1.2.1): field pictures beside frames, and MBAFF.
 */
#include "codec/h264_export.h"
#include "codec/motion_derive.h"

enum { ONE_TO_ONE, FRM_TO_FLD, FLD_TO_FRM }; /* vertMvScale */

/* Where a colocated block lies. */
struct place {
    const struct h264_picture *pic;
    uint32_t mb;
    int block;
    int scale;
};

/* A map does not do: it is for the same kind. Blocks of fields of frames and of frames of fields
 * lie elsewhere (Table 8-6). */
static bool reads_records(const struct h264_slice *slice, const struct h264_picture *col)
{
    return !slice->hdr.direct_spatial_mv_pred_flag || !h264_picture_has_map(col) ||
           slice->pic->mbaff ||
           (col->structure == REC_FRAME) != (slice->pic->structure == REC_FRAME);
}

/* Where a map does, the records may be the device's: nobody looks for them. */
static bool usable(const struct h264_picture *col, const struct h264_slice *slice)
{
    return col && !col->non_existing && col->motion_done &&
           (!reads_records(slice, col) || col->arrays.motion) &&
           col->mb_width == slice->pic->mb_width && col->mb_height == slice->pic->mb_height;
}

static struct h264_picture *first_of_list1(const struct h264_slice *slice)
{
    return slice->hdr.type == H264_B && slice->num_ref[1] > 0 ? slice->ref[1][0].pic : NULL;
}

static uint32_t picture_list_add(struct h264_picture *out[32], uint32_t n, struct h264_picture *col)
{
    if (!col || col->non_existing || n == 32)
        return n;
    for (uint32_t i = 0; i < n; i++)
        if (out[i] == col)
            return n;
    out[n] = col;
    return n + 1;
}

/* What decoded a field that the first entry of list 1 names; NULL: none. */
static struct h264_picture *colocated_parity(const struct h264_slice *slice, unsigned parity)
{
    struct h264_picture *col = first_of_list1(slice);
    if (!col || !(slice->ref[1][0].structure & parity))
        return NULL;
    return h264_colocated_plane(slice->pic, h264_picture_of_parity(col, parity));
}

uint32_t h264_picture_colocated(const struct h264_picture *pic, struct h264_picture *out[32])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        for (unsigned parity = REC_TOP; parity <= REC_BOTTOM; parity++)
            n = picture_list_add(out, n, colocated_parity(&pic->slices[i], parity));
    return n;
}

bool h264_slice_reads_records(const struct h264_slice *slice)
{
    for (unsigned parity = REC_TOP; parity <= REC_BOTTOM; parity++) {
        const struct h264_picture *col = colocated_parity(slice, parity);
        if (col && reads_records(slice, col))
            return true;
    }
    return false;
}

uint32_t h264_picture_reads_records(const struct h264_picture *pic, struct h264_picture *out[32])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        for (unsigned parity = REC_TOP; parity <= REC_BOTTOM; parity++) {
            struct h264_picture *col = colocated_parity(&pic->slices[i], parity);
            if (col && col->kept.bytes && reads_records(&pic->slices[i], col))
                n = picture_list_add(out, n, col);
        }
    return n;
}

/* The field whose POC is nearer to that of the current frame; the bottom one where both are as
 * near. */
static unsigned nearer_field(const struct h264_slice *slice)
{
    int64_t top = (int64_t)slice->ref[1][0].field_poc[0] - slice->pic->output_poc;
    int64_t bottom = (int64_t)slice->ref[1][0].field_poc[1] - slice->pic->output_poc;
    return (top < 0 ? -top : top) < (bottom < 0 ? -bottom : bottom) ? 0 : 1;
}

void h264_colocated_begin(struct motion_walk *w)
{
    struct h264_picture *col = first_of_list1(w->slice), *pic = w->pic;
    struct motion_direct *d = &w->direct;
    d->col = NULL;
    d->crossed = false;
    if (!col)
        return;
    d->nearer = nearer_field(w->slice);
    for (unsigned i = 0; i < 2; i++) { /* a field that is not named may still be in work */
        d->parity[i] = colocated_parity(w->slice, i ? REC_BOTTOM : REC_TOP);
        if (!usable(d->parity[i], w->slice))
            d->parity[i] = NULL;
    }
    d->crossed =
        pic->mbaff || col->mbaff || (pic->structure == REC_FRAME) != (col->structure == REC_FRAME);
    d->col =
        d->parity[pic->structure == REC_FRAME ? 0 : w->slice->ref[1][0].structure == REC_BOTTOM];
    if (d->crossed && !d->col) /* of a frame's fields one may be missing */
        d->col = d->parity[0] ? d->parity[0] : d->parity[1];
}

/* 8.4.1.2.1 from Table 8-6 on. Rows are counted in pairs of macroblock rows of the frame, of which
 * field pictures have one.
 */
static bool locate(const struct motion_walk *w, int block, struct place *out)
{
    uint32_t width = w->mb_width, row = w->mb / width, x = w->mb_x;
    bool frame = w->pic->structure == REC_FRAME, field_mb = !frame || w->kind != MOTION_PLAIN;
    bool bottom = frame ? w->kind == MOTION_BOTTOM_FIELD : w->pic->structure == REC_BOTTOM;
    uint32_t pair = frame ? row >> 1 : row, low = frame ? row & 1 : 0;
    unsigned listed = w->slice->ref[1][0].structure == REC_BOTTOM; /* of a field picture */
    const struct h264_picture *col =
        w->direct.parity[field_mb ? (frame ? bottom : listed) : w->direct.nearer];
    bool col_field;
    int y = block >> 2;
    if (!col)
        return false;
    if (col->structure != REC_FRAME) {
        col_field = true;
        row = pair;
    } else {
        col_field = col->arrays.mbs[(2 * pair + low) * width + x].flags & REC_MB_FIELD;
        row = 2 * pair + (field_mb    ? (col_field ? bottom : (uint32_t)y >> 1)
                          : col_field ? w->direct.nearer
                                      : low);
    }
    if (field_mb && !col_field)
        y = (2 * y) & 3;
    if (!field_mb && col_field)
        y = 2 * (int)low + (y >> 1);
    *out = (struct place){col, row * width + x, 4 * y + (block & 3),
                          field_mb == col_field ? ONE_TO_ONE
                          : field_mb            ? FRM_TO_FLD
                                                : FLD_TO_FRM};
    return true;
}

struct motion_colocated h264_colocated_crossed(const struct motion_walk *w, int block)
{
    struct place p;
    if (!locate(w, block, &p))
        return (struct motion_colocated){0, -1, {0, 0}};
    return motion_colocated_block(&p.pic->arrays.motion[p.mb], p.block);
}

/* ---- references (8.4.1.2.3) ---- */

/* Identity of the frame or field that a colocated block refers to; UINT32_MAX: none. */
static uint32_t referred(const struct place *p, const struct motion_colocated *c)
{
    uint32_t index = p->pic->arrays.mbs[p->mb].slice, ref = (uint32_t)c->ref,
             bottom = p->mb / p->pic->mb_width & 1;
    const struct h264_slice *slice;
    bool field_mb = p->pic->mbaff && (p->pic->arrays.mbs[p->mb].flags & REC_MB_FIELD);
    if (index >= p->pic->slice_count) /* concealed */
        return UINT32_MAX;
    slice = &p->pic->slices[index];
    if ((field_mb ? ref >> 1 : ref) >= slice->num_ref[c->list])
        return UINT32_MAX;
    if (!field_mb)
        return slice->ref[c->list][ref].id;
    if (slice->ref[c->list][ref >> 1].id == UINT32_MAX)
        return UINT32_MAX;
    return (slice->ref[c->list][ref >> 1].id & ~3u) | (bottom ^ (ref & 1) ? REC_BOTTOM : REC_TOP);
}

/* The lowest refIdxL0 that names the frame or field `id`; -1: none does. */
static int find_in_list0(const struct motion_walk *w, uint32_t id)
{
    const struct h264_slice *slice = w->slice;
    bool field_mb = w->kind != MOTION_PLAIN;
    unsigned own = w->kind == MOTION_BOTTOM_FIELD ? REC_BOTTOM : REC_TOP;
    for (int i = 0; i < slice->num_ref[0]; i++) {
        uint32_t listed = slice->ref[0][i].id;
        if (!slice->ref[0][i].pic)
            continue;
        if (!field_mb && listed == id)
            return i;
        if (field_mb && (listed | 3) == (id | 3))
            return 2 * i + ((id & 3) != own);
    }
    return -1;
}

struct motion_colocated h264_colocated_temporal(struct motion_walk *w, int block)
{
    bool bottom = w->pic->structure == REC_FRAME ? w->kind == MOTION_BOTTOM_FIELD
                                                 : w->pic->structure == REC_BOTTOM;
    struct motion_colocated c = {0, -1, {0, 0}};
    struct place p;
    uint32_t id;
    int found;
    if (locate(w, block, &p))
        c = motion_colocated_block(&p.pic->arrays.motion[p.mb], p.block);
    if (c.ref < 0)
        return (struct motion_colocated){0, 0, {0, 0}};
    id = referred(&p, &c);
    if (p.scale == FRM_TO_FLD) {
        c.mv.y = (int16_t)(c.mv.y / 2);
        id = id == UINT32_MAX ? id : (id & ~3u) | (bottom ? REC_BOTTOM : REC_TOP);
    } else if (p.scale == FLD_TO_FRM) {
        c.mv.y = (int16_t)(uint16_t)(c.mv.y * 2);
        id |= REC_FRAME;
    }
    found = id == UINT32_MAX ? -1 : find_in_list0(w, id);
    if (found < 0 && p.pic->arrays.mbs[p.mb].slice < p.pic->slice_count)
        w->lost_reference = true;
    c.ref = found < 0 ? 0 : found;
    return c;
}
