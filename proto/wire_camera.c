/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cameras, named sources and the state of the daemon to and from messages.
 */
#include "proto/wire.h"

#include <string.h>

#define CAMERA_FIELDS(X)                                                                           \
    X(exposure_us)                                                                                 \
    X(analogue_gain)                                                                               \
    X(digital_gain)                                                                                \
    X(red_gain)                                                                                    \
    X(blue_gain)                                                                                   \
    X(mean)                                                                                        \
    X(clipped)

void wire_camera_from(const struct pelton_camera *in, Pelton__Camera *out)
{
    pelton__camera__init(out);
#define CAMERA_COPY(field) out->field = in->field;
    CAMERA_FIELDS(CAMERA_COPY)
    out->ae_state = (uint32_t)in->ae_state;
    out->crop_x = in->crop.x;
    out->crop_y = in->crop.y;
    out->crop_width = in->crop.width;
    out->crop_height = in->crop.height;
}

void wire_camera_to(const Pelton__Camera *in, struct pelton_camera *out)
{
    memset(out, 0, sizeof(*out));
    if (!in)
        return;
    CAMERA_FIELDS(CAMERA_COPY)
#undef CAMERA_COPY
    out->ae_state =
        in->ae_state <= PELTON_AE_LOCKED ? (enum pelton_ae_state)in->ae_state : PELTON_AE_SEARCHING;
    out->crop = (struct pelton_rect){in->crop_x, in->crop_y, in->crop_width, in->crop_height};
    out->present = true;
}

void wire_exposure_from(const struct pelton_exposure *in, Pelton__Exposure *out)
{
    pelton__exposure__init(out);
    out->target = in->target;
    out->histogram = (uint32_t *)in->histogram;
    out->n_histogram = PELTON_HISTOGRAM_BINS;
}

void wire_exposure_to(const Pelton__Exposure *in, struct pelton_exposure *out)
{
    memset(out, 0, sizeof(*out));
    if (!in)
        return;
    out->target = in->target;
    if (in->n_histogram == PELTON_HISTOGRAM_BINS)
        memcpy(out->histogram, in->histogram, sizeof(out->histogram));
}

void wire_controls_from(const struct pelton_control *in, uint32_t n, struct wire_controls *out)
{
    for (uint32_t i = 0; i < n; i++) {
        pelton__control__init(&out->msg[i]);
        out->msg[i].name = (char *)in[i].name;
        out->msg[i].n_values = in[i].n;
        out->msg[i].values = (double *)in[i].value;
        out->msg[i].least = in[i].least;
        out->msg[i].most = in[i].most;
        out->list[i] = &out->msg[i];
    }
}

int wire_controls_to(Pelton__Control *const *in, size_t n,
                     struct pelton_control out[PELTON_MAX_CONTROLS])
{
    if (n > PELTON_MAX_CONTROLS)
        return PELTON_ERR_USAGE;
    for (size_t i = 0; i < n; i++)
        if (in[i]->n_values > PELTON_CONTROL_VALUES)
            return PELTON_ERR_USAGE;
    for (size_t i = 0; i < n; i++) {
        memset(&out[i], 0, sizeof(out[i]));
        wire_copy(out[i].name, sizeof(out[i].name), in[i]->name);
        out[i].n = (uint32_t)in[i]->n_values;
        if (out[i].n) /* an empty list has no address */
            memcpy(out[i].value, in[i]->values, out[i].n * sizeof(out[i].value[0]));
        out[i].least = in[i]->least;
        out[i].most = in[i]->most;
    }
    return PELTON_OK;
}

enum pelton_source_state wire_state_to(Pelton__SourceState__State state)
{
    static const enum pelton_source_state states[] = {
        [PELTON__SOURCE_STATE__STATE__OPENING] = PELTON_SOURCE_OPENING,
        [PELTON__SOURCE_STATE__STATE__RUNNING] = PELTON_SOURCE_RUNNING,
        [PELTON__SOURCE_STATE__STATE__RESTARTING] = PELTON_SOURCE_BACKOFF,
        [PELTON__SOURCE_STATE__STATE__CLOSED] = PELTON_SOURCE_CLOSED,
        [PELTON__SOURCE_STATE__STATE__LOST] = PELTON_SOURCE_LOST,
        [PELTON__SOURCE_STATE__STATE__BACKOFF] = PELTON_SOURCE_BACKOFF,
        [PELTON__SOURCE_STATE__STATE__ENDED] = PELTON_SOURCE_ENDED};
    return (unsigned)state < sizeof(states) / sizeof(states[0]) ? states[state]
                                                                : PELTON_SOURCE_CLOSED;
}

void wire_source_to(const Pelton__Source *in, struct pelton_source *out)
{
    memset(out, 0, sizeof(*out));
    if (!in)
        return;
    wire_copy(out->name, sizeof(out->name), in->name);
    wire_copy(out->uri, sizeof(out->uri), in->uri);
    wire_copy(out->cause, sizeof(out->cause), in->cause);
    wire_copy(out->codec, sizeof(out->codec), in->codec);
    wire_copy(out->format, sizeof(out->format), in->format);
    out->readers = in->readers;
    out->state = wire_state_to(in->state);
    out->width = in->width;
    out->height = in->height;
    if (in->frame_rate)
        out->frame_rate = (struct pelton_rational){in->frame_rate->num, in->frame_rate->den};
    out->since_ns = in->since_ns;
}

void wire_reloaded_to(const Pelton__ReloadReply *in, struct pelton_reloaded *out)
{
    *out = (struct pelton_reloaded){
        .added = in->added, .removed = in->removed, .changed = in->changed, .kept = in->kept};
    wire_copy(out->note, sizeof(out->note), in->note);
}

void wire_stream_status_to(const Pelton__StreamStatus *in, struct pelton_stream_status *out)
{
    *out = (struct pelton_stream_status){.id = in->id,
                                         .pid = in->pid,
                                         .uid = in->uid,
                                         .depth = in->depth,
                                         .width = in->width,
                                         .height = in->height,
                                         .frames = in->frames,
                                         .waiting = in->waiting,
                                         .held = in->held,
                                         .slots = in->slots,
                                         .dropped_source = in->dropped_source,
                                         .dropped_decoder = in->dropped_decoder,
                                         .dropped_client = in->dropped_client,
                                         .restarts = in->restarts,
                                         .age_ns = in->age_ns,
                                         .gpu_entropy_pictures = in->gpu_entropy_pictures,
                                         .gpu_entropy = in->gpu_entropy,
                                         .libavcodec = in->libavcodec};
    out->state = wire_state_to(in->state);
    out->policy = in->policy <= PELTON_FIFO ? (enum pelton_policy)in->policy : PELTON_LOSSLESS;
    wire_copy(out->name, sizeof(out->name), in->name);
    wire_copy(out->source, sizeof(out->source), in->source);
    wire_copy(out->client, sizeof(out->client), in->client);
    wire_copy(out->pix_fmt, sizeof(out->pix_fmt), in->pix_fmt);
}

static void wire_quota_to(const Pelton__Quota *in, struct pelton_quota *out)
{
    *out = (struct pelton_quota){.limit = in->limit, .used = in->used, .refused = in->refused};
    wire_copy(out->name, sizeof(out->name), in->name);
}

void wire_encoder_to(const Pelton__EncoderUsage *in, struct pelton_encoder_usage *out)
{
    *out = in ? (struct pelton_encoder_usage){.pictures = in->pictures,
                                              .missed = in->missed,
                                              .bytes = in->bytes,
                                              .bit_rate = in->bit_rate,
                                              .gpu = in->gpu}
              : (struct pelton_encoder_usage){0};
}

void wire_encoder_from(const struct pelton_encoder_usage *in, Pelton__EncoderUsage *out)
{
    pelton__encoder_usage__init(out);
    out->pictures = in->pictures;
    out->missed = in->missed;
    out->bytes = in->bytes;
    out->bit_rate = in->bit_rate;
    out->gpu = in->gpu;
}

void wire_status_to(const Pelton__StatusReply *in, struct pelton_status *out)
{
    struct pelton_device device;
    *out = (struct pelton_status){.n_streams = in->total_streams,
                                  .most_streams = in->most_streams,
                                  .n_clients = in->total_clients,
                                  .most_clients = in->most_clients,
                                  .up_ms = in->up_ms};
    wire_copy(out->server, sizeof(out->server), in->server);
    wire_device_to(in->device, &device);
    wire_copy(out->device, sizeof(out->device), device.name);
    out->software = device.software;
    out->libavcodec = device.libavcodec;
    out->devices = device.devices;
    wire_memory_to(in->worker_gpu, in->n_worker_gpu, out->worker_gpu);
    wire_memory_to(in->worker_host, in->n_worker_host, out->worker_host);
    for (; out->n_quotas < in->n_quotas && out->n_quotas < PELTON_QUOTAS_MOST; out->n_quotas++)
        wire_quota_to(in->quotas[out->n_quotas], &out->quotas[out->n_quotas]);
    while (out->n_processes < in->n_processes && out->n_processes < PELTON_PROCESSES_MOST) {
        const Pelton__Process *p = in->processes[out->n_processes];
        wire_encoder_to(p->encoder, &out->encoders[out->n_processes]);
        wire_encoder_to(p->transcoder, &out->transcoders[out->n_processes]);
        wire_encoder_to(p->jpegs, &out->jpegs[out->n_processes]);
        struct pelton_process *to = &out->processes[out->n_processes++];
        *to = (struct pelton_process){.pid = p->pid, .sandbox = p->sandbox};
        wire_copy(to->device, sizeof(to->device), p->name);
    }
}
