/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Device memory for the results of decoding on the GPU: coefficients, and records if the GPU
 * derives motion, too. They never cross the bus.
 *
 * The life of a picture's coefficients: `get` when its batch is decoded (steps/entropy_batch.c),
 * the batch's fetch copies them here, reconstruction copies them into its upload, `put` when that
 * is complete (h264_picture_done). If the picture's decoding or its session comes to nothing, `put`
 * follows at once. If there is no room here, host memory takes them. motion_gpu.h tells the life of
 * records. A pointer from here is a handle: only the device can read there.
 */
#ifndef PELTON_DEVICE_MEMORY_H
#define PELTON_DEVICE_MEMORY_H

#include "gpu/engine/gpu.h"

#include <stdbool.h>
#include <stdint.h>

struct h264_allocator;

struct resident;

/* Room for limit bytes at most. Device memory is taken in pieces as it is needed. NULL: no memory.
 */
struct resident *resident_create(struct gpu *gpu, uint64_t limit);
/* Fewer than `bytes` are free, and one more piece may be had. Thread: any. */
bool resident_short(struct resident *r, uint64_t bytes);
/* Takes one more piece if resident_short; false: none was taken. Thread: any, while get goes on. */
bool resident_provide(struct resident *r, uint64_t bytes);
/* Gives back pieces in which nothing lies. Thread: any. NULL allowed. */
void resident_trim(struct resident *r);
/* Once all is put back; NULL allowed. */
void resident_free(struct resident *r);
/* get: NULL if there is no room. It may wait for the driver if resident_provide came too late.
 * Thread: any, for both. */
const struct h264_allocator *resident_allocator(struct resident *r);
/* Bytes of the device's memory that it holds, and the most that were in use. Thread: any. NULL
 * allowed: none. */
uint64_t resident_bytes(struct resident *r, uint64_t *most);

#endif
