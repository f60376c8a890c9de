/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A recon grows or shrinks: new images and scratch beside the old ones, frames copied, then the old
 * ones freed. The slow part, memory and its clearing, needs nothing of the old recon but constants,
 * so another thread does it while batches run.
 */
#include "gpu/engine/barrier_record.h"
#include "gpu/h264/recon_internal.h"

#include <stdlib.h>

enum { OLD_FRAMES = 1, NEW_FRAMES = 2 }; /* resources */

/* Only the room of `to` is used. */
struct recon_growth {
    struct recon to;
};

int recon_growth_create(const struct recon *r, uint32_t slots, uint32_t width,
                        struct recon_growth **out)
{
    if (!slots || !width)
        return GPU_ERR_INVALID;
    struct recon_growth *growth = calloc(1, sizeof(*growth));
    if (!growth)
        return GPU_ERR_NOMEM;
    struct recon *to = &growth->to;
    to->g = r->g;
    to->params = r->params;
    to->params.slots = slots;
    to->params.width = width;
    to->wide = r->wide;
    to->coeff_block_bytes = r->coeff_block_bytes;
    to->delivery_capacity = r->delivery_capacity;
    int err = recon_room_make(to);
    if (err < 0) {
        recon_growth_free(growth);
        return err;
    }
    *out = growth;
    return GPU_OK;
}

void recon_growth_free(struct recon_growth *growth)
{
    if (!growth)
        return;
    recon_room_free(&growth->to);
    free(growth);
}

struct frames_copy {
    const struct gpu_image *from, *to; /* of three planes */
    const uint32_t *layers;
    uint32_t count;
};

/* Layer by layer: in one copy of many layers NVIDIA's driver 580.159 gives some layers what the one
 * before them holds (checkgpu --only growth shows it). */
static void record_frames(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct frames_copy *c = ctx;
    struct barrier_state state = {0};
    barrier_accessed(&state, BARRIER_COMPUTE, 0, OLD_FRAMES | NEW_FRAMES);
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, OLD_FRAMES, NEW_FRAMES);
    for (int i = 0; i < 3; i++) {
        const struct gpu_image *from = &c->from[i], *to = &c->to[i];
        for (uint32_t k = 0; k < c->count; k++) {
            if (c->layers[k] >= from->layers || c->layers[k] >= to->layers)
                continue; /* the store shrinks, or lacks the plane */
            VkImageSubresourceLayers layer = {VK_IMAGE_ASPECT_COLOR_BIT, 0, c->layers[k], 1};
            VkImageCopy region = {.srcSubresource = layer,
                                  .dstSubresource = layer,
                                  .extent = {from->width, from->height, 1}};
            g->vk.vkCmdCopyImage(commands, from->image, VK_IMAGE_LAYOUT_GENERAL, to->image,
                                 VK_IMAGE_LAYOUT_GENERAL, 1, &region);
        }
    }
    gpu_sync(g, commands, &state, BARRIER_COMPUTE, NEW_FRAMES, NEW_FRAMES);
}

static int frames_copy(struct recon *r, const struct recon *to, const uint32_t *frames,
                       uint32_t count)
{
    const uint32_t first = BIND_FRAME_Y - BIND_WORK_Y;
    struct frames_copy copy = {&r->images[first], &to->images[first], frames, count};
    return count ? gpu_run(r->g, record_frames, &copy) : GPU_OK;
}

/* What depends on slots and width, but for the room. */
static int lists_grow(struct recon *r, const struct recon *to)
{
    int err = GPU_OK;
    uint64_t *reads = calloc(2 * (size_t)to->params.slots, sizeof(*reads));
    if (!reads)
        return GPU_ERR_NOMEM;
    free(r->slot_reads);
    r->slot_reads = reads;
    /* wider lists than the present room needs do no harm */
    if (to->worst.pictures > r->worst.pictures)
        for (uint32_t i = 0; i < r->flight_count && err == GPU_OK; i++)
            err = recon_flight_lists(&r->flights[i], to->worst.pictures);
    return err;
}

/* The room of r and that of `to` change places. */
static void rooms_swap(struct recon *r, struct recon *to)
{
    struct gpu_buffer scratch = r->scratch;
    r->scratch = to->scratch;
    to->scratch = scratch;
    for (uint32_t i = 0; i < RECON_IMAGE_COUNT; i++) {
        struct gpu_image image = r->images[i];
        r->images[i] = to->images[i];
        to->images[i] = image;
    }
    memcpy(r->regions, to->regions, sizeof(r->regions));
    r->zeroed = to->zeroed;
    r->worst = to->worst;
    r->upload_capacity = to->upload_capacity;
    r->params.slots = to->params.slots;
    r->params.width = to->params.width;
    r->begun.rows = 0;
}

/* Lists only grow. */
int recon_grow(struct recon *r, struct recon_growth *growth, const uint32_t *frames, uint32_t count)
{
    struct recon *to = &growth->to;
    bool shrinks = to->params.slots < r->params.slots;
    int err = GPU_OK;
    TRY(gpu_work_drain(r->work)); /* deliveries read slots on other queues */
    TRY(frames_copy(r, to, frames, count));
    if (!shrinks)
        TRY(lists_grow(r, to));
    rooms_swap(r, to);
    for (uint32_t i = 0; i < r->flight_count; i++) {
        struct recon_flight *f = &r->flights[i];
        if (shrinks) {
            gpu_buffer_free(r->g, &f->upload);
            gpu_buffer_free(r->g, &f->staging);
            gpu_promise_lower(r->g, &f->promise, r->upload_one);
        }
        recon_set_write(r, f);
    }
error:
    recon_growth_free(growth);
    return err;
}
