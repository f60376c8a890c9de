/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Structs of pelton.h to and from their messages. Open has wire_open.c.
 */
#include "proto/wire.h"

#include <string.h>

static void rational_from(const struct pelton_rational *in, Pelton__Rational *out)
{
    pelton__rational__init(out);
    out->num = in->num;
    out->den = in->den;
}

static struct pelton_rational rational_to(const Pelton__Rational *in)
{
    return in ? (struct pelton_rational){in->num, in->den} : (struct pelton_rational){0, 0};
}

void wire_colour_from(const struct pelton_colour *in, Pelton__Colour *out)
{
    pelton__colour__init(out);
    out->primaries = in->primaries;
    out->transfer = in->transfer;
    out->matrix = in->matrix;
    out->range = in->range;
    out->siting = in->siting;
    out->source = in->source;
}

void wire_colour_to(const Pelton__Colour *in, struct pelton_colour *out)
{
    *out = (struct pelton_colour){0};
    if (in) {
        *out = (struct pelton_colour){
            .primaries = (uint8_t)in->primaries,
            .transfer = (uint8_t)in->transfer,
            .matrix = (uint8_t)in->matrix,
            .siting = (uint8_t)in->siting,
            .range = in->range <= PELTON_RANGE_FULL ? (enum pelton_range)in->range
                                                    : PELTON_RANGE_UNKNOWN,
            .source = in->source <= PELTON_COLOUR_USER ? (enum pelton_colour_source)in->source
                                                       : PELTON_COLOUR_ASSUMED};
    }
}

void wire_video_from(const struct pelton_video *in, Pelton__Video *out)
{
    pelton__video__init(out);
    out->codec = (char *)in->codec;
    out->width = in->width;
    out->height = in->height;
    out->flags = in->flags;
}

void wire_video_to(const Pelton__Video *in, struct pelton_video *out)
{
    wire_copy(out->codec, sizeof(out->codec), in->codec);
    out->width = in->width;
    out->height = in->height;
    out->flags = in->flags;
}

void wire_info_from(const struct pelton_info *in, struct wire_info *out)
{
    Pelton__Info *m = &out->msg;
    pelton__info__init(m);
    m->container = (char *)in->container;
    m->codec = (char *)in->codec;
    m->profile = (char *)in->profile;
    m->pix_fmt = (char *)in->pix_fmt;
    m->level = in->level;
    m->width = in->width;
    m->height = in->height;
    m->coded_width = in->coded_width;
    m->coded_height = in->coded_height;
    rational_from(&in->time_base, &out->time_base);
    rational_from(&in->frame_rate, &out->frame_rate);
    rational_from(&in->avg_frame_rate, &out->avg_frame_rate);
    rational_from(&in->sar, &out->sar);
    m->time_base = &out->time_base;
    m->frame_rate = &out->frame_rate;
    m->avg_frame_rate = &out->avg_frame_rate;
    m->sar = &out->sar;
    m->start_pts = in->start_pts;
    m->duration_us = in->duration_us;
    m->frames = in->frames;
    m->bit_rate = in->bit_rate;
    m->supported = in->supported;
    m->unsupported_element = (char *)in->unsupported_element;
    m->unsupported_what = (char *)in->unsupported_what;
    wire_colour_from(&in->colour, &out->colour);
    m->colour = &out->colour;
    if (in->vui.present) {
        wire_vui_from(&in->vui, &out->vui);
        m->vui = &out->vui;
    }
    m->orientation = in->orientation;
    m->sounds = in->sounds;
    m->n_videos = in->videos < PELTON_MAX_VIDEOS ? in->videos : PELTON_MAX_VIDEOS;
    m->videos = out->videos;
    for (size_t i = 0; i < m->n_videos; i++) {
        wire_video_from(&in->video[i], &out->video[i]);
        out->videos[i] = &out->video[i];
    }
}

void wire_info_to(const Pelton__Info *in, struct pelton_info *out)
{
    memset(out, 0, sizeof(*out));
    if (!in) {
        out->start_pts = out->duration_us = INT64_MIN;
        out->frames = -1;
        return;
    }
    wire_copy(out->container, sizeof(out->container), in->container);
    wire_copy(out->codec, sizeof(out->codec), in->codec);
    wire_copy(out->profile, sizeof(out->profile), in->profile);
    wire_copy(out->pix_fmt, sizeof(out->pix_fmt), in->pix_fmt);
    out->level = in->level;
    out->width = in->width;
    out->height = in->height;
    out->coded_width = in->coded_width;
    out->coded_height = in->coded_height;
    out->time_base = rational_to(in->time_base);
    out->frame_rate = rational_to(in->frame_rate);
    out->avg_frame_rate = rational_to(in->avg_frame_rate);
    out->sar = rational_to(in->sar);
    out->start_pts = in->start_pts;
    out->duration_us = in->duration_us;
    out->frames = in->frames;
    out->bit_rate = in->bit_rate;
    out->supported = in->supported;
    wire_copy(out->unsupported_element, sizeof(out->unsupported_element), in->unsupported_element);
    wire_copy(out->unsupported_what, sizeof(out->unsupported_what), in->unsupported_what);
    wire_colour_to(in->colour, &out->colour);
    wire_vui_to(in->vui, &out->vui);
    out->orientation = in->orientation <= PELTON_TURNED_270 ? in->orientation : 0;
    out->sounds = in->sounds;
    out->videos = in->n_videos < PELTON_MAX_VIDEOS ? (uint32_t)in->n_videos : PELTON_MAX_VIDEOS;
    for (uint32_t i = 0; i < out->videos; i++)
        wire_video_to(in->videos[i], &out->video[i]);
}

/* Every field of the totals once, for both directions. */
#define STATS_FIELDS(X)                                                                            \
    X(access_units)                                                                                \
    X(frames)                                                                                      \
    X(corrupt)                                                                                     \
    X(dropped)                                                                                     \
    X(bytes_in)                                                                                    \
    X(bytes_uploaded)                                                                              \
    X(bytes_delivered)                                                                             \
    X(worker_restarts)                                                                             \
    X(memory_host)                                                                                 \
    X(memory_gpu)                                                                                  \
    X(wall)                                                                                        \
    X(cpu_demux)                                                                                   \
    X(cpu_entropy)                                                                                 \
    X(cpu_motion)                                                                                  \
    X(cpu_submit)                                                                                  \
    X(gpu_upload)                                                                                  \
    X(gpu_classify)                                                                                \
    X(gpu_residual)                                                                                \
    X(gpu_inter)                                                                                   \
    X(gpu_intra)                                                                                   \
    X(gpu_deblock)                                                                                 \
    X(gpu_deliver)                                                                                 \
    X(device_bandwidth)                                                                            \
    X(gpu_entropy)                                                                                 \
    X(gpu_entropy_pictures)                                                                        \
    X(cpu_device)                                                                                  \
    X(cpu_wait)                                                                                    \
    X(gpu_entropy_bytes)                                                                           \
    X(libavcodec)                                                                                  \
    X(warnings)                                                                                    \
    X(pictures)                                                                                    \
    X(bytes_over_bus)

void wire_stats_from(const struct pelton_stats *in, Pelton__StatsReply *out)
{
    pelton__stats_reply__init(out);
#define STATS_COPY(field) out->field = in->field;
    STATS_FIELDS(STATS_COPY)
    out->worker_gpu = (uint64_t *)in->worker_gpu;
    out->worker_host = (uint64_t *)in->worker_host;
    out->n_worker_gpu = out->n_worker_host = PELTON_MEMORY_USES;
}

void wire_memory_to(const uint64_t *in, size_t n, uint64_t out[PELTON_MEMORY_MOST])
{
    for (size_t i = 0; i < PELTON_MEMORY_MOST; i++)
        out[i] = i < n ? in[i] : 0;
}

void wire_stats_to(const Pelton__StatsReply *in, struct pelton_stats *out)
{
    memset(out, 0, sizeof(*out));
    if (!in)
        return;
    STATS_FIELDS(STATS_COPY)
    wire_memory_to(in->worker_gpu, in->n_worker_gpu, out->worker_gpu);
    wire_memory_to(in->worker_host, in->n_worker_host, out->worker_host);
#undef STATS_COPY
}

void wire_failure_from(const struct pelton_failure *in, Pelton__Failure *out)
{
    pelton__failure__init(out);
    out->code = in->code;
    out->cause = (char *)in->cause;
    out->hint = (char *)in->hint;
}

void wire_cause(struct pelton_failure *out, const char *in)
{
    wire_copy(out->cause, sizeof(out->cause), out->code && !in[0] ? "no reason was given" : in);
}

void wire_failure_to(const Pelton__Failure *in, struct pelton_failure *out)
{
    memset(out, 0, sizeof(*out));
    if (in) {
        out->code = in->code > 0 ? PELTON_ERR_OTHER : in->code;
        wire_cause(out, in->cause);
        wire_copy(out->hint, sizeof(out->hint), in->hint);
    }
}

void wire_device_memory_from(const struct pelton_device_memory *in, Pelton__DeviceMemory *out)
{
    pelton__device_memory__init(out);
    out->handle_type = in->handle_type;
    out->allocation_size = in->allocation_size;
    out->memory_type = in->memory_type;
    out->dedicated = in->dedicated;
    out->device_uuid = (ProtobufCBinaryData){sizeof(in->device_uuid), (uint8_t *)in->device_uuid};
    out->driver_uuid = (ProtobufCBinaryData){sizeof(in->driver_uuid), (uint8_t *)in->driver_uuid};
    if (in->luid_valid)
        out->device_luid =
            (ProtobufCBinaryData){sizeof(in->device_luid), (uint8_t *)in->device_luid};
}

int wire_device_memory_to(const Pelton__DeviceMemory *in, struct pelton_device_memory *out)
{
    memset(out, 0, sizeof(*out));
    if (in->handle_type != PELTON_HANDLE_OPAQUE_FD ||
        in->device_uuid.len != sizeof(out->device_uuid) ||
        in->driver_uuid.len != sizeof(out->driver_uuid) ||
        (in->device_luid.len && in->device_luid.len != sizeof(out->device_luid)))
        return PELTON_ERR_PROTOCOL;
    out->fd = -1;
    out->handle_type = in->handle_type;
    out->allocation_size = in->allocation_size;
    out->memory_type = in->memory_type;
    out->dedicated = in->dedicated;
    out->luid_valid = in->device_luid.len > 0;
    memcpy(out->device_uuid, in->device_uuid.data, sizeof(out->device_uuid));
    memcpy(out->driver_uuid, in->driver_uuid.data, sizeof(out->driver_uuid));
    if (out->luid_valid)
        memcpy(out->device_luid, in->device_luid.data, sizeof(out->device_luid));
    return PELTON_OK;
}

void wire_device_from(const struct pelton_device *in, Pelton__Device *out)
{
    pelton__device__init(out);
    out->name = (char *)in->name;
    out->uuid = (char *)in->uuid;
    out->driver = (char *)in->driver;
    out->software = in->software;
    out->usable = true;
    out->devices = in->devices;
    out->entropy_pictures = in->entropy_pictures;
    out->libavcodec = in->libavcodec;
    out->encodes = in->encodes;
    out->encodes_jpeg = in->encodes_jpeg;
}

void wire_device_to(const Pelton__Device *in, struct pelton_device *out)
{
    memset(out, 0, sizeof(*out));
    if (in) {
        wire_copy(out->name, sizeof(out->name), in->name);
        wire_copy(out->uuid, sizeof(out->uuid), in->uuid);
        wire_copy(out->driver, sizeof(out->driver), in->driver);
        out->software = in->software;
        out->devices = in->devices ? in->devices : 1;
        out->entropy_pictures = in->entropy_pictures;
        out->libavcodec = in->libavcodec;
        out->encodes = in->encodes;
        out->encodes_jpeg = in->encodes_jpeg;
    }
}
