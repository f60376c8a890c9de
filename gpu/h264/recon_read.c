/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whole frames between images and memory, for tests. Everything waits.
 */
#include "gpu/engine/barrier_record.h"
#include "gpu/h264/recon_internal.h"

#include <string.h>

enum { IMAGES = 1, BUFFER = 2 }; /* resources */

struct slot_transfer {
    struct gpu_image *images; /* of three planes */
    uint32_t layer;
    VkBuffer buffer;
    bool write;
};

/* Planes that the format lacks have an image of one texel and one layer in their place
 * (recon_create.c). */
static bool is_plane(const struct gpu_image *image)
{
    return image->width > 1;
}

static void record_transfer(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct slot_transfer *t = ctx;
    struct barrier_state state = {0};
    uint64_t offset = 0;
    barrier_accessed(&state, BARRIER_COMPUTE, 0, IMAGES);
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, t->write ? 0 : IMAGES,
             t->write ? IMAGES : BUFFER);
    for (int i = 0; i < 3; i++) {
        const struct gpu_image *image = &t->images[i];
        VkBufferImageCopy region = {.bufferOffset = offset,
                                    .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, t->layer, 1},
                                    .imageExtent = {image->width, image->height, 1}};
        if (!is_plane(image))
            continue;
        if (t->write)
            g->vk.vkCmdCopyBufferToImage(commands, t->buffer, image->image, VK_IMAGE_LAYOUT_GENERAL,
                                         1, &region);
        else
            g->vk.vkCmdCopyImageToBuffer(commands, image->image, VK_IMAGE_LAYOUT_GENERAL, t->buffer,
                                         1, &region);
        offset += (uint64_t)image->texel_bytes * image->width * image->height;
    }
    gpu_sync(g, commands, &state, BARRIER_COMPUTE, IMAGES, IMAGES);
    gpu_sync_host(g, commands, &state, BUFFER);
}

static int transfer(struct recon *r, struct gpu_image *images, uint32_t layer, bool write,
                    void *planes[3])
{
    struct gpu *g = r->g;
    struct gpu_buffer buffer = {0};
    int err = recon_wait(r, r->submitted, UINT64_MAX); /* deliveries read slots on other queues */
    uint64_t sizes[3], total = 0;
    if (err < 0)
        return err;
    if (layer >= images[0].layers)
        return GPU_ERR_INVALID;
    for (int i = 0; i < 3; i++)
        total += sizes[i] = (uint64_t)images[i].texel_bytes * images[i].width * images[i].height;
    TRY(gpu_buffer_create(g, total,
                          VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                          GPU_MEMORY_READBACK, &buffer));
    uint8_t *at = buffer.map;
    for (int i = 0; i < 3; at += sizes[i++])
        if (write && is_plane(&images[i]))
            memcpy(at, planes[i], sizes[i]);
    struct slot_transfer t = {images, layer, buffer.buffer, write};
    TRY(gpu_run(g, record_transfer, &t));
    at = buffer.map;
    for (int i = 0; i < 3; at += sizes[i++])
        if (!write && is_plane(&images[i]))
            memcpy(planes[i], at, sizes[i]);
error:
    gpu_buffer_free(g, &buffer);
    return err;
}

int recon_read_slot(struct recon *r, uint32_t slot, void *y, void *cb, void *cr)
{
    return transfer(r, &r->images[BIND_FRAME_Y - BIND_WORK_Y], slot, false, (void *[3]){y, cb, cr});
}

int recon_read_work(struct recon *r, uint32_t layer, void *y, void *cb, void *cr)
{
    return transfer(r, r->images, layer, false, (void *[3]){y, cb, cr});
}

int recon_write_slot(struct recon *r, uint32_t slot, const void *y, const void *cb, const void *cr)
{
    return transfer(r, &r->images[BIND_FRAME_Y - BIND_WORK_Y], slot, true,
                    (void *[3]){(void *)y, (void *)cb, (void *)cr});
}
