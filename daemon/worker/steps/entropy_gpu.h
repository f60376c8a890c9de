/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU, the worker's side: entropy_gpu.c takes pictures from the queue that
 * the codec workers take theirs from, and gives them back decoded, or as they were; entropy_share.c
 * decides which.
 */
#ifndef PELTON_ENTROPY_GPU_H
#define PELTON_ENTROPY_GPU_H

#include "daemon/worker/engine_internal.h"
#include "gpu/h264/gpu_entropy.h"

#define ENTROPY_BATCHES     8   /* in flight at most */
#define ENTROPY_COEFF_BYTES 32  /* about, for each byte of slices: streams have a unit a byte */
#define ENTROPY_PICTURES    192 /* of one batch at most */

/* What one batch holds, and how many there are; pictures 0: the device decodes none. */
struct entropy_capacity {
    uint32_t batches, pictures, mbs, units, bytes, slices;
};
/* By the device's memory and its background queues, and by what the setting asks for. */
struct entropy_capacity entropy_capacity(enum engine_entropy mode,
                                         const struct gpu_device_info *device, unsigned queues);
/* Units of coefficients that the picture may take; those that need more are the CPU's. */
uint32_t entropy_units(const struct h264_picture *pic);
/* so large, that a batch holds */
uint32_t entropy_batch_pictures(const struct entropy_capacity *c, uint32_t mb_count);
uint64_t entropy_batch_bytes(const struct entropy_capacity *c); /* of device memory */
/* bytes of it for coefficients that stay there until reconstruction takes them */
uint64_t entropy_resident_limit(const struct engine *e);

/* Time is thought of as growing with the bytes of slices: the CPU's with all of them, the GPU's
 * with those of the largest slice and with its macroblocks, as many bytes each as take as long. */
uint64_t entropy_slice_weight(const struct h264_slice *slice);
void entropy_rate_add(struct entropy_rate *r, double seconds, double bytes);
/* From now on the job holds so much host memory for what the GPU decodes. With the lock. */
void entropy_keep(struct engine *e, struct job *job, uint64_t bytes);
void entropy_keep_units(struct engine *e, struct job *job, uint32_t units); /* coefficients, too */
/* A batch came back, so many of its pictures when the workers could hardly go on without: how far
 * to trust the estimates. With the lock. */
void entropy_learn(struct engine *e, uint32_t late);
/* the queue is so long that the GPU may be of use. With the lock */
bool entropy_worth(const struct engine *e);
/* Pictures for one batch, at most c->pictures, out of the queue; *largest: weight of their largest
 * slice. With the lock. */
uint32_t entropy_choose(struct engine *e, const struct entropy_capacity *c,
                        struct job *out[ENTROPY_PICTURES], uint64_t *largest);

#endif
