/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sum of the totals of several streams.
 */
#include "proto/pelton.h"

void pelton_stats_add(struct pelton_stats *t, const struct pelton_stats *s)
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
    t->device_bandwidth = s->device_bandwidth;
    t->wall = s->wall > t->wall ? s->wall : t->wall;
}
