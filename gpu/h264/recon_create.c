/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Creation of a recon: frame store, scratch buffers, flights. Its pipelines are begun.
 * recon_prepare.c adds what depends on the batches, and recon_grow.c makes more room.
 */
#include "gpu/engine/canaries.h"
#include "gpu/engine/descriptors.h"
#include "gpu/h264/recon_internal.h"

#include "gpu/shaders/lib/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* coefficient blocks of pictures beyond the first; a batch that has more is split */
#define USUAL_COEFF_BLOCKS_PER_MB 8
/* bytes of a canary between two regions of the scratch, where there are canaries */
#define SCRATCH_GAP 4096

static void recon_set(struct recon *r, struct gpu *g, const struct recon_params *params)
{
    r->g = g;
    r->params = *params;
    r->flight_count = params->flight ? params->flight : 3;
    r->wide = params->bit_depth[0] > 8 || params->bit_depth[1] > 8;
    r->coeff_block_bytes = r->wide ? 64 : 32;
    r->deliver_by_copy = params->delivery ? params->delivery == 2 : g->info.software;
    r->delivery_capacity = params->width < 32 ? 64 : 2 * params->width;
}

static int check_params(const struct recon_params *p)
{
    if (!p->mb_width || !p->mb_height || p->mb_width > REC_MAX_SIDE_MBS ||
        p->mb_height > REC_MAX_SIDE_MBS || !p->slots || !p->width || p->wavefront > 2 ||
        p->delivery > 2 || p->flight > RECON_MAX_FLIGHT || p->flight == 1 ||
        p->chroma_format_idc > 3)
        return GPU_ERR_INVALID;
    for (int i = 0; i < 2; i++)
        if (p->bit_depth[i] < 8 || p->bit_depth[i] > 14)
            return GPU_ERR_INVALID;
    if ((p->interlaced && p->mb_height % 2) || (p->separate_planes && p->chroma_format_idc != 3))
        return GPU_ERR_INVALID;
    return GPU_OK;
}

/* Intra prediction; H200, 1080p, P pictures with a tenth of intra macroblocks: 1.8 ms by diagonals
 * and 0.12 persistent with 1 picture a batch, 2.3 and 0.25 with 16. Threads of a software device
 * wait for each other instead of working. */
static uint8_t choose_wavefront(const struct recon *r)
{
    if (r->params.wavefront)
        return r->params.wavefront;
    return r->g->info.software ? 1 : 2;
}

static void set_worst(struct recon *r, uint32_t width)
{
    const struct recon_params *p = &r->params;
    uint64_t one = (uint64_t)p->mb_width * p->mb_height,
             coeff_blocks =
                 one * recon_coeff_blocks_per_mb(p) + one * USUAL_COEFF_BLOCKS_PER_MB * (width - 1);
    /* room for additions of a pass beside the coefficient blocks */
    uint64_t most = r->g->limits.maxStorageBufferRange / r->coeff_block_bytes - 16;
    r->worst = (struct recon_shape){
        .mb_width = p->mb_width,
        .mb_height = p->mb_height,
        .pictures = width,
        .mb_total = (uint32_t)(one * width),
        .coeff_block_total = (uint32_t)(coeff_blocks < most ? coeff_blocks : most),
        .deliveries = r->delivery_capacity,
        .whole_warps = r->g->info.fixed_subgroups && r->g->info.subgroup_size == 32,
        .has_intra = true,
        .has_inter = true,
        .has_deblock = true,
        .has_packed = !r->wide,
        .software = r->g->info.software,
        .wavefront = choose_wavefront(r),
        .chroma_format_idc = recon_chroma_format(p),
        .generic_format = p->chroma_format_idc != 1 || r->wide || p->interlaced,
    };
}

static uint64_t scratch_size(const struct recon *r, uint32_t index)
{
    uint64_t size = recon_buffers[index].size(&r->worst);
    return size < 16 ? 16 : (size + 15) / 16 * 16;
}

/* Can every buffer be as large as the worst batch needs? One picture alone must fit in any case. */
static bool width_fits(struct recon *r, uint32_t width)
{
    set_worst(r, width);
    uint64_t one_units =
        (uint64_t)r->params.mb_width * r->params.mb_height * recon_coeff_blocks_per_mb(&r->params);
    r->upload_capacity = recon_upload_capacity(r);
    if (!r->upload_capacity || r->worst.coeff_block_total < one_units)
        return false;
    for (uint32_t i = 0; i < recon_buffer_count; i++)
        if (scratch_size(r, i) > r->g->limits.maxStorageBufferRange)
            return false;
    return true;
}

static int choose_width(struct recon *r)
{
    r->upload_one = width_fits(r, 1) ? r->upload_capacity : 0;
    uint32_t width = r->params.width, layers = r->g->limits.maxImageArrayLayers;
    width = width > layers ? layers : width;
    width = width > LIST_PICTURES ? LIST_PICTURES : width;
    while (width && !width_fits(r, width))
        width--;
    if (!width) {
        gpu_log(r->g, 0, "a picture of %u x %u macroblocks exceeds the device's buffers",
                r->params.mb_width, r->params.mb_height);
        return GPU_ERR_FEATURE;
    }
    if (width < r->params.width)
        gpu_log(r->g, 1,
                "batches hold %u pictures instead of %u: what buffers, images and lists hold",
                width, r->params.width);
    return GPU_OK;
}

/* Texels of an image array: three of unfiltered pictures, three of frames. */
struct image_size {
    uint32_t width, height, layers;
};

static struct image_size image_size_of(const struct recon *r, uint32_t i)
{
    uint8_t format = r->params.chroma_format_idc;
    bool chroma = i % 3;
    uint32_t w = r->params.mb_width * 4, h = r->params.mb_height * 16;
    if (chroma && (i < 3 ? recon_chroma_format(&r->params) : format) == 0)
        return (struct image_size){1, 1, 1};
    return (struct image_size){chroma && format < 3 ? w / 2 : w, chroma && format < 2 ? h / 2 : h,
                               i < 3 ? r->worst.pictures : r->params.slots};
}

static int create_images(struct recon *r)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < RECON_IMAGE_COUNT && err == GPU_OK; i++) {
        bool chroma = i % 3;
        struct image_size size = image_size_of(r, i);
        enum gpu_use use =
            (i < 3 ? GPU_USE_BATCHES : GPU_USE_SLOTS) | (r->params.needed ? GPU_USE_NEEDED : 0);
        err = gpu_image_create(r->g, use, size.width, size.height, size.layers,
                               r->params.bit_depth[chroma && !r->params.separate_planes], r->wide,
                               &r->images[i]);
    }
    return err < 0 ? err : gpu_images_clear(r->g, r->images, RECON_IMAGE_COUNT);
}

/* One behind each region. */
static int scratch_canaries(struct recon *r)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < recon_buffer_count && r->g->canaries && err == GPU_OK; i++) {
        const struct recon_section *s = &r->regions[recon_buffers[i].binding];
        char name[32];
        snprintf(name, sizeof(name), "scratch of binding %u", recon_buffers[i].binding);
        err = gpu_canaries_add_gap(r->g, &r->scratch, s->offset + s->size, SCRATCH_GAP, name);
    }
    return err;
}

static int create_scratch(struct recon *r)
{
    uint64_t at = 0, align = r->g->limits.minStorageBufferOffsetAlignment,
             gap = r->g->canaries ? SCRATCH_GAP : 0;
    align = align < 16 ? 16 : align;
    for (uint32_t i = 0; i < recon_buffer_count; i++) {
        const struct recon_buffer *b = &recon_buffers[i];
        if (b->binding > BIND_DELIVER || (RECON_UPLOADED & RECON_B(b->binding)))
            return GPU_ERR_INVALID;
        r->regions[b->binding] = (struct recon_section){at, scratch_size(r, i)};
        r->zeroed |= b->zero ? RECON_B(b->binding) : 0;
        at += (r->regions[b->binding].size + gap + align - 1) / align * align;
    }
    if (!at)
        return GPU_OK;
    int err = gpu_buffer_create_for(
        r->g, GPU_USE_BATCHES | (r->params.needed ? GPU_USE_NEEDED : 0), at,
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
            VK_BUFFER_USAGE_TRANSFER_DST_BIT | (gap ? VK_BUFFER_USAGE_TRANSFER_SRC_BIT : 0),
        GPU_MEMORY_DEVICE, &r->scratch);
    return err < 0 ? err : scratch_canaries(r);
}

static int create_pipelines(struct recon *r)
{
    const struct gpu_bindings bindings = {.buffers = RECON_BUFFERS, .images = RECON_IMAGES};
    int err = gpu_layout_get(r->g, &bindings, sizeof(struct recon_push), &r->layout);
    return err == GPU_OK ? recon_pipelines_begin(r) : err;
}

/* A recon without memory, only to know its numbers. */
static int recon_sketch(struct gpu *g, const struct recon_params *params, struct recon **out)
{
    int err = check_params(params);
    struct recon *r = err < 0 ? NULL : calloc(1, sizeof(*r));
    if (!r)
        return err < 0 ? err : GPU_ERR_NOMEM;
    recon_set(r, g, params);
    err = choose_width(r);
    if (err == GPU_OK)
        *out = r;
    else
        free(r);
    return err;
}

int recon_warm_up(struct gpu *g, const struct recon_params *params)
{
    struct recon *r = NULL;
    int err = recon_sketch(g, params, &r);
    if (err == GPU_OK)
        err = create_pipelines(r);
    free(r);
    return err;
}

int recon_bytes(struct gpu *g, const struct recon_params *params, struct recon_bytes *out)
{
    struct recon *r = NULL;
    int err = recon_sketch(g, params, &r);
    if (err < 0)
        return err;
    *out = (struct recon_bytes){.uploads = r->flight_count * r->upload_one};
    for (uint32_t i = 0; i < RECON_IMAGE_COUNT; i++) {
        struct image_size size = image_size_of(r, i);
        out->room += (uint64_t)size.width * size.height * size.layers * (r->wide ? 8 : 4);
    }
    for (uint32_t i = 0; i < recon_buffer_count; i++)
        out->room += scratch_size(r, i);
    free(r);
    return GPU_OK;
}

static int create_descriptors(struct recon *r)
{
    VkDescriptorSet sets[RECON_MAX_FLIGHT];
    int err = gpu_sets_create(r->g, r->layout, r->flight_count, &r->descriptors, sets);
    for (uint32_t i = 0; i < r->flight_count && err == GPU_OK; i++)
        r->flights[i].set = sets[i];
    return err;
}

/* The sections of the upload are bound for each submission. */
void recon_set_write(struct recon *r, struct recon_flight *f)
{
    struct gpu *g = r->g;
    for (uint32_t i = 0; i <= BIND_DELIVER; i++)
        if (r->regions[i].size)
            gpu_set_write(g, f->set, i, false,
                          &(VkDescriptorBufferInfo){r->scratch.buffer, r->regions[i].offset,
                                                    r->regions[i].size});
    for (uint32_t i = 0; i < RECON_IMAGE_COUNT; i++) {
        VkDescriptorImageInfo image = {.imageView = r->images[i].view,
                                       .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = f->set,
                                      .dstBinding = BIND_WORK_Y + i,
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                      .pImageInfo = &image};
        g->vk.vkUpdateDescriptorSets(g->device, 1, &write, 0, NULL);
    }
}

static int list_grow(void **list, size_t count, size_t size)
{
    void *grown = realloc(*list, count * size);
    *list = grown ? grown : *list;
    return grown ? GPU_OK : GPU_ERR_NOMEM;
}

int recon_flight_lists(struct recon_flight *f, uint32_t pictures)
{
    size_t n = 3 * (size_t)pictures;
    int err = list_grow((void **)&f->regions, n + 16, sizeof(*f->regions));
    if (err == GPU_OK)
        err = list_grow((void **)&f->copies, n, sizeof(*f->copies));
    return err < 0 ? err : list_grow((void **)&f->pieces, n, sizeof(*f->pieces));
}

int recon_room_make(struct recon *r)
{
    int err = choose_width(r);
    if (err == GPU_OK)
        err = create_images(r);
    return err < 0 ? err : create_scratch(r);
}

void recon_room_free(struct recon *r)
{
    gpu_buffer_free(r->g, &r->scratch);
    for (uint32_t i = 0; i < RECON_IMAGE_COUNT; i++)
        gpu_image_free(r->g, &r->images[i]);
}

static int create_flight(struct recon *r, struct recon_flight *f)
{
    int err =
        gpu_promise(r->g, &f->promise, r->upload_one, r->params.needed) ? GPU_OK : GPU_ERR_NOMEM;
    if (err == GPU_OK)
        err = recon_flight_lists(f, r->worst.pictures);
    if (err == GPU_OK)
        recon_set_write(r, f);
    return err;
}

/* Parts that share the main queue are never used: all goes into one. */
static int create_work(struct recon *r)
{
    struct gpu_work_params params = {.depth = r->flight_count,
                                     .stamps = RECON_QUERIES,
                                     .submitted = recon_chunk_submitted,
                                     .done = recon_chunk_done,
                                     .ctx = r};
    for (int i = 0; i < RECON_PARTS; i++)
        if (i == RECON_PART_MAIN || r->queues[i] != r->g->main)
            params.queues[i] = r->queues[i];
    return gpu_work_create(r->g, &params, &r->work);
}

int recon_create(struct gpu *g, const struct recon_params *params, struct recon **out)
{
    if (recon_pass_count > RECON_MAX_PASSES)
        return GPU_ERR_INVALID;
    int err = check_params(params);
    if (err < 0)
        return err;
    struct recon *r = calloc(1, sizeof(*r));
    if (!r)
        return GPU_ERR_NOMEM;
    int64_t begun = gpu_clock_ns();
    recon_set(r, g, params);
    err = GPU_ERR_NOMEM;
    if (pthread_mutex_init(&r->lock, NULL))
        goto error;
    r->lock_made = true;
    r->items = calloc(r->delivery_capacity, sizeof(*r->items));
    r->item_capacity = r->delivery_capacity;
    r->table_places = calloc(r->delivery_capacity, sizeof(*r->table_places));
    r->slot_reads = calloc(2 * (size_t)params->slots, sizeof(*r->slot_reads));
    if (!r->items || !r->table_places || !r->slot_reads)
        goto error;
    TRY(recon_queues_get(r));
    TRY(recon_room_make(r));
    TRY(create_pipelines(r));
    TRY(create_descriptors(r));
    for (uint32_t i = 0; i < r->flight_count; i++)
        TRY(create_flight(r, &r->flights[i]));
    TRY(create_work(r));
    gpu_log_step(g, begun, "frame store of %u slots, batches of %u pictures", params->slots,
                 r->worst.pictures);
    *out = r;
    return GPU_OK;
error:
    recon_free(r);
    return err;
}

static void free_flight(struct recon *r, struct recon_flight *f)
{
    gpu_buffer_free(r->g, &f->upload);
    gpu_buffer_free(r->g, &f->staging);
    gpu_promise_lower(r->g, &f->promise, 0);
    free(f->regions);
    free(f->copies);
    free(f->pieces);
}

void recon_free(struct recon *r)
{
    if (!r)
        return;
    if (r->work)
        gpu_work_drain(r->work);
    gpu_work_free(r->work);
    for (uint32_t i = 0; i < r->flight_count; i++)
        free_flight(r, &r->flights[i]);
    r->g->vk.vkDestroyDescriptorPool(r->g->device, r->descriptors, NULL);
    gpu_buffer_free(r->g, &r->blur);
    recon_room_free(r);
    free(r->slot_reads);
    free(r->items);
    free(r->table_places);
    free(r->blur_heads);
    free(r->steps.all);
    if (r->lock_made)
        pthread_mutex_destroy(&r->lock);
    free(r);
}

uint32_t recon_width(const struct recon *r)
{
    return r->worst.pictures;
}

uint64_t recon_memory(const struct recon *r)
{
    uint64_t bytes = r->scratch.size + r->blur.size;
    for (uint32_t i = 0; i < RECON_IMAGE_COUNT; i++)
        bytes += r->images[i].bytes;
    for (uint32_t i = 0; i < r->flight_count; i++)
        bytes += r->g->unified ? r->flights[i].staging.size : r->flights[i].upload.size;
    return bytes;
}
