/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The things that a reader gets: formats, frames, and the calls that announce them. Decoded
 * streams and cameras give the same.
 */
#ifndef PELTON_FEED_H
#define PELTON_FEED_H

#include "convert/conversion.h"
#include "proto/pelton.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_host;

/* The pool of one epoch. It is a memfd with the seals SHRINK, GROW, FUTURE_WRITE and SEAL, or with
 * PELTON_DEVICE a buffer of the device. It holds `slots` frames of the same layout. */
struct feed_format {
    uint32_t epoch, slots;
    char pix_fmt[16];
    uint32_t width, height, planes;
    uint32_t picture_width, picture_height; /* before a conversion; of decoded streams */
    /* The frames are converted, and how; of decoded streams. */
    bool converts;
    struct conversion_source source;
    struct conversion_wish wish;     /* settled */
    uint32_t layout, type, channels; /* enum pelton_layout, pelton_type; 0: pix_fmt says all */
    uint32_t batch;                  /* slots that are filled one after another; 0: 1 */
    uint64_t slot_size;              /* slot s starts at s * slot_size */
    uint64_t plane_offset[4];        /* inside the slot */
    uint32_t stride[4], plane_width[4], plane_height[4];
    struct pelton_rational time_base, sar;
    struct pelton_colour colour;
    struct pelton_vui vui;
    uint32_t orientation; /* enum pelton_orientation */
    /* of the pictures that the blurred rectangles mean; 0: there are none */
    uint32_t blur_width, blur_height;
    int memfd; /* borrowed: dup it to keep it; -1 without a pool (PELTON_NONE) */
    uint64_t memfd_size;
    /* PELTON_DEVICE: how `memfd` is imported. Its fd, layout and offsets are not used here. Else
     * handle_type is PELTON_HANDLE_NONE. */
    struct pelton_device_memory device;
    struct gpu_host *host; /* the same memory, for readers in this process; else NULL */
    /* Slots hold access units: the parameter sets, borrowed, which a pool copies. */
    bool encoded;
    uint32_t nal_length, sets_size;
    const uint8_t *sets;
};

/* Adds a plane of `rows` rows of `width` bytes. Strides and offsets are multiples of `align`. A
 * format begins with planes and slot_size 0. feed_format_close ends it: slot_size becomes whole
 * pages. */
void feed_format_plane(struct feed_format *format, uint32_t width, uint32_t rows, uint32_t align);
void feed_format_close(struct feed_format *format);

/* A pool whose stream has ended may serve another stream of the same reader, and of no other: this
 * one has mapped it. */
struct feed_user {
    uint64_t reader; /* 0: it serves no other stream */
    uint32_t stream; /* unlike any other's */
};

/* Beside the frames of cameras. */
struct feed_camera {
    struct pelton_camera settings;
    struct pelton_exposure exposure;
};

/* The reader names a size, a crop, a layout or a type. */
static inline bool output_changes(const struct pelton_output *o)
{
    return o->width || o->height || o->crop.width || o->layout || o->type || o->n_mean;
}

struct feed_frame {
    uint64_t sequence;
    uint64_t number; /* of the frame in its source; not of cameras */
    uint8_t view;    /* 1: the second view */
    uint32_t epoch, slot, generation;
    int64_t pts, dts, duration;
    uint32_t flags; /* PELTON_FRAME_* */
    enum pelton_field_order field_order;
    int64_t received_ns, decoded_ns;
    int64_t trace[PELTON_TRACE_POINTS]; /* without PELTON_TRACE_SENT */
    uint64_t dropped_source, dropped_decoder, dropped_client;
    uint64_t bytes;                   /* of an access unit */
    const struct feed_camera *camera; /* of cameras, borrowed; else NULL */
    /* One malloc'd block that belongs to the feed. It is borrowed for the callback; may be NULL. */
    struct pelton_side_data *side;
};

/* Calls to the reader, all on the loop thread. */
struct feed_callbacks {
    /* Once, when the source is open. sei: of a probe that asked for side data, else NULL. */
    void (*on_info)(void *ctx, const struct pelton_info *info, const struct pelton_probe_sei *sei);
    /* before the first frame of each epoch */
    void (*on_format)(void *ctx, const struct feed_format *format);
    /* not for PELTON_NONE and PELTON_READBACK */
    void (*on_frame)(void *ctx, const struct feed_frame *frame);
    /* The source is lost, or is there again; may be NULL. */
    void (*on_state)(void *ctx, bool running, const char *cause);
    /* It waits for memory of the device that other streams have, and this comes again and again
     * meanwhile; may be NULL. */
    void (*on_short)(void *ctx);
    /* Once, and last. failure->code 0: end of stream. */
    void (*on_end)(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats);
};

#endif
