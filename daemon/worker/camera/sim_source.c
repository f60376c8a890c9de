/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The simulated sensor as a source. Its clip is decoded once, by the worker, into a pool that holds
 * all of it (loop thread); the camera's thread makes the scene of it, then keeps the sensor's time.
 *
 * The failure modes are those of the clip, given on unchanged, and the one that is asked for
 * (lost_at).
 */
#include "daemon/worker/camera/camera_internal.h"

#include "camera/sim.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOST_NS     (2 * NS_PER_S)
#define LATE_FRAMES 8 /* as many as drivers commonly keep */

struct sim_source {
    struct camera *camera;
    void *clip;          /* being decoded, loop thread; NULL: it has ended */
    bool ended, closing; /* with the host's lock */
    struct pelton_failure failure;
    struct feed_format format; /* of the first epoch; memfd ours, -1 none */
    uint32_t slots[32], n;

    struct camera_params params; /* camera's thread from here on */
    struct sim *sim;
    uint8_t *spare;
    uint64_t frames;
    int64_t due_ns, lost_until_ns;
};

static void on_info(void *ctx, const struct pelton_info *info, const struct pelton_probe_sei *sei)
{
}

static void on_format(void *ctx, const struct feed_format *format)
{
    struct sim_source *s = ctx;
    if (s->format.memfd >= 0 || s->format.epoch)
        return;
    s->format = *format;
    s->format.memfd = fcntl(format->memfd, F_DUPFD_CLOEXEC, 3);
}

static void on_frame(void *ctx, const struct feed_frame *frame)
{
    struct sim_source *s = ctx;
    if (frame->epoch == s->format.epoch && frame->slot < s->format.slots && s->n < 32)
        s->slots[s->n++] = frame->slot; /* never released: the pool holds them all */
}

static void on_end(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats)
{
    struct sim_source *s = ctx;
    struct camera_host *h = s->camera->host;
    uv_mutex_lock(&h->lock);
    s->clip = NULL;
    s->ended = true;
    s->failure = *failure;
    uv_cond_broadcast(&s->camera->room);
    uv_mutex_unlock(&h->lock);
    host_notify(h);
}

void *sim_source_create(struct camera *c)
{
    static const struct feed_callbacks callbacks = {
        .on_info = on_info, .on_format = on_format, .on_frame = on_frame, .on_end = on_end};
    const struct pelton_open_params params = {.uri = c->params.path,
                                              .fd = -1,
                                              .pix_fmt = "yuv420p",
                                              .depth = c->params.sim.scene_frames,
                                              .start_us = -1,
                                              .duration_us = -1,
                                              .max_frames = c->params.sim.scene_frames};
    struct sim_source *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->camera = c;
    s->format.memfd = -1;
    if (c->host->clips.open(c->host->clips.ctx, &params, &callbacks, s, &s->clip) < 0) {
        free(s);
        return NULL;
    }
    return s;
}

bool sim_source_close(void *source)
{
    struct sim_source *s = source;
    if (!s->clip)
        return true;
    if (!s->closing) {
        s->closing = true;
        s->camera->host->clips.close(s->clip);
    }
    return false;
}

static void release(void *source)
{
    struct sim_source *s = source;
    sim_free(s->sim);
    free(s->spare);
    if (s->format.memfd >= 0)
        close(s->format.memfd);
    free(s);
}

static int fail(struct sim_source *s, struct pelton_failure *failure, int code, const char *cause)
{
    *failure = (struct pelton_failure){.code = code};
    snprintf(failure->cause, sizeof(failure->cause), "%.120s: %.120s", s->camera->params.path,
             cause);
    return code;
}

static bool wait_for_clip(struct sim_source *s)
{
    struct camera_host *h = s->camera->host;
    uv_mutex_lock(&h->lock);
    while (!s->ended && !s->camera->stop)
        uv_cond_wait(&s->camera->room, &h->lock);
    bool ended = s->ended;
    uv_mutex_unlock(&h->lock);
    return ended;
}

static int add_pictures(struct sim_source *s, const uint8_t *memory)
{
    const struct feed_format *f = &s->format;
    for (uint32_t i = 0; i < s->n; i++) {
        const uint8_t *slot = memory + s->slots[i] * f->slot_size;
        struct sim_picture picture = {.width = f->width,
                                      .height = f->height,
                                      .shift_x = 1,
                                      .shift_y = 1,
                                      .bt709 = f->colour.matrix == 1 ||
                                               (f->colour.matrix == 2 && f->height >= 720),
                                      .full_range = f->colour.range == PELTON_RANGE_FULL};
        for (uint32_t p = 0; p < f->planes && p < 3; p++) {
            picture.plane[p] = slot + f->plane_offset[p];
            picture.stride[p] = f->stride[p];
        }
        if (sim_add_picture(s->sim, &picture) < 0)
            return -1;
    }
    return 0;
}

static int make_scene(struct sim_source *s, struct camera_params *p, struct pelton_failure *failure)
{
    const struct feed_format *f = &s->format;
    if (s->failure.code) {
        *failure = s->failure;
        return failure->code;
    }
    if (s->n == 0 || f->memfd < 0 || strcmp(f->pix_fmt, "yuv420p") != 0)
        return fail(s, failure, PELTON_ERR_UNSUPPORTED,
                    "the simulated sensor needs a clip in yuv420p");
    p->width = p->width ? p->width : f->width / 4 * 4;
    p->height = p->height ? p->height : f->height / 2 * 2;
    if (p->width < 16 || p->height < 16 || p->width > 8192 || p->height > 8192)
        return fail(s, failure, PELTON_ERR_INPUT, "the clip's size is none that a sensor has");
    if (p->packing == ISP_MIPI && p->depth != 12 && p->width % 4)
        return fail(s, failure, PELTON_ERR_USAGE,
                    "packed rows of 10 and 14 bits have a multiple of 4 samples");
    int rc = camera_calibrate(p, failure);
    if (rc < 0)
        return rc;
    s->params = *p;
    s->sim = sim_create(p);
    s->spare = s->sim ? malloc((size_t)p->width * p->height * 2) : NULL;
    void *memory =
        s->spare ? mmap(NULL, f->memfd_size, PROT_READ, MAP_SHARED, f->memfd, 0) : MAP_FAILED;
    int err = memory == MAP_FAILED ? -1 : add_pictures(s, memory);
    if (memory != MAP_FAILED)
        munmap(memory, f->memfd_size);
    return err < 0 ? fail(s, failure, PELTON_ERR_NOMEM, "out of memory") : 0;
}

static int open_sim(void *source, struct camera_params *p, struct pelton_failure *failure)
{
    struct sim_source *s = source;
    if (now_ns() < s->lost_until_ns)
        return fail(s, failure, PELTON_ERR_INPUT, "no such device");
    if (!s->sim) {
        if (!wait_for_clip(s))
            return fail(s, failure, PELTON_ERR_INPUT, "closed while opening");
        int rc = make_scene(s, p, failure);
        if (rc < 0)
            return rc;
    }
    s->due_ns = now_ns();
    return 0;
}

/* False: the camera is to stop. asked: the newest settings when the frame is due. */
static bool wait_until_due(struct sim_source *s, struct ae_exposure *asked)
{
    struct camera_host *h = s->camera->host;
    uv_mutex_lock(&h->lock);
    for (int64_t left = 1; s->params.realtime && !s->camera->stop && left > 0;) {
        left = s->due_ns - now_ns();
        if (left > 0)
            uv_cond_timedwait(&s->camera->room, &h->lock, (uint64_t)left);
    }
    bool stop = s->camera->stop;
    *asked = s->camera->control.ae.asked;
    uv_mutex_unlock(&h->lock);
    return !stop;
}

/* The frame is made while its exposure would last: it is there when it is due, as from a sensor. */
static int read_sim(void *source, uint8_t *raw, struct source_frame *out,
                    struct pelton_failure *failure)
{
    struct sim_source *s = source;
    struct ae_exposure asked;
    if (s->params.sim.lost_at && s->frames == s->params.sim.lost_at) {
        s->frames++;
        s->lost_until_ns = now_ns() + LOST_NS;
        return fail(s, failure, PELTON_ERR_INPUT, "the device is gone (unplugged?)");
    }
    sim_frame(s->sim, raw ? raw : s->spare, &out->in_effect);
    if (!wait_until_due(s, &asked))
        return SOURCE_AGAIN;
    int64_t period = (int64_t)(1e9 / s->params.fps), late = now_ns() - s->due_ns;
    /* the machine cannot keep the sensor's time */
    if (s->params.realtime && late > LATE_FRAMES * period) {
        out->lost = (uint64_t)(late / period);
        s->due_ns += (int64_t)out->lost * period;
    }
    out->captured_ns = now_ns();
    s->due_ns += period;
    s->frames++;
    sim_set(s->sim, asked.time_us, asked.analogue);
    sim_next(s->sim);
    return SOURCE_OK;
}

static void set_sim(void *source, const struct ae_exposure *e)
{
    struct sim_source *s = source;
    sim_set(s->sim, e->time_us, e->analogue);
}

static void close_sim(void *source)
{
}

const struct source_ops sim_source_ops = {
    .open = open_sim, .read = read_sim, .set = set_sim, .close = close_sim, .free = release};
