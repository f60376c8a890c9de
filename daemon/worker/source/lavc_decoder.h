/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libavcodec's H.264 decoder: packets in, samples of frames out. Step 1 stays ours, and so do the
 * order of output, the times and everything else that is told of a frame.
 *
 * Thread: the stream thread of one session. libavcodec has threads of its own.
 */
#ifndef PELTON_LAVC_DECODER_H
#define PELTON_LAVC_DECODER_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

struct lavc_decoder {
    AVCodecContext *context;
    AVPacket *packet;
    AVFrame *frame;
    bool live; /* a frame is there when lavc_decoder_send returns; else threads decode ahead */
    /* Takes *frame, whose pts is the tag of its packet. early: its samples come with the return of
     * lavc_decoder_send. */
    void (*got)(void *ctx, AVFrame *frame, bool early);
    void *ctx;
};

/* This libavcodec has a decoder of H.264 in software. Any thread. */
bool lavc_decoder_exists(void);
/* "libavcodec 59.37.100" */
const char *lavc_decoder_name(void);
/* got, ctx and live are set. Returns 0 or enum pelton_error. */
int lavc_decoder_open(struct lavc_decoder *d, const AVCodecParameters *par, unsigned threads);
/* False: the packet is damaged. Without `live` its frame says so. */
bool lavc_decoder_send(struct lavc_decoder *d, const AVPacket *packet, int64_t tag);
/* All frames come. Packets may follow. */
void lavc_decoder_drain(struct lavc_decoder *d);
void lavc_decoder_close(struct lavc_decoder *d); /* half-built ones too */

#endif
