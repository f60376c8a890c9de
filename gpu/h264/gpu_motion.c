/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation on the GPU: batches from filling to completion. Three queues follow each other
 * without the host between them: one copies inputs, the main one derives, one copies to the host.
 * The main queue also has reconstruction, so it does nothing that a copy engine can do.
 */
#include "gpu/h264/gpu_motion_internal.h"

#include <string.h>

/* ---- filling ---- */

struct gpu_motion_batch *gpu_motion_begin(struct gpu_motion *m)
{
    for (uint32_t i = 0; i < m->batch_count; i++) {
        struct gpu_motion_batch *b = &m->batches[i];
        if (b->state != MOTION_FREE)
            continue;
        if (!b->m && gpu_motion_batch_create(m, b) < 0) { /* those before must do */
            gpu_motion_batch_free(b);
            m->batch_count = i;
            return NULL;
        }
        b->state = MOTION_FILLING;
        b->picture_count = b->slice_count = b->mbs = b->maps = b->mb_width = b->mb_count =
            b->copy_count = 0;
        b->resident = false;
        b->input_used = 0;
        b->staged = 0;
        b->seconds = b->input_seconds = 0;
        return b;
    }
    return NULL;
}

/* All that the shaders rely on. */
static bool slices_valid(const struct gpu_motion_picture *p)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < p->head.slice_count; i++) {
        const struct der_slice *s = &p->slices[i];
        if (s->first_mb != next || s->end_mb <= next || s->end_mb > p->head.mb_count ||
            s->type > 2 || s->num_ref[0] > REC_MAX_REFS || s->num_ref[1] > REC_MAX_REFS)
            return false;
        next = s->end_mb;
    }
    return next == p->head.mb_count;
}

static bool picture_valid(const struct gpu_motion_picture *p)
{
    const struct der_picture *h = &p->head;
    return h->mb_count > 0 && h->mb_width > 0 && h->mb_width <= MOT_MAX_WIDTH &&
           h->mb_count % h->mb_width == 0 && (h->chroma_blocks == 0 || h->chroma_blocks == 4) &&
           slices_valid(p);
}

/* The target of an array on the device. *out is left unset if `memory` is NULL or equals `from`.
 * False: the target is not in a device arena. */
static bool find_final(struct gpu *g, const void *memory, const void *from, uint64_t size,
                       struct gpu_place *out)
{
    struct gpu_place place;
    if (!memory || memory == from)
        return true;
    if (!gpu_arena_find(g, memory, size, &place) || !place.device)
        return false;
    *out = place;
    return true;
}

/* The host can read it: it is NULL, or not in a device arena. */
static bool is_host(struct gpu *g, const void *memory, uint64_t size)
{
    struct gpu_place place;
    return !memory || !gpu_arena_find(g, memory, size, &place) || !place.device;
}

static bool find_targets(struct gpu *g, const struct gpu_motion_picture *p,
                         struct motion_picture *out)
{
    const uint64_t n = p->head.mb_count, mbs = n * sizeof(struct rec_mb),
                   motion = n * sizeof(struct rec_motion);
    return find_final(g, p->final_mbs, p->mbs, mbs, &out->final[MOTION_MBS]) &&
           find_final(g, p->final_motion, NULL, motion, &out->final[MOTION_MOTION]) &&
           is_host(g, p->to_mbs, mbs) && is_host(g, p->to_motion, motion) &&
           is_host(g, p->to_still, n * MOTION_MAP_BYTES);
}

static const uint64_t input_bytes[MOTION_INPUTS] = {sizeof(struct rec_mb),
                                                    sizeof(struct rec_motion), MOTION_SYNTAX_BYTES};

/* Room for what does not lie in arenas; made once. */
static int need_input(struct gpu_motion_batch *b)
{
    const uint64_t size = (uint64_t)b->m->params.mbs *
                          (sizeof(struct rec_mb) + sizeof(struct rec_motion) + MOTION_SYNTAX_BYTES);
    return b->input.buffer ? GPU_OK
                           : gpu_buffer_create_for(b->m->g, GPU_USE_MOTION, size,
                                                   VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                       VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                                   GPU_MEMORY_UPLOAD, &b->input);
}

/* The sources of the arrays. Arrays outside arenas are copied to the batch's input, which has room
 * for the picture. */
static int place_inputs(struct gpu_motion_batch *b, const struct gpu_motion_picture *p,
                        struct motion_picture *out)
{
    const void *const arrays[MOTION_INPUTS] = {p->mbs, p->motion, p->syntax};
    for (int k = 0; k < MOTION_INPUTS; k++) {
        const uint64_t size = p->head.mb_count * input_bytes[k];
        if (gpu_arena_find(b->m->g, arrays[k], size, &out->from[k]))
            continue;
        if (!is_host(b->m->g, arrays[k], 1)) /* the device's, but not all of it */
            return GPU_ERR_INVALID;
        int err = need_input(b);
        if (err < 0)
            return err;
        memcpy(b->input.map + b->input_used, arrays[k], size);
        out->from[k] = (struct gpu_place){b->input.buffer, b->input_used, false};
        b->input_used += size;
    }
    return GPU_OK;
}

static uint8_t *up_slices(const struct gpu_motion_batch *b)
{
    return b->up.map + b->m->params.pictures * sizeof(struct der_picture);
}

static uint8_t *up_maps(const struct gpu_motion_batch *b)
{
    return up_slices(b) + b->m->params.slices * sizeof(struct der_slice);
}

/* The place of each slice's map: that of an earlier slice with the same map, else behind the maps
 * so far. *maps grows by the new ones. */
static int place_maps(struct gpu_motion_batch *b, const struct gpu_motion_picture *p,
                      uint32_t *maps)
{
    for (uint32_t i = 0; i < p->head.slice_count; i++) {
        uint32_t before = i;
        b->slice_maps[i] = DER_NO_MAP;
        if (!p->maps[i])
            continue;
        while (before > 0 && p->maps[before - 1] != p->maps[i])
            before--;
        if (before > 0) {
            b->slice_maps[i] = b->slice_maps[before - 1];
            continue;
        }
        if (p->head.mb_count > b->m->params.maps - *maps)
            return GPU_ERR_NOMEM;
        b->slice_maps[i] = *maps;
        *maps += p->head.mb_count;
    }
    return GPU_OK;
}

/* Picture, slices and maps to where they are copied from. */
static void upload_picture(struct gpu_motion_batch *b, const struct gpu_motion_picture *p)
{
    struct der_picture head = p->head;
    uint32_t copied = b->maps;
    head.mb_base = b->mbs;
    head.slice_base = b->slice_count;
    memcpy(b->up.map + b->picture_count * sizeof(head), &head, sizeof(head));
    for (uint32_t i = 0; i < head.slice_count; i++) {
        struct der_slice s = p->slices[i];
        s.map = b->slice_maps[i];
        memcpy(up_slices(b) + (b->slice_count + i) * sizeof(s), &s, sizeof(s));
        if (s.map == copied) { /* the first that names it */
            memcpy(up_maps(b) + (size_t)s.map * MOTION_MAP_BYTES, p->maps[i],
                   (size_t)head.mb_count * MOTION_MAP_BYTES);
            copied += head.mb_count;
        }
    }
}

int gpu_motion_add(struct gpu_motion_batch *b, const struct gpu_motion_picture *picture,
                   uint32_t *index)
{
    const struct gpu_motion_params *p = &b->m->params;
    struct motion_picture to = {.mb_base = b->mbs,
                                .mb_count = picture->head.mb_count,
                                .slice_base = b->slice_count,
                                .slice_count = picture->head.slice_count,
                                .to_mbs = picture->to_mbs,
                                .to_motion = picture->to_motion,
                                .to_still = picture->to_still};
    uint32_t maps = b->maps;
    if (b->state != MOTION_FILLING || !picture_valid(picture) ||
        !find_targets(b->m->g, picture, &to))
        return GPU_ERR_INVALID;
    if (b->picture_count == p->pictures || picture->head.mb_count > p->mbs - b->mbs ||
        picture->head.slice_count > p->slices - b->slice_count || place_maps(b, picture, &maps) < 0)
        return GPU_ERR_NOMEM;
    int err = place_inputs(b, picture, &to);
    if (err < 0)
        return err;
    gpu_motion_fetch_place(b, &to);
    upload_picture(b, picture);
    b->pictures[b->picture_count] = to;
    b->mbs += to.mb_count;
    b->mb_count = to.mb_count > b->mb_count ? to.mb_count : b->mb_count;
    b->mb_width = picture->head.mb_width > b->mb_width ? picture->head.mb_width : b->mb_width;
    b->slice_count += picture->head.slice_count;
    b->maps = maps;
    *index = b->picture_count++;
    return GPU_OK;
}

/* ---- derivation ---- */

enum { STAMP_INPUTS, STAMP_FETCHED, STAMP_PASSES };

static void record_copy(struct gpu *g, VkCommandBuffer commands, VkBuffer from, uint64_t at,
                        VkBuffer to, uint64_t to_at, uint64_t size)
{
    g->vk.vkCmdCopyBuffer(commands, from, to, 1, &(VkBufferCopy){at, to_at, size});
}

static void record_inputs(struct gpu_motion_batch *b, struct gpu_submission *s)
{
    static const uint32_t bindings[MOTION_INPUTS] = {MOT_BIND_MBS, MOT_BIND_MOTION,
                                                     MOT_BIND_SYNTAX};
    struct gpu *g = b->m->g;
    const struct gpu_buffer *to = b->device;
    gpu_work_sync(s, BARRIER_TRANSFER, 0,
                  MOTION_BIT(MOT_BIND_PICTURES) | MOTION_BIT(MOT_BIND_SLICES) |
                      MOTION_BIT(MOT_BIND_MAPS) | MOTION_BIT(MOT_BIND_MBS) |
                      MOTION_BIT(MOT_BIND_MOTION) | MOTION_BIT(MOT_BIND_SYNTAX) |
                      MOTION_BIT(MOT_BIND_RESULTS) | MOTION_BIT(MOT_BIND_USED));
    record_copy(g, s->commands, b->up.buffer, 0, to[MOT_BIND_PICTURES].buffer, 0,
                b->picture_count * sizeof(struct der_picture));
    record_copy(g, s->commands, b->up.buffer, (uint64_t)(up_slices(b) - b->up.map),
                to[MOT_BIND_SLICES].buffer, 0, b->slice_count * sizeof(struct der_slice));
    if (b->maps)
        record_copy(g, s->commands, b->up.buffer, (uint64_t)(up_maps(b) - b->up.map),
                    to[MOT_BIND_MAPS].buffer, 0, (uint64_t)b->maps * MOTION_MAP_BYTES);
    for (uint32_t i = 0; i < b->picture_count; i++) {
        const struct motion_picture *p = &b->pictures[i];
        for (int k = 0; k < MOTION_INPUTS; k++)
            if (k != MOTION_MOTION || !p->fetched)
                record_copy(g, s->commands, p->from[k].buffer, p->from[k].offset,
                            to[bindings[k]].buffer, p->mb_base * input_bytes[k],
                            p->mb_count * input_bytes[k]);
    }
    g->vk.vkCmdFillBuffer(s->commands, to[MOT_BIND_RESULTS].buffer, 0,
                          b->picture_count * MOTION_RESULT_BYTES, 0);
    g->vk.vkCmdFillBuffer(s->commands, to[MOT_BIND_USED].buffer, 0,
                          (uint64_t)b->slice_count * MOTION_USED_BYTES, 0);
    gpu_work_stamp(s, STAMP_INPUTS);
}

static void record_pass(struct gpu_motion_batch *b, struct gpu_submission *s, VkPipeline pipeline,
                        uint32_t writes, uint32_t x, uint32_t y)
{
    struct gpu *g = b->m->g;
    gpu_work_sync(s, BARRIER_COMPUTE, (MOTION_BIT(MOT_BINDINGS) - 1) & ~MOTION_BIT(MOT_BIND_STILL),
                  writes);
    g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    g->vk.vkCmdDispatch(s->commands, x, y, 1);
}

/* Of the host's results */
static uint64_t used_at(const struct gpu_motion_batch *b)
{
    return b->m->params.pictures * MOTION_RESULT_BYTES;
}

static void record_passes(struct gpu_motion_batch *b, struct gpu_submission *s)
{
    const struct gpu_motion *m = b->m;
    const uint32_t results = MOTION_BIT(MOT_BIND_RESULTS), used = MOTION_BIT(MOT_BIND_USED);
    m->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     m->layout->pipeline, 0, 1, &b->set, 0, NULL);
    record_pass(b, s, m->derive[b->mb_width > MOT_USUAL_WIDTH],
                MOTION_BIT(MOT_BIND_MOTION) | results, b->picture_count, 1);
    record_pass(b, s, m->check, MOTION_BIT(MOT_BIND_STILL) | results | used,
                (b->mb_count + MOT_CHECK_THREADS - 1) / MOT_CHECK_THREADS, b->picture_count);
    gpu_work_stamp(s, STAMP_PASSES);
    gpu_work_sync(s, BARRIER_TRANSFER, results | used, MOTION_RESULTS);
    record_copy(m->g, s->commands, b->device[MOT_BIND_RESULTS].buffer, 0, b->results.buffer, 0,
                b->picture_count * MOTION_RESULT_BYTES);
    record_copy(m->g, s->commands, b->device[MOT_BIND_USED].buffer, 0, b->results.buffer,
                used_at(b), (uint64_t)b->slice_count * MOTION_USED_BYTES);
    gpu_work_sync_host(s, MOTION_RESULTS);
}

/* ---- to the host ---- */

/* Room for all that pictures may have; made once, before it is named by commands. */
static int need_staging(struct gpu_motion_batch *b)
{
    const uint64_t size = (uint64_t)b->m->params.mbs *
                          (sizeof(struct rec_mb) + sizeof(struct rec_motion) + MOTION_MAP_BYTES);
    return b->staging.buffer ? GPU_OK
                             : gpu_buffer_create_for(b->m->g, GPU_USE_MOTION, size,
                                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                                     GPU_MEMORY_READBACK, &b->staging);
}

static int record_output(struct gpu_motion_batch *b, struct gpu_submission *s, uint32_t binding,
                         uint64_t from, uint64_t size, void *to)
{
    struct gpu *g = b->m->g;
    struct gpu_place place;
    if (!to)
        return GPU_OK;
    if (!gpu_arena_find(g, to, size, &place)) {
        int err = need_staging(b);
        if (err < 0)
            return err;
        place = (struct gpu_place){b->staging.buffer, b->staged, false};
        b->copies[b->copy_count++] = (struct motion_copy){to, b->staged, size};
        b->staged += size;
    }
    record_copy(g, s->commands, b->device[binding].buffer, from, place.buffer, place.offset, size);
    return GPU_OK;
}

static void record_final(struct gpu_motion_batch *b, struct gpu_submission *s, uint32_t binding,
                         uint64_t from, uint64_t size, const struct gpu_place *to)
{
    if (!to->buffer)
        return;
    record_copy(b->m->g, s->commands, b->device[binding].buffer, from, to->buffer, to->offset,
                size);
    b->resident = true;
}

static int record_picture(struct gpu_motion_batch *b, struct gpu_submission *s,
                          const struct motion_picture *p)
{
    const uint64_t base = p->mb_base, n = p->mb_count, mb = sizeof(struct rec_mb),
                   motion = sizeof(struct rec_motion);
    int err = GPU_OK;
    TRY(record_output(b, s, MOT_BIND_MBS, base * mb, n * mb, p->to_mbs));
    TRY(record_output(b, s, MOT_BIND_MOTION, base * motion, n * motion, p->to_motion));
    record_final(b, s, MOT_BIND_MBS, base * mb, n * mb, &p->final[MOTION_MBS]);
    record_final(b, s, MOT_BIND_MOTION, base * motion, n * motion, &p->final[MOTION_MOTION]);
    err = record_output(b, s, MOT_BIND_STILL, base * MOTION_MAP_BYTES, n * MOTION_MAP_BYTES,
                        p->to_still);
error:
    return err;
}

static int record_outputs(struct gpu_motion_batch *b, struct gpu_submission *s)
{
    int err = GPU_OK;
    gpu_work_sync(s, BARRIER_TRANSFER,
                  MOTION_BIT(MOT_BIND_MBS) | MOTION_BIT(MOT_BIND_MOTION) |
                      MOTION_BIT(MOT_BIND_STILL),
                  MOTION_TARGETS);
    for (uint32_t i = 0; i < b->picture_count && err == GPU_OK; i++)
        err = record_picture(b, s, &b->pictures[i]);
    gpu_work_sync_host(s, MOTION_TARGETS);
    return err;
}

/* What the commands of a part read is there: the host has waited for the last batch here, and each
 * part waits for the one before. */
static int begin_part(struct gpu_submission *s, uint32_t part)
{
    int err = gpu_work_record(s, part);
    if (err < 0)
        return err;
    gpu_work_forget(s, UINT32_MAX);
    if (part != MOTION_PART_INPUT)
        gpu_work_depend_part(s, part - 1);
    return GPU_OK;
}

static void depend_on_writers(struct gpu *g, struct gpu_submission *s)
{
    struct gpu_point writers[GPU_QUEUES];
    uint32_t count = gpu_arena_writers(g, writers);
    for (uint32_t i = 0; i < count; i++)
        gpu_work_depend(s, writers[i]);
}

int gpu_motion_submit(struct gpu_motion_batch *b)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    if (b->state != MOTION_FILLING || !b->picture_count)
        return GPU_ERR_INVALID;
    TRY(gpu_motion_prepare(b->m));
    TRY(gpu_work_begin(b->work, UINT64_MAX, &s));
    TRY(begin_part(s, MOTION_PART_INPUT));
    depend_on_writers(b->m->g, s);
    record_inputs(b, s);
    TRY(begin_part(s, MOTION_PART_DERIVE));
    gpu_motion_record_fetch(b, s);
    gpu_work_stamp(s, STAMP_FETCHED);
    record_passes(b, s);
    TRY(begin_part(s, MOTION_PART_COPY));
    TRY(record_outputs(b, s));
    TRY(gpu_work_submit(s));
    b->state = MOTION_WORKING;
error:
    return err;
}

static void motion_add_seconds(void *ctx, uint32_t name, double seconds)
{
    struct gpu_motion_batch *b = ctx;
    *(name == STAMP_PASSES ? &b->seconds : &b->input_seconds) += seconds;
}

/* A batch that was ended before is free, and nothing of it is wanted. */
void gpu_motion_batch_done(void *ctx, const struct gpu_submission *s)
{
    struct gpu_motion_batch *b = ctx;
    if (b->state != MOTION_WORKING)
        return;
    gpu_work_times(s, motion_add_seconds, b);
    for (uint32_t i = 0; i < b->copy_count; i++)
        memcpy(b->copies[i].to, b->staging.map + b->copies[i].from, b->copies[i].size);
    if (b->resident)
        gpu_arena_written(b->m->g, &s->last);
    b->state = MOTION_DONE;
}

int gpu_motion_poll(struct gpu_motion_batch *b)
{
    if (b->state != MOTION_WORKING)
        return b->state == MOTION_DONE ? GPU_OK : GPU_ERR_INVALID;
    int err = gpu_work_poll(b->work);
    return err < 0 ? err : b->state == MOTION_WORKING;
}

uint32_t gpu_motion_result(const struct gpu_motion_batch *b, uint32_t index)
{
    uint32_t said = DER_BAD;
    if (b->state == MOTION_DONE && index < b->picture_count)
        memcpy(&said, b->results.map + index * MOTION_RESULT_BYTES, sizeof(said));
    return said;
}

uint64_t gpu_motion_host_bytes(const struct gpu_motion_batch *b, uint32_t index)
{
    uint32_t sectors = 0;
    uint64_t bytes = 0;
    if (b->state != MOTION_DONE || index >= b->picture_count)
        return 0;
    const struct motion_picture *p = &b->pictures[index];
    memcpy(&sectors,
           b->results.map + index * MOTION_RESULT_BYTES + MOT_RESULT_SECTORS * sizeof(sectors),
           sizeof(sectors));
    for (int k = 0; k < MOTION_INPUTS; k++)
        if (!p->from[k].device && (k != MOTION_MOTION || !p->fetched))
            bytes += p->mb_count * input_bytes[k];
    return bytes + (uint64_t)sectors * MOT_SECTOR;
}

void gpu_motion_used(const struct gpu_motion_batch *b, uint32_t index, uint32_t slice,
                     uint32_t used[2])
{
    bool known = b->state == MOTION_DONE && index < b->picture_count &&
                 slice < b->pictures[index].slice_count;
    used[0] = used[1] = UINT32_MAX;
    if (known)
        memcpy(used,
               b->results.map + used_at(b) +
                   (size_t)(b->pictures[index].slice_base + slice) * MOTION_USED_BYTES,
               MOTION_USED_BYTES);
}

double gpu_motion_seconds(const struct gpu_motion_batch *b)
{
    return b->state == MOTION_DONE ? b->seconds : 0;
}

double gpu_motion_input_seconds(const struct gpu_motion_batch *b)
{
    return b->state == MOTION_DONE ? b->input_seconds : 0;
}

void gpu_motion_end(struct gpu_motion_batch *b)
{
    if (!b)
        return;
    bool submitted = b->state == MOTION_WORKING;
    b->state = MOTION_FREE; /* no target is written any more */
    if (submitted)          /* on a lost device nothing runs */
        gpu_work_drain(b->work);
}
