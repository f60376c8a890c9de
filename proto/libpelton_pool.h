/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside libpelton: the shared memory that holds the frames of one epoch of a stream.
 */
#ifndef LIBPELTON_POOL_H
#define LIBPELTON_POOL_H

#include "proto/wire.h"

struct pelton_pool {
    struct pelton_pool *next; /* older */
    uint32_t epoch, slots, width, height, planes;
    char pix_fmt[16];
    uint64_t slot_size, plane_offset[4];
    uint32_t stride[4], plane_width[4], plane_height[4];
    struct pelton_rational time_base, sar;
    struct pelton_colour colour;
    struct pelton_vui vui;
    uint32_t orientation;
    uint32_t layout, type, channels, batch;
    const uint8_t *memory; /* NULL without a pool, and in device memory */
    size_t memory_size;
    bool encoded;  /* slots hold access units */
    uint8_t *sets; /* parameter sets, NULL: none */
    uint32_t sets_size, nal_length;
    struct pelton_device_memory device; /* its fd is the pool's; handle_type 0: host memory */
    uint32_t users;                     /* frames queued or held by the caller */
};

/* The kind of memory and content that was asked for. */
enum pelton_pool_kind { POOL_FRAMES, POOL_DEVICE, POOL_UNITS };

/* Checks every number and seal, then maps the memory. POOL_DEVICE: it is the GPU's, which is the
 * caller's to import. fd is borrowed; -1: none. Returns PELTON_ERR_PROTOCOL or PELTON_ERR_NOMEM. */
int pelton_pool_map(const Pelton__FormatChanged *m, int fd, enum pelton_pool_kind kind,
                    struct pelton_pool **out);
void pelton_pool_unmap(struct pelton_pool *pool); /* NULL allowed */
/* The device memory of a frame. False: the pool is in host memory, or has no such slot. */
bool pelton_pool_device(const struct pelton_pool *pool, uint32_t slot,
                        struct pelton_device_memory *out);
/* False where the slot is not in the pool, or an access unit is larger than it. */
bool pelton_pool_frame(const struct pelton_pool *pool, const Pelton__FrameReady *m,
                       struct pelton_frame *out);

#endif
