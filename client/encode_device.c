/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_device.h. The failure modes: no such device, and no memory.
 */
#include "client/encode_device.h"

#include "client/ui.h"
#include "encode/reference/ref_decider.h"
#include "gpu/encode/gpu_encoder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 64 };

struct encode_device {
    unsigned threads; /* of the CPU, where there is no encoder */
    struct gpu *gpu;
    struct gpu_encoder *encoder;
};

static unsigned cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (unsigned)n;
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

static int open_gpu(struct encode_device *d, const char *device, struct failure *f)
{
    int err = gpu_open(&(struct gpu_params){.device = device, .keep_pipelines = true}, &d->gpu);
    if (err == GPU_OK)
        err = gpu_encoder_create(d->gpu, &(struct gpu_encoder_params){.streams = 1}, &d->encoder);
    if (err < 0)
        return fail_with(f, err == GPU_ERR_NO_DEVICE ? X_NO_DEVICE : X_OTHER,
                         "pelton doctor says what is there", "--device %s: %s", device,
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
    rc = names_gpu(&o->connect) ? open_gpu(d, o->connect.device, f) : 0;
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
    gpu_encoder_free(d->encoder);
    gpu_close(d->gpu);
    free(d);
}

int encode_device_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                        struct decider_calls *out, char *why)
{
    struct encode_device *d = ctx;
    return d->encoder ? gpu_decider_begin(d->encoder, e, limits, out, why)
                      : ref_decider_begin(&d->threads, e, limits, out, why);
}
