/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures of a stream through steps 1 to 3 and the slow reference, in output order.
 */
#include "codec/h264_stream.h"
#include "tests/tools/refdec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void complain(const struct refdec *d,
                                                           const char *format, ...)
{
    va_list args;
    if (d->quiet)
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

static void on_free(struct h264_picture *pic)
{
    struct slot *slot = pic->holder.user;
    if (slot && --slot->users == 0)
        slot->done = false;
}

static bool frame_fits(const struct ref_frame *frame, const struct h264_picture *pic)
{
    return frame && frame->width == pic->mb_width * 16 &&
           frame->height == pic->sps->mb_height * 16u &&
           frame->chroma_format_idc == pic->sps->chroma_format_idc;
}

const struct h264_picture *refdec_owner(const struct h264_picture *pic)
{
    if (pic->plane0)
        pic = pic->plane0;
    return pic->first_field ? pic->first_field : pic;
}

static void join_slot(struct refdec *d, struct h264_picture *pic, int slot)
{
    d->slots[slot].users++;
    pic->holder.slot = slot;
    pic->holder.user = &d->slots[slot];
    pic->holder.on_free = on_free;
}

/* Give pic the slot that it shares, or a free one with a frame of its size. */
static bool take_slot(struct refdec *d, struct h264_picture *pic)
{
    const struct h264_picture *owner = refdec_owner(pic);
    if (owner != pic && owner->holder.slot >= 0) {
        join_slot(d, pic, owner->holder.slot);
        return true;
    }
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &d->slots[i];
        if (slot->users)
            continue;
        if (!frame_fits(slot->frame, pic)) {
            ref_frame_free(slot->frame);
            slot->frame =
                ref_frame_create(pic->mb_width, pic->sps->mb_height, pic->sps->chroma_format_idc);
        }
        if (!slot->frame)
            return false;
        slot->sei_printed = 0;
        slot->corrupt = false;
        join_slot(d, pic, i);
        return true;
    }
    return false;
}

/* Frames by slot; those of another size (before a change of parameter sets) are out of reach. */
static void frames_for(struct refdec *d, const struct h264_picture *pic,
                       struct ref_frame *frames[SLOTS])
{
    for (int i = 0; i < SLOTS; i++)
        frames[i] =
            d->slots[i].users && frame_fits(d->slots[i].frame, pic) ? d->slots[i].frame : NULL;
    if (!frame_fits(d->unfiltered, pic)) {
        ref_frame_free(d->unfiltered);
        d->unfiltered =
            ref_frame_create(pic->mb_width, pic->sps->mb_height, pic->sps->chroma_format_idc);
    }
}

/* A picture inferred by a gap in frame_num: a copy of the previous reference, or mid-grey. */
static void fill_non_existing(struct refdec *d, const struct h264_picture *pic)
{
    struct ref_frame *to = d->slots[pic->holder.slot].frame, *from = NULL;
    if (pic->refs_held_count > 0 && pic->refs_held[0]->holder.slot >= 0)
        from = d->slots[pic->refs_held[0]->holder.slot].frame;
    for (int i = 0; i < 3; i++) {
        size_t samples =
            (size_t)to->stride[i] * pic->sps->mb_height * ref_mb_height(to->chroma_format_idc, i);
        if (frame_fits(from, pic) && samples)
            memcpy(to->plane[i], from->plane[i], samples * sizeof(uint16_t));
        else
            for (size_t k = 0; k < samples; k++)
                to->plane[i][k] = (uint16_t)(1 << (pic->sps->bit_depth[i > 0] - 1));
    }
}

/* Steps 2 and 3, then the reference reconstruction. */
static void decode_slices(struct refdec *d, struct h264_picture *pic)
{
    struct ref_frame *frames[SLOTS];
    struct rec_view view;
    const char *reason = "";
    int error;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (h264_slice_decode(&pic->slices[i], d->scratch) < 0)
            complain(d, "picture %" PRIu32 " slice %" PRIu32 ": %s after %" PRIu32 " macroblocks\n",
                     pic->id, i, h264_error_text(pic->slices[i].status),
                     pic->slices[i].mbs_decoded);
    error = h264_picture_derive_motion(pic);
    if (error >= 0)
        error = h264_picture_view(pic, &view);
    if (error < 0) {
        complain(d, "picture %" PRIu32 ": %s\n", pic->id, h264_error_text(error));
        d->failed = true;
        return;
    }
    if (!d->parse_alone)
        frames_for(d, pic, frames);
    if (records_validate(&view, SLOTS, &reason) < 0) {
        complain(d, "picture %" PRIu32 ": refused: %s\n", pic->id, reason);
        d->failed = true;
    } else if (!d->parse_alone && ref_reconstruct(&view, frames, SLOTS, d->unfiltered) < 0) {
        complain(d, "picture %" PRIu32 ": a reference is not there\n", pic->id);
        d->failed = true;
    }
}

static void decode_picture(struct refdec *d, struct h264_picture *pic)
{
    if (!take_slot(d, pic)) {
        complain(d, "picture %" PRIu32 ": no free slot\n", pic->id);
        d->failed = true;
        return;
    }
    struct slot *slot = &d->slots[pic->holder.slot];
    if (d->before)
        d->before(d, pic);
    if (pic->non_existing)
        fill_non_existing(d, pic);
    else
        decode_slices(d, pic);
    slot->corrupt |= pic->damage.corrupt;
    slot->last_tag = pic->tag;
    if (d->after)
        d->after(d, pic);
    h264_picture_done(pic);
    slot->done = true;
}

/* Those at the head of the output order that are decoded. Returns whether there was one. */
static bool emit_waiting(struct refdec *d, bool last)
{
    struct h264_picture *pic;
    unsigned done = 0;
    while (d->waiting_count < SLOTS && (pic = h264_stream_next_output(d->stream)))
        d->waiting[d->waiting_count++] = pic;
    for (; done < d->waiting_count; done++) {
        pic = d->waiting[done];
        bool decoded = pic->holder.slot >= 0 && d->slots[pic->holder.slot].done;
        if (!decoded && !last)
            break;
        if (decoded)
            d->slots[pic->holder.slot].corrupt |= pic->damage.second_lost;
        if (decoded && !pic->damage.unrecovered)
            d->emit(d, pic);
        h264_picture_unref(pic);
    }
    d->waiting_count -= done;
    memmove(d->waiting, d->waiting + done, d->waiting_count * sizeof(d->waiting[0]));
    return done;
}

void refdec_drain(struct refdec *d, bool last)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_decode(d->stream))) {
        decode_picture(d, pic);
        h264_picture_unref(pic);
    }
    while (emit_waiting(d, last))
        ;
}

bool refdec_open(struct refdec *d, unsigned views)
{
    d->scratch = h264_scratch_create();
    return d->scratch &&
           h264_stream_create(&(struct h264_stream_params){.views = views}, &d->stream) == H264_OK;
}

void refdec_close(struct refdec *d)
{
    for (unsigned i = 0; i < d->waiting_count; i++)
        h264_picture_unref(d->waiting[i]);
    h264_stream_free(d->stream);
    h264_scratch_free(d->scratch);
    for (int i = 0; i < SLOTS; i++)
        ref_frame_free(d->slots[i].frame);
    ref_frame_free(d->unfiltered);
}
