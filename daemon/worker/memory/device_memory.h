/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Room in the device's memory for the coefficients of pictures that it has entropy-decoded, and for
 * their records where it derives their motion, too (motion_gpu.h, which has the life of these):
 * they never cross the bus.
 *
 * The life of a picture's coefficients: `get` when its batch is decoded and they are to leave it
 * (entropy_gpu.c, the one place that decides where they go: here, or where there is no room in host
 * memory); the batch's fetch copies them here; reconstruction copies them into its upload; `put`
 * when that is complete (h264_picture_done), or when the picture's decoding or its session came to
 * nothing. A pointer from here is a name for the place: only the device can read there.
 */
#ifndef PELTON_RESIDENT_H
#define PELTON_RESIDENT_H

#include "codec/h264.h"
#include "gpu/engine/gpu.h"

struct resident;

/* At most limit bytes, of which the device's memory is taken piece by piece as they are needed.
 * NULL: no memory. */
struct resident *resident_create(struct gpu *gpu, uint64_t limit);
/* Less than so many bytes are free, and there may be more. Thread: any. */
bool resident_short(struct resident *r, uint64_t bytes);
/* Takes one more piece where that is so; false: none. Thread: any, while get goes on. */
bool resident_provide(struct resident *r, uint64_t bytes);
/* Once all is put back; NULL allowed. */
void resident_free(struct resident *r);
/* get: NULL where there is no room; may wait for the device's driver where resident_provide was too
 * late. Thread: any, for both. */
const struct h264_allocator *resident_allocator(struct resident *r);
/* Bytes of the device's memory that it holds, and the most that were in use. Thread: any. NULL
 * allowed: none. */
uint64_t resident_bytes(struct resident *r, uint64_t *most);

#endif
