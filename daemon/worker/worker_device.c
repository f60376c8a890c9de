/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker's device, and what runs on it: the engine of decoded streams and the host of cameras.
 * They share one Vulkan device, which stays open until the process ends.
 *
 * The failure modes are no device, and no memory for engine or host. Each is told to whoever needed
 * it, with the last error line; the next one who needs it tries again.
 */
#include "daemon/worker/worker_internal.h"

#include "daemon/log.h"
#include "daemon/worker/schedule/knobs.h"
#include "proto/start_trace.h"
#include "daemon/worker/worker_fallback.h"
#include "daemon/worker/worker_sandbox.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE_CANARIES 0x5ca1ab1eu

enum { DEVICE_STEP = 3 /* of gpu_log_fn */ };

static void device_log(void *ctx, int level, const char *line)
{
    struct worker_proto *w = ctx;
    if (level == DEVICE_STEP) {
        start_trace("%s", line);
        return;
    }
    if (level == LOG_LEVEL_ERROR)
        wire_copy(w->complaint, sizeof(w->complaint), line);
    log_line(level, "%s", line);
}

static void device_message(const struct gpu_device_info *in, Pelton__Device *out)
{
    pelton__device__init(out);
    out->name = (char *)in->name;
    out->uuid = (char *)in->uuid;
    out->driver = (char *)in->driver;
    out->software = in->software;
    out->usable = in->usable;
    out->missing = (char *)in->missing;
}

/* What it decodes. Its frames stay in memory that is exported. */
static bool device_encodes(const struct worker_proto *w)
{
    const struct gpu_device_info *device = w->lavc ? NULL : engine_device(w->engine);
    return device && device->external_memory_fd &&
           encoding_on_device((uint32_t)w->settings->debug.encoder, device->software);
}

static void device_send_current(struct worker_proto *w, uint32_t request_id)
{
    Pelton__DevicesReply m = PELTON__DEVICES_REPLY__INIT;
    Pelton__Device device, *list[] = {&device};
    if (w->lavc)
        fallback_message(&device);
    else
        device_message(engine_device(w->engine), &device);
    device.entropy_pictures = engine_entropy_pictures(w->engine);
    device.encodes = device.encodes_jpeg = device_encodes(w);
    m.n_devices = 1;
    m.devices = list;
    channel_send(&w->ch, WIRE_DEVICES_REPLY, request_id, 0, &m.base, NULL, 0);
}

/* A driver may take a quarter of a second for it, so the broker's first question gets the same
 * list. */
static bool devices_list(struct worker_proto *w)
{
    if (!w->found && gpu_list(&w->found, &w->n_found) < 0) {
        w->found = NULL;
        w->n_found = 0; /* no loader, no driver: no devices */
    }
    return w->found != NULL;
}

/* The device to open; NULL: the default. For "all" it is the first usable GPU: the broker starts a
 * worker for each of the others, by its UUID. On a machine without any it is the default. */
static const char *device_find(struct worker_proto *w)
{
    unsigned n = 0;
    const char *device = w->settings->engine.device;
    if (!device || strcmp(device, "all") != 0)
        return device;
    if (!devices_list(w))
        return NULL;
    for (size_t i = 0; i < w->n_found; i++)
        if (w->found[i].usable && !w->found[i].software && n++ == 0)
            wire_copy(w->uuid, sizeof(w->uuid), w->found[i].uuid);
    return n ? w->uuid : NULL;
}

/* One line of the device or the engine says why, where there is one. */
static int worker_refuse(const struct worker_proto *w, int code, const char *cause,
                         struct pelton_failure *failure)
{
    failure->code = code;
    wire_copy(failure->cause, sizeof(failure->cause), w->complaint[0] ? w->complaint : cause);
    wire_copy(failure->hint, sizeof(failure->hint),
              code == PELTON_ERR_NO_DEVICE ? "run pelton doctor, or use --device cpu" : "");
    return code;
}

static enum engine_entropy entropy_of(const struct worker_proto *w)
{
    const struct settings *o = w->settings;
    if (o->engine.entropy != ENGINE_ENTROPY_AUTO ||
        !engine_expects_little(o->engine.expected << 20, (unsigned)o->engine.threads))
        return (enum engine_entropy)o->engine.entropy;
    START_TRACE_FIRST("little video: the GPU decodes no entropy");
    return ENGINE_ENTROPY_CPU;
}

static int device_open(struct worker_proto *w, const char *device)
{
    const struct settings *o = w->settings;
    const enum engine_entropy entropy = entropy_of(w);
    const struct gpu_params params = {.device = device,
                                      .validation = o->engine.validation,
                                      .timestamps = o->engine.timestamps,
                                      .no_background = entropy == ENGINE_ENTROPY_CPU,
                                      .debug = o->engine.gpu_debug,
                                      .keep_pipelines = true,
                                      .no_robustness = o->debug.bare,
                                      .canaries = o->debug.bare ? DEVICE_CANARIES : 0,
                                      .log = device_log,
                                      .log_ctx = w};
    int err = gpu_open(&params, &w->gpu);
    return err == 0 ? 0 : err == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM : PELTON_ERR_NO_DEVICE;
}

/* Of a stream that libavcodec cannot decode, or a camera. Any thread. */
static int device_open_late(void *ctx, struct gpu **out)
{
    struct worker_proto *w = ctx;
    int rc = device_open(w, "cpu");
    *out = w->gpu;
    return rc;
}

/* Without a GPU libavcodec is many times as fast as the software device. */
static int device_choose(struct worker_proto *w)
{
    const char *device = device_find(w);
    w->lavc = fallback_chosen(w->settings, device);
    if (w->lavc)
        log_line(LOG_LEVEL_WARNING, "%s",
                 fallback_named(device) ? "libavcodec decodes" : "no GPU: libavcodec decodes");
    if (!w->lavc && fallback_named(device)) {
        log_line(LOG_LEVEL_WARNING, "libavcodec has no H.264 decoder: the software device decodes");
        device = "cpu";
    }
    return w->lavc ? 0 : device_open(w, device);
}

static uint64_t memory_of(const struct settings *o, uint64_t mib)
{
    return (mib ? mib : o->engine.memory) << 20;
}

static int engine_open(struct worker_proto *w)
{
    const struct settings *o = w->settings;
    const struct engine_params params = {
        .gpu = w->gpu,
        .open_gpu = device_open_late,
        .open_gpu_ctx = w,
        .threads = (unsigned)w->settings->engine.threads,
        .lookahead = (unsigned)o->engine.lookahead,
        .batch = (unsigned)o->debug.batch,
        .arena = (uint8_t)o->debug.arena,
        .wavefront = (uint8_t)o->debug.wavefront,
        .entropy = entropy_of(w),
        .entropy_memory = o->engine.entropy_memory << 20,
        .memory_device = memory_of(o, o->engine.memory_device),
        .memory_host = memory_of(o, o->engine.memory_host),
        .kept_units = o->limits.kept_units,
        .limits = {.unit_bytes = (uint32_t)o->limits.access_unit,
                   .nal_bytes = (uint32_t)o->limits.nal_unit,
                   .frame_mbs = (uint32_t)o->limits.picture},
        .idle_ns = (int64_t)o->debug.idle_ms * 1000000,
        .gpu_motion = o->engine.gpu_motion,
        .live_clocks = o->engine.live_clocks,
        .tune = o->engine.tune,
        .tune_force = o->debug.tune_force,
        .split = o->debug.split,
        .shuffle_seed = o->debug.shuffle_seed,
        .delay_seed = o->debug.delay_seed,
        .timestamps = o->engine.timestamps,
        .log = device_log,
        .log_ctx = w,
    };
    return engine_create(&w->loop, &params, &w->engine);
}

int worker_need_engine(struct worker_proto *w, struct pelton_failure *failure)
{
    if (w->engine)
        return PELTON_OK;
    w->complaint[0] = 0;
    int rc = w->gpu || w->lavc ? 0 : device_choose(w);
    if (rc == 0)
        rc = engine_open(w);
    if (rc < 0)
        return worker_refuse(w, rc, "the decoder cannot be set up", failure);
    if (!w->closed_in)
        w->sandbox = worker_sandbox_close(w->settings, w->sandbox);
    w->closed_in = true;
    worker_send_held(w);
    start_trace("the engine runs");
    device_send_current(w, 0);
    return PELTON_OK;
}

void worker_warm_up(struct worker_proto *w)
{
    struct pelton_failure failure = {0};
    if (w->settings->engine.warm_up)
        worker_need_engine(w, &failure);
}

static int clip_open(void *ctx, const struct pelton_open_params *params,
                     const struct feed_callbacks *callbacks, void *callbacks_ctx, void **clip)
{
    struct worker_proto *w = ctx;
    struct session *s = NULL;
    int rc =
        session_open(w->engine, params, &(struct session_extra){0}, callbacks, callbacks_ctx, &s);
    *clip = s;
    return rc;
}

static void clip_close(void *clip)
{
    session_close(clip);
}

static int encodings_open(struct worker_proto *w)
{
    const struct settings_encoding *o = &w->settings->encoding;
    const struct encoding_settings settings = {.width = (uint32_t)o->width,
                                               .height = (uint32_t)o->height,
                                               .quality = (uint32_t)o->quality,
                                               .bit_rate = o->bit_rate * 1000,
                                               .key_ms = (uint32_t)o->key_ms,
                                               .by = (uint32_t)w->settings->debug.encoder};
    return camera_encodings_create(&w->loop, &settings, w->gpu, w->cameras, &w->encodings);
}

int worker_need_cameras(struct worker_proto *w, struct pelton_failure *failure)
{
    int rc = worker_need_engine(w, failure);
    if (rc < 0 || w->encodings)
        return rc;
    rc = engine_need_gpu(w->engine);
    if (rc < 0)
        return worker_refuse(w, rc, "frames of cameras cannot be developed here", failure);
    const struct camera_host_params params = {
        .gpu = w->gpu, .clips = {.ctx = w, .open = clip_open, .close = clip_close}};
    rc = w->cameras ? 0 : camera_host_create(&w->loop, &params, &w->cameras);
    if (rc < 0)
        return worker_refuse(w, rc, "frames of cameras cannot be developed here", failure);
    rc = encodings_open(w);
    return rc < 0 ? worker_refuse(w, rc, "frames of cameras cannot be encoded here", failure) : 0;
}

int worker_need_transcodings(struct worker_proto *w, struct pelton_failure *failure)
{
    int rc = worker_need_engine(w, failure);
    if (rc < 0 || w->transcodings)
        return rc;
    if (!device_encodes(w)) {
        worker_refuse(w, PELTON_ERR_UNSUPPORTED, "no GPU encodes here", failure);
        failure->hint[0] = 0;
        return failure->code;
    }
    rc = transcodings_create(&w->loop, w->engine, w->gpu, &w->transcodings);
    return rc < 0 ? worker_refuse(w, rc, "decoded frames cannot be encoded here", failure) : 0;
}

void worker_answer_devices(struct worker_proto *w, const struct frame *f, const Pelton__Devices *m)
{
    struct pelton_failure failure = {0};
    if (m->current) {
        if (worker_need_engine(w, &failure) == 0) {
            device_send_current(w, f->h.request_id);
            return;
        }
        worker_send_error(w, f, &failure);
        return;
    }
    devices_list(w);
    const struct gpu_device_info *devices = w->found;
    Pelton__DevicesReply reply = PELTON__DEVICES_REPLY__INIT;
    Pelton__Device bodies[32], *list[32];
    reply.devices = list;
    reply.current = -1;
    for (; reply.n_devices < w->n_found && reply.n_devices < 32; reply.n_devices++) {
        size_t i = reply.n_devices;
        device_message(&devices[i], &bodies[i]);
        list[i] = &bodies[i];
        if (w->engine && !w->lavc && strcmp(devices[i].uuid, engine_device(w->engine)->uuid) == 0)
            reply.current = (int32_t)i;
    }
    channel_send(&w->ch, WIRE_DEVICES_REPLY, f->h.request_id, 0, &reply.base, NULL, 0);
    free(w->found);
    w->found = NULL; /* later questions find what there is then */
    w->n_found = 0;
}

/* ---- the end ---- */

static void on_encodings_closed(void *ctx)
{
    struct worker_proto *w = ctx;
    w->encodings = NULL;
    w->closed(w);
}

static void on_transcodings_closed(void *ctx)
{
    struct worker_proto *w = ctx;
    w->transcodings = NULL;
    if (w->encodings)
        camera_encodings_close(w->encodings, on_encodings_closed, w);
    else
        w->closed(w);
}

static void on_engine_closed(void *ctx)
{
    struct worker_proto *w = ctx;
    w->engine = NULL;
    if (w->transcodings)
        transcodings_close(w->transcodings, on_transcodings_closed, w);
    else
        on_transcodings_closed(w);
}

static void on_cameras_closed(void *ctx)
{
    struct worker_proto *w = ctx;
    w->cameras = NULL;
    if (w->engine)
        engine_close(w->engine, on_engine_closed, w);
    else
        w->closed(w);
}

void worker_close_engine(struct worker_proto *w, void (*closed)(struct worker_proto *w))
{
    w->closed = closed;
    camera_encodings_stop(w->encodings);
    transcodings_stop(w->transcodings);
    if (w->cameras)
        camera_host_close(w->cameras, on_cameras_closed, w);
    else
        on_cameras_closed(w);
}
