/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JPEG frames: see mjpeg.h. Debian's libavcodec also knows what cameras leave out (Huffman tables).
 */
#include "daemon/worker/camera/mjpeg.h"

#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
#include <stdbool.h>
#include <string.h>

struct mjpeg {
    AVCodecContext *codec;
    AVFrame *frame;
    AVPacket *packet;
    uint8_t *padded;
    size_t capacity;
};

struct mjpeg *mjpeg_create(void)
{
    struct mjpeg *m = av_mallocz(sizeof(*m));
    const AVCodec *codec = avcodec_find_decoder(AV_CODEC_ID_MJPEG);
    if (!m)
        return NULL;
    m->codec = avcodec_alloc_context3(codec);
    m->frame = av_frame_alloc();
    m->packet = av_packet_alloc();
    if (!codec || !m->codec || !m->frame || !m->packet) {
        mjpeg_free(m);
        return NULL;
    }
    m->codec->thread_count = 1; /* threads would hold frames back */
    m->codec->err_recognition = AV_EF_EXPLODE;
    if (avcodec_open2(m->codec, codec, NULL) < 0) {
        mjpeg_free(m);
        return NULL;
    }
    return m;
}

void mjpeg_free(struct mjpeg *m)
{
    if (!m)
        return;
    avcodec_free_context(&m->codec);
    av_frame_free(&m->frame);
    av_packet_free(&m->packet);
    av_free(m->padded);
    av_free(m);
}

/* libavcodec reads beyond the end of its input. */
static bool set_packet(struct mjpeg *m, const uint8_t *data, size_t size)
{
    if (size > INT32_MAX / 2)
        return false;
    if (size + AV_INPUT_BUFFER_PADDING_SIZE > m->capacity) {
        uint8_t *grown = av_realloc(m->padded, size * 2 + AV_INPUT_BUFFER_PADDING_SIZE);
        if (!grown)
            return false;
        m->padded = grown;
        m->capacity = size * 2 + AV_INPUT_BUFFER_PADDING_SIZE;
    }
    memcpy(m->padded, data, size);
    memset(m->padded + size, 0, AV_INPUT_BUFFER_PADDING_SIZE);
    m->packet->data = m->padded;
    m->packet->size = (int)size;
    return true;
}

/* A row of chroma of 2^shift columns each, to columns of two. */
static void chroma_row(const uint8_t *from, int shift, uint32_t columns, uint8_t *to)
{
    if (shift == 1) {
        memcpy(to, from, columns);
        return;
    }
    for (uint32_t x = 0; x < columns; x++)
        to[x] = shift == 0 ? (uint8_t)((from[2 * x] + from[2 * x + 1] + 1) / 2)
                           : from[x >> (shift - 1)];
}

static bool give_planes(const AVFrame *f, uint32_t width, uint32_t height, uint8_t *planes)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
    bool gray = f->format == AV_PIX_FMT_GRAY8;
    if (!d || d->comp[0].depth != 8 || d->comp[0].step != 1 ||
        (!gray && (!(d->flags & AV_PIX_FMT_FLAG_PLANAR) || (d->flags & AV_PIX_FMT_FLAG_RGB) ||
                   d->nb_components != 3 || d->log2_chroma_w > 2)))
        return false;
    for (uint32_t y = 0; y < height; y++)
        memcpy(planes + (size_t)y * width, f->data[0] + (ptrdiff_t)y * f->linesize[0], width);
    for (int c = 1; c < 3; c++)
        for (uint32_t y = 0; y < height; y++) {
            uint8_t *to = planes + ((size_t)c * height + y) * width;
            if (gray)
                memset(to, 128, width / 2);
            else
                chroma_row(f->data[c] + (ptrdiff_t)(y >> d->log2_chroma_h) * f->linesize[c],
                           d->log2_chroma_w, width / 2, to);
        }
    return true;
}

enum mjpeg_result mjpeg_decode(struct mjpeg *m, const uint8_t *data, size_t size, uint32_t width,
                               uint32_t height, uint8_t *planes)
{
    enum mjpeg_result result = MJPEG_DAMAGED;
    if (!set_packet(m, data, size))
        return result;
    bool good = avcodec_send_packet(m->codec, m->packet) >= 0 &&
                avcodec_receive_frame(m->codec, m->frame) >= 0;
    if (good && (m->frame->width != (int)width || m->frame->height != (int)height))
        result = MJPEG_OTHER_SIZE;
    else if (good && give_planes(m->frame, width, height, planes))
        result = MJPEG_OK;
    av_frame_unref(m->frame);
    return result;
}
