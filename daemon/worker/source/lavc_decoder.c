/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libavcodec's H.264 decoder: see lavc_decoder.h.
 *
 * Files are decoded by several threads, a frame each. A frame then comes as libavcodec outputs it,
 * some packets later. Live streams have one thread a slice: each frame is complete when its last
 * packet was taken. Its buffer is known from the start, so nobody waits for libavcodec's output.
 *
 * The failure modes are no decoder, no memory, and damaged packets, which libavcodec conceals.
 */
#include "daemon/worker/source/lavc_decoder.h"

#include "proto/pelton.h"

#include <stdio.h>

bool lavc_decoder_exists(void)
{
    return avcodec_find_decoder_by_name("h264") != NULL;
}

const char *lavc_decoder_name(void)
{
    static char name[48];
    unsigned v = avcodec_version();
    snprintf(name, sizeof(name), "libavcodec %u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
    return name;
}

/* A live frame's buffer, before it is decoded. */
static int on_buffer(AVCodecContext *context, AVFrame *frame, int flags)
{
    struct lavc_decoder *d = context->opaque;
    int err = avcodec_default_get_buffer2(context, frame, flags);
    AVFrame *copy = err < 0 ? NULL : av_frame_clone(frame);
    if (copy)
        d->got(d->ctx, copy, true);
    return err;
}

/* Threads of frames read a first field too early: now and then a second field differs. */
static bool has_fields(const AVCodecParameters *par)
{
    return par->field_order != AV_FIELD_UNKNOWN && par->field_order != AV_FIELD_PROGRESSIVE;
}

static void context_prepare(struct lavc_decoder *d, const AVCodecParameters *par, unsigned threads)
{
    AVCodecContext *c = d->context;
    c->opaque = d;
    c->thread_count = (int)threads;
    c->thread_type = d->live || has_fields(par) ? FF_THREAD_SLICE : FF_THREAD_FRAME;
    /* Step 1 chooses which frames leave and where they are cropped. */
    c->apply_cropping = 0;
    c->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
    c->flags2 |= AV_CODEC_FLAG2_SHOW_ALL;
    /* Pictures wait as long as the level allows where nothing is announced. Else late ones would be
     * left out. */
    c->strict_std_compliance = FF_COMPLIANCE_STRICT;
    c->err_recognition = 0;
    if (d->live)
        c->get_buffer2 = on_buffer;
}

int lavc_decoder_open(struct lavc_decoder *d, const AVCodecParameters *par, unsigned threads)
{
    const AVCodec *codec = avcodec_find_decoder_by_name("h264");
    if (!codec)
        return PELTON_ERR_UNSUPPORTED;
    d->packet = av_packet_alloc();
    d->frame = av_frame_alloc();
    d->context = avcodec_alloc_context3(codec);
    if (!d->packet || !d->frame || !d->context ||
        avcodec_parameters_to_context(d->context, par) < 0)
        return PELTON_ERR_NOMEM;
    context_prepare(d, par, threads);
    int err = avcodec_open2(d->context, codec, NULL);
    bool no_room = err == AVERROR(ENOMEM) || err == AVERROR(EAGAIN); /* memory or threads */
    return err >= 0 ? 0 : no_room ? PELTON_ERR_NOMEM : PELTON_ERR_OTHER;
}

/* An error belongs to one packet, and frames of others may follow it: each thread may have one. */
static void decoder_receive(struct lavc_decoder *d)
{
    for (int errors = 0; errors <= d->context->thread_count;) {
        int err = avcodec_receive_frame(d->context, d->frame);
        if (err == AVERROR(EAGAIN) || err == AVERROR_EOF)
            return;
        errors += err < 0;
        AVFrame *frame = err < 0 ? NULL : av_frame_clone(d->frame);
        av_frame_unref(d->frame);
        if (frame)
            d->got(d->ctx, frame, false);
    }
}

bool lavc_decoder_send(struct lavc_decoder *d, const AVPacket *packet, int64_t tag)
{
    if (av_packet_ref(d->packet, packet) < 0)
        return false;
    d->packet->pts = d->packet->dts = tag;
    d->packet->flags &= ~AV_PKT_FLAG_DISCARD; /* step 1 leaves frames out */
    int err = avcodec_send_packet(d->context, d->packet);
    av_packet_unref(d->packet);
    decoder_receive(d);
    return err >= 0 || !d->live; /* threads tell the error of an earlier packet */
}

void lavc_decoder_drain(struct lavc_decoder *d)
{
    avcodec_send_packet(d->context, NULL); /* its error is that of an earlier packet */
    decoder_receive(d);
    avcodec_flush_buffers(d->context);
}

void lavc_decoder_close(struct lavc_decoder *d)
{
    avcodec_free_context(&d->context);
    av_packet_free(&d->packet);
    av_frame_free(&d->frame);
}
