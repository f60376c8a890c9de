/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_device.h. The failure modes: no such device, no memory, and a device that is lost.
 * That one is opened again, and after LOSSES in a row the CPU goes on.
 */
#include "client/encode_device.h"

#include "client/ui.h"
#include "daemon/worker/memory/machine.h"
#include "encode/reference/ref_decider.h"
#include "gpu/encode/gpu_encoder.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 64, LOSSES = 3 };
#define LOSS_NS 60000000000 /* a loss that is older does not count */

struct encode_device {
    unsigned threads; /* of the CPU, where there is no encoder */
    const char *name; /* as --device has it */
    struct gpu *gpu;
    struct gpu_encoder *encoder;
    unsigned losses; /* in a row */
    int64_t lost_ns; /* when the last one was */
};

/* Those that the process may run on, and its quota */
static unsigned cpus(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    unsigned most = machine_cpus("", (unsigned)n);
    return most > MOST_THREADS ? MOST_THREADS : most;
}

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

static void close_gpu(struct encode_device *d)
{
    gpu_encoder_free(d->encoder);
    gpu_close(d->gpu);
    d->encoder = NULL;
    d->gpu = NULL;
}

/* An enum gpu_error */
static int try_gpu(struct encode_device *d)
{
    int err = gpu_open(&(struct gpu_params){.device = d->name, .keep_pipelines = true}, &d->gpu);
    if (err == GPU_OK)
        err = gpu_encoder_create(d->gpu, &(struct gpu_encoder_params){.streams = 1}, &d->encoder);
    if (err < 0)
        close_gpu(d);
    return err;
}

static int open_gpu(struct encode_device *d, struct failure *f)
{
    int err = try_gpu(d);
    if (err < 0)
        return fail_with(f, err == GPU_ERR_NO_DEVICE ? X_NO_DEVICE : X_OTHER,
                         "pelton doctor says what is there", "--device %s: %s", d->name,
                         gpu_error_text(err));
    ui_log(LOG_INFO, "%s encodes", gpu_info(d->gpu)->name);
    return 0;
}

int encode_device_open(const struct client_options *o, struct encode_device **out,
                       struct failure *f)
{
    struct encode_device *d = calloc(1, sizeof(*d));
    int rc;
    if (!d)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    d->threads = cpus();
    d->name = o->connect.device;
    rc = names_gpu(&o->connect) ? open_gpu(d, f) : 0;
    if (rc) {
        encode_device_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

void encode_device_close(struct encode_device *d)
{
    if (!d)
        return;
    close_gpu(d);
    free(d);
}

/* Without the buffers of the decider before, which had another size. */
static bool renew_encoder(struct encode_device *d)
{
    gpu_encoder_free(d->encoder);
    d->encoder = NULL;
    return gpu_encoder_create(d->gpu, &(struct gpu_encoder_params){.streams = 1}, &d->encoder) ==
           GPU_OK;
}

int encode_device_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                        struct decider_calls *out, char *why)
{
    struct encode_device *d = ctx;
    if (d->encoder && !renew_encoder(d))
        return snprintf(why, ENCODING_WHY, "no memory"), -1;
    return d->encoder ? gpu_decider_begin(d->encoder, e, limits, out, why)
                      : ref_decider_begin(&d->threads, e, limits, out, why);
}

/* Whether the device is open again */
static bool reopen_gpu(struct encode_device *d)
{
    int64_t now = now_ns();
    d->losses = now - d->lost_ns < LOSS_NS ? d->losses + 1 : 1;
    d->lost_ns = now;
    close_gpu(d);
    return d->losses <= LOSSES && try_gpu(d) == GPU_OK;
}

int encode_device_begin_again(void *ctx, const struct encoding *e,
                              const struct encoding_limits *limits, struct decider_calls *out,
                              char *why)
{
    struct encode_device *d = ctx;
    bool good = reopen_gpu(d) && gpu_decider_begin(d->encoder, e, limits, out, why) == 0;
    double seconds = (double)(now_ns() - d->lost_ns) * 1e-9;
    if (good) {
        ui_log(LOG_WARNING, "--device %s: is open again after %.2f s, and encodes", d->name,
               seconds);
        return 0;
    }
    close_gpu(d);
    ui_log(LOG_WARNING, "--device %s: cannot be opened again: the CPU encodes after %.2f s",
           d->name, seconds);
    return ref_decider_begin(&d->threads, e, limits, out, why);
}
