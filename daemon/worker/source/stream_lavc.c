/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who decodes a stream where no GPU is: libavcodec, or the software device.
 *
 * The device takes streams that libavcodec cannot decode, and wishes that only the device meets. It
 * is opened for the first of them. A stream may change over at its first picture, or at any IDR
 * picture. It never changes back.
 */
#include "daemon/worker/source/stream_internal.h"

#include "codec/h264_stream.h"

#include <stdio.h>

/* NULL: none. */
static const char *wish_refused(const struct session *s)
{
    if (s->params.views == PELTON_VIEWS_BOTH)
        return "the second view is wanted";
    if (s->params.n_blur)
        return "rectangles are to be blurred";
    return s->params.bench.transport != PELTON_SHM ? "frames are to stay on the device" : NULL;
}

static void decoder_refuse(struct stream *st, int code, const char *line, const char *hint)
{
    engine_lock(st->engine);
    session_fail(st->session, code, line, hint);
    engine_unlock(st->engine);
    st->failed = st->nobody_decodes = true;
}

/* False: there is none, and the session has failed. */
static bool device_takes_over(struct stream *st, const char *why)
{
    struct session *s = st->session;
    struct engine *e = st->engine;
    char line[256];
    snprintf(line, sizeof(line), "%.100s: %.60s: the software device decodes it, not libavcodec",
             s->name, why);
    engine_log(e, 1, line);
    if (engine_need_gpu(e)) {
        snprintf(line, sizeof(line),
                 "%.100s: %.60s: libavcodec cannot do that, and there is no Vulkan device", s->name,
                 why);
        decoder_refuse(st, PELTON_ERR_NO_DEVICE, line,
                       "install mesa-vulkan-drivers, which has a software device");
        return false;
    }
    engine_lock(e);
    s->lavc = false;
    s->sub.by.gpu = e->gpu;
    if (s->sub.pools)
        s->sub.pools->fits[0] = s->sub.pools->fits[1] = 0; /* the device cannot write into it */
    wake_window(&s->window);
    engine_unlock(e);
    return true;
}

void stream_lavc_open(struct stream *st)
{
    struct session *s = st->session;
    if (!s->lavc || s->probe_only || s->params.encoded)
        return;
    char line[256];
    const char *why = wish_refused(s);
    int rc = why ? 0 : lavc_stream_create(s, st->source.stream->codecpar, &st->lavc);
    if (rc == PELTON_ERR_NOMEM) {
        snprintf(line, sizeof(line), "%.100s: no memory or threads for libavcodec's decoder",
                 s->name);
        decoder_refuse(st, rc, line, "decode fewer streams at once");
        return;
    }
    if (rc)
        why = "libavcodec's decoder cannot be set up";
    if (why)
        device_takes_over(st, why);
}

void stream_lavc_feed(struct stream *st, const AVPacket *packet, int64_t tag)
{
    if (!st->session->lavc || !st->lavc)
        return;
    engine_lock(st->engine);
    st->session->stats.pictures++;
    engine_unlock(st->engine);
    lavc_send(st->lavc, packet, tag);
    lavc_deliver(st->lavc);
}

bool stream_lavc_leave(struct stream *st, struct h264_picture *pic, const char *why)
{
    lavc_flush(st->lavc);
    lavc_finish(st->lavc, false, 0);
    h264_picture_unref(pic->damage.previous); /* the device has no samples of it */
    pic->damage.previous = NULL;
    return device_takes_over(st, why);
}

void stream_lavc_close(struct stream *st)
{
    struct session *s = st->session;
    if (st->lavc && s->lavc)
        lavc_finish(st->lavc, true, stream_frames(st));
    h264_stream_free(st->codec); /* its pictures go before those who answer for them */
    st->codec = NULL;
    lavc_stream_free(st->lavc);
    st->lavc = NULL;
}
