/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A node of PipeWire: see pipewire_node.h. "Tutorial - Part 5" and "Stream" of PipeWire's own
 * documentation.
 *
 * The node drives its graph: a frame that comes triggers one round. The thread of PipeWire then
 * asks for a buffer's content, copies the frame that the other thread shows, and wakes it.
 */
#include "relay/pipewire_node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pipewire/pipewire.h>
#include <spa/param/video/format-utils.h>
#include <spa/utils/result.h>

enum { POD_BYTES = 1024, TAKES_MS = 200, ROW_ALIGN = 4, BUFFERS = 4 };

struct pipewire_node {
    struct pw_thread_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct pw_stream *stream;
    struct spa_hook core_listener, stream_listener;
    const char *name;
    uint32_t width, height; /* that are offered */
    struct picture_plan plan;
    bool agreed, streams, lost;
    char why[128];
    const struct pelton_frame *shown; /* to be copied; NULL: it was */
    bool taken;                       /* shown has reached a buffer */
    uint64_t sequence;
};

/* By PipeWire's names, in the order of picture_layouts. */
static const uint32_t spa_formats[PICTURE_LAYOUTS] = {SPA_VIDEO_FORMAT_I420, SPA_VIDEO_FORMAT_NV12,
                                                      SPA_VIDEO_FORMAT_YUY2, SPA_VIDEO_FORMAT_RGB,
                                                      SPA_VIDEO_FORMAT_GRAY8};

/* ---- what PipeWire says, on its thread ---- */

static void on_core_error(void *ctx, uint32_t id, int seq, int res, const char *message)
{
    struct pipewire_node *n = ctx;
    if (id != PW_ID_CORE)
        return;
    n->lost = true;
    n->streams = false;
    snprintf(n->why, sizeof(n->why), "%s", res == -EPIPE ? "PipeWire has gone" : message);
    pw_thread_loop_signal(n->loop, false);
}

static void on_state(void *ctx, enum pw_stream_state old, enum pw_stream_state state,
                     const char *error)
{
    struct pipewire_node *n = ctx;
    n->streams = state == PW_STREAM_STATE_STREAMING;
    if (state == PW_STREAM_STATE_ERROR) {
        n->lost = true;
        snprintf(n->why, sizeof(n->why), "PipeWire: %s", error ? error : "the node failed");
    }
    pw_thread_loop_signal(n->loop, false);
}

static const struct picture_layout *layout_of_spa(uint32_t format)
{
    for (int i = 0; i < PICTURE_LAYOUTS; i++)
        if (spa_formats[i] == format)
            return &picture_layouts[i];
    return NULL;
}

/* The readers have agreed on a format: say how large its buffers are. */
static void on_param(void *ctx, uint32_t id, const struct spa_pod *param)
{
    struct pipewire_node *n = ctx;
    struct spa_video_info_raw info = {0};
    uint8_t bytes[POD_BYTES];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof(bytes));
    if (id != SPA_PARAM_Format)
        return;
    n->agreed = false;
    if (!param || spa_format_video_raw_parse(param, &info) < 0)
        return;
    const struct picture_layout *layout = layout_of_spa(info.format);
    n->agreed = layout && picture_plan_make(layout, info.size.width, info.size.height, 0, ROW_ALIGN,
                                            &n->plan);
    if (!n->agreed)
        return;
    const struct spa_pod *params[2] = {
        spa_pod_builder_add_object(
            &b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
            SPA_POD_CHOICE_RANGE_Int(BUFFERS, 2, 16), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1),
            SPA_PARAM_BUFFERS_size, SPA_POD_Int((int)n->plan.size), SPA_PARAM_BUFFERS_stride,
            SPA_POD_Int((int)n->plan.stride)),
        spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta,
                                   SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
                                   SPA_PARAM_META_size,
                                   SPA_POD_Int((int)sizeof(struct spa_meta_header)))};
    pw_stream_update_params(n->stream, params, 2);
}

static bool buffer_fill(struct pipewire_node *n, struct spa_buffer *buffer)
{
    struct spa_data *d = &buffer->datas[0];
    struct spa_meta_header *h =
        spa_buffer_find_meta_data(buffer, SPA_META_Header, sizeof(struct spa_meta_header));
    if (!d->data || d->maxsize < n->plan.size || !picture_copy(&n->plan, n->shown, d->data))
        return false;
    if (h)
        *h = (struct spa_meta_header){.pts = n->shown->received_ns, .seq = n->sequence++};
    d->chunk->offset = 0;
    d->chunk->size = (uint32_t)n->plan.size;
    d->chunk->stride = (int32_t)n->plan.stride;
    d->chunk->flags = SPA_CHUNK_FLAG_NONE;
    return true;
}

/* While readers agree on another format or size, frames of the one before still come. They are
 * dropped: an empty buffer would count as a picture at the reader. */
static bool frame_fits(const struct pipewire_node *n)
{
    return n->shown && n->streams && n->agreed && picture_planned(&n->plan, n->shown);
}

static void on_process(void *ctx)
{
    struct pipewire_node *n = ctx;
    struct pw_buffer *b = frame_fits(n) ? pw_stream_dequeue_buffer(n->stream) : NULL;
    if (b) {
        n->taken = buffer_fill(n, b->buffer);
        if (!n->taken) {
            b->buffer->datas[0].chunk->size = 0;
            b->buffer->datas[0].chunk->flags = SPA_CHUNK_FLAG_CORRUPTED;
        }
        pw_stream_queue_buffer(n->stream, b);
    }
    n->shown = NULL;
    pw_thread_loop_signal(n->loop, false);
}

/* ---- the node ---- */

/* Programs disagree about chroma of YU12 where half a row is no multiple of four, and about rows of
 * odd number. Such pictures have the layouts behind it. */
static int layout_first(uint32_t width, uint32_t height)
{
    return height % 2 ? PICTURE_YUYV : width % 8 ? PICTURE_NV12 : PICTURE_YU12;
}

/* Layouts in this size, at any rate. */
static const struct spa_pod *format_make(struct spa_pod_builder *b, uint32_t width, uint32_t height)
{
    struct spa_pod_frame object, choice;
    int first = layout_first(width, height);
    spa_pod_builder_push_object(b, &object, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video),
                        SPA_FORMAT_mediaSubtype, SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), 0);
    spa_pod_builder_prop(b, SPA_FORMAT_VIDEO_format, 0);
    spa_pod_builder_push_choice(b, &choice, SPA_CHOICE_Enum, 0);
    spa_pod_builder_id(b, spa_formats[first]); /* the preferred one stands before the list */
    for (int i = first; i < PICTURE_LAYOUTS; i++)
        spa_pod_builder_id(b, spa_formats[i]);
    spa_pod_builder_pop(b, &choice);
    spa_pod_builder_add(b, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&SPA_RECTANGLE(width, height)),
                        SPA_FORMAT_VIDEO_framerate, SPA_POD_Fraction(&SPA_FRACTION(0, 1)), 0);
    return spa_pod_builder_pop(b, &object);
}

static bool stream_make(struct pipewire_node *n, const char *title)
{
    static const struct pw_stream_events events = {
        PW_VERSION_STREAM_EVENTS, .state_changed = on_state, .param_changed = on_param,
        .process = on_process};
    struct pw_properties *p = pw_properties_new(
        PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_MEDIA_ROLE, "Camera",
        PW_KEY_NODE_NAME, n->name, PW_KEY_NODE_DESCRIPTION, title, NULL);
    n->stream = p ? pw_stream_new(n->core, title, p) : NULL;
    if (n->stream)
        pw_stream_add_listener(n->stream, &n->stream_listener, &events, n);
    return n->stream != NULL;
}

static bool core_connect(struct pipewire_node *n, char *why)
{
    static const struct pw_core_events events = {PW_VERSION_CORE_EVENTS, .error = on_core_error};
    n->core = pw_context_connect(n->context, NULL, 0);
    if (!n->core) {
        snprintf(why, 128, "no PipeWire answers: %s", strerror(errno));
        return false;
    }
    pw_core_add_listener(n->core, &n->core_listener, &events, n);
    return true;
}

struct pipewire_node *pipewire_node_new(const char *name, const char *title, char *why)
{
    struct pipewire_node *n = calloc(1, sizeof(*n));
    snprintf(why, 128, "out of memory");
    if (!n)
        return NULL;
    n->name = name;
    n->loop = pw_thread_loop_new("pelton-pipewire", NULL);
    n->context = n->loop ? pw_context_new(pw_thread_loop_get_loop(n->loop), NULL, 0) : NULL;
    bool good = n->context && core_connect(n, why) && stream_make(n, title) &&
                pw_thread_loop_start(n->loop) == 0;
    if (good)
        return n;
    pipewire_node_free(n);
    return NULL;
}

void pipewire_node_free(struct pipewire_node *n)
{
    if (!n)
        return;
    if (n->loop)
        pw_thread_loop_stop(n->loop);
    if (n->stream)
        pw_stream_destroy(n->stream);
    if (n->core)
        pw_core_disconnect(n->core);
    if (n->context)
        pw_context_destroy(n->context);
    if (n->loop)
        pw_thread_loop_destroy(n->loop);
    free(n);
}

bool pipewire_node_offer(struct pipewire_node *n, uint32_t width, uint32_t height)
{
    uint8_t bytes[POD_BYTES];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof(bytes));
    bool first = !n->width;
    int rc = 0;
    if (n->width == width && n->height == height)
        return false;
    pw_thread_loop_lock(n->loop);
    n->width = width;
    n->height = height;
    n->agreed = false;
    const struct spa_pod *params[1] = {format_make(&b, width, height)};
    if (first)
        rc = pw_stream_connect(n->stream, PW_DIRECTION_OUTPUT, PW_ID_ANY,
                               PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_MAP_BUFFERS, params, 1);
    else
        rc = pw_stream_update_params(n->stream, params, 1);
    pw_thread_loop_unlock(n->loop);
    return rc >= 0;
}

const struct picture_layout *pipewire_node_wants(struct pipewire_node *n)
{
    pw_thread_loop_lock(n->loop);
    const struct picture_layout *layout = n->streams && n->agreed ? n->plan.layout : NULL;
    pw_thread_loop_unlock(n->loop);
    return layout;
}

bool pipewire_node_picture(struct pipewire_node *n, const struct pelton_frame *frame)
{
    struct timespec end;
    pw_thread_loop_lock(n->loop);
    n->shown = frame;
    n->taken = false;
    pw_thread_loop_get_time(n->loop, &end, TAKES_MS * SPA_NSEC_PER_MSEC);
    bool turned = frame_fits(n) && pw_stream_trigger_process(n->stream) >= 0;
    while (turned && n->shown && n->streams && !n->lost)
        if (pw_thread_loop_timed_wait_full(n->loop, &end) < 0)
            break;
    n->shown = NULL;
    bool taken = n->taken;
    pw_thread_loop_unlock(n->loop);
    return taken;
}

bool pipewire_node_lost(struct pipewire_node *n, char *why)
{
    pw_thread_loop_lock(n->loop);
    bool lost = n->lost;
    snprintf(why, sizeof(n->why), "%s", n->why);
    pw_thread_loop_unlock(n->loop);
    return lost;
}

void pipewire_node_wait(struct pipewire_node *n, int timeout_ms)
{
    struct timespec end;
    pw_thread_loop_lock(n->loop);
    pw_thread_loop_get_time(n->loop, &end, timeout_ms * SPA_NSEC_PER_MSEC);
    if (!n->lost && !n->streams)
        pw_thread_loop_timed_wait_full(n->loop, &end);
    pw_thread_loop_unlock(n->loop);
}
