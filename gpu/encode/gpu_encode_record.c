/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Recording of a batch: copies of the host, passes, results.
 */
#include "gpu/encode/gpu_encode_internal.h"

#include "gpu/engine/arena.h"

#include <string.h>

void encode_record_copy(struct gpu_encode *e, struct gpu_submission *s, VkBuffer from,
                        uint64_t from_at, VkBuffer to, uint64_t to_at, uint64_t size)
{
    e->g->vk.vkCmdCopyBuffer(s->commands, from, to, 1, &(VkBufferCopy){from_at, to_at, size});
}

/* The most that a picture has */
static uint32_t references_of(const struct encode_batch *b)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < b->count; i++)
        most = b->pictures[i].ref_count > most ? b->pictures[i].ref_count : most;
    return most;
}

static void record_pass(struct gpu_encode *e, struct gpu_submission *s,
                        const struct encode_batch *b, uint32_t index)
{
    const struct encode_pass *p = &encode_passes[index];
    struct enc_args args = {e->params.mb_width, e->params.mb_height, b->count, 0};
    uint32_t steps = encode_pass_steps(p, args.mb_width, args.mb_height), xyz[3];
    encode_pass_grid(p, args.mb_width, args.mb_height, b->count, references_of(b), xyz);
    e->g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->pipelines[index]);
    for (args.step = p->step; args.step < p->step + steps; args.step++) {
        gpu_work_sync(s, BARRIER_COMPUTE, p->reads, p->writes);
        e->g->vk.vkCmdPushConstants(s->commands, e->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT,
                                    0, sizeof(args), &args);
        e->g->vk.vkCmdDispatch(s->commands, xyz[0], xyz[1], xyz[2]);
    }
    gpu_work_stamp(s, index);
}

static bool pass_wanted(const struct gpu_encode *e, const struct encode_batch *b,
                        const struct encode_pass *p, bool any_p)
{
    uint32_t flags = 0;
    bool any_i = false;
    for (uint32_t i = 0; i < b->count; i++) {
        flags |= b->pictures[i].flags;
        any_i |= b->pictures[i].ref_count == 0;
    }
    return (any_p || !p->of_p) && (any_i || !p->of_i) &&
           (!p->wavefront || p->wavefront == e->params.wavefront) &&
           (!p->coding || p->coding & flags);
}

void encode_record_group(struct gpu_encode *e, struct gpu_submission *s,
                         const struct encode_batch *b, enum encode_group group, bool any_p)
{
    e->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     e->layout->pipeline, 0, 1, &b->set, 0, NULL);
    for (uint32_t i = 0; i < encode_pass_count; i++)
        if (encode_passes[i].group == group && pass_wanted(e, b, &encode_passes[i], any_p))
            record_pass(e, s, b, i);
}

uint64_t encode_up_size(const struct gpu_encode *e)
{
    return e->sizes[ENC_BIND_PICTURES] + e->sizes[ENC_BIND_OFFSETS] + e->sizes[ENC_BIND_QUANTISER] +
           e->sizes[ENC_BIND_CODES] + 4ull * e->params.pictures;
}

void encode_record_input(struct gpu_encode *e, struct gpu_submission *s, struct encode_batch *b,
                         uint32_t binding, uint64_t to, const void *from, uint64_t size,
                         uint64_t *at)
{
    memcpy(b->up.map + *at, from, size);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << binding);
    encode_record_copy(e, s, b->up.buffer, *at, b->device[binding], to, size);
    *at += (size + 3) / 4 * 4;
}

/* Chroma of a frame goes into its set as it is; luma is there for encode_load. */
static int record_source(struct gpu_encode *e, struct gpu_submission *s,
                         const struct encode_batch *b, uint32_t picture, const uint8_t *frame)
{
    struct gpu_place from;
    uint64_t luma = 256 * encode_mb_count(&e->params), w = 16ull * e->params.mb_width,
             h = 16ull * e->params.mb_height, set = b->pictures[picture].source;
    if (!gpu_arena_find(e->g, frame, luma / 2 * 3, &from) || from.device)
        return GPU_ERR_INVALID;
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_FRAMES | 1u << ENC_BIND_PLANES);
    encode_record_copy(e, s, from.buffer, from.offset, b->device[ENC_BIND_FRAMES],
                       picture * luma / 2 * 3, luma);
    encode_record_copy(e, s, from.buffer, from.offset + luma, b->device[ENC_BIND_PLANES],
                       set * encode_set_size(&e->params) + ENC_CHROMA_AT(w, h), luma / 2);
    return GPU_OK;
}

int encode_record_sources(struct gpu_encode *e, struct gpu_submission *s,
                          const struct encode_batch *b, const struct gpu_encode_source *sources)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < b->count && err == GPU_OK; i++)
        if (!(b->pictures[i].flags & ENC_LOADED) && !sources[i].host)
            err = record_source(e, s, b, i, sources[i].frame);
    return err < 0 ? err
                   : encode_take_record(e->g, &e->take, &e->params, s, b->set, b->pictures,
                                        b->count, sources);
}

bool encode_record_result(struct gpu_encode *e, struct gpu_submission *s,
                          const struct encode_batch *b, uint32_t binding, uint64_t from,
                          uint64_t size, const void *to)
{
    struct gpu_place place;
    if (!gpu_arena_find(e->g, to, size, &place) || place.device)
        return false;
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << binding, ENCODE_RESULTS);
    encode_record_copy(e, s, b->device[binding], from, place.buffer, place.offset, size);
    return true;
}

bool encode_record_frame(struct gpu_encode *e, struct gpu_submission *s,
                         const struct encode_batch *b, uint32_t i, uint8_t *to)
{
    uint64_t luma = 256 * encode_mb_count(&e->params), w = 16ull * e->params.mb_width,
             h = 16ull * e->params.mb_height, set = b->pictures[i].pending;
    return encode_record_result(e, s, b, ENC_BIND_FRAMES, i * luma / 2 * 3, luma, to) &&
           encode_record_result(e, s, b, ENC_BIND_PLANES,
                                set * encode_set_size(&e->params) + ENC_CHROMA_AT(w, h), luma / 2,
                                to + luma);
}

bool encode_record_analysis(struct gpu_encode *e, struct gpu_submission *s,
                            const struct encode_batch *b, struct enc_analysis *const *results)
{
    uint64_t size = encode_mb_count(&e->params) * sizeof(struct enc_analysis);
    bool good = true;
    encode_record_group(e, s, b, ENCODE_PLANES, false);
    encode_record_group(e, s, b, ENCODE_ANALYSIS, false);
    for (uint32_t i = 0; i < b->count && good; i++)
        good = encode_record_result(e, s, b, ENC_BIND_ANALYSIS, i * size, size, results[i]);
    return good;
}

/* The batch's two places for these pictures in up alternate. Before the next but one is written,
 * the ring has waited for the submission that reads this one. */
int encode_record_ahead(struct gpu_encode *e, struct gpu_submission *s, struct encode_batch *b,
                        const struct gpu_encode_ahead *ahead)
{
    struct encode_batch next = *b;
    uint64_t at = encode_up_size(e) + (b->next_turn++ & 1) * e->sizes[ENC_BIND_PICTURES];
    next.pictures = b->next;
    next.count = 0;
    for (uint32_t i = 0; i < b->count; i++)
        if (ahead[i].analysis) {
            b->next_sources[next.count] = ahead[i].source;
            b->next_analysis[next.count] = ahead[i].analysis;
            b->next[next.count++] = ahead[i].picture;
        }
    if (!next.count)
        return GPU_OK;
    encode_record_input(e, s, &next, ENC_BIND_PICTURES, 0, b->next, next.count * sizeof(*b->next),
                        &at);
    int err = encode_record_sources(e, s, &next, b->next_sources);
    return err < 0                                                 ? err
           : encode_record_analysis(e, s, &next, b->next_analysis) ? GPU_OK
                                                                   : GPU_ERR_INVALID;
}
