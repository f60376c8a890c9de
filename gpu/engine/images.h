/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Image arrays of samples, four to a texel. They stay in VK_IMAGE_LAYOUT_GENERAL and may be used on
 * all queues. Thread: any; one at a time for each image.
 */
#ifndef PELTON_GPU_IMAGES_H
#define PELTON_GPU_IMAGES_H

#include "gpu/engine/memory_use.h"
#include "gpu/engine/vk.h"

struct gpu_image {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView view; /* of all layers */
    uint32_t width, height, layers, texel_bytes;
    uint32_t grey[2];
    uint64_t bytes;
    struct gpu_holding holding;
};

/* Samples have 8 bits, or 16 where `wide`, and grey is half the range of `depth` bits. To be
 * cleared before use. */
int gpu_image_create(struct gpu *g, enum gpu_use use, uint32_t width, uint32_t height,
                     uint32_t layers, uint32_t depth, bool wide, struct gpu_image *out);
/* Makes them grey, in the layout that they keep. Waits, once for all. */
int gpu_images_clear(struct gpu *g, const struct gpu_image *all, uint32_t count);
void gpu_image_free(struct gpu *g, struct gpu_image *image);

#endif
