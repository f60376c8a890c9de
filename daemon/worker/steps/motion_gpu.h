/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation on the GPU, the worker's side. The schedule passes a picture once the motion of
 * its colocated pictures is there. The GPU decoded it, and its records stayed in device memory; or
 * coders decoded all of it. No coder looks at the result.
 *
 * Life of picture_motion.device_records: motion_gpu_keep makes them when the GPU has decoded the
 * picture, and its batch fills them (entropy_gpu.c). Else they are made when a batch is filled
 * here. The batch derives motion there. Then they belong to the codec (h264_device_records) until
 * the picture is reconstructed. Where picture_motion.host is set they are copied to the host
 * besides. Else coders restore them there if one needs them (coders.c).
 *
 * Thread: that of entropy_gpu.c, for all of it.
 */
#ifndef PELTON_MOTION_GPU_H
#define PELTON_MOTION_GPU_H

#include "daemon/worker/engine/engine.h"
#include "daemon/worker/memory/device_memory.h"
#include "gpu/h264/gpu_entropy.h"

struct motion_gpu;

/* NULL: no memory, or the device cannot, so the coders do it. resident outlives it. Without the
 * lock. */
struct motion_gpu *motion_gpu_create(struct engine *e, struct resident *resident);
/* True: the picture's records stay on the device, in device_records; motion_gpu_places tells the
 * places in it. Without the lock. */
bool motion_gpu_keep(struct motion_gpu *m, struct picture *p);
void motion_gpu_places(const struct picture *p, struct gpu_entropy_target *to);
/* Frees device_records, if there are some. Without the lock. */
void motion_gpu_drop(struct motion_gpu *m, struct picture *p);
uint64_t motion_gpu_record_bytes(uint32_t mb_count);
/* Finished batches go back to the schedule, waiting pictures are begun. True: there was something.
 * With the lock, dropped meanwhile. NULL is allowed. */
bool motion_gpu_step(struct motion_gpu *m);
bool motion_gpu_works(const struct motion_gpu *m); /* something is in work or waits */
/* Most macroblocks of a picture; NULL: 0 */
uint32_t motion_gpu_most(const struct motion_gpu *m);
uint64_t motion_gpu_memory(const struct motion_gpu *m);
/* Gives the memory of batches back, if none is in work. NULL allowed. */
void motion_gpu_trim(struct motion_gpu *m);
/* Once nothing is in work. NULL is allowed. */
void motion_gpu_log(const struct motion_gpu *m); /* its sums */
void motion_gpu_free(struct motion_gpu *m);

#endif
