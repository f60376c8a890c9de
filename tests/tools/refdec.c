/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Decodes an H.264 byte stream on the CPU, with steps 1 to 3 of the codec and the slow reference
 * reconstruction.
 *
 *   refdec [options] STREAM
 *     --md5            prints one MD5 over all cropped frames in output order
 *     -o FILE          writes them: planar, 8 bits or 16 bits little endian, fields woven
 *     --pix-fmt NAME   a yuv420p format adds mid-grey chroma to 4:0:0 (else luma alone)
 *     --view 1         the second view of a stereo stream instead of the base view
 *     --compare FILE   reports the first sample that differs from such a file
 *     --frames         prints a line for each picture and each frame
 *     --sei            prints a line for each SEI message, and for the VUI of each IDR picture
 *     --avcc           feeds the stream as a file format: first parameter sets in an avcC record,
 *                      then NAL units with lengths
 *     --parse          reconstructs no samples and writes nothing
 *
 * Exit: 0 decoded, 1 a difference or a file error, 2 usage, 5 the stream needs an unsupported tool.
 */
#include "codec/h264_stream.h"
#include "tests/tools/annexb.h"
#include "tests/tools/avcc.h"
#include "tests/tools/read_file.h"
#include "tests/tools/refdec.h"
#include "tests/tools/sei_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The picture whose slot pic shares: that of the first field, and of plane 0. */
static const struct h264_picture *slot_owner(const struct h264_picture *pic)
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
    const struct h264_picture *owner = slot_owner(pic);
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
            fprintf(stderr,
                    "picture %" PRIu32 " slice %" PRIu32 ": %s after %" PRIu32 " macroblocks\n",
                    pic->id, i, h264_error_text(pic->slices[i].status), pic->slices[i].mbs_decoded);
    error = h264_picture_derive_motion(pic);
    if (error >= 0)
        error = h264_picture_view(pic, &view);
    if (error < 0) {
        fprintf(stderr, "picture %" PRIu32 ": %s\n", pic->id, h264_error_text(error));
        d->failed = true;
        return;
    }
    if (!d->parse_alone)
        frames_for(d, pic, frames);
    if (records_validate(&view, SLOTS, &reason) < 0) {
        fprintf(stderr, "picture %" PRIu32 ": refused: %s\n", pic->id, reason);
        d->failed = true;
    } else if (!d->parse_alone && ref_reconstruct(&view, frames, SLOTS, d->unfiltered) < 0) {
        fprintf(stderr, "picture %" PRIu32 ": a reference is not there\n", pic->id);
        d->failed = true;
    }
}

/* owner: the picture that stands for the frame. refs: of all pictures that slices name. */
static void print_picture(struct h264_picture *pic)
{
    printf("picture %" PRIu32 " %s poc %" PRId32 " slices %" PRIu32
           " type %d ref %d missing %u slot %d%s%s%s owner %" PRIu32 " refs",
           pic->id,
           pic->structure == REC_FRAME ? pic->mbaff ? "mbaff" : "frame"
           : pic->structure == REC_TOP ? "top"
                                       : "bottom",
           pic->output_poc, pic->slice_count, pic->slice_count ? pic->slices[0].hdr.type : -1,
           pic->nal_ref_idc, atomic_load(&pic->damage.missing_mbs), (int)pic->holder.slot,
           pic->damage.corrupt ? " corrupt" : "", pic->non_existing ? " non-existing" : "",
           pic->idr ? " idr" : "", slot_owner(pic)->id);
    for (uint32_t i = 0; i < pic->refs_held_count; i++)
        printf(" %" PRIu32, pic->refs_held[i]->id);
    printf("\n");
}

static void print_messages(const struct h264_sei *sei, const struct h264_sps *sps)
{
    for (uint32_t i = 0; i < sei->count; i++) {
        struct sei_values v;
        int error = sei_values_read(&sei->messages[i], sps, &v);
        if (error)
            printf("sei %" PRIu32 " %s\n", sei->messages[i].type, h264_error_text(error));
        else
            sei_values_print(stdout, &v);
    }
}

/* Those of a second field stand with the first one's. */
static void print_sei(struct refdec *d, const struct h264_picture *pic)
{
    unsigned n = 0, *printed = &d->slots[pic->holder.slot].sei_printed;
    if (pic->idr && !pic->view && !pic->plane0 && pic->sps->vui_present)
        vui_print(stdout, &pic->sps->vui);
    for (const struct h264_sei *sei = slot_owner(pic)->sei; sei; sei = sei->next)
        if (n++ >= *printed)
            print_messages(sei, pic->sps);
    *printed = n;
}

static void decode_picture(struct refdec *d, struct h264_picture *pic)
{
    if (!take_slot(d, pic)) {
        fprintf(stderr, "picture %" PRIu32 ": no free slot\n", pic->id);
        d->failed = true;
        return;
    }
    if (d->print_sei)
        print_sei(d, pic);
    if (pic->non_existing)
        fill_non_existing(d, pic);
    else
        decode_slices(d, pic);
    if (d->print_frames)
        print_picture(pic);
    h264_picture_done(pic);
    d->slots[pic->holder.slot].done = true;
}

/* Pictures may come for output before they are decoded. */
static void drain(struct refdec *d, bool last)
{
    struct h264_picture *pic;
    unsigned done = 0;
    while ((pic = h264_stream_next_decode(d->stream))) {
        decode_picture(d, pic);
        h264_picture_unref(pic);
    }
    while (d->waiting_count < SLOTS && (pic = h264_stream_next_output(d->stream)))
        d->waiting[d->waiting_count++] = pic;
    while (done < d->waiting_count) {
        pic = d->waiting[done];
        if (pic->holder.slot >= 0 && d->slots[pic->holder.slot].done) {
            if (pic->view == d->view && !pic->damage.unrecovered && !d->parse_alone)
                refdec_emit(d, pic);
        } else if (!last) {
            break;
        }
        h264_picture_unref(pic);
        done++;
    }
    d->waiting_count -= done;
    memmove(d->waiting, d->waiting + done, d->waiting_count * sizeof(d->waiting[0]));
}

/* ---- input ---- */

static void report_error(struct refdec *d, size_t at, int error, const struct h264_diag *diag)
{
    if (error < 0)
        fprintf(stderr, "byte %zu: %s: %s %" PRId64 " %s\n", at, h264_error_text(error),
                diag->element ? diag->element : "", diag->value, diag->what ? diag->what : "");
    if (error == H264_ERR_UNSUPPORTED)
        d->unsupported = true;
}

/* Byte stream or, once there was an avcC record, NAL units with lengths of four bytes */
static void feed(struct refdec *d, const uint8_t *data, size_t at, size_t size)
{
    struct h264_diag diag = {0};
    uint8_t *unit = d->avcc ? avcc_unit(data + at, &size) : NULL;
    if (d->avcc && !unit)
        d->failed = true;
    else
        report_error(d, at, h264_stream_feed(d->stream, unit ? unit : data + at, size, 0, &diag),
                     &diag);
    free(unit);
    drain(d, false);
}

/* The parameter sets at the beginning go into the avcC record; what comes before them is left out.
 * The place after them. */
static size_t feed_record(struct refdec *d, const uint8_t *data, size_t size)
{
    struct h264_diag diag = {0};
    size_t length, after = 0;
    uint8_t *record = avcc_record(data, size, &length, &after);
    if (record)
        report_error(d, 0, h264_stream_extradata(d->stream, record, length, &diag), &diag);
    else
        d->failed = true;
    free(record);
    return after;
}

static void decode_stream(struct refdec *d, const uint8_t *data, size_t size)
{
    size_t at = annexb_start(data, size, d->avcc ? feed_record(d, data, size) : 0);
    int error;
    while (at < size) {
        size_t next = annexb_start(data, size, at + 3);
        feed(d, data, at, next - at);
        at = next;
    }
    error = h264_stream_flush(d->stream);
    if (error < 0)
        fprintf(stderr, "at the end: %s\n", h264_error_text(error));
    drain(d, true);
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: refdec [--md5] [-o FILE] [--compare FILE] [--frames] [--pix-fmt NAME] [--view N]\n"
        "              [--sei] [--avcc] [--parse] STREAM\n");
    return 2;
}

/* The stream's path, or NULL. */
static const char *parse_arguments(struct refdec *d, int argc, char **argv)
{
    const char *path = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--md5") == 0)
            d->print_md5 = true;
        else if (strcmp(argv[i], "--frames") == 0)
            d->print_frames = true;
        else if (strcmp(argv[i], "--sei") == 0)
            d->print_sei = true;
        else if (strcmp(argv[i], "--avcc") == 0)
            d->avcc = true;
        else if (strcmp(argv[i], "--parse") == 0)
            d->parse_alone = true;
        else if (strcmp(argv[i], "--pix-fmt") == 0 && i + 1 < argc)
            d->grey_chroma = strncmp(argv[++i], "yuv420p", 7) == 0;
        else if (strcmp(argv[i], "--view") == 0 && i + 1 < argc)
            d->view = argv[++i][0] == '1';
        else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc && !d->out)
            d->out = fopen(argv[++i], "wb");
        else if (strcmp(argv[i], "--compare") == 0 && i + 1 < argc && !d->compare)
            d->compare = fopen(argv[++i], "rb");
        else if (argv[i][0] != '-' && !path)
            path = argv[i];
        else
            return NULL;
    return path;
}

static int run(struct refdec *d, const char *path)
{
    size_t size = 0;
    uint8_t *data = read_file(path, &size);
    char text[33];
    if (!data) {
        perror(path);
        return 1;
    }
    d->scratch = h264_scratch_create();
    md5_init(&d->md5);
    if (d->scratch && h264_stream_create(&(struct h264_stream_params){.views = d->view + 1u},
                                         &d->stream) == H264_OK)
        decode_stream(d, data, size);
    else
        d->failed = true;
    free(data);
    md5_finish(&d->md5, text);
    if (d->print_md5)
        printf("%s %" PRIu64 "\n", text, d->frames_out);
    return d->unsupported ? 5 : d->failed || d->mismatch ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct refdec d = {0};
    const char *path = parse_arguments(&d, argc, argv);
    int status = path ? run(&d, path) : usage();
    h264_stream_free(d.stream);
    h264_scratch_free(d.scratch);
    for (int i = 0; i < SLOTS; i++)
        ref_frame_free(d.slots[i].frame);
    ref_frame_free(d.unfiltered);
    if (d.compare)
        fclose(d.compare);
    if (d.out && fclose(d.out) != 0)
        status = 1;
    return status;
}
