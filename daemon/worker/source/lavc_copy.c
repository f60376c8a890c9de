/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples of libavcodec's frames into the slots of a pool: see lavc_copy.h. Planes are copied as
 * they are; chroma planes become one for NV12.
 */
#include "daemon/worker/source/lavc_copy.h"

#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>

struct rows {
    const uint8_t *at;
    ptrdiff_t stride;
};

static unsigned sample_bytes(const struct h264_sps *sps)
{
    return sps->bit_depth[0] > 8 || sps->bit_depth[1] > 8 ? 2 : 1;
}

bool lavc_frame_fits(const AVFrame *frame, const struct h264_sps *sps)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)frame->format);
    unsigned chroma = sps->chroma_format_idc;
    if (!d || d->flags & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BE) ||
        (d->comp[0].depth + 7) / 8 != (int)sample_bytes(sps) ||
        frame->width < (int)(sps->mb_width * 16u) || frame->height < (int)(sps->mb_height * 16u))
        return false;
    return chroma == 0 || (av_pix_fmt_count_planes((enum AVPixelFormat)frame->format) == 3 &&
                           d->log2_chroma_w == (chroma < 3) && d->log2_chroma_h == (chroma < 2));
}

/* Where the cropped plane, or a field of it, begins. */
static struct rows plane_rows(const AVFrame *frame, int plane, const struct h264_sps *sps,
                              uint8_t structure)
{
    unsigned chroma = plane ? sps->chroma_format_idc : 3;
    ptrdiff_t stride = frame->linesize[plane];
    size_t x = sps->crop_left >> (chroma < 3), y = sps->crop_top >> (chroma < 2);
    struct rows r = {frame->data[plane] + (ptrdiff_t)y * stride + x * sample_bytes(sps), stride};
    if (structure != REC_FRAME) {
        /* cropping of such sequences is in units of two rows (7-21, 7-22) */
        r.at += structure == REC_BOTTOM ? stride : 0;
        r.stride *= 2;
    }
    return r;
}

static void plane_copy(uint8_t *to, uint32_t stride, struct rows from, uint32_t width,
                       uint32_t rows)
{
    for (uint32_t y = 0; y < rows; y++, to += stride, from.at += from.stride)
        memcpy(to, from.at, width);
}

/* Cb and Cr by turns, width bytes together. */
static void row_interleave(uint8_t *restrict to, const uint8_t *restrict cb,
                           const uint8_t *restrict cr, uint32_t width)
{
    for (uint32_t x = 0; x < width / 2; x++) {
        to[2 * x] = cb[x];
        to[2 * x + 1] = cr[x];
    }
}

static void slot_grey(const struct feed_format *f, uint8_t *slot, uint32_t planes, uint8_t depth)
{
    for (uint32_t p = 0; p < planes; p++) {
        uint8_t *at = slot + f->plane_offset[p];
        size_t size = (size_t)f->stride[p] * f->plane_height[p];
        memset(at, depth > 8 ? 0 : 128, size);
        for (size_t i = 1; depth > 8 && i < size; i += 2)
            at[i] = (uint8_t)(1 << (depth - 9));
    }
}

/* A frame of one grey, of which every row is the same. */
static bool grey_row(const struct conversion_source *source, uint16_t **out)
{
    uint16_t *row = malloc(sizeof(*row) * source->width);
    bool wide = source->depth[0] > 8 || source->depth[1] > 8;
    uint16_t level = wide ? (uint16_t)(1 << (source->depth[0] - 1)) : 0x8080;
    for (uint32_t x = 0; row && x < source->width; x++)
        row[x] = level;
    *out = row;
    return row != NULL;
}

/* By the CPU, as there is no device. False: no memory. */
static bool slot_convert(const struct pool *pool, uint8_t *slot, const AVFrame *frame,
                         const struct h264_sps *sps, uint8_t structure)
{
    const struct feed_format *f = &pool->format;
    struct conversion_input in = {{NULL}, {0}};
    uint8_t *to[4];
    size_t stride[4];
    uint16_t *grey = NULL;
    if (!frame && !grey_row(&f->source, &grey))
        return false;
    for (int p = 0; p < (sps->chroma_format_idc ? 3 : 1); p++) {
        struct rows from =
            frame ? plane_rows(frame, p, sps, structure) : (struct rows){(uint8_t *)grey, 0};
        in.plane[p] = from.at;
        in.stride[p] = (size_t)from.stride;
    }
    for (uint32_t p = 0; p < f->planes; p++) {
        to[p] = slot + f->plane_offset[p];
        stride[p] = f->stride[p];
    }
    bool made = conversion_run(pool->conversion, &in, to, stride);
    free(grey);
    return made;
}

bool lavc_copy(const struct pool *pool, uint32_t slot, const AVFrame *frame,
               const struct h264_sps *sps, uint8_t structure)
{
    const struct feed_format *f = &pool->format;
    uint8_t *to = (uint8_t *)pool->memory + slot * f->slot_size;
    uint32_t planes = pool->delivered == RECON_GRAY ? 1 : f->planes;
    if (pool->conversion)
        return slot_convert(pool, to, frame, sps, structure);
    if (!frame) {
        slot_grey(f, to, planes, sps->bit_depth[0]);
        return true;
    }
    for (uint32_t p = 0; p < planes; p++) {
        struct rows from = plane_rows(frame, (int)p, sps, structure);
        uint8_t *at = to + f->plane_offset[p];
        if (p == 0 || pool->delivered != RECON_NV12) {
            plane_copy(at, f->stride[p], from, f->plane_width[p], f->plane_height[p]);
            continue;
        }
        struct rows cr = plane_rows(frame, 2, sps, structure);
        for (uint32_t y = 0; y < f->plane_height[p]; y++)
            row_interleave(at + (size_t)y * f->stride[p], from.at + y * from.stride,
                           cr.at + y * cr.stride, f->plane_width[p]);
    }
    return true;
}
