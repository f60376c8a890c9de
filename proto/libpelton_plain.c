/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Functions of pelton.h that need no connection: names of errors, the sum of the totals of several
 * streams.
 */
#include "proto/libpelton_sizes.h"
#include "proto/pelton.h"

#define ERRORS(X)                                                                                  \
    X(PELTON_OK)                                                                                   \
    X(PELTON_ERR_OTHER)                                                                            \
    X(PELTON_ERR_USAGE)                                                                            \
    X(PELTON_ERR_INPUT)                                                                            \
    X(PELTON_ERR_UNSUPPORTED)                                                                      \
    X(PELTON_ERR_DECODE)                                                                           \
    X(PELTON_ERR_NO_DEVICE)                                                                        \
    X(PELTON_ERR_NO_DAEMON)                                                                        \
    X(PELTON_ERR_PERMISSION)                                                                       \
    X(PELTON_ERR_TIMEOUT)                                                                          \
    X(PELTON_ERR_GPU_LOST)                                                                         \
    X(PELTON_ERR_WORKER_LOST)                                                                      \
    X(PELTON_ERR_GONE)                                                                             \
    X(PELTON_ERR_PROTOCOL)                                                                         \
    X(PELTON_ERR_NOMEM)                                                                            \
    X(PELTON_ERR_LIMIT)                                                                            \
    X(PELTON_ERR_NOT_FOUND)                                                                        \
    X(PELTON_ERR_BUSY)                                                                             \
    X(PELTON_ERR_UNPLUGGED)                                                                        \
    X(PELTON_ERR_REFUSED)                                                                          \
    X(PELTON_ERR_DNS)                                                                              \
    X(PELTON_ERR_AUTH)                                                                             \
    X(PELTON_ERR_CHANGED)

const char *pelton_error_name(int code)
{
    switch (code) {
#define ERROR_NAME(name)                                                                           \
    case name:                                                                                     \
        return #name;
        ERRORS(ERROR_NAME)
#undef ERROR_NAME
    default:
        return "PELTON_ERR_UNKNOWN";
    }
}

static void stats_add(struct pelton_stats *t, const struct pelton_stats *s)
{
    t->access_units += s->access_units;
    t->frames += s->frames;
    t->corrupt += s->corrupt;
    t->dropped += s->dropped;
    t->bytes_in += s->bytes_in;
    t->bytes_uploaded += s->bytes_uploaded;
    t->bytes_delivered += s->bytes_delivered;
    t->worker_restarts += s->worker_restarts;
    t->memory_host += s->memory_host;
    t->memory_gpu += s->memory_gpu;
    t->cpu_demux += s->cpu_demux;
    t->cpu_entropy += s->cpu_entropy;
    t->cpu_motion += s->cpu_motion;
    t->cpu_submit += s->cpu_submit;
    t->cpu_device += s->cpu_device;
    t->cpu_wait += s->cpu_wait;
    t->gpu_upload += s->gpu_upload;
    t->gpu_classify += s->gpu_classify;
    t->gpu_residual += s->gpu_residual;
    t->gpu_inter += s->gpu_inter;
    t->gpu_intra += s->gpu_intra;
    t->gpu_deblock += s->gpu_deblock;
    t->gpu_deliver += s->gpu_deliver;
    t->gpu_entropy += s->gpu_entropy;
    t->gpu_entropy_pictures += s->gpu_entropy_pictures;
    t->gpu_entropy_bytes += s->gpu_entropy_bytes;
    t->device_bandwidth = s->device_bandwidth;
    t->libavcodec |= s->libavcodec;
    t->warnings |= s->warnings;
    t->pictures += s->pictures;
    t->bytes_over_bus += s->bytes_over_bus;
    t->wall = s->wall > t->wall ? s->wall : t->wall;
    for (int i = 0; i < PELTON_MEMORY_MOST; i++) {
        t->worker_gpu[i] =
            s->worker_gpu[i] > t->worker_gpu[i] ? s->worker_gpu[i] : t->worker_gpu[i];
        t->worker_host[i] =
            s->worker_host[i] > t->worker_host[i] ? s->worker_host[i] : t->worker_host[i];
    }
}

void pelton_stats_add_sized(struct pelton_stats *sum, const struct pelton_stats *more, size_t size)
{
    struct pelton_stats total, other;
    PELTON_TAKE(&total, sum, size);
    PELTON_TAKE(&other, more, size);
    stats_add(&total, &other);
    PELTON_GIVE(sum, size, &total);
}
