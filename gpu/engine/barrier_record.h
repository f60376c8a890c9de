/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records the barriers that barrier.c derives (work_play.c). Thread: that of the command buffer.
 */
#ifndef PELTON_GPU_BARRIER_RECORD_H
#define PELTON_GPU_BARRIER_RECORD_H

#include "gpu/engine/barrier.h"
#include "gpu/engine/vk.h"

/* The next command accesses the resources of the masks `reads` and `writes` from the stage: record
 * the barrier that it needs, and note the access. */
void gpu_sync(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
              enum barrier_stage stage, uint32_t reads, uint32_t writes);
/* Make the resources readable by the host. The access is not noted: the timeline orders the host's
 * reads. */
void gpu_sync_host(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                   uint32_t reads);

#endif
