/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Loader, instance and physical devices. Thread: the one that opens or closes the device.
 */
#ifndef PELTON_GPU_INSTANCE_H
#define PELTON_GPU_INSTANCE_H

#include "gpu/engine/vk.h"

const char *gpu_vk_text(VkResult result);
int gpu_instance_open(struct gpu *g, bool validation);
void gpu_instance_close(struct gpu *g);

/* All properties of a physical device that pelton uses. */
struct gpu_probe {
    struct gpu_device_info info;
    VkPhysicalDeviceLimits limits;
    uint64_t host_alignment;
    uint32_t family;
    uint32_t timestamp_bits;
    bool robust;
};
void gpu_probe(VkPhysicalDevice physical, struct gpu_probe *out);
/* Both arrays are malloc'd and have *count entries. */
int gpu_probe_all(struct gpu *g, VkPhysicalDevice **devices, struct gpu_device_info **infos,
                  uint32_t *count);

#endif
