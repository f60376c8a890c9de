/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_device.h. The failure modes: no such device, no memory, and a device that is lost.
 * Then the first stream that notices opens it again. The others notice, too, and take that one. A
 * lost device is closed when the last of its deciders has ended. After LOSSES in a row the CPU goes
 * on.
 */
#include "client/encode_device.h"

#include "client/ui.h"
#include "daemon/worker/memory/machine.h"
#include "encode/reference/ref_decider.h"
#include "gpu/encode/gpu_encoder.h"
#include "proto/start_trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 64, LOSSES = 3, MOST_ALIKE = 16 /* streams that share buffers */ };
#define LOSS_NS 60000000000 /* a loss that is older does not count */

struct opened_device {
    struct gpu *gpu;
    struct gpu_encoder *encoder;
    unsigned users; /* deciders */
    bool lost;
};

struct encode_device {
    const char *name; /* as --device has it */
    unsigned threads; /* of the CPU, for each stream */
    struct gpu_encoder_params params;
    pthread_t opener;
    bool opening;
    int error;                    /* enum gpu_error, of the opener */
    pthread_mutex_t lock;         /* guards what follows */
    struct opened_device *opened; /* NULL: the CPU encodes */
    uint64_t number;              /* of it: changes when it is opened again */
    unsigned losses;              /* in a row */
    int64_t lost_ns;              /* when the last one was */
};

/* "gpu", or a part of a name. Where the daemon is to choose, or shares several, the CPU encodes. */
static bool names_gpu(const struct connect_options *c)
{
    static const char *const others[] = {"auto", "cpu", "libavcodec", "all"};
    if (!c->device_given || strchr(c->device, ','))
        return false;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!strcmp(c->device, others[i]))
            return false;
    return true;
}

/* ---- opening and closing ---- */

static void opened_free(struct opened_device *p)
{
    if (!p)
        return;
    gpu_encoder_free(p->encoder);
    gpu_close(p->gpu);
    free(p);
}

/* An enum gpu_error */
static int opened_new(const char *name, struct opened_device **out)
{
    struct opened_device *p = calloc(1, sizeof(*p));
    if (!p)
        return GPU_ERR_NOMEM;
    int err = gpu_open(&(struct gpu_params){.device = name, .keep_pipelines = true}, &p->gpu);
    if (err < 0) {
        free(p);
        return err;
    }
    *out = p;
    return GPU_OK;
}

static void *opener_run(void *ctx)
{
    struct encode_device *d = ctx;
    d->error = opened_new(d->name, &d->opened);
    start_trace("the encoder's device is open");
    return NULL;
}

int encode_device_open(const struct client_options *o, struct encode_device **out,
                       struct failure *f)
{
    struct encode_device *d = calloc(1, sizeof(*d));
    if (!d)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    pthread_mutex_init(&d->lock, NULL);
    d->name = o->connect.device;
    if (names_gpu(&o->connect)) {
        d->opening = pthread_create(&d->opener, NULL, opener_run, d) == 0;
        if (!d->opening)
            opener_run(d);
    }
    *out = d;
    return 0;
}

static void opener_join(struct encode_device *d)
{
    if (d->opening)
        pthread_join(d->opener, NULL);
    d->opening = false;
}

int encode_device_ready(struct encode_device *d, uint32_t streams, uint32_t alike,
                        struct failure *f)
{
    unsigned all = machine_threads(MOST_THREADS);
    opener_join(d);
    d->threads = all > streams ? all / streams : 1;
    d->params.streams = alike < MOST_ALIKE ? alike : MOST_ALIKE;
    if (d->error < 0)
        return fail_with(f, d->error == GPU_ERR_NO_DEVICE ? X_NO_DEVICE : X_OTHER,
                         "pelton doctor says what is there", "--device %s: %s", d->name,
                         gpu_error_text(d->error));
    if (d->opened)
        ui_log(LOG_INFO, "%s encodes", gpu_info(d->opened->gpu)->name);
    return 0;
}

void encode_device_close(struct encode_device *d)
{
    if (!d)
        return;
    opener_join(d);
    opened_free(d->opened);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* ---- deciders ---- */

static int place_analyse(void *ctx, const struct decider_source *source,
                         struct analysis_costs *costs, int8_t *qp_offsets)
{
    const struct encode_place *p = ctx;
    return p->calls.analyse(p->calls.ctx, source, costs, qp_offsets);
}

static int place_decide(void *ctx, const struct decider_source *source,
                        const struct decider_wish *wish, struct rec_view *view)
{
    const struct encode_place *p = ctx;
    return p->calls.decide(p->calls.ctx, source, wish, view);
}

static const struct slice_data *place_data(void *ctx)
{
    const struct encode_place *p = ctx;
    return p->calls.data(p->calls.ctx);
}

static void place_accept(void *ctx)
{
    const struct encode_place *p = ctx;
    p->calls.accept(p->calls.ctx);
}

/* A device that is lost goes with the last of its deciders. */
static void place_end(void *ctx)
{
    struct encode_place *p = ctx;
    p->calls.end(p->calls.ctx);
    pthread_mutex_lock(&p->device->lock);
    struct opened_device *opened = p->opened;
    bool last = opened && --opened->users == 0 && opened->lost;
    p->opened = NULL;
    pthread_mutex_unlock(&p->device->lock);
    if (last)
        opened_free(opened);
}

/* Buffers of a size that nobody has any more go. With the lock */
static int encoder_renew(struct encode_device *d)
{
    struct opened_device *o = d->opened;
    if (o->users)
        return GPU_OK;
    gpu_encoder_free(o->encoder);
    o->encoder = NULL;
    return gpu_encoder_create(o->gpu, &d->params, &o->encoder);
}

/* With the lock */
static int place_begin(struct encode_place *p, const struct encoding *e,
                       const struct encoding_limits *limits, char *why)
{
    struct encode_device *d = p->device;
    p->number = d->number;
    if (!d->opened)
        return ref_decider_begin(&d->threads, e, limits, &p->calls, why);
    if (encoder_renew(d) < 0)
        return snprintf(why, ENCODING_WHY, "no memory"), -1;
    if (gpu_decider_begin(d->opened->encoder, e, limits, &p->calls, why) < 0)
        return -1;
    p->opened = d->opened;
    p->opened->users++;
    return 0;
}

static void place_calls(struct encode_place *p, struct decider_calls *out)
{
    *out = (struct decider_calls){.ctx = p,
                                  .analyse = p->calls.analyse ? place_analyse : NULL,
                                  .decide = place_decide,
                                  .data = p->calls.data ? place_data : NULL,
                                  .accept = place_accept,
                                  .end = place_end};
}

int encode_place_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                       struct decider_calls *out, char *why)
{
    struct encode_place *p = ctx;
    pthread_mutex_lock(&p->device->lock);
    int rc = place_begin(p, e, limits, why);
    pthread_mutex_unlock(&p->device->lock);
    if (rc == 0)
        place_calls(p, out);
    return rc;
}

/* ---- a device that was lost ---- */

/* With the lock */
static void device_retire(struct encode_device *d)
{
    struct opened_device *lost = d->opened;
    d->opened = NULL;
    d->number++;
    lost->lost = true;
    if (!lost->users)
        opened_free(lost);
}

/* Whether the device is open again, and the stream has a decider of it. With the lock */
static bool place_reopen(struct encode_place *p, const struct encoding *e,
                         const struct encoding_limits *limits, char *why)
{
    struct encode_device *d = p->device;
    int64_t now = now_ns();
    d->losses = now - d->lost_ns < LOSS_NS ? d->losses + 1 : 1;
    d->lost_ns = now;
    device_retire(d);
    if (d->losses > LOSSES || opened_new(d->name, &d->opened) < 0)
        return false;
    if (place_begin(p, e, limits, why) == 0)
        return true;
    device_retire(d);
    return false;
}

/* With the lock */
static int place_begin_again(struct encode_place *p, const struct encoding *e,
                             const struct encoding_limits *limits, char *why)
{
    struct encode_device *d = p->device;
    if (!d->opened || p->number != d->number) /* another stream was here first */
        return place_begin(p, e, limits, why);
    bool good = place_reopen(p, e, limits, why);
    double seconds = (double)(now_ns() - d->lost_ns) * 1e-9;
    if (good) {
        ui_log(LOG_WARNING, "--device %s: is open again after %.2f s, and encodes", d->name,
               seconds);
        return 0;
    }
    ui_log(LOG_WARNING, "--device %s: cannot be opened again: the CPU encodes after %.2f s",
           d->name, seconds);
    return place_begin(p, e, limits, why);
}

int encode_place_begin_again(void *ctx, const struct encoding *e,
                             const struct encoding_limits *limits, struct decider_calls *out,
                             char *why)
{
    struct encode_place *p = ctx;
    pthread_mutex_lock(&p->device->lock);
    int rc = place_begin_again(p, e, limits, why);
    pthread_mutex_unlock(&p->device->lock);
    if (rc == 0)
        place_calls(p, out);
    return rc;
}
