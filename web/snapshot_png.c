/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame as a PNG file: see snapshot_png.h.
 */
#include "web/snapshot_png.h"

#include <libavcodec/avcodec.h>
#include <stdlib.h>
#include <string.h>

static AVCodecContext *encoder_open(const struct web_frame *f)
{
    const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
    AVCodecContext *c = codec ? avcodec_alloc_context3(codec) : NULL;
    if (!c)
        return NULL;
    c->width = (int)f->width;
    c->height = (int)f->height;
    c->pix_fmt = AV_PIX_FMT_RGB24;
    c->time_base = (AVRational){1, 25};
    c->thread_count = 1;
    if (avcodec_open2(c, codec, NULL) < 0)
        avcodec_free_context(&c);
    return c;
}

static AVFrame *picture_borrow_bytes(const struct web_frame *f)
{
    AVFrame *p = av_frame_alloc();
    if (!p)
        return NULL;
    p->format = AV_PIX_FMT_RGB24;
    p->width = (int)f->width;
    p->height = (int)f->height;
    p->data[0] = (uint8_t *)(uintptr_t)f->bytes;
    p->linesize[0] = (int)f->width * 3;
    return p;
}

uint8_t *snapshot_png(const struct web_frame *frame, size_t *size)
{
    AVCodecContext *c = encoder_open(frame);
    AVFrame *picture = picture_borrow_bytes(frame);
    AVPacket *packet = av_packet_alloc();
    uint8_t *out = NULL;
    if (c && picture && packet && avcodec_send_frame(c, picture) == 0 &&
        avcodec_receive_packet(c, packet) == 0)
        out = malloc((size_t)packet->size);
    if (out) {
        memcpy(out, packet->data, (size_t)packet->size);
        *size = (size_t)packet->size;
    }
    av_packet_free(&packet);
    av_frame_free(&picture);
    avcodec_free_context(&c);
    return out;
}
