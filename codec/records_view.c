/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The records of a picture with slot numbers, ready to submit. Damage of references reaches the
 * picture here.
 */
#include "codec/arrays.h"
#include "codec/h264_error.h"
#include "codec/h264_export.h"
#include "codec/slice_records.h"

/* What stands for a missing reference: any held picture with a slot, or the picture itself; of the
 * frame that a field completes the field that is there. */
static uint16_t any_reference(const struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->refs_held_count; i++) {
        uint32_t slot = (uint32_t)pic->refs_held[i]->holder.slot;
        if (pic->refs_held[i]->holder.slot >= 0)
            return (uint16_t)REC_REF(slot, pic->first_field && pic->refs_held[i]->holder.slot ==
                                                                   pic->holder.slot
                                               ? REC_FRAME - pic->structure
                                               : pic->structure);
    }
    return (uint16_t)REC_REF((uint32_t)pic->holder.slot, pic->structure);
}

/* Whether all fields that a reference names were decoded: of a single field the other one is not
 * there. */
static bool parity_exists(struct h264_picture *ref, unsigned structure)
{
    return (!(structure & REC_TOP) || h264_picture_of_parity(ref, REC_TOP)) &&
           (!(structure & REC_BOTTOM) || h264_picture_of_parity(ref, REC_BOTTOM));
}

/* Entry i of a list names samples that exist, when their turn comes. */
static bool names_samples(const struct h264_slice *slice, int list, unsigned i)
{
    struct h264_picture *ref = slice->ref[list][i].pic;
    return ref && parity_exists(ref, slice->ref[list][i].structure);
}

/* What stands for entry i of a list: the nearest entry that is there, else any reference. */
static uint16_t stand_in(const struct h264_picture *pic, const struct rec_slice *out, int list,
                         int count, int i, const bool *missing)
{
    for (int d = 1; d < count; d++) {
        if (i - d >= 0 && !missing[i - d])
            return out->ref[list][i - d];
        if (i + d < count && !missing[i + d])
            return out->ref[list][i + d];
    }
    return any_reference(pic);
}

/* The latest damage of a field, and of its colour plane that pic predicts from. */
static uint32_t field_damage(const struct h264_picture *pic, const struct h264_picture *field)
{
    const struct h264_picture *plane =
        pic->colour_plane ? field->planes[pic->colour_plane - 1] : NULL;
    uint32_t worst = field->damage.latest;
    return plane && plane->damage.latest > worst ? plane->damage.latest : worst;
}

/* The latest damage of the fields that a reference names, and of its name. */
static uint32_t reference_damage(const struct h264_picture *pic, struct h264_picture *ref,
                                 unsigned structure)
{
    uint32_t worst = ref->id < pic->damage.doubt_id ? pic->damage.doubt : 0;
    for (unsigned parity = REC_TOP; parity <= REC_BOTTOM; parity++) {
        const struct h264_picture *field =
            structure & parity ? h264_picture_of_parity(ref, parity) : NULL;
        uint32_t damage = field ? field_damage(pic, field) : 0;
        worst = damage > worst ? damage : worst;
    }
    return worst;
}

/* Slots of one slice, and the damage that each entry brings. Returns whether any does. */
static bool slice_fill_refs(const struct h264_picture *pic, const struct h264_slice *slice,
                            struct rec_slice *out, uint32_t damage[2][REC_MAX_REFS])
{
    bool missing[2][REC_MAX_REFS], any = false;
    for (int list = 0; list < 2; list++)
        for (unsigned i = 0; i < slice->num_ref[list]; i++) {
            struct h264_picture *ref = slice->ref[list][i].pic;
            unsigned structure = slice->ref[list][i].structure;
            missing[list][i] = !names_samples(slice, list, i) || ref->holder.slot < 0;
            if (!missing[list][i])
                out->ref[list][i] = (uint16_t)REC_REF((uint32_t)ref->holder.slot, structure);
            damage[list][i] =
                missing[list][i] ? pic->damage.missing : reference_damage(pic, ref, structure);
            any |= damage[list][i] != 0;
        }
    for (int list = 0; list < 2; list++)
        for (int i = 0; i < slice->num_ref[list]; i++)
            if (missing[list][i])
                out->ref[list][i] =
                    stand_in(pic, out, list, slice->num_ref[list], i, missing[list]);
    return any;
}

/* The field of pic's own parity, or the other one where only that is there or is what pic
 * completes. */
static uint16_t previous_reference(const struct h264_picture *pic)
{
    unsigned structure = pic->structure;
    if (pic->damage.previous->holder.slot < 0)
        return any_reference(pic);
    if (structure != REC_FRAME && (pic->damage.previous == pic->first_field ||
                                   !parity_exists(pic->damage.previous, structure)))
        structure = REC_FRAME - structure;
    return (uint16_t)REC_REF((uint32_t)pic->damage.previous->holder.slot, structure);
}

/* The lists of the slice of concealed macroblocks are the same; the slots of other slices are
 * filled in. */
static void conceal_fill_refs(const struct h264_picture *pic, struct rec_slice *out)
{
    for (unsigned i = 0; i < pic->damage.conceal_ref_count; i++) {
        uint32_t slice = pic->damage.conceal_refs[i].slice;
        unsigned list = pic->damage.conceal_refs[i].list, index = pic->damage.conceal_refs[i].index;
        uint16_t ref = slice == REC_NO_SLICE ? previous_reference(pic)
                                             : pic->arrays.rec_slices[slice].ref[list][index];
        out->ref[0][i] = out->ref[1][i] = ref;
    }
}

void h264_slice_used(const struct h264_slice *slice, uint32_t used[2])
{
    const struct h264_picture *pic = slice->pic;
    used[0] = slice->used[0];
    used[1] = slice->used[1];
    if (pic->arrays.used_known)
        return;
    used[0] = used[1] = 0;
    for (uint32_t i = 0; i < pic->mb_count; i++)
        for (int k = 0; k < 8 && pic->arrays.mbs[i].slice == slice->index; k++) {
            int ref_idx = pic->arrays.motion[i].ref_idx[k >> 2][k & 3];
            if (pic->mbaff && (pic->arrays.mbs[i].flags & REC_MB_FIELD))
                ref_idx >>= 1;
            if (ref_idx >= 0 && ref_idx < REC_MAX_REFS)
                used[k >> 2] |= 1u << ref_idx;
        }
}

/* The latest damage that macroblocks of the slice predict from. Entries past what the buffer holds
 * are legal while nothing uses them. */
static uint32_t damage_used(const struct h264_slice *slice, uint32_t damage[2][REC_MAX_REFS])
{
    uint32_t worst = 0, used[2];
    h264_slice_used(slice, used);
    for (int list = 0; list < 2; list++)
        for (int i = 0; i < REC_MAX_REFS; i++)
            if (used[list] >> i & 1 && damage[list][i] > worst)
                worst = damage[list][i];
    return worst;
}

/* The motion of the colocated picture may be wrong, too. */
static uint32_t damage_colocated(const struct h264_slice *slice)
{
    bool direct = slice->hdr.type == H264_B && slice->num_ref[1] && slice->ref[1][0].pic;
    return direct ? reference_damage(slice->pic, slice->ref[1][0].pic, slice->ref[1][0].structure)
                  : 0;
}

void h264_find_kinds(struct h264_picture *pic)
{
    unsigned intra = 0, inter = 0, deblock = 0;
    for (uint32_t i = 0; i < pic->mb_count && !(intra && inter && deblock); i++) {
        intra |= pic->arrays.mbs[i].kind != REC_MB_INTER;
        inter |= pic->arrays.mbs[i].kind == REC_MB_INTER;
        deblock |= pic->arrays.mbs[i].deblock;
    }
    pic->arrays.has_intra = intra != 0;
    pic->arrays.has_inter = inter != 0;
    pic->arrays.has_deblock = deblock != 0;
}

static void damage_raise(struct h264_picture *pic, uint32_t damage)
{
    if (damage > pic->damage.latest)
        pic->damage.latest = damage;
}

/* What happened before an IDR picture or a recovery point is over. But a recovery point that
 * predicts from damaged pictures is none: it is damaged anew, for those behind it, too. */
static void damage_close(struct h264_picture *pic)
{
    if (pic->damage.latest < pic->damage.clean)
        pic->damage.latest = 0;
    else if (pic->damage.latest)
        damage_raise(pic, pic->damage.anew);
    pic->damage.corrupt |= pic->damage.latest != 0;
}

void h264_picture_records(const struct h264_picture *pic, struct rec_view *out)
{
    const struct h264_sps *sps = pic->sps;
    bool concealed = atomic_load(&pic->damage.missing_mbs) > 0;
    uint32_t coeff_blocks = atomic_load(&pic->arrays.coeff_block_count),
             packed_words = atomic_load(&pic->arrays.packed_words);
    packed_words =
        packed_words < pic->arrays.packed_capacity ? packed_words : pic->arrays.packed_capacity;
    *out = (struct rec_view){
        .head = {.mb_width = pic->mb_width,
                 .mb_height = pic->sps->mb_height,
                 .structure = pic->structure,
                 .mbaff = pic->mbaff,
                 .chroma_format_idc = (uint8_t)h264_chroma_array_type(sps),
                 .colour_plane = pic->colour_plane,
                 .bit_depth = {sps->bit_depth[0], sps->bit_depth[1]},
                 .coeff_bytes = (uint8_t)h264_coeff_bytes(sps),
                 .has_intra = pic->arrays.has_intra,
                 .has_inter = pic->arrays.has_inter,
                 .has_deblock = pic->arrays.has_deblock,
                 .mb_count = pic->mb_count},
        .slices = pic->arrays.rec_slices,
        .coeffs = pic->arrays.coeffs,
        .packed = pic->arrays.packed,
        .packed_words = packed_words,
        .weights = pic->arrays.weights,
        .scaling = pic->arrays.scaling,
        .slice_count = pic->slice_count + (concealed ? 1u : 0u),
        /* slices that failed may have asked for more */
        .coeff_block_count = coeff_blocks < pic->arrays.coeff_block_capacity
                                 ? coeff_blocks
                                 : pic->arrays.coeff_block_capacity,
        .weight_count = pic->arrays.weight_count,
        .scaling_count = pic->arrays.scaling_count,
    };
    /* where the device has them, a coder may be restoring those of the host */
    if (pic->arrays.device_records.memory) {
        out->mbs = pic->arrays.device_records.mbs;
        out->motion = pic->arrays.device_records.motion;
    } else {
        out->mbs = pic->arrays.mbs;
        out->motion = pic->arrays.motion;
    }
}

uint32_t h264_view_blocks_until(const struct rec_view *view, uint32_t mbs)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < mbs; i++) {
        const struct rec_mb *mb = &view->mbs[i];
        uint32_t blocks =
            (uint32_t)(__builtin_popcount(mb->coded[0]) + __builtin_popcount(mb->coded[1]) +
                       __builtin_popcount(mb->coded[2]));
        if (blocks && mb->coeff + blocks > end)
            end = mb->coeff + blocks;
    }
    return end;
}

int h264_picture_view_rows(struct h264_picture *pic, const struct rec_seen *seen,
                           struct rec_view *out)
{
    uint32_t damage[2][REC_MAX_REFS] = {{0}};
    if (pic->holder.slot < 0 || pic->slice_count != 1 || pic->damage.corrupt ||
        slice_fill_refs(pic, &pic->slices[0], &pic->arrays.rec_slices[0], damage))
        return H264_ERR_DATA;
    h264_picture_records(pic, out);
    out->slice_count = 1;
    out->head.slot = (uint32_t)pic->holder.slot;
    out->head.has_intra = seen->intra;
    out->head.has_inter = seen->inter;
    return H264_OK;
}

int h264_picture_view(struct h264_picture *pic, struct rec_view *out)
{
    struct rec_view view;
    if (pic->holder.slot < 0 || !pic->motion_done)
        return H264_ERR_DATA;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        uint32_t damage[2][REC_MAX_REFS] = {{0}};
        if (slice_fill_refs(pic, &pic->slices[i], &pic->arrays.rec_slices[i], damage)) {
            damage_raise(pic, damage_used(&pic->slices[i], damage));
            damage_raise(pic, damage_colocated(&pic->slices[i]));
        }
    }
    h264_picture_records(pic, &view);
    if (atomic_load(&pic->damage.missing_mbs) > 0)
        conceal_fill_refs(pic, &pic->arrays.rec_slices[pic->slice_count]);
    damage_close(pic);
    view.head.slot = (uint32_t)pic->holder.slot;
    *out = view;
    return H264_OK;
}
