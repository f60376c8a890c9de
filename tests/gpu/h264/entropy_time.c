/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --entropy FILE --time N: the time of entropy decoding on the GPU, of up to N pictures at
 * once. It is measured by itself and beside copies on another queue.
 */
#include "codec/h264_export.h"
#include "tests/gpu/h264/entropy.h"
#include "codec/abi/entropy_abi.h"

#include <inttypes.h>
#include <stdio.h>

#define BESIDE 64 /* pictures, from which on their time beside other work is measured */

static size_t picture_bytes(const struct h264_picture *pic)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        bytes += h264_slice_entropy_size(&pic->slices[i]) + 64;
    return bytes;
}

int entropy_submit(struct entropy *p, uint32_t first, uint32_t n, struct gpu_entropy_batch **out)
{
    struct gpu_entropy_batch *b = *out = gpu_entropy_begin(p->gpu, 0);
    int err = b ? 0 : GPU_ERR_INVALID;
    for (uint32_t i = first; i < first + n && err == 0; i++) {
        const struct h264_picture *pic = p->pictures[i % p->count];
        err = entropy_add_picture(
            b, pic, atomic_load(&pic->arrays.coeff_block_count) + pic->slice_count * ENTROPY_SLACK,
            entropy_words(pic));
    }
    return err ? err : gpu_entropy_submit(b);
}

/* The same while the main queue copies memory as fast as it can: what either takes from the other.
 */
static int time_beside(struct entropy *p, uint32_t n, double alone)
{
    double bandwidth[2] = {0, 0}, sum = 0;
    unsigned count = 0;
    struct gpu_entropy_batch *b = NULL;
    int err = 0;
    for (int i = 0; i < 3 && err == 0; i++) /* the last one counts */
        err = gpu_bandwidth(p->env->gpu, &bandwidth[0]);
    if (err == 0)
        err = entropy_submit(p, 0, n, &b);
    while (err == 0 && gpu_entropy_poll(b) == 1) {
        err = gpu_bandwidth(p->env->gpu, &bandwidth[1]);
        sum += bandwidth[1];
        count++;
    }
    if (err == 0 && count)
        printf("x%-4" PRIu32 " beside copies on another queue: %.3f times as long; those, %u of "
               "them, have %.3f of their speed\n",
               n, gpu_entropy_seconds(b) / alone, count, sum / count / bandwidth[0]);
    gpu_entropy_end(b);
    return err;
}

/* What n pictures of the stream need, round and round, from any one on. */
static void room_for(const struct entropy *p, uint32_t n, struct gpu_entropy_params *params)
{
    uint32_t rounds = (n + p->count - 1) / p->count;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct h264_picture *pic = p->pictures[i];
        params->slices += rounds * pic->slice_count;
        params->mbs += rounds * pic->mb_count;
        params->coeff_blocks += rounds * (atomic_load(&pic->arrays.coeff_block_count) +
                                          pic->slice_count * ENTROPY_SLACK);
        params->packed_words += rounds * entropy_words(pic);
        bytes += rounds * picture_bytes(pic);
    }
    params->bytes = (uint32_t)(bytes + 3) & ~3u;
}

int entropy_open(struct entropy *p, uint32_t batches, uint32_t n)
{
    struct ent_tables tables;
    struct gpu_entropy_params params = {.batches = batches, .pictures = n, .tables = &tables};
    h264_entropy_tables(&tables);
    room_for(p, n, &params);
    return gpu_entropy_create(p->env->gpu, &params, &p->gpu);
}

/* n pictures, those of the stream round and round, from the first on. */
static int time_count(struct entropy *p, uint32_t n)
{
    struct gpu_entropy_batch *b = NULL;
    uint64_t bytes = 0;
    uint32_t slices = 0;
    double best = 0;
    for (uint32_t i = 0; i < n; i++) {
        slices += p->pictures[i % p->count]->slice_count;
        bytes += picture_bytes(p->pictures[i % p->count]);
    }
    int err = entropy_open(p, 1, n);
    for (int round = 0; round < 3 && err == 0; round++) {
        err = entropy_submit(p, 0, n, &b);
        if (err == 0)
            err = entropy_finish(p->gpu, b);
        uint32_t ok = 0, coeff_blocks;
        for (uint32_t i = 0; i < n && err == 0; i++)
            ok += gpu_entropy_picture_ok(b, i, &coeff_blocks);
        double seconds = err == 0 ? gpu_entropy_seconds(b) : 0;
        best = round == 0 || seconds < best ? seconds : best;
        if (err == 0 && ok != n)
            printf("checkgpu: %" PRIu32 " of %" PRIu32 " pictures are not ok\n", n - ok, n);
        gpu_entropy_end(b);
    }
    if (err == 0)
        printf(
            "x%-4" PRIu32
            " %9.3f ms, %9.3f ms a picture, %8.1f pictures/s, %9.2f Mbit/s, %8.3f Mbit/s a slice\n",
            n, 1e3 * best, 1e3 * best / n, n / best, 8e-6 * (double)bytes / best,
            8e-6 * (double)bytes / best / slices);
    if (err == 0 && n >= BESIDE)
        err = time_beside(p, n, best);
    gpu_entropy_free(p->gpu);
    p->gpu = NULL;
    fflush(stdout);
    return err;
}

int check_entropy_timing(struct check_env *env, const char *path, uint32_t most)
{
    struct entropy p = {.env = env, .keep = true, .most = most};
    p.scratch = h264_scratch_create();
    int err = p.scratch ? entropy_read_stream(&p, path) : GPU_ERR_NOMEM;
    if (err == 0 && !p.count)
        err = GPU_ERR_INVALID; /* the GPU takes none of its pictures */
    for (uint32_t i = 0; i < p.count && err == 0; i++)
        entropy_decode_cpu(&p, p.pictures[i]);
    for (uint32_t n = 1; n <= most && err == 0 && p.count; n = n == 1     ? 16
                                                               : n == 16  ? 64
                                                               : n == 64  ? 132
                                                               : n == 132 ? 264
                                                               : n == 264 ? 512
                                                                          : n * 2)
        err = time_count(&p, n);
    if (err)
        printf("checkgpu: %s\n", gpu_error_text(err));
    entropy_close(&p);
    return err ? -1 : 0;
}
