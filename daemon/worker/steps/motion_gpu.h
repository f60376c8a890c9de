/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation on the GPU, the worker's side, once the motion of the colocated pictures is
 * there: of pictures that the GPU has entropy-decoded, whose records have stayed in its memory, and
 * of those that workers have and that nothing is missing of (job.sends). What comes back is final:
 * no worker looks at it.
 *
 * The life of records on the device (job.raw): motion_gpu_keep when the GPU has decoded the
 * picture, and the batch's fetch copies them there (entropy_gpu.c), or else when a batch is filled
 * here; the batch derives their motion; then they are the picture's (h264_device_records), until it
 * is reconstructed. What other pictures may need of them is copied to the host besides. Where the
 * device cannot, the workers do it; what the GPU had decoded goes back to them as it was before.
 *
 * Thread: that of entropy_gpu.c, for all of it.
 */
#ifndef PELTON_MOTION_GPU_H
#define PELTON_MOTION_GPU_H

#include "daemon/worker/steps/entropy_gpu.h"
#include "daemon/worker/memory/device_memory.h"

struct motion_gpu;

/* NULL: no memory, or the device cannot: the workers do it. resident outlives it. Without the lock.
 */
struct motion_gpu *motion_gpu_create(struct engine *e, struct resident *resident);
/* Whether the job's records stay on the device; then job->raw is there for them, and
 * motion_gpu_places says where. Without the lock. */
bool motion_gpu_keep(struct motion_gpu *m, struct job *job);
void motion_gpu_places(const struct job *job, struct gpu_entropy_target *to);
/* And whether they are wanted in host memory, too, once they are final: others may read them there,
 * or it is to be seen which references they use. */
bool motion_gpu_wants_host(const struct job *job);
/* job->raw is not wanted after all; NULL there: fine. Without the lock */
void motion_gpu_drop(struct motion_gpu *m, struct job *job);
uint64_t motion_gpu_raw_bytes(uint32_t mb_count);
/* What is done goes back to the workers, what waits is begun. Whether there was anything. With the
 * lock, dropped meanwhile. NULL allowed. */
bool motion_gpu_step(struct motion_gpu *m);
bool motion_gpu_works(const struct motion_gpu *m); /* something is in work or waits */
/* macroblocks of a picture; NULL allowed: 0 */
uint32_t motion_gpu_most(const struct motion_gpu *m);
uint64_t motion_gpu_memory(const struct motion_gpu *m);
/* once nothing is in work; logs what it did; NULL allowed */
void motion_gpu_free(struct motion_gpu *m);

#endif
