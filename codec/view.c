/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A picture's records with slot numbers in them, ready to submit.
 */
#include "codec/motion.h"

/* The picture that stands for a missing reference: any held one with a slot, or the picture itself. */
static const struct h264_picture *substitute(const struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->refs_held_count; i++)
        if (pic->refs_held[i]->slot >= 0)
            return pic->refs_held[i];
    return pic;
}

/* Whether all fields that a reference names were decoded: of a single field the other one is not there. */
static bool parity_exists(struct h264_picture *ref, unsigned structure)
{
    return (!(structure & REC_TOP) || h264_picture_of_parity(ref, REC_TOP)) &&
           (!(structure & REC_BOTTOM) || h264_picture_of_parity(ref, REC_BOTTOM));
}

/* What stands for entry i of a list: the nearest entry that is there, else any reference. */
static uint16_t stand_in(const struct h264_picture *pic, const struct rec_slice *out, int list, int count, int i,
                         const bool *missing)
{
    for (int d = 1; d < count; d++) {
        if (i - d >= 0 && !missing[i - d])
            return out->ref[list][i - d];
        if (i + d < count && !missing[i + d])
            return out->ref[list][i + d];
    }
    return (uint16_t)REC_REF((uint32_t)substitute(pic)->slot, pic->structure);
}

/* Slots of one slice. Returns a mask of the lists in which an entry is missing. */
static unsigned fill_refs(const struct h264_picture *pic, const struct h264_slice *slice, struct rec_slice *out,
                          bool missing[2][REC_MAX_REFS])
{
    unsigned lists = 0;

    for (int list = 0; list < 2; list++)
        for (unsigned i = 0; i < slice->num_ref[list]; i++) {
            const struct h264_picture *ref = slice->ref[list][i].pic;

            missing[list][i] = !ref || ref->slot < 0 || !parity_exists(slice->ref[list][i].pic, slice->ref[list][i].structure);
            if (!missing[list][i])
                out->ref[list][i] = (uint16_t)REC_REF((uint32_t)ref->slot, slice->ref[list][i].structure);
        }
    for (int list = 0; list < 2; list++)
        for (int i = 0; i < slice->num_ref[list]; i++)
            if (missing[list][i]) {
                out->ref[list][i] = stand_in(pic, out, list, slice->num_ref[list], i, missing[list]);
                lists |= 1u << list;
            }
    return lists;
}

/* The field of pic's own parity, or the other one where only that is there or is what pic completes. */
static uint16_t previous_reference(const struct h264_picture *pic)
{
    unsigned structure = pic->structure;

    if (pic->previous->slot < 0)
        return (uint16_t)REC_REF((uint32_t)substitute(pic)->slot, structure);
    if (structure != REC_FRAME && (pic->previous == pic->first_field || !parity_exists(pic->previous, structure)))
        structure = REC_FRAME - structure;
    return (uint16_t)REC_REF((uint32_t)pic->previous->slot, structure);
}

/* The lists of the slice of concealed macroblocks are the same; the slots of other slices are filled in. */
static void fill_concealment(const struct h264_picture *pic, struct rec_slice *out)
{
    for (unsigned i = 0; i < pic->conceal_ref_count; i++) {
        uint32_t slice = pic->conceal_refs[i].slice;

        out->ref[0][i] = out->ref[1][i] = slice == REC_NO_SLICE
                                              ? previous_reference(pic)
                                              : pic->rec_slices[slice].ref[pic->conceal_refs[i].list][pic->conceal_refs[i].index];
    }
}

/* Whether a macroblock of slice index predicts from an entry that is missing. Entries past what the
 * buffer holds are legal while nothing uses them. */
static bool uses_missing(const struct h264_picture *pic, uint32_t index, bool missing[2][REC_MAX_REFS])
{
    for (uint32_t i = 0; i < pic->mb_count; i++)
        for (int k = 0; k < 8 && pic->mbs[i].slice == index; k++) {
            int ref_idx = pic->motion[i].ref_idx[k >> 2][k & 3];

            if (pic->mbaff && (pic->mbs[i].flags & REC_MB_FIELD))
                ref_idx >>= 1;
            if (ref_idx >= 0 && ref_idx < REC_MAX_REFS && missing[k >> 2][ref_idx])
                return true;
        }
    return false;
}

void h264_find_kinds(struct h264_picture *pic)
{
    unsigned intra = 0, inter = 0, deblock = 0;

    for (uint32_t i = 0; i < pic->mb_count; i++) {
        intra |= pic->mbs[i].kind != REC_MB_INTER;
        inter |= pic->mbs[i].kind == REC_MB_INTER;
        deblock |= pic->mbs[i].deblock;
    }
    pic->has_intra = intra != 0;
    pic->has_inter = inter != 0;
    pic->has_deblock = deblock != 0;
}

static void spread_corruption(struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->refs_held_count; i++)
        if (pic->refs_held[i]->corrupt)
            pic->corrupt = 1;
}

void h264_picture_records(const struct h264_picture *pic, struct rec_view *out)
{
    const struct h264_sps *sps = pic->sps;
    bool concealed = atomic_load(&pic->missing_mbs) > 0;
    uint32_t units = atomic_load(&pic->unit_count);

    *out = (struct rec_view){
        .head = {.mb_width = pic->mb_width,
                 .mb_height = pic->sps->mb_height,
                 .structure = pic->structure,
                 .mbaff = pic->mbaff,
                 .chroma_format_idc = (uint8_t)h264_chroma_array_type(sps),
                 .colour_plane = pic->colour_plane,
                 .bit_depth = {sps->bit_depth[0], sps->bit_depth[1]},
                 .coeff_bytes = (uint8_t)h264_coeff_bytes(sps),
                 .has_intra = pic->has_intra,
                 .has_inter = pic->has_inter,
                 .has_deblock = pic->has_deblock,
                 .mb_count = pic->mb_count},
        .mbs = pic->mbs,
        .motion = pic->motion,
        .slices = pic->rec_slices,
        .coeffs = pic->coeffs,
        .weights = pic->weights,
        .scaling = pic->scaling,
        .slice_count = pic->slice_count + (concealed ? 1u : 0u),
        .unit_count = units < pic->unit_capacity ? units : pic->unit_capacity, /* slices that failed may have asked for more */
        .weight_count = pic->weight_count,
        .scaling_count = pic->scaling_count,
    };
}

int h264_picture_view(struct h264_picture *pic, struct rec_view *out)
{
    struct rec_view view;

    if (pic->slot < 0 || !pic->motion_done)
        return H264_ERR_DATA;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        bool missing[2][REC_MAX_REFS] = {{false}};

        if (fill_refs(pic, &pic->slices[i], &pic->rec_slices[i], missing) && uses_missing(pic, i, missing))
            pic->corrupt = 1;
    }
    h264_picture_records(pic, &view);
    if (atomic_load(&pic->missing_mbs) > 0)
        fill_concealment(pic, &pic->rec_slices[pic->slice_count]);
    spread_corruption(pic);
    view.head.slot = (uint32_t)pic->slot;
    *out = view;
    return H264_OK;
}
