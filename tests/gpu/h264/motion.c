/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --motion FILE. CPU and GPU derive step 3 of real streams (raw bytes with start codes);
 * records, motion and maps must be equal. So must the bytes of host memory that the device reads. A
 * batch has pictures in memory of the device and of the host, and each picture is in all of them in
 * turn. Then other macroblocks are built into the same pictures, and the results must be equal
 * again. Last the pictures are damaged, or they are random bytes. The GPU may refuse any of them,
 * but accepts only pictures that the CPU would accept.
 */
#include "tests/gpu/h264/motion.h"
#include "codec/h264_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_PICTURES 8
#define PICTURE_MBS    9216 /* others are left out */
#define BATCH_MBS      (BATCH_PICTURES * PICTURE_MBS)
#define PICTURE_MAPS   4                                  /* different ones of a picture's slices */
#define HOST_BYTES     (BATCH_MBS * MOTION_MB_BYTES + 64) /* of an arena: arrays may be shifted */
#define OUT_MB_BYTES   (sizeof(struct rec_mb) + sizeof(struct rec_motion) + sizeof(uint16_t))

/* What came back. */
struct results {
    struct rec_mb *mbs; /* NULL: not asked for */
    struct rec_motion *motion;
    uint16_t *still; /* the same */
    uint32_t said;
    uint64_t used; /* hash of what all slices use */
    struct motion_placed placed;
    uint64_t bytes; /* of host memory that the device has read */
};

/* Half of the pictures go to an arena; of some no records are wanted. */
static struct results results_at(const struct motion_check *p, uint32_t i, uint32_t before,
                                 uint32_t mb_count)
{
    uint8_t *at = (i & 1 ? p->arena_memory : p->memory) + before * OUT_MB_BYTES;
    struct results r = {.mbs = (void *)at, .motion = (void *)(at + mb_count * sizeof(*r.mbs))};
    r.still = (void *)(at + mb_count * (sizeof(*r.mbs) + sizeof(*r.motion)));
    memset(at, 0xa5, mb_count * OUT_MB_BYTES);
    if (i % 4 == 2)
        r.mbs = NULL;
    if (i % 4 == 3)
        r.still = NULL;
    return r;
}

static uint64_t used_add(uint64_t hash, const uint32_t used[2])
{
    for (int list = 0; list < 2; list++)
        hash = (hash ^ used[list]) * 1099511628211u; /* FNV-1a, by words */
    return hash;
}

static uint64_t used_of(const struct gpu_motion_batch *b, uint32_t index, uint32_t slices)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < slices; i++) {
        uint32_t used[2];
        gpu_motion_used(b, index, i, used);
        hash = used_add(hash, used);
    }
    return hash;
}

static uint64_t used_by_cpu(const struct h264_picture *pic)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        uint32_t used[2];
        h264_slice_used(&pic->slices[i], used);
        hash = used_add(hash, used);
    }
    return hash;
}

/* Case i's arrays are those at raws[i]. Each batch has them elsewhere. */
static int run_batch(struct motion_check *p, uint8_t *const *raws, struct results *got)
{
    struct gpu_motion_batch *b = gpu_motion_begin(p->gpu);
    uint32_t mbs = 0;
    int err = b ? 0 : GPU_ERR_INVALID;
    for (uint32_t i = 0; i < p->count && err == 0; i++) {
        const uint32_t n = p->cases[i].pic->mb_count;
        got[i] = results_at(p, i, mbs, n);
        got[i].placed.source = (i + p->batches) % MOTION_SOURCES;
        err = motion_place(p, got[i].placed.source, raws[i], mbs, n, &got[i].placed.at);
        if (err == 0)
            err = motion_add_case(b, &p->cases[i], got[i].placed.at, got[i].mbs, got[i].motion,
                                  got[i].still);
        mbs += n;
    }
    if (err == 0)
        err = gpu_motion_submit(b);
    if (err == 0)
        err = motion_wait(b);
    for (uint32_t i = 0; i < p->count && err == 0; i++) {
        got[i].said = gpu_motion_result(b, i);
        got[i].used = used_of(b, i, p->cases[i].pic->slice_count);
        got[i].bytes = gpu_motion_host_bytes(b, i);
    }
    gpu_motion_end(b);
    if (err)
        printf("checkgpu: %s\n", gpu_error_text(err));
    p->batches++;
    p->env->batches++;
    return err;
}

static uint32_t kinds_of(const struct h264_picture *pic)
{
    return (pic->arrays.has_intra ? DER_INTRA : 0u) | (pic->arrays.has_inter ? DER_INTER : 0u) |
           (pic->arrays.has_deblock ? DER_DEBLOCK : 0u);
}

/* codec/abi/motion_abi.h, step by step */
static uint16_t still_of(const struct rec_motion *m, bool corners)
{
    unsigned bits = 0;
    for (int block = 0; block < 16; block++) {
        int quadrant = block / 8 * 2 + block % 4 / 2, list = m->ref_idx[0][quadrant] >= 0 ? 0 : 1;
        const int16_t *mv = m->mv[list][block];
        bool looked_at = !corners || block == 0 || block == 3 || block == 12 || block == 15;
        if (looked_at && m->ref_idx[list][quadrant] == 0 && abs(mv[0]) <= 1 && abs(mv[1]) <= 1)
            bits |= 1u << block;
    }
    return (uint16_t)bits;
}

/* The picture's arrays are the CPU's results. It has a map where it is a reference. */
static int compare(const struct motion_case *c, const uint8_t *raw, const struct results *got,
                   uint32_t kinds)
{
    const struct h264_picture *pic = c->pic;
    struct motion_arrays a = motion_arrays_at((uint8_t *)raw, pic->mb_count);
    if (got->said != kinds) {
        printf("checkgpu: MISMATCH picture %" PRIu32 ": said %" PRIu32 ", not %" PRIu32 "\n",
               pic->id, got->said, kinds);
        return -1;
    }
    if (!motion_bytes_right(&got->placed, raw, pic->mb_count, got->bytes)) {
        printf("checkgpu: MISMATCH picture %" PRIu32 ": %" PRIu64 " bytes of host memory, source "
               "%d\n",
               pic->id, got->bytes, got->placed.source);
        return -1;
    }
    if (got->used != used_by_cpu(pic)) {
        printf("checkgpu: MISMATCH picture %" PRIu32 ": the references that slices use\n", pic->id);
        return -1;
    }
    for (uint32_t addr = 0; addr < pic->mb_count; addr++) {
        const uint16_t still =
            still_of(&pic->arrays.motion[addr], c->slices[pic->arrays.mbs[addr].slice].corners);
        const char *what = NULL;
        if (got->mbs && memcmp(&pic->arrays.mbs[addr], &got->mbs[addr], sizeof(*pic->arrays.mbs)))
            what = "rec_mb";
        else if (memcmp(&pic->arrays.motion[addr], &got->motion[addr], sizeof(*pic->arrays.motion)))
            what = "rec_motion";
        else if ((got->still && got->still[addr] != still) ||
                 (pic->arrays.col_zero && pic->arrays.col_zero[addr] != still))
            what = "still";
        if (!what)
            continue;
        printf("checkgpu: MISMATCH picture %" PRIu32 ", macroblock %" PRIu32 " of %" PRIu32
               " (%u wide, slice %" PRIu32 "): %s, still %04x\n",
               pic->id, addr, pic->mb_count, pic->mb_width, pic->arrays.mbs[addr].slice, what,
               still);
        check_print_words("syntax", &a.syntax[addr], 8);
        check_print_words("raw", &a.motion[addr], sizeof(struct rec_motion));
        check_print_words("cpu", &pic->arrays.motion[addr], sizeof(struct rec_motion));
        check_print_words("gpu", &got->motion[addr], sizeof(struct rec_motion));
        return -1;
    }
    return 0;
}

static void swap(uint8_t *a, uint8_t *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

/* Other arrays for the picture's, and these back again: later pictures read them. */
static void exchange(const struct h264_picture *pic, struct motion_arrays *a)
{
    swap((uint8_t *)pic->arrays.mbs, (uint8_t *)a->mbs, pic->mb_count * sizeof(*a->mbs));
    swap((uint8_t *)pic->arrays.motion, (uint8_t *)a->motion, pic->mb_count * sizeof(*a->motion));
    swap((uint8_t *)pic->arrays.syntax, (uint8_t *)a->syntax, pic->mb_count * sizeof(*a->syntax));
}

/* Step 3 of the arrays by the CPU, slice by slice; the picture has them then, and *kinds what they
 * are. */
static int derive_again(struct h264_picture *pic, uint32_t coeff_blocks, uint32_t *kinds)
{
    *kinds = 0;
    if (!h264_picture_import_entropy(pic, coeff_blocks))
        return -1;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        uint32_t from, to;
        pic->slices[i].motion_mb = pic->slices[i].hdr.first_mb;
        h264_slice_follow(&pic->slices[i], &from, &to);
    }
    for (uint32_t i = 0; i < pic->mb_count; i++)
        *kinds |= (pic->arrays.mbs[i].kind == REC_MB_INTER ? DER_INTER : DER_INTRA) |
                  (pic->arrays.mbs[i].deblock ? DER_DEBLOCK : 0u);
    return 0;
}

static int compare_built(struct motion_check *p, const struct motion_case *c, const uint8_t *raw,
                         const struct results *got)
{
    struct h264_picture *pic = c->pic;
    const size_t bytes = pic->mb_count * sizeof(*pic->arrays.col_zero);
    struct motion_arrays a = motion_arrays_at(p->scrap, pic->mb_count);
    uint8_t *still = p->scrap + pic->mb_count * MOTION_MB_BYTES;
    uint32_t kinds;
    memcpy(p->scrap, raw, pic->mb_count * MOTION_MB_BYTES);
    if (pic->arrays.col_zero)
        memcpy(still, pic->arrays.col_zero, bytes);
    exchange(pic, &a);
    int err = derive_again(pic, c->coeff_blocks, &kinds);
    if (err)
        printf("checkgpu: MISMATCH picture %" PRIu32 ": what was built is not valid\n", pic->id);
    else
        err = compare(c, raw, got, kinds);
    exchange(pic, &a);
    if (pic->arrays.col_zero)
        memcpy(pic->arrays.col_zero, still, bytes);
    return err;
}

/* What the GPU let pass: whether the CPU does, before and after. */
static int compare_damaged(struct motion_check *p, const struct motion_case *c, const uint8_t *raw,
                           const struct results *got)
{
    struct h264_picture *pic = c->pic;
    struct motion_arrays a = motion_arrays_at(p->scrap, pic->mb_count);
    const uint32_t kinds = kinds_of(pic);
    const char *reason = "step 3's input";
    struct rec_view view;
    memcpy(p->scrap, raw, pic->mb_count * MOTION_MB_BYTES);
    motion_mend(&got->placed, &a, pic->mb_count);
    exchange(pic, &a);
    bool good = h264_picture_import_entropy(pic, c->coeff_blocks);
    memcpy(pic->arrays.motion, got->motion, pic->mb_count * sizeof(*pic->arrays.motion));
    h264_picture_records(pic, &view);
    view.head.has_intra = (got->said & DER_INTRA) != 0;
    view.head.has_inter = (got->said & DER_INTER) != 0;
    view.head.has_deblock = (got->said & DER_DEBLOCK) != 0;
    good =
        good && records_validate_content(&view, &reason) == 0 &&
        (!got->mbs || !memcmp(got->mbs, pic->arrays.mbs, pic->mb_count * sizeof(*pic->arrays.mbs)));
    if (!good)
        printf("checkgpu: MISMATCH picture %" PRIu32 ": %s (kinds %" PRIu32 ", undamaged %" PRIu32
               ")\n",
               pic->id, reason, got->said, kinds);
    exchange(pic, &a);
    return good ? 0 : -1;
}

/* The cases again, changed by `change`: fills raws[i] from the cases' own. */
static int run_changed(struct motion_check *p,
                       void (*change)(struct check_env *env, const struct motion_case *c,
                                      struct motion_arrays *a),
                       uint8_t *raws[BATCH_PICTURES], struct results got[BATCH_PICTURES])
{
    int err = 0;
    for (uint32_t i = 0; i < p->count && err == 0; i++) {
        const struct motion_case *c = &p->cases[i];
        const size_t size = c->pic->mb_count * MOTION_MB_BYTES;
        raws[i] = malloc(size);
        if (!raws[i])
            return GPU_ERR_NOMEM;
        memcpy(raws[i], c->raw, size);
        struct motion_arrays a = motion_arrays_at(raws[i], c->pic->mb_count);
        change(p->env, c, &a);
    }
    return err ? err : run_batch(p, raws, got);
}

enum round_kind { BUILT, DAMAGED, SCRAMBLED, ROUND_KINDS };

static int run_round(struct motion_check *p, enum round_kind kind)
{
    static void (*const changes[ROUND_KINDS])(struct check_env *, const struct motion_case *,
                                              struct motion_arrays *) = {
        motion_build, motion_damage, motion_scramble};
    const bool damaged = kind != BUILT;
    uint8_t *raws[BATCH_PICTURES] = {0};
    struct results got[BATCH_PICTURES] = {0};
    int err = run_changed(p, changes[kind], raws, got);
    for (uint32_t i = 0; i < p->count && err == 0; i++) {
        const struct motion_case *c = &p->cases[i];
        if (!damaged)
            err = compare_built(p, c, raws[i], &got[i]);
        else if (!(got[i].said & DER_BAD))
            err = compare_damaged(p, c, raws[i], &got[i]);
        *(!damaged ? &p->built : got[i].said & DER_BAD ? &p->refused : &p->passed) += 1;
    }
    for (uint32_t i = 0; i < p->count; i++)
        free(raws[i]);
    return err;
}

/* As they are. */
static int run_equal(struct motion_check *p)
{
    uint8_t *raws[BATCH_PICTURES] = {0};
    struct results got[BATCH_PICTURES] = {0};
    for (uint32_t i = 0; i < p->count; i++)
        raws[i] = p->cases[i].raw;
    int err = run_batch(p, raws, got);
    for (uint32_t i = 0; i < p->count && err == 0; i++) {
        err = compare(&p->cases[i], raws[i], &got[i], kinds_of(p->cases[i].pic));
        p->equal += err == 0;
    }
    return err;
}

/* Room for the cases and no more: what is written behind the batch's arrays meets a canary. */
static int open_motion(struct motion_check *p)
{
    struct gpu_motion_params params = {.batches = 2, .pictures = p->count};
    for (uint32_t i = 0; i < p->count; i++) {
        params.slices += p->cases[i].pic->slice_count;
        params.mbs += p->cases[i].pic->mb_count;
    }
    params.maps = PICTURE_MAPS * params.mbs;
    return gpu_motion_create(p->env->gpu, &params, &p->gpu);
}

static int flush(struct motion_check *p)
{
    int err = open_motion(p);
    for (uint32_t i = 0; i < p->count; i++)
        motion_count_shapes(p, &p->cases[i]);
    for (unsigned turn = 0; turn < MOTION_SOURCES && err == 0; turn++)
        err = run_equal(p);
    for (unsigned round = 0; round < ROUND_KINDS * p->damage && err == 0; round++)
        err = run_round(p, round % ROUND_KINDS);
    p->env->pictures += p->count;
    motion_drop_cases(p);
    gpu_motion_free(p->gpu);
    p->gpu = NULL;
    return err;
}

static int open_check(struct motion_check *p)
{
    void *memory = NULL;
    p->capacity = BATCH_PICTURES;
    p->cases = calloc(p->capacity, sizeof(*p->cases));
    p->scratch = h264_scratch_create();
    p->memory = malloc(BATCH_MBS * OUT_MB_BYTES);
    p->scrap = malloc(BATCH_MBS * (MOTION_MB_BYTES + sizeof(uint16_t)));
    if (!p->cases || !p->scratch || !p->memory || !p->scrap)
        return GPU_ERR_NOMEM;
    int err = gpu_arena_create(p->env->gpu, BATCH_MBS * OUT_MB_BYTES, &p->arena, &memory);
    p->arena_memory = memory;
    if (err == 0)
        err = gpu_arena_create_device(p->env->gpu, BATCH_MBS * MOTION_MB_BYTES, &p->device_arena,
                                      &memory);
    p->device_memory = memory;
    for (int i = 0; i < 2 && err == 0; i++) {
        err = gpu_arena_create(p->env->gpu, HOST_BYTES, &p->host_arena[i], &memory);
        p->host_memory[i] = memory;
    }
    return err;
}

int check_motion(struct check_env *env, const char *const *paths, unsigned count, uint32_t most,
                 unsigned damage_rounds)
{
    struct motion_check p = {
        .env = env, .flush = flush, .most_mbs = PICTURE_MBS, .damage = damage_rounds};
    int err = open_check(&p);
    if (err)
        printf("checkgpu: %s\n", gpu_error_text(err));
    for (unsigned i = 0; i < count && err == 0; i++) {
        unsigned long equal = p.equal;
        p.most = most ? most : UINT32_MAX;
        err = motion_read_stream(&p, paths[i]);
        printf("checkgpu motion: %s %s, %lu pictures equal\n", paths[i], err ? "FAILED" : "ok",
               p.equal - equal);
    }
    printf("checkgpu motion: %lu pictures, %lu macroblocks, %lu equal; built: %lu equal; damaged: "
           "%lu refused, %lu good for the CPU too\n",
           env->pictures, env->mbs, p.equal, p.built, p.refused, p.passed);
    motion_print_shapes(&p);
    if (err == 0 && !p.equal) {
        printf("checkgpu: there was nothing to compare\n");
        err = -1;
    }
    motion_close(&p);
    return err ? -1 : 0;
}
