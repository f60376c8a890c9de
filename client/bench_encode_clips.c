/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The frames that pelton bench --encode encodes: the first ones of each input, from a daemon. A
 * stream goes through them and back again, so that there is no cut.
 */
#include "client/bench_encode.h"
#include "client/connection.h"
#include "client/input.h"

#include <stdlib.h>
#include <string.h>

static size_t frame_bytes(const struct encode_clip *clip)
{
    size_t chroma = (size_t)((clip->width + 1) / 2) * ((clip->height + 1) / 2);
    return (size_t)clip->width * clip->height + 2 * chroma;
}

static int clip_refuse(const struct bench_encode *b, const char *name, const char *what)
{
    return fail_with(b->f, X_UNSUPPORTED, "pelton encode converts, and may encode it",
                     "%s: %s cannot be measured", name, what);
}

static int clip_add(struct bench_encode *b, struct encode_clip *clip, const char *name,
                    const struct pelton_frame *frame)
{
    uint8_t *out;
    if (strcmp(frame->pix_fmt, "yuv420p") != 0)
        return clip_refuse(b, name, frame->pix_fmt);
    if (clip->count && (clip->width != frame->width || clip->height != frame->height))
        return clip_refuse(b, name, "a change of size");
    clip->width = frame->width;
    clip->height = frame->height;
    out = clip->frame[clip->count] = malloc(frame_bytes(clip));
    if (!out)
        return fail_with(b->f, X_OTHER, "close other programs", "out of memory");
    clip->count++;
    for (int p = 0; p < 3; p++)
        for (uint32_t y = 0; y < frame->plane_height[p]; y++, out += frame->plane_width[p])
            memcpy(out, frame->data[p] + (size_t)y * frame->stride[p], frame->plane_width[p]);
    return 0;
}

static int clip_take(struct bench_encode *b, struct pelton *conn, struct pelton_stream *stream,
                     const char *name, struct encode_clip *clip)
{
    struct pelton_frame frame;
    int rc = 0, got = 1;
    while (!rc && clip->count < ENCODE_FRAMES &&
           (got = pelton_next(stream, timeout_ms(b->o), &frame)) > 0) {
        rc = clip_add(b, clip, name, &frame);
        pelton_release(stream, &frame);
    }
    if (!rc && got < 0)
        rc = fail_pelton(b->f, conn, name);
    if (!rc && clip->count < 2)
        rc = clip_refuse(b, name, "a stream of one frame");
    return rc;
}

static int clip_read(struct bench_encode *b, struct pelton *conn, const char *input,
                     struct encode_clip *clip)
{
    struct client_input source;
    struct pelton_open_params params;
    struct pelton_stream *stream = NULL;
    int rc = input_open(input, &source, b->f);
    if (rc)
        return rc;
    input_params(b->o, &source, &params);
    params.max_frames = ENCODE_FRAMES;
    params.pix_fmt = "yuv420p";
    params.duration_us = -1;
    if (pelton_open_start(conn, &params, &stream) < 0)
        rc = fail_pelton(b->f, conn, source.name);
    else
        rc = clip_take(b, conn, stream, source.name, clip);
    pelton_stream_close(stream);
    input_close(&source);
    return rc;
}

int encode_clips_read(struct bench_encode *b)
{
    struct pelton *conn = NULL;
    int rc = connection_open(b->o, &conn, b->f);
    for (unsigned i = 0; i < b->o->n_inputs && !rc; i++)
        rc = clip_read(b, conn, b->o->inputs[i], &b->clips[i]);
    pelton_close(conn);
    return rc;
}

void encode_clips_free(struct bench_encode *b)
{
    for (unsigned i = 0; i < b->o->n_inputs; i++)
        for (uint32_t k = 0; k < b->clips[i].count; k++)
            free(b->clips[i].frame[k]);
}

struct decider_source encode_clip_source(const struct encode_clip *clip, uint64_t turn)
{
    uint32_t around = 2 * clip->count - 2, at = (uint32_t)(turn % around);
    const uint8_t *luma = clip->frame[at < clip->count ? at : around - at];
    size_t width = (clip->width + 1) / 2, size = width * ((clip->height + 1) / 2);
    const uint8_t *cb = luma + (size_t)clip->width * clip->height;
    return (struct decider_source){.plane = {luma, cb, cb + size},
                                   .stride = {clip->width, width, width}};
}
