/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --clip FILE. The records of a real stream (progressive 8-bit 4:2:0, raw bytes with start
 * codes) are reconstructed again and again. A batch has one picture type and a given width. The
 * time of each stage is printed. Every picture has a slot of its own, and all are first
 * reconstructed in decoding order. So references are right in any later order, and each batch must
 * write the same samples again. The end compares them.
 */
#include "codec/h264.h"
#include "codec/h264_stream.h"
#include "gpu/h264/recon_internal.h"
#include "tests/gpu/h264/checkgpu.h"
#include "tests/tools/annexb.h"
#include "tests/tools/read_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY_PICTURES 512
#define REPLAY_WIDTH    CHECK_CLIP_WIDTH
#define REPLAY_ARENAS   64
#define ARENA_BYTES     ((size_t)128 << 20)
#define BATCHES         24 /* at least, of each measurement */

static const char *const stages[RECON_STAGES] = {"upload", "classify", "residual", "inter",
                                                 "intra",  "deblock",  "deliver"};

struct replay {
    struct check_env *env;
    struct check_beside *beside; /* NULL: nothing */
    /* the records, so that the device fetches them itself */
    struct gpu_arena *arenas[REPLAY_ARENAS];
    unsigned arena_count;
    uint8_t *arena_memory;
    size_t arena_used;
    struct h264_allocator allocator;
    struct h264_capabilities capabilities;
    struct h264_stream *stream;
    struct h264_scratch *scratch;
    struct h264_picture *pictures[REPLAY_PICTURES];
    struct rec_view views[REPLAY_PICTURES];
    char types[REPLAY_PICTURES]; /* I, P, B; - is a copy */
    uint32_t count, most;
    struct recon *recon;
    uint64_t sums[REPLAY_PICTURES]; /* of the frames after the first run */
};

static void *arena_get(void *ctx, size_t size)
{
    struct replay *p = ctx;
    size = (size + 255) & ~(size_t)255;
    if (size > ARENA_BYTES)
        return NULL;
    if (!p->arena_memory || p->arena_used + size > ARENA_BYTES) {
        void *memory = NULL;
        if (p->arena_count == REPLAY_ARENAS ||
            gpu_arena_create(p->env->gpu, ARENA_BYTES, &p->arenas[p->arena_count], &memory) < 0)
            return NULL;
        p->arena_count++;
        p->arena_memory = memory;
        p->arena_used = 0;
    }
    void *at = p->arena_memory + p->arena_used;
    p->arena_used += size;
    return at;
}

/* All arenas go at the end. */
static void arena_put(void *ctx, void *memory, size_t size)
{
}

static int decode_picture(struct replay *p, struct h264_picture *pic)
{
    const char *reason = "";
    int err = 0;
    pic->holder.slot = (int32_t)p->count;
    for (uint32_t i = 0; i < pic->slice_count && err >= 0; i++)
        err = h264_slice_decode(&pic->slices[i], p->scratch);
    if (err >= 0 && !pic->non_existing)
        err = h264_picture_derive_motion(pic);
    if (err >= 0 && !pic->non_existing)
        err = h264_picture_view(pic, &p->views[p->count]);
    if (err >= 0 && !pic->non_existing)
        err = records_validate(&p->views[p->count], REPLAY_PICTURES, &reason);
    if (err < 0 || pic->non_existing) {
        printf("checkgpu: picture %" PRIu32 " of the clip: %s %s\n", pic->id,
               pic->non_existing ? "missing" : h264_error_text(err), reason);
        return -1;
    }
    static const char names[] = {'P', 'B', 'I', 'P', 'I'};
    p->types[p->count] = names[pic->slices[0].hdr.type];
    p->pictures[p->count++] = pic;
    return 0;
}

static int drain(struct replay *p)
{
    struct h264_picture *pic;
    int err = 0;
    while ((pic = h264_stream_next_output(p->stream)))
        h264_picture_unref(pic);
    while ((pic = h264_stream_next_decode(p->stream)))
        if (err < 0 || p->count == p->most)
            h264_picture_unref(pic);
        else if ((err = decode_picture(p, pic)) < 0)
            h264_picture_unref(pic);
    return err;
}

static int decode_clip(struct replay *p, const uint8_t *data, size_t size)
{
    struct h264_diag diag = {0};
    int err = 0;
    for (size_t at = annexb_start(data, size, 0), end; at < size && err >= 0 && p->count < p->most;
         at = end) {
        end = annexb_start(data, size, at + 3);
        err = h264_stream_feed(p->stream, data + at, end - at, 0, &diag);
        if (err < 0)
            printf("checkgpu: the clip: %s %s\n", h264_error_text(err),
                   diag.element ? diag.element : "");
        else
            err = drain(p);
    }
    if (err >= 0)
        err = h264_stream_flush(p->stream);
    return err < 0 ? err : drain(p);
}

/* ---- runs ---- */

static int submit(struct replay *p, const uint32_t *list, uint32_t n, uint64_t *ticket)
{
    struct recon_picture jobs[REPLAY_WIDTH];
    for (uint32_t i = 0; i < n; i++)
        jobs[i] = (struct recon_picture){.view = &p->views[list[i]], .slot = list[i]};
    return recon_submit(p->recon, jobs, n, NULL, 0, ticket);
}

uint64_t check_frame_sum(const uint8_t *frame, size_t size)
{
    uint64_t sum = 0xcbf29ce484222325u, word;
    for (size_t k = 0; k < size; k += sizeof(word)) {
        memcpy(&word, frame + k, sizeof(word));
        sum = (sum ^ word) * 0x100000001b3u;
    }
    return sum;
}

/* Of every frame: made by the first run, later compared. */
static int sum_frames(struct replay *p, bool compare)
{
    size_t luma = (size_t)p->views[0].head.mb_count * 256;
    uint8_t *frame = malloc(luma * 3 / 2);
    int err = frame ? 0 : GPU_ERR_NOMEM;
    for (uint32_t i = 0; i < p->count && err == 0; i++) {
        err = recon_read_slot(p->recon, i, frame, frame + luma, frame + luma + luma / 4);
        uint64_t sum = check_frame_sum(frame, luma * 3 / 2);
        if (compare && err == 0 && sum != p->sums[i]) {
            printf("checkgpu: MISMATCH picture %" PRIu32 " of the clip, type %c\n", i, p->types[i]);
            err = -1;
        }
        p->sums[i] = sum;
    }
    free(frame);
    return err;
}

static void print_passes(const double *before, const double *after, double pictures)
{
    for (uint32_t i = 0; i < recon_pass_count; i++)
        if (after[i] > before[i])
            printf("    %-34s %8.2f\n", recon_passes[i].name,
                   1e6 * (after[i] - before[i]) / pictures);
}

/* Batches of pictures of `list`, `width` at a time, round and round. */
static int measure(struct replay *p, const char *what, const uint32_t *list, uint32_t n,
                   uint32_t width, bool passes)
{
    struct recon_times before, after;
    double passes_before[RECON_MAX_PASSES], passes_after[RECON_MAX_PASSES];
    uint32_t batches = (n + width - 1) / width, at = 0, batch[REPLAY_WIDTH];
    uint64_t ticket = 0;
    int err = 0;
    batches = batches < BATCHES ? BATCHES : batches;
    for (uint32_t i = 0; i < 4 + batches && err == 0; i++) { /* four to warm up */
        if (i == 4) {
            err = recon_wait(p->recon, ticket, UINT64_MAX);
            recon_times(p->recon, &before);
            recon_pass_times(p->recon, passes_before);
        }
        for (uint32_t k = 0; k < width; k++, at = (at + 1) % n)
            batch[k] = list[at];
        if (err == 0)
            err = submit(p, batch, width, &ticket);
    }
    if (err == 0)
        err = recon_wait(p->recon, ticket, UINT64_MAX);
    recon_times(p->recon, &after);
    recon_pass_times(p->recon, passes_after);
    printf("%-3s x%-2" PRIu32 " of %-3" PRIu32, what, width, n);
    double total = 0, pictures = (double)batches * width;
    for (int s = 0; s < RECON_STAGES - 1; s++) {
        double us = 1e6 * (after.seconds[s] - before.seconds[s]) / pictures;
        printf("  %s %7.2f", stages[s], us);
        total += us;
    }
    printf("  all %7.2f us a picture\n", total);
    if (passes)
        print_passes(passes_before, passes_after, pictures);
    fflush(stdout);
    return err;
}

static uint32_t choose(const struct replay *p, const char *types, uint32_t *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (strchr(types, p->types[i]))
            list[n++] = i;
    return n;
}

/* As pictures of many streams meet: in random order. */
static void shuffle(struct check_env *env, uint32_t *list, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = check_random(env, i), other = list[i - 1];
        list[i - 1] = list[k];
        list[k] = other;
    }
}

static int measure_all(struct replay *p, uint32_t width, bool passes)
{
    static const char *const kinds[] = {"I", "P", "B", "PB", "IPB"};
    uint32_t list[REPLAY_PICTURES];
    int err = 0;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && err == 0; k++) {
        uint32_t n = choose(p, kinds[k], list);
        if (kinds[k][1])
            shuffle(p->env, list, n);
        if (n)
            err = measure(p, kinds[k], list, n, width, passes && !strcmp(kinds[k], "PB"));
    }
    return err;
}

static int flow(struct replay *p, uint32_t width)
{
    if (p->beside)
        check_beside_rate(p->beside);
    uint32_t list[REPLAY_PICTURES], n = choose(p, "IPB", list);
    shuffle(p->env, list, n);
    const struct check_clip clip = {.views = p->views, .order = list, .sums = p->sums, .count = n};
    int err = check_flow(p->env->gpu, p->recon, width, &clip);
    if (p->beside)
        printf("  beside it %.0f pictures/s of entropy decoding, %u batches\n",
               check_beside_rate(p->beside), p->env->beside);
    return err;
}

static int replay(struct replay *p, uint32_t widest, int wavefront)
{
    const struct rec_picture *h = &p->views[0].head;
    int err = 0;
    for (uint32_t width = 1; width <= widest && err == 0;
         width = width < 4 ? width * 4 : width * 2) {
        struct recon_params params = {.mb_width = h->mb_width,
                                      .mb_height = h->mb_height,
                                      .chroma_format_idc = 1,
                                      .bit_depth = {8, 8},
                                      .slots = p->count,
                                      .width = 2 * width,
                                      .wavefront = (uint8_t)wavefront,
                                      .flight = (uint32_t)p->env->flight};
        uint64_t ticket = 0;
        err = recon_create(p->env->gpu, &params, &p->recon);
        for (uint32_t i = 0; i < p->count && err == 0; i++)
            err = submit(p, &i, 1, &ticket);
        if (err == 0)
            err = recon_wait(p->recon, ticket, UINT64_MAX);
        if (err == 0)
            err = sum_frames(p, width > 1);
        if (err == 0)
            err = p->env->flow ? flow(p, width) : measure_all(p, width, width == 1 || width == 32);
        if (err == 0)
            err = sum_frames(p, true);
        recon_free(p->recon);
        p->recon = NULL;
    }
    return err;
}

int check_replay(struct check_env *env, const char *path, uint32_t widest, uint32_t most)
{
    struct replay *p = calloc(1, sizeof(*p));
    size_t size = 0;
    uint8_t *data = read_file(path, &size);
    int err = -1;
    if (!p || !data) {
        printf("checkgpu: cannot read %s\n", path);
        goto end;
    }
    p->env = env;
    p->most = most && most < REPLAY_PICTURES ? most : REPLAY_PICTURES;
    p->allocator = (struct h264_allocator){.get = arena_get, .put = arena_put, .ctx = p};
    p->capabilities = (struct h264_capabilities){.chroma_formats = 1 << 1, .max_bit_depth = {8, 8}};
    struct h264_stream_params params = {.capabilities = &p->capabilities,
                                        .allocator = &p->allocator};
    p->scratch = h264_scratch_create();
    if (!p->scratch || h264_stream_create(&params, &p->stream) < 0 ||
        decode_clip(p, data, size) < 0 || !p->count)
        goto end;
    if (env->flow && env->beside &&
        (err = check_beside_start(env, path, env->beside, &p->beside)) != 0)
        goto end;
    err = replay(p, widest > REPLAY_WIDTH ? REPLAY_WIDTH : widest, env->wavefront);
    if (err < -1)
        printf("checkgpu: %s\n", gpu_error_text(err));
end:
    free(data);
    if (p) {
        if (check_beside_stop(p->beside))
            err = -1;
        for (uint32_t i = 0; i < p->count; i++)
            h264_picture_unref(p->pictures[i]);
        h264_stream_free(p->stream);
        h264_scratch_free(p->scratch);
        for (unsigned i = 0; i < p->arena_count; i++)
            gpu_arena_free(p->arenas[i]);
        free(p);
    }
    return err < 0 ? -1 : 0;
}
