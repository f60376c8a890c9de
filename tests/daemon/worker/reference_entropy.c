/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gpu/h264/gpu_entropy.h for tests of the worker. A thread decodes each batch with the CPU's own
 * decoder, after a delay. So batches overtake each other as on a device. The linker wraps
 * h264_slice_export_entropy, through which the slices arrive.
 *
 * Environment:
 * - PELTON_TEST_ENTROPY_SEED changes the delays.
 * - PELTON_TEST_ENTROPY_FAILS=N gives up one picture of N.
 * - PELTON_TEST_ENTROPY_SPOILS=N gives one picture of N a macroblock that no slice can have.
 * - PELTON_TEST_ENTROPY_BATCHES=N has memory for N batches only.
 * - PELTON_TEST_LOSE_ENTROPY=N loses the device for entropy decoding at the N-th batch.
 */
#include "codec/abi/entropy_abi.h"
#include "codec/h264.h"
#include "codec/h264_error.h"
#include "codec/pack_levels.h"
#include "daemon/worker/schedule/xorshift.h"
#include "gpu/h264/gpu_entropy.h"
#include "tests/daemon/worker/reference.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_DELAY_US 3000

struct part {
    struct h264_picture *pic; /* with arrays of its own */
    uint32_t mb_count;
    uint32_t *packed; /* its levels, if there is room for packed_most words of them */
    uint32_t packed_most, packed_words;
    bool ok;
    struct gpu_entropy_target to;
};

enum phase { PHASE_FREE, PHASE_FILLING, PHASE_WORKING, PHASE_DONE };

struct gpu_entropy_batch {
    struct gpu_entropy *owner;
    enum phase phase;
    bool lost;
    uint32_t count, mbs, bytes, slices;
    struct part *parts;
    uint8_t *memory;
    pthread_t thread;
    unsigned delay_us, fail_of, spoil_of;
    uint64_t random;
    atomic_bool over;
};

struct gpu_entropy {
    struct gpu_entropy_params params;
    uint64_t random;
    unsigned long lose_at, begun;
    unsigned fail_of, spoil_of;
    uint32_t batch_count;
    struct gpu_entropy_batch batches[];
};

/* The slice that is exported and then added. */
static _Thread_local const struct h264_slice *exported;

int __real_h264_slice_export_entropy(const struct h264_slice *slice, struct ent_slice *out,
                                     uint8_t *bytes, size_t *size);
int __wrap_h264_slice_export_entropy(const struct h264_slice *slice, struct ent_slice *out,
                                     uint8_t *bytes, size_t *size);
int __wrap_h264_slice_export_entropy(const struct h264_slice *slice, struct ent_slice *out,
                                     uint8_t *bytes, size_t *size)
{
    exported = slice;
    return __real_h264_slice_export_entropy(slice, out, bytes, size);
}

static void *heap_get(void *ctx, size_t size)
{
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void heap_put(void *ctx, void *memory, size_t size)
{
    free(memory);
}

static const struct h264_allocator heap = {.get = heap_get, .put = heap_put};

int gpu_entropy_create(struct gpu *g, const struct gpu_entropy_params *params,
                       struct gpu_entropy **out)
{
    struct gpu_entropy *e = calloc(1, sizeof(*e) + params->batches * sizeof(e->batches[0]));
    if (!e)
        return GPU_ERR_NOMEM;
    e->params = *params;
    e->random = reference_number("PELTON_TEST_ENTROPY_SEED", 0) * 2 + 0x9e3779b97f4a7c15ull;
    e->fail_of = (unsigned)reference_number("PELTON_TEST_ENTROPY_FAILS", 0);
    e->spoil_of = (unsigned)reference_number("PELTON_TEST_ENTROPY_SPOILS", 0);
    e->batch_count = (uint32_t)reference_number("PELTON_TEST_ENTROPY_BATCHES", params->batches);
    e->lose_at = reference_number("PELTON_TEST_LOSE_ENTROPY", 0);
    for (uint32_t i = 0; i < params->batches; i++) {
        struct gpu_entropy_batch *b = &e->batches[i];
        b->owner = e;
        b->parts = calloc(params->pictures, sizeof(*b->parts));
        b->memory = malloc(params->bytes);
        if (!b->parts || !b->memory)
            abort();
    }
    *out = e;
    return GPU_OK;
}

int gpu_entropy_prepare(struct gpu_entropy *e, bool cavlc)
{
    return e ? GPU_OK : GPU_ERR_INVALID;
}

void gpu_entropy_trim(struct gpu_entropy *e)
{
}

void gpu_entropy_free(struct gpu_entropy *e)
{
    for (uint32_t i = 0; e && i < e->params.batches; i++) {
        gpu_entropy_end(&e->batches[i]);
        free(e->batches[i].parts);
        free(e->batches[i].memory);
    }
    free(e);
}

uint64_t gpu_entropy_bytes(const struct gpu_entropy *e)
{
    return 0;
}

uint64_t gpu_entropy_needs(const struct gpu_entropy *e, uint32_t pictures)
{
    return 0;
}

uint32_t gpu_entropy_pictures(const struct gpu_entropy_batch *b)
{
    return b->owner->params.pictures;
}

struct gpu_entropy_batch *gpu_entropy_begin(struct gpu_entropy *e, uint32_t pictures)
{
    for (uint32_t i = 0; i < e->batch_count && i < e->params.batches; i++) {
        struct gpu_entropy_batch *b = &e->batches[i];
        if (b->phase != PHASE_FREE)
            continue;
        b->phase = PHASE_FILLING;
        b->count = b->mbs = b->bytes = b->slices = 0;
        b->random = next_random(&e->random);
        b->delay_us = (unsigned)(next_random(&e->random) % MOST_DELAY_US);
        b->fail_of = e->fail_of;
        b->spoil_of = e->spoil_of;
        b->lost = ++e->begun == e->lose_at;
        return b;
    }
    return NULL;
}

int gpu_entropy_add_picture(struct gpu_entropy_batch *b, uint32_t mb_count, uint32_t coeff_blocks,
                            uint32_t packed_words, uint32_t *picture)
{
    const struct gpu_entropy_params *p = &b->owner->params;
    if (b->count == p->pictures || mb_count > p->mbs - b->mbs || coeff_blocks > p->coeff_blocks)
        return GPU_ERR_NOMEM;
    struct part *part = &b->parts[b->count];
    *part = (struct part){
        .pic = calloc(1, sizeof(*part->pic)), .mb_count = mb_count, .packed_most = packed_words};
    if (!part->pic)
        abort();
    part->pic->holder.allocator = &heap;
    b->mbs += mb_count;
    *picture = b->count++;
    return GPU_OK;
}

uint8_t *gpu_entropy_slice_bytes(struct gpu_entropy_batch *b, size_t most)
{
    return most <= b->owner->params.bytes - b->bytes ? b->memory + b->bytes : NULL;
}

/* What step 2 needs of the picture. */
static void copy_picture(struct h264_picture *to, const struct h264_picture *from)
{
    to->sps = from->sps;
    to->structure = from->structure;
    to->mb_width = from->mb_width;
    to->mb_height = from->mb_height;
    to->mb_count = from->mb_count;
    to->slices = calloc(from->slice_count, sizeof(*to->slices));
    if (!to->slices)
        abort();
}

int gpu_entropy_add_slice(struct gpu_entropy_batch *b, uint32_t picture,
                          const struct ent_slice *slice, size_t size)
{
    if (picture >= b->count || slice->slice != exported->index ||
        b->slices == b->owner->params.slices)
        return GPU_ERR_INVALID;
    struct h264_picture *pic = b->parts[picture].pic;
    if (!pic->slices)
        copy_picture(pic, exported->pic);
    pic->slices[pic->slice_count] = *exported;
    pic->slices[pic->slice_count++].pic = pic;
    b->bytes += (uint32_t)size;
    b->slices++;
    return GPU_OK;
}

static void decode(struct part *part, struct h264_scratch *scratch)
{
    struct h264_picture *pic = part->pic;
    uint32_t covered = 0;
    part->ok = pic->slices && h264_picture_alloc(pic) == H264_OK;
    for (uint32_t i = 0; i < pic->slice_count && part->ok; i++) {
        struct h264_slice *slice = &pic->slices[i];
        part->ok = h264_slice_decode(slice, scratch) == H264_OK &&
                   slice->mbs_decoded == slice->end_mb - slice->hdr.first_mb;
        covered += slice->mbs_decoded;
    }
    part->ok &= covered == part->mb_count;
}

static void pack(struct part *part)
{
    const struct h264_arrays *a = &part->pic->arrays;
    uint64_t room = part->mb_count * (1 + REC_PACKED_WORDS(48)) + H264_PACKED_SLACK;
    uint32_t *packed = malloc(room * sizeof(*packed)), next = part->mb_count;
    if (!packed)
        abort();
    for (uint32_t addr = 0; addr < part->mb_count; addr++) {
        const struct rec_mb *mb = &a->mbs[addr];
        unsigned n =
            (unsigned)(__builtin_popcount(mb->coded[0]) + __builtin_popcount(mb->coded[1]) +
                       __builtin_popcount(mb->coded[2]));
        packed[addr] = UINT32_MAX;
        if (n)
            next = h264_pack_levels(packed, next, addr,
                                    (const int16_t *)a->coeffs + 16 * (size_t)mb->coeff, n);
    }
    part->packed = packed;
    part->packed_words = next <= part->packed_most ? next : 0;
}

/* One of the things that h264_picture_import_entropy looks at. */
static void spoil(const struct h264_picture *pic, uint64_t random)
{
    uint32_t addr = (uint32_t)(random >> 8) % pic->mb_count;
    struct h264_mb_syntax *syntax = &pic->arrays.syntax[addr];
    switch (random & 3) {
    case 0:
        pic->arrays.mbs[addr].slice += 1;
        break;
    case 1:
        syntax->part = (uint8_t)(H264_PART_INTRA + 1);
        break;
    case 2:
        syntax->decoded = 0;
        break;
    default: /* the list is shorter */
        pic->arrays.mbs[addr].kind = REC_MB_INTER;
        syntax->part = H264_PART_16X16;
        memset(pic->arrays.motion[addr].ref_idx, REC_MAX_REFS,
               sizeof(pic->arrays.motion[addr].ref_idx));
    }
}

static void *work(void *batch)
{
    struct gpu_entropy_batch *b = batch;
    struct h264_scratch *scratch = h264_scratch_create();
    usleep(b->delay_us);
    for (uint32_t i = 0; i < b->count; i++) {
        decode(&b->parts[i], scratch);
        if (b->parts[i].ok && b->parts[i].packed_most)
            pack(&b->parts[i]);
        if (b->fail_of && next_random(&b->random) % b->fail_of == 0)
            b->parts[i].ok = false;
        else if (b->parts[i].ok && b->spoil_of && next_random(&b->random) % b->spoil_of == 0)
            spoil(b->parts[i].pic, next_random(&b->random));
    }
    h264_scratch_free(scratch);
    atomic_store(&b->over, true);
    return NULL;
}

int gpu_entropy_submit(struct gpu_entropy_batch *b)
{
    atomic_store(&b->over, false);
    b->phase = PHASE_WORKING;
    if (pthread_create(&b->thread, NULL, work, b))
        abort();
    return GPU_OK;
}

/* It has no subgroups. */
void gpu_entropy_share(struct gpu_entropy *e, uint32_t slices)
{
    (void)e, (void)slices;
}

int gpu_entropy_poll(struct gpu_entropy_batch *b)
{
    if (b->phase == PHASE_WORKING && !atomic_load(&b->over))
        return 1;
    if (b->phase == PHASE_WORKING)
        pthread_join(b->thread, NULL);
    b->phase = PHASE_DONE;
    return b->lost ? GPU_ERR_LOST : 0;
}

int gpu_entropy_wait(struct gpu_entropy *e, uint64_t timeout_ns)
{
    usleep((useconds_t)(timeout_ns / 1000));
    return 1;
}

bool gpu_entropy_picture_ok(const struct gpu_entropy_batch *b, uint32_t picture,
                            uint32_t *coeff_blocks)
{
    *coeff_blocks = atomic_load(&b->parts[picture].pic->arrays.coeff_block_count);
    return b->parts[picture].ok;
}

uint32_t gpu_entropy_packed_words(const struct gpu_entropy_batch *b, uint32_t picture)
{
    return b->parts[picture].packed_words;
}

/* Slices make as many as they need. */
bool gpu_entropy_picture_full(const struct gpu_entropy_batch *b, uint32_t picture)
{
    return false;
}

int gpu_entropy_fetch(struct gpu_entropy_batch *b, uint32_t picture,
                      const struct gpu_entropy_target *to)
{
    b->parts[picture].to = *to;
    return GPU_OK;
}

int gpu_entropy_fetch_submit(struct gpu_entropy_batch *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const struct part *part = &b->parts[i];
        const struct h264_picture *pic = part->pic;
        size_t n = part->mb_count;
        if (!part->to.mbs)
            continue;
        memcpy(part->to.mbs, pic->arrays.mbs, n * sizeof(*pic->arrays.mbs));
        memcpy(part->to.motion, pic->arrays.motion, n * sizeof(*pic->arrays.motion));
        memcpy(part->to.syntax, pic->arrays.syntax, n * sizeof(*pic->arrays.syntax));
        if (part->to.coeffs)
            memcpy(part->to.coeffs, pic->arrays.coeffs,
                   (size_t)atomic_load(&pic->arrays.coeff_block_count) * 32);
        if (part->to.packed)
            memcpy(part->to.packed, part->packed, 4 * (size_t)part->packed_words);
    }
    return GPU_OK;
}

void gpu_entropy_end(struct gpu_entropy_batch *b)
{
    if (!b || b->phase == PHASE_FREE)
        return;
    if (b->phase == PHASE_WORKING)
        pthread_join(b->thread, NULL);
    for (uint32_t i = 0; i < b->count; i++) {
        struct h264_picture *pic = b->parts[i].pic;
        h264_picture_free_arrays(pic);
        free(pic->slices);
        free(pic);
        free(b->parts[i].packed);
    }
    b->phase = PHASE_FREE;
}

double gpu_entropy_seconds(const struct gpu_entropy_batch *b)
{
    return 1e-6 * b->delay_us;
}
