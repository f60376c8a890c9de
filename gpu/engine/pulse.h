/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The work of a gpu_pulse (gpu.h), recorded into another command buffer (bench).
 */
#ifndef PELTON_GPU_PULSE_H
#define PELTON_GPU_PULSE_H

#include "gpu/engine/vk.h"

void gpu_pulse_record(const struct gpu_pulse *p, VkCommandBuffer commands);

#endif
