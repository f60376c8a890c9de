/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vectors of a stream against their ranges (A.3.1). Prediction adds to the differences that the
 * generator chose. So the vectors are known only after steps 1 to 3 of the decoder.
 */
#include "check.h"
#include "codec/h264.h"
#include "codec/h264_stream.h"

static bool picture_in_range(const struct h264_picture *pic)
{
    const int across = (int)sets_vector_limit(0, pic->sps->level_idc),
              down = (int)sets_vector_limit(1, pic->sps->level_idc);
    for (uint32_t i = 0; i < pic->mb_count; i++) {
        const struct rec_mb *mb = &pic->arrays.mbs[i];
        int limit = down >> (pic->structure != REC_FRAME || mb->flags & REC_MB_FIELD);
        if (mb->kind != REC_MB_INTER)
            continue;
        for (unsigned k = 0; k < 32; k++) {
            const int16_t *mv = pic->arrays.motion[i].mv[k / 16][k % 16];
            if (pic->arrays.motion[i].ref_idx[k / 16][(k % 16 / 8) * 2 + (k % 4) / 2] < 0)
                continue;
            if (mv[0] < -across - 1 || mv[0] > across || mv[1] < -limit - 1 || mv[1] > limit)
                return false;
        }
    }
    return true;
}

/* Everything that is complete; false: a vector is out of range. */
static bool drain(struct h264_stream *s, struct h264_scratch *scratch)
{
    struct h264_picture *pic;
    bool good = true;
    while ((pic = h264_stream_next_decode(s))) {
        for (uint32_t i = 0; i < pic->slice_count; i++)
            h264_slice_decode(&pic->slices[i], scratch);
        if (!pic->non_existing && h264_picture_derive_motion(pic) >= 0)
            good &= picture_in_range(pic);
        h264_picture_done(pic);
        h264_picture_unref(pic);
    }
    while ((pic = h264_stream_next_output(s)))
        h264_picture_unref(pic);
    return good;
}

bool check_vectors(const struct gen *g)
{
    struct h264_stream *s = NULL;
    struct h264_scratch *scratch = h264_scratch_create();
    bool good = true;
    if (scratch && h264_stream_create(&(struct h264_stream_params){.views = 2}, &s) == H264_OK) {
        h264_stream_feed(s, g->out.data, g->out.bits / 8, 0, &(struct h264_diag){0});
        good = drain(s, scratch);
        h264_stream_flush(s);
        good = drain(s, scratch) && good;
    }
    h264_stream_free(s);
    h264_scratch_free(scratch);
    return good;
}
