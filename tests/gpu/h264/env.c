/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame stores on the device and in memory, and the comparison of a batch.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double check_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint32_t check_random(struct check_env *env, uint32_t n)
{
    /* xorshift64* */
    env->random ^= env->random >> 12;
    env->random ^= env->random << 25;
    env->random ^= env->random >> 27;
    return (uint32_t)(((env->random * 0x2545f4914f6cdd1du) >> 32) * n >> 32);
}

int check_range(struct check_env *env, int lo, int hi)
{
    return lo + (int)check_random(env, (uint32_t)(hi - lo + 1));
}

bool check_chance(struct check_env *env, int percent)
{
    return (int)check_random(env, 100) < percent;
}

void check_close(struct check_env *env)
{
    for (int i = 0; i < CHECK_KINDS; i++) {
        recon_free(env->recons[i]);
        env->recons[i] = NULL;
    }
    for (int i = 0; i < CHECK_SLOTS; i++) {
        ref_frame_free(env->frames[i]);
        ref_frame_free(env->unfiltered[i]);
        env->frames[i] = env->unfiltered[i] = NULL;
    }
    for (int i = 0; i < 3; i++) {
        free(env->got[i]);
        env->got[i] = NULL;
    }
}

/* As the slots of a new store are. */
static void frame_grey(const struct check_env *env, struct ref_frame *f)
{
    for (int c = 0; c < (f->chroma_format_idc ? 3 : 1); c++) {
        size_t samples =
            (size_t)f->stride[c] * env->mb_height * ref_mb_height(f->chroma_format_idc, c);
        for (size_t i = 0; i < samples; i++)
            f->plane[c][i] =
                (uint16_t)(1u << (env->format.bit_depth[c && !env->format.separate_planes] - 1));
    }
}

/* A batch with more coefficients than usual would be split, and its unfiltered layers used twice:
 * room for four times as many.
 */
static int open_stores(struct check_env *env)
{
    for (int i = 0; i < CHECK_KINDS; i++) {
        if (env->wavefront && env->wavefront != i + 1)
            continue;
        struct recon_params params = {
            .mb_width = env->mb_width,
            .mb_height = env->mb_height,
            .chroma_format_idc = env->format.chroma_format_idc,
            .bit_depth = {env->format.bit_depth[0], env->format.bit_depth[1]},
            .interlaced = env->format.interlaced,
            .separate_planes = env->format.separate_planes,
            .slots = env->refs + env->width,
            .width = 4 * env->width,
            .wavefront = (uint8_t)(i + 1)};
        int err = recon_create(env->gpu, &params, &env->recons[i]);
        if (err < 0) {
            printf("checkgpu: recon_create: %s\n", gpu_error_text(err));
            return -1;
        }
    }
    for (uint32_t i = 0; i < env->refs + env->width; i++) {
        env->frames[i] =
            ref_frame_create(env->mb_width, env->mb_height, env->format.chroma_format_idc);
        env->unfiltered[i] =
            ref_frame_create(env->mb_width, env->mb_height, env->format.chroma_format_idc);
        if (!env->frames[i] || !env->unfiltered[i])
            return -1;
        frame_grey(env, env->frames[i]);
    }
    for (int i = 0; i < 3; i++) {
        env->got[i] = malloc((size_t)env->mb_width * env->mb_height * 512);
        if (!env->got[i])
            return -1;
    }
    return 0;
}

int check_open(struct check_env *env, uint32_t mb_width, uint32_t mb_height, uint32_t refs,
               uint32_t width)
{
    env->mb_width = mb_width;
    env->mb_height = mb_height;
    env->refs = refs;
    env->width = width;
    if (open_stores(env) < 0)
        return -1;
    uint32_t planes = env->format.separate_planes ? 3 : 1;
    /* references come to the device as I_PCM pictures */
    for (uint32_t i = 0; i < refs * planes; i++) {
        env->colour_plane = (uint8_t)(i % planes);
        struct check_picture *p = check_picture_create(env, 0, 1);
        if (!p)
            return -1;
        p->view.head.slot = i / planes;
        for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++)
            check_mb_pcm(env, p, addr);
        if (check_run(env, &p, 1) < 0)
            return -1;
    }
    return 0;
}

static void describe_mb(const struct rec_view *v, uint32_t addr)
{
    const struct rec_mb *m = &v->mbs[addr];
    const struct rec_motion *o = &v->motion[addr];
    const struct rec_slice *s = &v->slices[m->slice];
    printf("  kind %u flags %u coded %04x %04x %04x qp %d %d %d avail %u deblock %u nonzero %04x "
           "modes %08x %08x chroma mode %u\n",
           m->kind, m->flags, m->coded[0], m->coded[1], m->coded[2], m->qp[0], m->qp[1], m->qp[2],
           m->intra_avail, m->deblock, m->nonzero, m->intra_mode[0], m->intra_mode[1],
           m->intra_chroma_mode);
    printf("  slice %u: weight mode %u, offsets %d %d\n", m->slice, s->weight_mode,
           s->filter_offset_a, s->filter_offset_b);
    for (int list = 0; list < 2 && m->kind == REC_MB_INTER; list++) {
        printf("  list %d: ref_idx %d %d %d %d mv", list, o->ref_idx[list][0], o->ref_idx[list][1],
               o->ref_idx[list][2], o->ref_idx[list][3]);
        for (int b = 0; b < 16; b++)
            printf(" %d,%d", o->mv[list][b][0], o->mv[list][b][1]);
        printf("\n");
    }
}

static uint16_t got_sample(const struct check_env *env, int c, size_t at)
{
    bool wide = env->format.bit_depth[0] > 8 || env->format.bit_depth[1] > 8;
    return wide ? ((const uint16_t *)env->got[c])[at] : ((const uint8_t *)env->got[c])[at];
}

/* The macroblock of row y of the frame; rows of other fields do not come here. */
static uint32_t mb_of(const struct rec_view *v, uint32_t column, uint32_t y, uint32_t height)
{
    uint32_t row = y / height;
    if (v->head.structure != REC_FRAME)
        row = y / 2 / height;
    else if (v->head.mbaff &&
             (v->mbs[(row & ~1u) * v->head.mb_width + column].flags & REC_MB_FIELD))
        row = (row & ~1u) + (y & 1);
    return row * v->head.mb_width + column;
}

/* Compare what is in env->got with the plane and the rows of a frame of the reference that the
 * picture writes. compact: rows of a field and a plane of its own come without others between them.
 */
static int compare(struct check_env *env, const struct check_picture *p,
                   const struct ref_frame *want, bool compact, int kind, uint32_t index)
{
    const struct rec_picture *h = &p->view.head;
    const char *what = compact ? "unfiltered" : "filtered";
    uint32_t step = h->structure == REC_FRAME ? 1 : 2, first = h->structure == REC_BOTTOM;
    for (int c = 0; c < (h->chroma_format_idc ? 3 : 1); c++) {
        int plane = c + h->colour_plane;
        uint32_t size = ref_mb_width(h->chroma_format_idc, c),
                 rows = ref_mb_height(h->chroma_format_idc, c);
        uint32_t width = env->mb_width * size, height = env->mb_height * rows;
        for (uint32_t y = first; y < height; y += step) {
            for (uint32_t x = 0; x < width; x++) {
                uint16_t expected = want->plane[plane][(size_t)y * want->stride[plane] + x];
                uint16_t got = got_sample(env, compact ? c : plane,
                                          (size_t)(compact ? y / step : y) * width + x);
                if (got == expected)
                    continue;
                uint32_t addr = mb_of(&p->view, x / size, y, rows);
                printf("checkgpu: MISMATCH group %s seed %" PRIu64
                       " batch %lu picture %u (%s, wavefront %d, %ux%u macroblocks): macroblock %u "
                       "plane %d at %u,%u (in it %u,%u): want %u, got %u\n",
                       env->group, env->seed, env->batches, index, what, kind + 1, env->mb_width,
                       env->mb_height, addr, c, x, y, x % size, y % rows, expected, got);
                printf("  structure %u mbaff %u chroma_format_idc %u plane %u, %u and %u bits\n",
                       h->structure, h->mbaff, h->chroma_format_idc, h->colour_plane,
                       h->bit_depth[0], h->bit_depth[1]);
                describe_mb(&p->view, addr);
                return -1;
            }
        }
    }
    return 0;
}

static bool slot_named(const struct recon_delivery *deliveries, uint32_t count, uint32_t slot)
{
    for (uint32_t i = 0; i < count; i++)
        if (deliveries[i].slot == slot)
            return true;
    return false;
}

/* any: packed levels may be anything. */
static int submit_kind(struct check_env *env, struct check_picture **pictures, uint32_t n, int kind,
                       bool any)
{
    struct recon_picture jobs[CHECK_SLOTS] = {0};
    struct rec_view views[CHECK_SLOTS];
    uint32_t *packed[CHECK_SLOTS];
    struct recon_delivery deliveries[CHECK_SLOTS] = {0};
    struct recon *r = env->recons[kind];
    uint64_t ticket = 0;
    uint32_t m = 0;
    if (env->rows)
        return check_submit_rows(env, r, pictures[0]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = pictures[i]->view.head.slot;
        packed[i] = check_pack(env, pictures[i], any, &views[i]);
        jobs[i] = (struct recon_picture){.view = &views[i], .slot = slot};
        if (env->host && !slot_named(deliveries, m, slot))
            check_delivery(env, slot, &deliveries[m++]);
    }
    int err = recon_submit(r, jobs, n, deliveries, m, &ticket);
    err = err == 0 ? recon_wait(r, ticket, UINT64_MAX) : err;
    for (uint32_t i = 0; i < n; i++)
        free(packed[i]);
    return err;
}

/* A slot to env->got. */
static int slot_load(struct check_env *env, uint32_t slot, int kind)
{
    return env->host
               ? check_host_load(env, slot)
               : recon_read_slot(env->recons[kind], slot, env->got[0], env->got[1], env->got[2]);
}

static int run_kind(struct check_env *env, struct check_picture **pictures, uint32_t n, int kind)
{
    struct recon *r = env->recons[kind];
    uint32_t loaded = UINT32_MAX;
    int err = submit_kind(env, pictures, n, kind, false);
    for (uint32_t i = 0; i < n && err == 0; i++) {
        uint32_t slot = pictures[i]->view.head.slot;
        if (!env->host)
            err = recon_read_work(r, i, env->got[0], env->got[1], env->got[2]);
        if (err == 0 && !env->host &&
            compare(env, pictures[i], env->unfiltered[i], true, kind, i) < 0)
            return -1;
        if (err == 0 && (!env->host || slot != loaded))
            err = slot_load(env, slot, kind);
        loaded = slot;
        if (err == 0 && compare(env, pictures[i], env->frames[slot], false, kind, i) < 0)
            return -1;
    }
    if (err)
        printf("checkgpu: group %s: %s\n", env->group, gpu_error_text(err));
    return err ? -1 : 0;
}

void check_finish_head(struct check_picture *p)
{
    struct rec_picture *h = &p->view.head;
    h->has_intra = h->has_inter = h->has_deblock = 0;
    for (uint32_t i = 0; i < h->mb_count; i++) {
        h->has_intra |= p->mbs[i].kind != REC_MB_INTER;
        h->has_inter |= p->mbs[i].kind == REC_MB_INTER;
        h->has_deblock |= p->mbs[i].deblock != 0;
    }
}

static int reference(struct check_env *env, struct check_picture **pictures, uint32_t n)
{
    const char *reason = NULL;
    for (uint32_t i = 0; i < n; i++) {
        check_finish_head(pictures[i]);
        if (records_validate(&pictures[i]->view, env->refs + env->width, &reason) < 0) {
            printf("checkgpu: group %s seed %" PRIu64
                   " batch %lu: built records are not valid: %s\n",
                   env->group, env->seed, env->batches, reason ? reason : "?");
            return -1;
        }
        if (ref_reconstruct(&pictures[i]->view, env->frames, env->refs + env->width,
                            env->unfiltered[i]) < 0) {
            printf("checkgpu: group %s: the reference refuses a picture\n", env->group);
            return -1;
        }
        env->mbs += pictures[i]->view.head.mb_count;
    }
    env->pictures += n;
    return 0;
}

int check_run(struct check_env *env, struct check_picture **pictures, uint32_t n)
{
    int result = reference(env, pictures, n);
    for (int kind = 0; kind < CHECK_KINDS && result == 0; kind++)
        if (env->recons[kind])
            result = run_kind(env, pictures, n, kind);
    for (uint32_t i = 0; i < n; i++)
        check_picture_free(pictures[i]);
    env->batches++;
    return result;
}

int check_submit(struct check_env *env, struct check_picture **pictures, uint32_t n)
{
    int err = 0;
    for (int kind = 0; kind < CHECK_KINDS && err == 0; kind++) {
        if (!env->recons[kind])
            continue;
        err = submit_kind(env, pictures, n, kind, true);
        for (uint32_t i = 0; env->host && i < n && err == 0; i++)
            err = check_host_load(env, pictures[i]->view.head.slot);
    }
    for (uint32_t i = 0; i < n; i++)
        check_picture_free(pictures[i]);
    if (err)
        printf("checkgpu: group %s: %s\n", env->group, gpu_error_text(err));
    return err ? -1 : 0;
}

static bool slot_equals(const struct check_env *env, const struct ref_frame *want)
{
    for (int c = 0; c < (want->chroma_format_idc ? 3 : 1); c++) {
        uint32_t width = env->mb_width * ref_mb_width(want->chroma_format_idc, c),
                 height = env->mb_height * ref_mb_height(want->chroma_format_idc, c);
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++)
                if (got_sample(env, c, (size_t)y * width + x) !=
                    want->plane[c][(size_t)y * want->stride[c] + x])
                    return false;
    }
    return true;
}

/* Without pictures: only deliveries. */
static int slots_deliver(struct check_env *env, int kind)
{
    struct recon_delivery deliveries[CHECK_SLOTS];
    uint32_t count = env->refs + env->width;
    uint64_t ticket = 0;
    for (uint32_t slot = 0; slot < count; slot++)
        check_delivery(env, slot, &deliveries[slot]);
    int err = recon_submit(env->recons[kind], NULL, 0, deliveries, count, &ticket);
    return err == 0 ? recon_wait(env->recons[kind], ticket, UINT64_MAX) : err;
}

static int slots_of_kind(struct check_env *env, int kind)
{
    int err = env->host ? slots_deliver(env, kind) : 0;
    for (uint32_t slot = 0; slot < env->refs + env->width; slot++) {
        if (err == 0)
            err = slot_load(env, slot, kind);
        if (err == 0 && slot_equals(env, env->frames[slot]))
            continue;
        printf("checkgpu: MISMATCH slot %u at the end, wavefront %d: %s\n", slot, kind + 1,
               gpu_error_text(err));
        return -1;
    }
    return 0;
}

int check_slots(struct check_env *env)
{
    int result = 0;
    for (int kind = 0; kind < CHECK_KINDS && result == 0; kind++)
        if (env->recons[kind])
            result = slots_of_kind(env, kind);
    return result;
}

int check_uncovered(struct check_env *env, const char *what, unsigned a, unsigned b, unsigned c)
{
    printf("checkgpu: group %s seed %" PRIu64 ": no input for %s %u %u %u\n", env->group, env->seed,
           what, a, b, c);
    return -1;
}

void check_print_words(const char *what, const void *data, size_t bytes)
{
    const uint8_t *words = data;
    printf("  %s", what);
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word;
        memcpy(&word, words + i, sizeof(word));
        printf(" %08x", word);
    }
    printf("\n");
}
