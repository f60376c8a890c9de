/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz.h"
#include "codec/h264_stream.h"

#include <stdio.h>

#define SLOTS 64
#ifndef FUZZ_MACROBLOCKS
#define FUZZ_MACROBLOCKS 4096 /* larger pictures are left out, as they are slow */
#endif

static void choose_slots(struct h264_picture *pic)
{
    pic->holder.slot = (int32_t)(pic->id % SLOTS);
    for (uint32_t i = 0; i < pic->refs_held_count; i++)
        pic->refs_held[i]->holder.slot = (int32_t)(pic->refs_held[i]->id % SLOTS);
}

static void decode(struct h264_picture *pic, struct h264_scratch *scratch)
{
    struct rec_view view;
    const char *reason = NULL;
    if (!pic->arrays.mbs && h264_picture_alloc_packed(pic, 1))
        return;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        h264_slice_decode(&pic->slices[i], scratch);
    if (h264_picture_derive_motion(pic))
        return;
    choose_slots(pic);
    if (!h264_picture_view(pic, &view) && records_validate(&view, SLOTS, &reason)) {
        fprintf(stderr, "records refused: %s\n", reason);
        abort();
    }
}

void fuzz_drain(struct h264_stream *s, struct h264_scratch *scratch)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_decode(s))) {
        if (scratch && !pic->non_existing && pic->mb_count <= FUZZ_MACROBLOCKS)
            decode(pic, scratch);
        h264_picture_done(pic);
        h264_picture_unref(pic);
    }
    while ((pic = h264_stream_next_output(s)))
        h264_picture_unref(pic);
}
