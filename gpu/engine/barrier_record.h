/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records the barriers that barrier.c derives (work_play.c). Thread: that of the command buffer.
 */
#ifndef PELTON_GPU_BARRIER_RECORD_H
#define PELTON_GPU_BARRIER_RECORD_H

#include "gpu/engine/barrier.h"
#include "gpu/engine/vk.h"

/* The next command accesses the resources of the masks `reads` and `writes` from the stage: record
 * the barrier that it needs, and note the access. place: the caller, for barrier_drop.h. */
void gpu_sync_at(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                 enum barrier_stage stage, uint32_t reads, uint32_t writes, const char *place);
#define gpu_sync(g, commands, state, stage, reads, writes)                                         \
    gpu_sync_at(g, commands, state, stage, reads, writes, __func__)
/* Make the resources readable by the host. The access is not noted: the timeline orders the host's
 * reads. */
void gpu_sync_host_at(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                      uint32_t reads, const char *place);
#define gpu_sync_host(g, commands, state, reads)                                                   \
    gpu_sync_host_at(g, commands, state, reads, __func__)

#endif
