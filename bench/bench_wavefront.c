/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The passes of reconstruction whose macroblocks wait for each other, as the pipeline runs them
 * (gpu/h264/recon.h): a dispatch per diagonal of macroblocks against one persistent dispatch with
 * tickets; for deblocking also columns, which need no wavefront but in MBAFF frames. Whole pictures
 * are compared with the reference; the time is that of one pass, of all pictures of a batch, by the
 * pipeline's own timestamps.
 */
#include "bench/kernel_bench.h"
#include "bench/wavefront_pictures.h"
#include "gpu/h264/recon.h"
#include "reference/recon_ref.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISTINCT   2u /* pictures that differ; a batch repeats them */
#define MOST       128u
#define MBAFF      1u /* of param */
#define DEBLOCK    2u
#define DIAGONALS  0u /* recon_params.wavefront 1 */
#define PERSISTENT 4u /* 2 */

#define PASS(label, flags)                                                                         \
    {                                                                                              \
        .name = label, .formats = 1u << KERNEL_YUV420, .hosted = true, .param = flags              \
    }
static const struct kernel_variant variants[] = {
    PASS("intra-diagonal", DIAGONALS),
    PASS("intra-persistent", PERSISTENT),
    PASS("intra-mbaff-diagonal", MBAFF | DIAGONALS),
    PASS("intra-mbaff-persistent", MBAFF | PERSISTENT),
    PASS("deblock-columns", DEBLOCK | PERSISTENT),
    PASS("deblock-mbaff-diagonal", MBAFF | DEBLOCK | DIAGONALS),
    PASS("deblock-mbaff-persistent", MBAFF | DEBLOCK | PERSISTENT),
};

#define ONE(n)                                                                                     \
    {                                                                                              \
        .width = 1920, .height = 1088, .format = KERNEL_YUV420, .pictures = n                      \
    }
static const struct kernel_case cases[] = {ONE(1),  ONE(2),  ONE(4),  ONE(8),
                                           ONE(16), ONE(32), ONE(64), ONE(128)};

/* Of the case: pictures and what the reference makes of them, [mbaff]. */
struct wavefronts {
    struct wavefront_picture pictures[2][DISTINCT];
    struct ref_frame *frames[2][DISTINCT];
    bool made[2][DISTINCT];
};

static uint32_t distinct(const struct kernel_case *c)
{
    return c->pictures < DISTINCT ? c->pictures : DISTINCT;
}

static bool has_pairs(const struct kernel_case *c)
{
    return c->height % 32 == 0;
}

static uint64_t traffic(const struct kernel_case *c)
{
    return 3ull * c->width * c->height * c->pictures;
}

static void forget_one(struct wavefronts *w, bool mbaff, uint32_t index)
{
    wavefront_picture_free(&w->pictures[mbaff][index]);
    ref_frame_free(w->frames[mbaff][index]);
    w->frames[mbaff][index] = NULL;
}

static void forget(struct kernel_data *d)
{
    struct wavefronts *w = d->reference;
    for (uint32_t i = 0; w && i < 2 * DISTINCT; i++)
        forget_one(w, i / DISTINCT, i % DISTINCT);
    free(w);
    d->reference = NULL;
}

static int reference_of(const struct kernel_case *c, bool mbaff, uint32_t index, uint64_t *random,
                        struct wavefronts *w)
{
    uint32_t across = c->width / 16, down = c->height / 16;
    struct wavefront_picture *p = &w->pictures[mbaff][index];
    struct ref_frame *unfiltered = ref_frame_create(across, down, 1);
    forget_one(w, mbaff, index); /* what an attempt without memory has left */
    w->frames[mbaff][index] = ref_frame_create(across, down, 1);
    int err = GPU_ERR_NOMEM;
    if (unfiltered && w->frames[mbaff][index] &&
        wavefront_picture_create(across, down, mbaff, random, p))
        err = ref_reconstruct(&p->view, &w->frames[mbaff][index], 1, unfiltered) < 0
                  ? GPU_ERR_INVALID
                  : GPU_OK;
    ref_frame_free(unfiltered);
    w->made[mbaff][index] = err == GPU_OK;
    return err;
}

static int reference(const struct kernel_case *c, struct kernel_data *d)
{
    d->reference = calloc(1, sizeof(struct wavefronts));
    return d->reference ? GPU_OK : GPU_ERR_NOMEM;
}

/* Pictures of a kind are made when the first variant asks for them. */
static int make_pictures(struct kernel_bench *b, bool mbaff)
{
    struct wavefronts *w = b->data.reference;
    int err = GPU_OK;
    for (uint32_t i = 0; i < distinct(&b->c) && err == GPU_OK; i++)
        if (!w->made[mbaff][i])
            err = reference_of(&b->c, mbaff, i, &b->data.random, w);
    return err;
}

static double count_wrong(const struct ref_frame *want, int component, const uint8_t *got)
{
    uint32_t width = want->width >> (component > 0), height = want->height >> (component > 0);
    double wrong = 0;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            wrong += got[y * width + x] != want->plane[component][y * want->stride[component] + x];
    return wrong;
}

/* The first and the last picture of a batch. */
static int check(struct kernel_bench *b, struct recon *r, bool mbaff, double *wrong)
{
    const struct wavefronts *w = b->data.reference;
    uint64_t samples = (uint64_t)b->c.width * b->c.height;
    uint8_t *got = malloc(samples / 2 * 3);
    int err = got ? GPU_OK : GPU_ERR_NOMEM;
    double sum = 0;
    for (uint32_t slot = 0; slot < b->c.pictures && err == GPU_OK;
         slot += b->c.pictures > 1 ? b->c.pictures - 1 : 1) {
        err = recon_read_slot(r, slot, got, got + samples, got + samples / 4 * 5);
        for (int i = 0; i < 3 && err == GPU_OK; i++)
            sum += count_wrong(w->frames[mbaff][slot % DISTINCT], i,
                               got + (i == 0   ? 0
                                      : i == 1 ? samples
                                               : samples / 4 * 5));
    }
    free(got);
    *wrong = sum;
    return err;
}

static int submit(struct recon *r, const struct recon_picture *jobs, uint32_t n, uint32_t rounds,
                  enum recon_stage stage, double *seconds)
{
    struct recon_times before, after;
    uint64_t ticket = 0;
    int err = GPU_OK;
    recon_times(r, &before);
    for (uint32_t i = 0; i < rounds && err == GPU_OK; i++)
        err = recon_submit(r, jobs, n, NULL, 0, &ticket);
    if (err == GPU_OK)
        err = recon_wait(r, ticket, UINT64_MAX);
    recon_times(r, &after);
    *seconds = (after.seconds[stage] - before.seconds[stage]) / rounds;
    return err;
}

struct batches {
    struct recon *r;
    const struct recon_picture *jobs;
    uint32_t n, times;
    enum recon_stage stage;
};

static int run_batches(void *ctx, double *seconds)
{
    const struct batches *t = ctx;
    return submit(t->r, t->jobs, t->n, t->times, t->stage, seconds);
}

static int run(struct kernel_bench *b, struct recon *r, uint32_t flags, struct kernel_result *out,
               char why[KERNEL_WHY])
{
    const struct wavefronts *w = b->data.reference;
    struct rec_view views[MOST];
    struct recon_picture jobs[MOST];
    struct kernel_result result = {.bytes = traffic(&b->c), .runs = 1};
    double unused;
    for (uint32_t i = 0; i < b->c.pictures; i++) {
        views[i] = w->pictures[flags & MBAFF ? 1 : 0][i % DISTINCT].view;
        views[i].head.slot = i;
        jobs[i] = (struct recon_picture){.view = &views[i], .slot = i};
    }
    enum recon_stage stage = flags & DEBLOCK ? RECON_DEBLOCK : RECON_INTRA;
    int err = submit(r, jobs, b->c.pictures, 1, stage, &unused);
    if (err == GPU_OK && b->rounds)
        err =
            kernel_steady(b, run_batches, &(struct batches){r, jobs, b->c.pictures, 1, stage},
                          &(struct batches){r, jobs, b->c.pictures, b->rounds, stage}, 1, &result);
    if (err == GPU_OK)
        err = check(b, r, flags & MBAFF, &result.error);
    if (err < 0)
        return err;
    *out = result;
    if (result.error > 0) {
        snprintf(why, KERNEL_WHY, "%g samples differ from the reference", result.error);
        return GPU_ERR_INVALID;
    }
    return GPU_OK;
}

static int host(struct kernel_bench *b, const struct kernel_variant *v, struct kernel_result *out,
                char why[KERNEL_WHY])
{
    struct recon *r = NULL;
    struct recon_params params = {.mb_width = b->c.width / 16,
                                  .mb_height = b->c.height / 16,
                                  .chroma_format_idc = 1,
                                  .bit_depth = {8, 8},
                                  .interlaced = v->param & MBAFF,
                                  .slots = b->c.pictures,
                                  .width = b->c.pictures,
                                  .wavefront = v->param & PERSISTENT ? 2 : 1};
    if ((v->param & MBAFF) && !has_pairs(&b->c)) {
        snprintf(why, KERNEL_WHY, "MBAFF frames are of pairs of macroblocks");
        return 1;
    }
    int err = make_pictures(b, v->param & MBAFF);
    if (err == GPU_OK)
        err = recon_create(b->g, &params, &r);
    if (err == GPU_OK && recon_width(r) < b->c.pictures) {
        snprintf(why, KERNEL_WHY, "the device takes batches of %u such pictures", recon_width(r));
        err = 1;
    }
    if (err == GPU_OK)
        err = run(b, r, v->param, out, why);
    recon_free(r);
    return err;
}

const struct kernel_family kernel_wavefront = {
    .name = "wavefront",
    .variants = variants,
    .variant_count = sizeof(variants) / sizeof(*variants),
    .cases = cases,
    .case_count = sizeof(cases) / sizeof(*cases),
    .quick = ONE(4),
    .axis = KERNEL_AXIS_PICTURES,
    .whole_blocks = true,
    .traffic = traffic,
    .reference = reference,
    .forget = forget,
    .host = host,
};
