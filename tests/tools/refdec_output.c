/* SPDX-License-Identifier: BSD-2-Clause
 *
 * refdec's frames: cropped, hashed, written, compared with a file.
 */
#include "tests/tools/refdec_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct crop {
    uint32_t x, y, width, height;
};

static struct crop crop_of(const struct h264_sps *sps, int plane)
{
    uint32_t sub_w = 16 / ref_mb_width(sps->chroma_format_idc, plane),
             sub_h = 16 / ref_mb_height(sps->chroma_format_idc, plane);
    struct crop c = {sps->crop_left / sub_w, sps->crop_top / sub_h, 0, 0};
    c.width = (sps->mb_width * 16u - sps->crop_left - sps->crop_right + sub_w - 1) / sub_w;
    c.height = (sps->mb_height * 16u - sps->crop_top - sps->crop_bottom + sub_h - 1) / sub_h;
    return c;
}

/* The picture and the macroblock record that cover row y of a plane. */
static const struct h264_picture *picture_at(const struct h264_picture *pic, int plane, uint32_t x,
                                             uint32_t y, uint32_t *mb)
{
    uint32_t column = x / ref_mb_width(pic->sps->chroma_format_idc, plane);
    uint32_t h = ref_mb_height(pic->sps->chroma_format_idc, plane), row = y / h;
    if (pic->structure != REC_FRAME) {
        if ((y & 1) != (pic->structure == REC_BOTTOM) && pic->second_field)
            pic = pic->second_field;
        row = y / 2 / h;
    } else if (pic->mbaff && pic->arrays.mbs &&
               (pic->arrays.mbs[(row & ~1u) * pic->mb_width + column].flags & REC_MB_FIELD)) {
        row = (row & ~1u) + (y & 1);
    }
    *mb = row * pic->mb_width + column;
    return pic;
}

static void report_difference(struct refdec_command *c, const struct h264_picture *pic, int plane,
                              uint32_t x, uint32_t y, int got, int want)
{
    uint32_t mb;
    const struct h264_picture *at = picture_at(pic, plane, x, y, &mb);
    const struct rec_mb *m = at->arrays.mbs ? &at->arrays.mbs[mb] : NULL;
    printf("frame %" PRIu64 " (picture %" PRIu32 ", poc %" PRId32 ") plane %d at %" PRIu32
           ",%" PRIu32 " macroblock %" PRIu32 " (column %" PRIu32 " row %" PRIu32
           "): %d instead of %d\n",
           c->frames_out, at->id, at->output_poc, plane, x, y, mb, mb % at->mb_width,
           mb / at->mb_width, got, want);
    if (m && !at->non_existing)
        printf("  kind %d flags %d part %d slice %" PRIu32
               " qp %d coded %04x nonzero %04x deblock %d avail %d\n",
               m->kind, m->flags, at->arrays.syntax[mb].part, m->slice, m->qp[0], m->coded[0],
               m->nonzero, m->deblock, m->intra_avail);
    c->mismatch = true;
}

/* Samples have the same size in all planes; above 8 bits they are little endian. */
static unsigned bytes_per_sample(const struct h264_sps *sps)
{
    return sps->bit_depth[0] > 8 || (sps->chroma_format_idc && sps->bit_depth[1] > 8) ? 2 : 1;
}

static void emit_row(struct refdec_command *c, const struct h264_picture *pic, int plane,
                     const struct crop *crop, uint32_t y, uint8_t *row)
{
    const struct ref_frame *frame = c->d.slots[pic->holder.slot].frame;
    const uint16_t *samples =
        frame->plane[plane] + (size_t)(crop->y + y) * frame->stride[plane] + crop->x;
    unsigned bytes = bytes_per_sample(pic->sps);
    size_t size = (size_t)crop->width * bytes;
    for (uint32_t x = 0; x < crop->width; x++) {
        row[x * bytes] = (uint8_t)samples[x];
        if (bytes == 2)
            row[x * bytes + 1] = (uint8_t)(samples[x] >> 8);
    }
    md5_update(&c->md5, row, size);
    if (c->out && fwrite(row, 1, size, c->out) != size)
        c->d.failed = true;
    if (c->compare && !c->mismatch) {
        uint8_t *want = row + size;
        if (fread(want, 1, size, c->compare) != size) {
            printf("frame %" PRIu64 ": the file to compare with has ended\n", c->frames_out);
            c->mismatch = true;
            return;
        }
        for (uint32_t x = 0; x < crop->width && !c->mismatch; x++)
            if (memcmp(row + x * bytes, want + x * bytes, bytes) != 0)
                report_difference(c, pic, plane, crop->x + x, crop->y + y, row[x * bytes],
                                  want[x * bytes]);
    }
}

/* A field whose other one never came: its rows stand for both. */
static void fill_missing_field(struct refdec_command *c, const struct h264_picture *pic)
{
    struct ref_frame *frame = c->d.slots[pic->holder.slot].frame;
    uint32_t from = pic->structure == REC_BOTTOM, to = !from;
    for (int plane = 0; plane < 3; plane++)
        for (uint32_t y = 0;
             y + 1 < pic->sps->mb_height * ref_mb_height(frame->chroma_format_idc, plane); y += 2)
            memcpy(frame->plane[plane] + (size_t)(y + to) * frame->stride[plane],
                   frame->plane[plane] + (size_t)(y + from) * frame->stride[plane],
                   frame->stride[plane] * sizeof(uint16_t));
}

/* The chroma planes of a 4:0:0 frame that is written as 4:2:0 */
static void emit_grey(struct refdec_command *c, const struct h264_sps *sps)
{
    struct crop luma = crop_of(sps, 0);
    unsigned bytes = bytes_per_sample(sps), grey = 1u << (sps->bit_depth[0] - 1);
    uint8_t sample[2] = {(uint8_t)grey, (uint8_t)(grey >> 8)};
    size_t samples = 2 * (size_t)((luma.width + 1) / 2) * ((luma.height + 1) / 2);
    for (size_t i = 0; i < samples; i++) {
        md5_update(&c->md5, sample, bytes);
        if (c->out && fwrite(sample, 1, bytes, c->out) != bytes)
            c->d.failed = true;
    }
}

void refdec_emit(struct refdec_command *c, const struct h264_picture *pic)
{
    uint8_t *row = malloc((size_t)pic->mb_width * 16 * 4);
    if (!row) {
        c->d.failed = true;
        return;
    }
    if (pic->structure != REC_FRAME && !pic->paired)
        fill_missing_field(c, pic);
    for (int plane = 0; plane < 3; plane++) {
        if (!ref_mb_width(pic->sps->chroma_format_idc, plane))
            continue;
        struct crop crop = crop_of(pic->sps, plane);
        for (uint32_t y = 0; y < crop.height; y++)
            emit_row(c, pic, plane, &crop, y, row);
    }
    if (c->grey_chroma && pic->sps->chroma_format_idc == 0)
        emit_grey(c, pic->sps);
    if (c->print_frames)
        printf("frame %" PRIu64 " picture %" PRIu32 " poc %" PRId32 "\n", c->frames_out, pic->id,
               pic->output_poc);
    c->frames_out++;
    free(row);
}
