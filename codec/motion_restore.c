/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records of a picture whose motion the GPU derived, and that only a device had, in host memory
 * after all: steps 2 and 3 once more, from what the picture has kept. These are the bytes of its
 * slices, and the maps of its colocated pictures, which may be gone.
 *
 * The work is done on a copy of the picture. So others may read the picture meanwhile, all but
 * arrays.mbs and arrays.motion.
 */
#include "codec/arrays.h"
#include "codec/h264_error.h"
#include "codec/h264_export.h"
#include "codec/h264_picture.h"
#include "codec/parameter_sets.h"

#include <string.h>

bool h264_picture_may_restore(const struct h264_picture *pic)
{
    return pic->bytes_size <=
           (size_t)pic->mb_count * (sizeof(*pic->arrays.mbs) + sizeof(*pic->arrays.motion));
}

static int copy_slice(struct h264_picture *copy, const struct h264_slice *from)
{
    struct h264_slice *slice = h264_picture_add_slice(copy);
    if (!slice)
        return H264_ERR_NOMEM;
    *slice = *from;
    slice->pic = copy;
    slice->sps = h264_sps_ref(from->sps);
    slice->pps = h264_pps_ref(from->pps);
    slice->motion_mb = 0;
    for (int list = 0; list < 2; list++)
        for (unsigned i = 0; i < slice->num_ref[list]; i++)
            slice->ref[list][i].pic = NULL; /* it may be gone */
    return H264_OK;
}

/* NULL: no memory. Its arrays come from the heap: none of them is for a device. */
static struct h264_picture *copy_picture(const struct h264_picture *pic)
{
    struct h264_picture *copy =
        h264_picture_create(h264_bytes_allocator(pic), pic->sps, pic->structure);
    int error = copy ? H264_OK : H264_ERR_NOMEM;
    for (uint32_t i = 0; i < pic->slice_count && !error; i++)
        error = copy_slice(copy, &pic->slices[i]);
    if (!error) {
        copy->id = pic->id;
        copy->nal_ref_idc = pic->nal_ref_idc;
        copy->has_b_slices = pic->has_b_slices;
        copy->output_poc = pic->output_poc;
        error = h264_picture_alloc_growing(copy, atomic_load(&pic->arrays.coeff_block_count));
    }
    if (!error)
        return copy;
    h264_picture_unref(copy);
    return NULL;
}

static int decode_again(struct h264_picture *copy, struct h264_scratch *scratch)
{
    uint32_t blocks;
    for (uint32_t i = 0; i < copy->slice_count; i++)
        h264_slice_decode(&copy->slices[i], scratch);
    if (!h264_picture_intact(copy, &blocks)) /* other than on the GPU: a bug, or bad memory */
        return H264_ERR_DATA;
    return h264_picture_derive_motion(copy);
}

/* Both arrays, or none. */
static int take_records(struct h264_picture *pic, const struct h264_picture *copy)
{
    const struct h264_allocator *a = pic->holder.allocator;
    size_t mbs = pic->mb_count * sizeof(*pic->arrays.mbs),
           motion = pic->mb_count * sizeof(*pic->arrays.motion);
    struct rec_mb *to_mbs = h264_alloc(a, mbs);
    struct rec_motion *to_motion = to_mbs ? h264_alloc(a, motion) : NULL;
    if (!to_motion) {
        h264_free(a, to_mbs, mbs);
        return H264_ERR_NOMEM;
    }
    memcpy(to_mbs, copy->arrays.mbs, mbs);
    memcpy(to_motion, copy->arrays.motion, motion);
    pic->arrays.mbs = to_mbs;
    pic->arrays.motion = to_motion;
    return H264_OK;
}

bool h264_picture_is_kept(const struct h264_picture *pic)
{
    return pic->kept.bytes;
}

int h264_picture_restore_motion(struct h264_picture *pic, struct h264_scratch *scratch)
{
    if (!pic->kept.bytes || pic->arrays.motion)
        return H264_OK;
    struct h264_picture *copy = copy_picture(pic);
    int error = copy ? decode_again(copy, scratch) : H264_ERR_NOMEM;
    if (!error)
        error = take_records(pic, copy);
    h264_picture_unref(copy);
    return error;
}
