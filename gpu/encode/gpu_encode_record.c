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
static uint32_t references_of(const struct encode_pictures *of)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < of->count; i++)
        most = of->pictures[i].ref_count > most ? of->pictures[i].ref_count : most;
    return most;
}

static void record_pass(struct gpu_encode *e, struct gpu_submission *s,
                        const struct encode_pictures *of, uint32_t index)
{
    const struct encode_pass *p = &encode_passes[index];
    struct enc_args args = {e->params.mb_width, e->params.mb_height, of->count, 0};
    uint32_t steps = encode_pass_steps(p, args.mb_width, args.mb_height), xyz[3];
    encode_pass_grid(p, args.mb_width, args.mb_height, of->count, references_of(of), xyz);
    e->g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->pipelines[index]);
    for (args.step = p->step; args.step < p->step + steps; args.step++) {
        gpu_work_sync(s, BARRIER_COMPUTE, p->reads, p->writes);
        e->g->vk.vkCmdPushConstants(s->commands, e->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT,
                                    0, sizeof(args), &args);
        e->g->vk.vkCmdDispatch(s->commands, xyz[0], xyz[1], xyz[2]);
    }
    gpu_work_stamp(s, index);
}

static bool pass_wanted(const struct gpu_encode *e, const struct encode_pictures *of,
                        const struct encode_pass *p)
{
    uint32_t flags = 0;
    bool any_i = false, any_p = false;
    for (uint32_t i = 0; i < of->count; i++) {
        flags |= of->pictures[i].flags;
        any_i |= of->pictures[i].ref_count == 0;
        any_p |= of->pictures[i].ref_count > 0;
    }
    return (any_p || !p->of_p) && (any_i || !p->of_i) &&
           (!p->wavefront || p->wavefront == e->params.wavefront) &&
           (!p->coding || p->coding & flags);
}

void encode_record_group(const struct encode_batch *b, struct gpu_submission *s,
                         const struct encode_pictures *of, enum encode_group group)
{
    struct gpu_encode *e = b->encode;
    e->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     e->layout->pipeline, 0, 1, &b->set, 0, NULL);
    for (uint32_t i = 0; i < encode_pass_count; i++)
        if (encode_passes[i].group == group && pass_wanted(e, of, &encode_passes[i]))
            record_pass(e, s, of, i);
}

/* ---- input ---- */

uint64_t encode_up_size(const struct gpu_encode *e)
{
    return e->sizes[ENC_BIND_PICTURES] + e->sizes[ENC_BIND_OFFSETS] + e->sizes[ENC_BIND_QUANTISER] +
           e->sizes[ENC_BIND_CODES] + 4ull * e->params.pictures;
}

void encode_record_input(const struct encode_batch *b, struct gpu_submission *s, uint32_t binding,
                         uint64_t to, const void *from, uint64_t size, uint64_t *at)
{
    memcpy(b->up.map + *at, from, size);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << binding);
    encode_record_copy(b->encode, s, b->up.buffer, *at, b->device[binding], to, size);
    *at += (size + 3) / 4 * 4;
}

/* Where the samples of a frame lie: luma of picture i in FRAMES, chroma in a set of PLANES */
struct frame_places {
    uint64_t luma_size, chroma_size, luma, chroma;
};

static struct frame_places frame_places(const struct gpu_encode *e, uint32_t i, uint32_t set)
{
    uint64_t luma = 256 * encode_mb_count(&e->params), w = 16ull * e->params.mb_width,
             h = 16ull * e->params.mb_height;
    return (struct frame_places){.luma_size = luma,
                                 .chroma_size = luma / 2,
                                 .luma = i * luma / 2 * 3,
                                 .chroma = set * encode_set_size(&e->params) + ENC_CHROMA_AT(w, h)};
}

/* Chroma of a frame goes into its set as it is; luma is there for encode_load. */
static int record_source(const struct encode_batch *b, struct gpu_submission *s,
                         const struct encode_pictures *of, uint32_t i)
{
    struct gpu_encode *e = b->encode;
    struct frame_places to = frame_places(e, i, of->pictures[i].source);
    struct gpu_place from;
    if (!gpu_arena_find(e->g, of->sources[i]->frame, to.luma_size + to.chroma_size, &from) ||
        from.device)
        return GPU_ERR_INVALID;
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_FRAMES | 1u << ENC_BIND_PLANES);
    encode_record_copy(e, s, from.buffer, from.offset, b->device[ENC_BIND_FRAMES], to.luma,
                       to.luma_size);
    encode_record_copy(e, s, from.buffer, from.offset + to.luma_size, b->device[ENC_BIND_PLANES],
                       to.chroma, to.chroma_size);
    return GPU_OK;
}

int encode_record_sources(const struct encode_batch *b, struct gpu_submission *s,
                          const struct encode_pictures *of)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < of->count && err == GPU_OK; i++)
        if (!(of->pictures[i].flags & ENC_LOADED) && !of->sources[i]->host)
            err = record_source(b, s, of, i);
    return err < 0 ? err : encode_take_record(b, s, of);
}

/* ---- results ---- */

/* Bytes of a binding to memory of the host. False: it lies in no arena. */
static bool record_result(const struct encode_batch *b, struct gpu_submission *s, uint32_t binding,
                          uint64_t from, uint64_t size, const void *to)
{
    struct gpu_place place;
    if (!gpu_arena_find(b->encode->g, to, size, &place) || place.device)
        return false;
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << binding, ENCODE_RESULTS);
    encode_record_copy(b->encode, s, b->device[binding], from, place.buffer, place.offset, size);
    return true;
}

bool encode_record_mbs(const struct encode_batch *b, struct gpu_submission *s, uint32_t i)
{
    const struct gpu_encode_result *to = &b->decisions[i]->result;
    uint64_t mbs = encode_mb_count(&b->encode->params), records = mbs * sizeof(struct rec_mb),
             motion = mbs * sizeof(struct rec_motion);
    return record_result(b, s, ENC_BIND_MBS, i * records, records, to->mbs) &&
           record_result(b, s, ENC_BIND_MOTION, i * motion, motion, to->motion);
}

bool encode_record_coeffs(const struct encode_batch *b, struct gpu_submission *s, uint32_t i,
                          uint32_t from, uint32_t to)
{
    uint64_t room = encode_mb_count(&b->encode->params) * ENC_BLOCKS * 32;
    return from >= to || record_result(b, s, ENC_BIND_COEFFS, i * room + 32ull * from,
                                       32ull * (to - from), b->decisions[i]->result.coeffs + from);
}

bool encode_record_frame(const struct encode_batch *b, struct gpu_submission *s, uint32_t i)
{
    struct frame_places from = frame_places(b->encode, i, b->now.pictures[i].pending);
    uint8_t *to = b->decisions[i]->result.frame;
    return record_result(b, s, ENC_BIND_FRAMES, from.luma, from.luma_size, to) &&
           record_result(b, s, ENC_BIND_PLANES, from.chroma, from.chroma_size, to + from.luma_size);
}

/* ---- analysis ---- */

bool encode_record_analysis(const struct encode_batch *b, struct gpu_submission *s,
                            const struct encode_pictures *of)
{
    uint64_t size = encode_mb_count(&b->encode->params) * sizeof(struct enc_analysis);
    bool good = true;
    encode_record_group(b, s, of, ENCODE_PLANES);
    encode_record_group(b, s, of, ENCODE_ANALYSIS);
    for (uint32_t i = 0; i < of->count && good; i++)
        good = record_result(b, s, ENC_BIND_ANALYSIS, i * size, size, of->analysis[i]);
    return good;
}

/* The batch's two places for these pictures in up alternate. Before the next but one is written,
 * the ring has waited for the submission that reads this one. */
int encode_record_ahead(struct encode_batch *b, struct gpu_submission *s)
{
    const struct gpu_encode *e = b->encode;
    struct encode_pictures *next = &b->ahead;
    uint64_t at = encode_up_size(e) + (b->ahead_turn++ & 1) * e->sizes[ENC_BIND_PICTURES];
    int err = GPU_OK;
    if (!next->count)
        return GPU_OK;
    encode_record_input(b, s, ENC_BIND_PICTURES, 0, next->pictures,
                        next->count * sizeof(*next->pictures), &at);
    TRY(encode_record_sources(b, s, next));
    return encode_record_analysis(b, s, next) ? GPU_OK : GPU_ERR_INVALID;
error:
    return err;
}
