/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --entropy FILE. CPU and GPU decode step 2 of slices of real streams (raw bytes with
 * start codes); all arrays must be equal. Then the same slices are damaged again and again. The GPU
 * may refuse any of them, but accepted results must equal the CPU's. Both must refuse slices with
 * bytes behind their data. With --time the speed of so many pictures at once is measured instead.
 */
#include "tests/gpu/h264/check_stream.h"
#include "tests/gpu/h264/entropy.h"
#include "codec/abi/entropy_abi.h"
#include "codec/h264_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MBS           40000
#define BATCH_SLICES        4096
#define BATCH_BYTES         (8u << 20)
#define COEFF_BLOCKS_PER_MB 24
#define SLICE_MORE          (64 + sizeof(struct rec_scaling)) /* bytes behind its own */

struct arrays {
    struct rec_mb *mbs;
    struct rec_motion *motion;
    struct h264_mb_syntax *syntax;
    int16_t *coeffs;
};

/* ---- a batch both ways ---- */

static size_t array_sizes(const struct h264_picture *pic, size_t sizes[4])
{
    sizes[0] = pic->mb_count * sizeof(struct rec_mb);
    sizes[1] = pic->mb_count * sizeof(struct rec_motion);
    sizes[2] = pic->mb_count * sizeof(struct h264_mb_syntax);
    sizes[3] =
        ((size_t)pic->mb_count * COEFF_BLOCKS_PER_MB + pic->slice_count * ENTROPY_SLACK) * 32;
    return sizes[0] + sizes[1] + sizes[2] + sizes[3];
}

static struct arrays arrays_at(const struct h264_picture *pic, uint8_t *memory)
{
    size_t sizes[4];
    array_sizes(pic, sizes);
    return (struct arrays){(void *)memory, (void *)(memory + sizes[0]),
                           (void *)(memory + sizes[0] + sizes[1]),
                           (void *)(memory + sizes[0] + sizes[1] + sizes[2])};
}

bool entropy_decode_cpu(struct entropy *p, struct h264_picture *pic)
{
    bool good = true;
    uint32_t mbs = 0;
    for (uint32_t i = 0; i < pic->mb_count; i++)
        pic->arrays.mbs[i] = (struct rec_mb){.slice = REC_NO_SLICE, .kind = REC_MB_MISSING};
    memset(pic->arrays.syntax, 0, pic->mb_count * sizeof(*pic->arrays.syntax));
    atomic_store(&pic->arrays.coeff_block_count, 0);
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        good &= h264_slice_decode(&pic->slices[i], p->scratch) == H264_OK;
        good &= !pic->slices[i].out_of_range;
        mbs += pic->slices[i].mbs_decoded;
    }
    return good && mbs == pic->mb_count;
}

int entropy_add_picture(struct gpu_entropy_batch *b, const struct h264_picture *pic,
                        uint32_t coeff_blocks, uint32_t packed_words)
{
    uint32_t picture = 0;
    int err = gpu_entropy_add_picture(b, pic->mb_count, coeff_blocks, packed_words, &picture);
    for (uint32_t i = 0; i < pic->slice_count && err == 0; i++) {
        struct ent_slice slice;
        size_t size = 0;
        uint8_t *bytes = gpu_entropy_slice_bytes(b, h264_slice_entropy_size(&pic->slices[i]));
        if (!bytes)
            return GPU_ERR_NOMEM;
        if (h264_slice_export_entropy(&pic->slices[i], &slice, bytes, &size) == H264_OK)
            err = gpu_entropy_add_slice(b, picture, &slice, size);
    }
    return err;
}

/* Which coefficient blocks slices of one picture get depends on their order in time. */
static const char *mb_differs(const struct h264_picture *pic, const struct arrays *got,
                              uint32_t addr)
{
    struct rec_mb a = pic->arrays.mbs[addr], b = got->mbs[addr];
    const struct h264_mb_syntax *syntax = &pic->arrays.syntax[addr];
    if (pic->slice_count > 1)
        a.coeff = b.coeff = 0;
    if (memcmp(&a, &b, sizeof(a)))
        return "rec_mb";
    if (memcmp(syntax, &got->syntax[addr], sizeof(*syntax)))
        return "syntax";
    if (syntax->part != H264_PART_DIRECT &&
        memcmp(&pic->arrays.motion[addr], &got->motion[addr], sizeof(*pic->arrays.motion)))
        return "rec_motion";
    if (check_mb_blocks(&a) &&
        memcmp((const int16_t *)pic->arrays.coeffs + (size_t)pic->arrays.mbs[addr].coeff * 16,
               got->coeffs + (size_t)got->mbs[addr].coeff * 16, check_mb_blocks(&a) * 32))
        return "coefficients";
    return NULL;
}

static int compare(const struct h264_picture *pic, const struct arrays *got, uint32_t coeff_blocks)
{
    for (uint32_t addr = 0; addr < pic->mb_count; addr++) {
        const char *what;
        unsigned blocks = check_mb_blocks(&got->mbs[addr]);
        /* others may have given back what is before those that this slice did not use */
        if (blocks &&
            (got->mbs[addr].coeff > coeff_blocks || blocks > coeff_blocks - got->mbs[addr].coeff))
            what = "units";
        else
            what = mb_differs(pic, got, addr);
        if (!what)
            continue;
        printf("checkgpu: MISMATCH picture %" PRIu32 ", macroblock %" PRIu32 " of %" PRIu32
               ": %s\n",
               pic->id, addr, pic->mb_count, what);
        check_print_words("cpu", &pic->arrays.mbs[addr], sizeof(struct rec_mb));
        check_print_words("gpu", &got->mbs[addr], sizeof(struct rec_mb));
        check_print_words("cpu syntax", &pic->arrays.syntax[addr], 8);
        check_print_words("gpu syntax", &got->syntax[addr], 8);
        check_print_words("cpu motion", &pic->arrays.motion[addr], sizeof(struct rec_motion));
        check_print_words("gpu motion", &got->motion[addr], sizeof(struct rec_motion));
        return -1;
    }
    if (pic->slice_count == 1 && coeff_blocks != atomic_load(&pic->arrays.coeff_block_count)) {
        printf("checkgpu: MISMATCH picture %" PRIu32 ": %" PRIu32 " units, not %u\n", pic->id,
               coeff_blocks, atomic_load(&pic->arrays.coeff_block_count));
        return -1;
    }
    return 0;
}

int entropy_finish(struct gpu_entropy *e, struct gpu_entropy_batch *b)
{
    int err;
    while ((err = gpu_entropy_poll(b)) == 1)
        if ((err = gpu_entropy_wait(e, UINT64_MAX)) < 0)
            break;
    return err;
}

/* Of every other picture in an arena the coefficients stay on the device. */
static bool is_resident(uint32_t i)
{
    return i % 4 == 1;
}

/* Where those of got[i] are on the device. */
static void *resident(const struct entropy *p, const struct arrays *got)
{
    return p->device_memory + ((uint8_t *)got->coeffs - p->arena_memory);
}

static int read_resident(struct entropy *p, const struct gpu_entropy_batch *b, uint32_t n,
                         const struct arrays *got)
{
    int err = 0;
    for (uint32_t i = 0; i < n && err == 0; i++) {
        uint32_t coeff_blocks = 0;
        if (!is_resident(i) || !gpu_entropy_picture_ok(b, i, &coeff_blocks) || !coeff_blocks)
            continue;
        uint32_t words = gpu_entropy_packed_words(b, i);
        err = gpu_arena_read(p->env->gpu, resident(p, &got[i]),
                             words ? 4 * (size_t)words : (size_t)coeff_blocks * 32, got[i].coeffs);
    }
    return err;
}

/* Fetch those that are ok: some into arenas, some into other memory. */
static int fetch(struct entropy *p, struct gpu_entropy_batch *b, struct h264_picture **pictures,
                 uint32_t n, struct arrays *got)
{
    size_t used[2] = {0, 0}, sizes[4];
    int err = 0;
    for (uint32_t i = 0; i < n && err == 0; i++) {
        uint8_t *base = i & 1 ? p->arena_memory : p->memory;
        uint32_t coeff_blocks = 0;
        got[i] = arrays_at(pictures[i], base + used[i & 1]);
        used[i & 1] += (array_sizes(pictures[i], sizes) + 63) & ~(size_t)63;
        memset(got[i].mbs, 0xa5, sizes[0] + sizes[1] + sizes[2]);
        void *coeffs = is_resident(i) ? resident(p, &got[i]) : got[i].coeffs;
        if (!gpu_entropy_picture_ok(b, i, &coeff_blocks))
            continue;
        struct gpu_entropy_target to = {got[i].mbs, got[i].motion, got[i].syntax, coeffs, NULL};
        if (gpu_entropy_packed_words(b, i)) {
            to.packed = to.coeffs;
            to.coeffs = NULL;
        }
        err = gpu_entropy_fetch(b, i, &to);
    }
    if (err == 0)
        err = gpu_entropy_fetch_submit(b);
    while (err == 0 && (err = gpu_entropy_poll(b)) == 1)
        err = gpu_entropy_wait(p->gpu, UINT64_MAX) < 0 ? -1 : 0;
    return err ? err : read_resident(p, b, n, got);
}

/* Whether the GPU has no excuse. On llvmpipe the threads of a subgroup can go through so many
 * iterations of loops (entropy.comp). Here they are estimated for a piece of each of its slices,
 * and the row that ends it, of four times the mean. */
static bool must_pass(const struct entropy *p, const struct h264_picture *pic, uint32_t share)
{
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        size_t mbs = slice->end_mb - slice->hdr.first_mb, rows = mbs / pic->mb_width + 1;
        size_t bytes = ENT_PIECE_SOFTWARE + 4 * slice->nal_size / rows;
        if (gpu_info(p->env->gpu)->software && share * (150 * pic->mb_width + 22 * bytes) > 60000)
            return false;
    }
    return true;
}

/* Slices of a subgroup: any number with which all pictures that would pass alone still do. */
static uint32_t random_share(const struct entropy *p, struct h264_picture **pictures, uint32_t n)
{
    uint32_t share = 1u << check_random(p->env, 4);
    for (uint32_t i = 0; i < n; i++)
        while (share > 1 && must_pass(p, pictures[i], 1) && !must_pass(p, pictures[i], share))
            share /= 2;
    return share;
}

static int judge_result(struct entropy *p, const struct h264_picture *pic,
                        enum entropy_inputs inputs, bool cpu, bool gpu)
{
    p->equal += inputs == ENTROPY_WHOLE && gpu;
    p->passed += inputs == ENTROPY_DAMAGED && gpu;
    p->refused += inputs == ENTROPY_DAMAGED && !gpu;
    p->longer += inputs == ENTROPY_LONGER;
    p->scaled += inputs == ENTROPY_SCALED && gpu;
    p->out_of_range += inputs == ENTROPY_SCALED && !gpu;
    bool wrong = inputs == ENTROPY_LONGER ? cpu || gpu : gpu && !cpu;
    if (!wrong && (inputs == ENTROPY_DAMAGED || gpu == cpu || !must_pass(p, pic, 1)))
        return 0;
    printf("checkgpu: MISMATCH picture %" PRIu32 "%s is %s for the CPU and %s for the GPU\n",
           pic->id,
           inputs == ENTROPY_LONGER   ? " with bytes behind slice data"
           : inputs == ENTROPY_SCALED ? " with large scaling lists"
                                      : "",
           cpu ? "good" : "bad", gpu ? "good" : "bad");
    return -1;
}

static int batch_submit(struct entropy *p, struct h264_picture **pictures, uint32_t n,
                        struct gpu_entropy_batch **out)
{
    struct gpu_entropy_batch *b = *out = gpu_entropy_begin(p->gpu, 0);
    int err = b ? 0 : GPU_ERR_INVALID;
    for (uint32_t i = 0; i < n && err == 0; i++)
        err = entropy_add_picture(b, pictures[i], pictures[i]->mb_count * COEFF_BLOCKS_PER_MB,
                                  p->packed_rooms[i]);
    return err ? err : gpu_entropy_submit(b);
}

/* The same pictures in another batch, some rounds earlier: rounds of both follow. */
static int other_submit(struct entropy *p, struct h264_picture **pictures, uint32_t n,
                        struct gpu_entropy_batch **out)
{
    int err = batch_submit(p, pictures, n, out);
    for (uint32_t i = check_random(p->env, 3); i && err == 0; i--)
        if (gpu_entropy_poll(*out) == 1)
            err = gpu_entropy_wait(p->gpu, UINT64_MAX) < 0 ? -1 : 0;
    return err;
}

/* It is ended at any time, or has the same outcome. */
static int other_judge(struct entropy *p, struct gpu_entropy_batch *other,
                       const struct gpu_entropy_batch *b, uint32_t n)
{
    uint32_t coeff_blocks;
    int err = 0;
    if (check_chance(p->env, 50)) {
        err = entropy_finish(p->gpu, other);
        for (uint32_t i = 0; i < n && err == 0; i++)
            if (gpu_entropy_picture_ok(other, i, &coeff_blocks) !=
                gpu_entropy_picture_ok(b, i, &coeff_blocks)) {
                printf("checkgpu: MISMATCH of two batches in the same rounds\n");
                err = -1;
            }
    }
    gpu_entropy_end(other);
    return err;
}

/* Levels are packed where there is room for their words, and as many as the CPU's. */
static int judge_words(struct entropy *p, const struct h264_picture *pic,
                       const struct gpu_entropy_batch *b, uint32_t i)
{
    uint32_t words = entropy_words(pic), got = gpu_entropy_packed_words(b, i);
    p->packed += got != 0;
    if (got == (words <= p->packed_rooms[i] ? words : 0))
        return 0;
    printf("checkgpu: MISMATCH picture %" PRIu32 ": %" PRIu32
           " words of packed levels, not %" PRIu32 " in room for %" PRIu32 "\n",
           pic->id, got, words, p->packed_rooms[i]);
    return -1;
}

static int compare_picture(struct entropy *p, const struct h264_picture *pic,
                           const struct gpu_entropy_batch *b, uint32_t i, const struct arrays *got,
                           uint32_t coeff_blocks)
{
    uint32_t words = gpu_entropy_packed_words(b, i);
    int err = judge_words(p, pic, b, i);
    if (err == 0 && words)
        err = entropy_unpack(pic, got->mbs, got->coeffs, coeff_blocks, words);
    return err ? err : compare(pic, got, coeff_blocks);
}

int entropy_run_batch(struct entropy *p, struct h264_picture **pictures, uint32_t n,
                      enum entropy_inputs inputs)
{
    struct gpu_entropy_batch *b = NULL, *other = NULL;
    struct arrays got[ENTROPY_PICTURES];
    int err = 0;
    for (uint32_t i = 0; i < n; i++)
        p->packed_rooms[i] = entropy_packed_room(p->env, pictures[i]);
    gpu_entropy_share(p->gpu, random_share(p, pictures, n));
    if (check_chance(p->env, 50))
        err = other_submit(p, pictures, n, &other);
    gpu_entropy_share(p->gpu, random_share(p, pictures, n)); /* of rounds from now on */
    if (err == 0)
        err = batch_submit(p, pictures, n, &b);
    bool good[ENTROPY_PICTURES];
    for (uint32_t i = 0; i < n; i++) /* meanwhile */
        good[i] = entropy_decode_cpu(p, pictures[i]);
    if (err == 0)
        err = entropy_finish(p->gpu, b);
    if (err == 0 && other)
        err = other_judge(p, other, b, n);
    if (err == 0)
        err = fetch(p, b, pictures, n, got);
    if (err != 0)
        printf("checkgpu: %s\n", gpu_error_text(err));
    for (uint32_t i = 0; i < n && err == 0; i++) {
        uint32_t coeff_blocks = 0;
        bool ok = gpu_entropy_picture_ok(b, i, &coeff_blocks);
        err = judge_result(p, pictures[i], inputs, good[i], ok);
        if (ok && err == 0)
            err = compare_picture(p, pictures[i], b, i, &got[i], coeff_blocks);
        p->env->mbs += pictures[i]->mb_count;
    }
    p->env->pictures += n;
    p->env->batches++;
    gpu_entropy_end(b);
    return err;
}

static bool batch_has_room(const struct entropy *p, const struct h264_picture *pic)
{
    size_t mbs = pic->mb_count, slices = pic->slice_count, bytes = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        mbs += p->pictures[i]->mb_count;
        slices += p->pictures[i]->slice_count;
        for (uint32_t k = 0; k < p->pictures[i]->slice_count; k++)
            bytes += p->pictures[i]->slices[k].nal_size + SLICE_MORE;
    }
    for (uint32_t k = 0; k < pic->slice_count; k++)
        bytes += pic->slices[k].nal_size + SLICE_MORE;
    return p->count < ENTROPY_PICTURES && mbs <= BATCH_MBS && slices <= BATCH_SLICES &&
           bytes <= BATCH_BYTES;
}

static int run_pending(struct entropy *p)
{
    int err = p->count ? entropy_run_batch(p, p->pictures, p->count, ENTROPY_WHOLE) : 0;
    if (err == 0 && p->count)
        err = entropy_run_damaged(p, p->pictures, p->count);
    if (err == 0 && p->count && p->damage)
        err = entropy_run_longer(p, p->pictures, p->count);
    for (unsigned round = 0; round < p->damage && err == 0 && p->count; round++)
        err = entropy_run_scaled(p, p->pictures, p->count);
    for (uint32_t i = 0; i < p->count; i++)
        h264_picture_unref(p->pictures[i]);
    p->count = 0;
    return err;
}

/* ---- the stream ---- */

static int take_picture(void *user, struct h264_picture *pic)
{
    struct entropy *p = user;
    int err = 0;
    if (!h264_picture_exports_entropy(pic) || pic->mb_count > BATCH_MBS || !p->most) {
        h264_picture_unref(pic);
        return 0;
    }
    if (!p->keep && !batch_has_room(p, pic))
        err = run_pending(p);
    if (p->count == p->capacity) {
        uint32_t capacity = 2 * p->capacity + ENTROPY_PICTURES;
        struct h264_picture **grown =
            realloc(p->pictures, capacity * sizeof(struct h264_picture *));
        if (!grown) {
            h264_picture_unref(pic);
            return GPU_ERR_NOMEM;
        }
        p->pictures = grown;
        p->capacity = capacity;
    }
    p->pictures[p->count++] = pic;
    p->most--;
    return err;
}

/* All pictures of the file that are wanted are taken. */
int entropy_read_stream(struct entropy *p, const char *path)
{
    struct check_stream s = {.path = path, .take = take_picture, .user = p, .wanted = &p->most};
    int err = check_stream_read(&s);
    return err == 0 && !p->keep ? run_pending(p) : err;
}

void entropy_close(struct entropy *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        h264_picture_unref(p->pictures[i]);
    free(p->pictures);
    h264_scratch_free(p->scratch);
    gpu_entropy_free(p->gpu);
    gpu_arena_free(p->device_arena);
    gpu_arena_free(p->arena);
    free(p->memory);
}

static int open_check(struct entropy *p)
{
    struct ent_tables tables;
    void *memory = NULL;
    h264_entropy_tables(&tables);
    struct gpu_entropy_params params = {.batches = 2,
                                        .pictures = ENTROPY_PICTURES,
                                        .slices = BATCH_SLICES,
                                        .mbs = BATCH_MBS,
                                        .coeff_blocks = BATCH_MBS * COEFF_BLOCKS_PER_MB,
                                        .packed_words = entropy_most_words(BATCH_MBS),
                                        .bytes = BATCH_BYTES,
                                        .tables = &tables};
    p->arena_size = (size_t)BATCH_MBS * (32 + 136 + 8 + COEFF_BLOCKS_PER_MB * 32) +
                    (size_t)BATCH_SLICES * ENTROPY_SLACK * 32 + ENTROPY_PICTURES * 64;
    p->scratch = h264_scratch_create();
    p->memory = malloc(p->arena_size);
    if (!p->scratch || !p->memory)
        return GPU_ERR_NOMEM;
    int err = gpu_entropy_create(p->env->gpu, &params, &p->gpu);
    if (err == 0)
        err = gpu_arena_create(p->env->gpu, p->arena_size, &p->arena, &memory);
    p->arena_memory = memory;
    if (err == 0)
        err = gpu_arena_create_device(p->env->gpu, p->arena_size, &p->device_arena, &memory);
    p->device_memory = memory;
    return err;
}

int check_entropy(struct check_env *env, const char *const *paths, unsigned count, uint32_t most,
                  unsigned damage_rounds)
{
    struct entropy p = {.env = env, .damage = damage_rounds};
    int err = open_check(&p);
    if (err)
        printf("checkgpu: %s\n", gpu_error_text(err));
    for (unsigned i = 0; i < count && err == 0; i++) {
        unsigned long before = env->pictures, equal = p.equal;
        p.most = most ? most : UINT32_MAX;
        err = entropy_read_stream(&p, paths[i]);
        printf("checkgpu entropy: %s %s, %lu pictures, %lu equal\n", paths[i],
               err ? "FAILED" : "ok", env->pictures - before, p.equal - equal);
    }
    printf("checkgpu entropy: %lu pictures, %lu macroblocks, %lu equal; damaged: %lu refused, %lu "
           "as the CPU has them; %lu with bytes behind slice data refused; other scaling lists: "
           "%lu in range, %lu not; %lu packed\n",
           env->pictures, env->mbs, p.equal, p.refused, p.passed, p.longer, p.scaled,
           p.out_of_range, p.packed);
    entropy_close(&p);
    if (!err && !env->pictures)
        printf("checkgpu: no file has pictures that the GPU takes\n");
    return err || !env->pictures ? -1 : 0;
}
