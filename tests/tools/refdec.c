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
#include "tests/tools/refdec_command.h"
#include "tests/tools/sei_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* owner: the picture that stands for the frame. refs: of all pictures that slices name. */
static void print_picture(struct refdec *d, struct h264_picture *pic)
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
           pic->idr ? " idr" : "", refdec_owner(pic)->id);
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
static void print_sei(struct refdec *d, struct h264_picture *pic)
{
    unsigned n = 0, *printed = &d->slots[pic->holder.slot].sei_printed;
    if (pic->idr && !pic->view && !pic->plane0 && pic->sps->vui_present)
        vui_print(stdout, &pic->sps->vui);
    for (const struct h264_sei *sei = refdec_owner(pic)->sei; sei; sei = sei->next)
        if (n++ >= *printed)
            print_messages(sei, pic->sps);
    *printed = n;
}

static void emit(struct refdec *d, const struct h264_picture *pic)
{
    struct refdec_command *c = (struct refdec_command *)d;
    if (pic->view == c->view && !d->parse_alone)
        refdec_emit(c, pic);
}

/* ---- input ---- */

static void report_error(struct refdec_command *c, size_t at, int error,
                         const struct h264_diag *diag)
{
    if (error < 0)
        fprintf(stderr, "byte %zu: %s: %s %" PRId64 " %s\n", at, h264_error_text(error),
                diag->element ? diag->element : "", diag->value, diag->what ? diag->what : "");
    if (error == H264_ERR_UNSUPPORTED)
        c->unsupported = true;
}

/* Byte stream or, once there was an avcC record, NAL units with lengths of four bytes */
static void feed(struct refdec_command *c, const uint8_t *data, size_t at, size_t size)
{
    struct h264_diag diag = {0};
    uint8_t *unit = c->avcc ? avcc_unit(data + at, &size) : NULL;
    if (c->avcc && !unit)
        c->d.failed = true;
    else
        report_error(c, at, h264_stream_feed(c->d.stream, unit ? unit : data + at, size, 0, &diag),
                     &diag);
    free(unit);
    refdec_drain(&c->d, false);
}

/* The parameter sets at the beginning go into the avcC record; what comes before them is left out.
 * The place after them. */
static size_t feed_record(struct refdec_command *c, const uint8_t *data, size_t size)
{
    struct h264_diag diag = {0};
    size_t length, after = 0;
    uint8_t *record = avcc_record(data, size, &length, &after);
    if (record)
        report_error(c, 0, h264_stream_extradata(c->d.stream, record, length, &diag), &diag);
    else
        c->d.failed = true;
    free(record);
    return after;
}

static void decode_stream(struct refdec_command *c, const uint8_t *data, size_t size)
{
    size_t at = annexb_start(data, size, c->avcc ? feed_record(c, data, size) : 0);
    int error;
    while (at < size) {
        size_t next = annexb_start(data, size, at + 3);
        feed(c, data, at, next - at);
        at = next;
    }
    error = h264_stream_flush(c->d.stream);
    if (error < 0)
        fprintf(stderr, "at the end: %s\n", h264_error_text(error));
    refdec_drain(&c->d, true);
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
static const char *parse_arguments(struct refdec_command *c, int argc, char **argv)
{
    const char *path = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--md5") == 0)
            c->print_md5 = true;
        else if (strcmp(argv[i], "--frames") == 0)
            c->print_frames = true;
        else if (strcmp(argv[i], "--sei") == 0)
            c->print_sei = true;
        else if (strcmp(argv[i], "--avcc") == 0)
            c->avcc = true;
        else if (strcmp(argv[i], "--parse") == 0)
            c->d.parse_alone = true;
        else if (strcmp(argv[i], "--pix-fmt") == 0 && i + 1 < argc)
            c->grey_chroma = strncmp(argv[++i], "yuv420p", 7) == 0;
        else if (strcmp(argv[i], "--view") == 0 && i + 1 < argc)
            c->view = argv[++i][0] == '1';
        else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc && !c->out)
            c->out = fopen(argv[++i], "wb");
        else if (strcmp(argv[i], "--compare") == 0 && i + 1 < argc && !c->compare)
            c->compare = fopen(argv[++i], "rb");
        else if (argv[i][0] != '-' && !path)
            path = argv[i];
        else
            return NULL;
    return path;
}

static int run(struct refdec_command *c, const char *path)
{
    size_t size = 0;
    uint8_t *data = read_file(path, &size);
    char text[33];
    if (!data) {
        perror(path);
        return 1;
    }
    c->d.before = c->print_sei ? print_sei : NULL;
    c->d.after = c->print_frames ? print_picture : NULL;
    c->d.emit = emit;
    md5_init(&c->md5);
    if (refdec_open(&c->d, c->view + 1u))
        decode_stream(c, data, size);
    else
        c->d.failed = true;
    free(data);
    md5_finish(&c->md5, text);
    if (c->print_md5)
        printf("%s %" PRIu64 "\n", text, c->frames_out);
    return c->unsupported ? 5 : c->d.failed || c->mismatch ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct refdec_command c = {.frames_out = 0};
    const char *path = parse_arguments(&c, argc, argv);
    int status = path ? run(&c, path) : usage();
    refdec_close(&c.d);
    if (c.compare)
        fclose(c.compare);
    if (c.out && fclose(c.out) != 0)
        status = 1;
    return status;
}
