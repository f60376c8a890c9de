/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Group convert: deliveries that crop, scale and convert, against the slow reference, byte for
 * byte. Stores, crops, fields, blurred rectangles, sizes, filters, formats and types are random. No
 * picture is reconstructed. Bytes behind the rows must not change.
 */
#include "gpu/h264/recon_internal.h"
#include "reference/ref_blur.h"
#include "tests/convert/conversion_cases.h"
#include "tests/gpu/h264/checkgpu.h"

#include <sys/mman.h>

#define STORES     4
#define ROUNDS     4
#define TOGETHER   3 /* deliveries of a batch */
#define HOST_BYTES (8u << 20)
#define UNTOUCHED  0xa5

struct convert_store {
    struct recon_params params;
    struct recon *recon;
    uint32_t width[3], height[3];
    uint16_t *plane[3];
};

struct convert_one {
    struct conversion_case k;
    struct conversion *conversion;
    struct conversion_case_output out;
    struct recon_delivery delivery;
};

static bool store_wide(const struct convert_store *s)
{
    return s->params.bit_depth[0] > 8 || s->params.bit_depth[1] > 8;
}

/* Noise, with runs of one value, so that filters overshoot. */
static int store_paint(struct convert_store *s, struct conversion_case *k)
{
    uint8_t *bytes[3] = {NULL, NULL, NULL};
    for (int p = 0; p < (s->params.chroma_format_idc ? 3 : 1); p++) {
        size_t count = (size_t)s->width[p] * s->height[p];
        uint32_t top = 1u << s->params.bit_depth[p > 0], value = 0;
        s->plane[p] = malloc(2 * count);
        bytes[p] = malloc(2 * count);
        for (size_t i = 0; i < count; i++) {
            if (conversion_case_below(k, 3))
                value = conversion_case_below(k, 4) ? conversion_case_below(k, top) : top - 1;
            s->plane[p][i] = (uint16_t)value;
            if (store_wide(s))
                memcpy(bytes[p] + 2 * i, &s->plane[p][i], 2);
            else
                bytes[p][i] = (uint8_t)value;
        }
    }
    int err = recon_write_slot(s->recon, 0, bytes[0], bytes[1], bytes[2]);
    for (int p = 0; p < 3; p++)
        free(bytes[p]);
    return err;
}

static int store_open(struct check_env *env, struct convert_store *s, struct conversion_case *k)
{
    uint8_t depth = conversion_case_below(k, 2) ? 8 : (uint8_t)(8 + conversion_case_below(k, 7));
    *s =
        (struct convert_store){.params = {.mb_width = 1 + conversion_case_below(k, 7),
                                          .mb_height = 2 + 2 * conversion_case_below(k, 2),
                                          .chroma_format_idc = (uint8_t)conversion_case_below(k, 4),
                                          .bit_depth = {depth, depth},
                                          .interlaced = conversion_case_below(k, 2),
                                          .slots = 1,
                                          .width = 1}};
    for (int p = 0; p < 3; p++) {
        uint8_t format = s->params.chroma_format_idc;
        s->width[p] = 16 * s->params.mb_width / (p && format < 3 ? 2 : 1);
        s->height[p] = 16 * s->params.mb_height / (p && format == 1 ? 2 : 1);
    }
    int err = recon_create(env->gpu, &s->params, &s->recon);
    return err < 0 ? err : store_paint(s, k);
}

static void store_close(struct convert_store *s)
{
    recon_free(s->recon);
    for (int p = 0; p < 3; p++)
        free(s->plane[p]);
}

/* The planes of the picture that the delivery cuts out. */
static void case_cut(const struct convert_store *s, struct convert_one *o)
{
    const struct recon_delivery *d = &o->delivery;
    struct conversion_case *k = &o->k;
    uint32_t step = d->structure ? 2 : 1, first = d->structure == REC_BOTTOM;
    for (int p = 0; p < (s->params.chroma_format_idc ? 3 : 1); p++) {
        uint32_t sx = p && s->params.chroma_format_idc < 3,
                 sy = p && s->params.chroma_format_idc == 1;
        k->width[p] = (d->width + sx) >> sx;
        k->height[p] = (d->height + sy) >> sy;
        k->plane[p] = malloc(2 * (size_t)k->width[p] * k->height[p]);
        for (uint32_t y = 0; y < k->height[p]; y++)
            memcpy(k->plane[p] + (size_t)y * k->width[p],
                   s->plane[p] + (((d->crop_y >> sy) + y) * step + first) * (size_t)s->width[p] +
                       (d->crop_x >> sx),
                   2 * (size_t)k->width[p]);
    }
}

static void case_blur(const struct convert_store *s, struct convert_one *o)
{
    struct recon_delivery *d = &o->delivery;
    struct ref_rect rects[RECON_BLURS];
    d->blur_count = conversion_case_below(&o->k, 3) ? 0 : 1 + conversion_case_below(&o->k, 3);
    for (uint32_t i = 0; i < d->blur_count; i++) {
        rects[i] = (struct ref_rect){conversion_case_below(&o->k, d->width),
                                     conversion_case_below(&o->k, d->height),
                                     1 + conversion_case_below(&o->k, d->width),
                                     1 + conversion_case_below(&o->k, d->height)};
        d->blur[i] = (struct recon_rect){rects[i].x, rects[i].y, rects[i].width, rects[i].height};
    }
    for (int p = 0; p < (s->params.chroma_format_idc ? 3 : 1) && d->blur_count; p++) {
        const struct ref_blur_plane plane = {.width = o->k.width[p],
                                             .height = o->k.height[p],
                                             .shift_x = p && s->params.chroma_format_idc < 3,
                                             .shift_y = p && s->params.chroma_format_idc == 1,
                                             .picture_width = d->width,
                                             .picture_height = d->height,
                                             .woven = s->params.interlaced && !d->structure};
        uint16_t *blurred = malloc(2 * (size_t)plane.width * plane.height);
        ref_blur(&plane, rects, d->blur_count, o->k.plane[p], blurred);
        free(o->k.plane[p]);
        o->k.plane[p] = blurred;
    }
}

/* A picture of the store's slot, and a wish for it. */
static bool case_make(const struct convert_store *s, struct convert_one *o, char why[160])
{
    static const enum recon_format formats[4] = {RECON_GRAY, RECON_I420, RECON_I422, RECON_I444};
    struct conversion_case *k = &o->k;
    struct recon_delivery *d = &o->delivery;
    *d = (struct recon_delivery){.format = formats[s->params.chroma_format_idc]};
    if (s->params.interlaced)
        d->structure = (uint8_t)conversion_case_below(k, 3);
    d->crop_x = 2 * conversion_case_below(k, 6);
    d->crop_y = 2 * conversion_case_below(k, 3);
    d->width = s->width[0] - d->crop_x - conversion_case_below(k, 5);
    d->height = s->height[0] / (d->structure ? 2 : 1) - d->crop_y - conversion_case_below(k, 5);
    case_cut(s, o);
    case_blur(s, o);
    static const uint8_t matrices[] = {0, 1, 2, 4, 5, 7, 8, 9};
    k->source =
        (struct conversion_source){.width = d->width,
                                   .height = d->height,
                                   .chroma = s->params.chroma_format_idc,
                                   .depth = {s->params.bit_depth[0], s->params.bit_depth[1]},
                                   .matrix = matrices[conversion_case_below(k, 8)],
                                   .siting = (uint8_t)conversion_case_below(k, 7),
                                   .full_range = conversion_case_below(k, 2)};
    conversion_case_wish(k, 72);
    o->conversion = conversion_create(&k->source, &k->wish, why);
    if (!o->conversion)
        return false;
    conversion_case_room(o->conversion, &o->out);
    d->conversion = o->conversion;
    return true;
}

/* Bytes of the rows' padding, but for the last word of values. */
static bool gaps_changed(const struct convert_one *o)
{
    for (uint32_t p = 0; p < o->conversion->shape.planes; p++)
        for (uint32_t y = 0; y < o->conversion->shape.rows[p]; y++)
            for (size_t i = (o->conversion->shape.row_bytes[p] + 3) / 4 * 4; i < o->out.stride[p];
                 i++)
                if (o->out.plane[p][y * o->out.stride[p] + i] != UNTOUCHED)
                    return true;
    return false;
}

static bool case_equal(struct convert_one *o, const uint8_t *memory, uint64_t at)
{
    char why[160];
    memcpy(o->out.memory, memory + at, o->out.size);
    if (!conversion_case_equal(&o->k, o->conversion, &o->out, why))
        printf("checkgpu convert: %s%s\n", why, o->delivery.blur_count ? ", blurred" : "");
    else if (gaps_changed(o))
        printf("checkgpu convert: bytes behind a row were changed\n");
    else
        return true;
    return false;
}

static void case_free(struct convert_one *o)
{
    conversion_case_clear(&o->k);
    free(o->conversion);
    free(o->out.memory);
}

static int round_run(struct convert_store *s, struct gpu_host *host, uint8_t *memory,
                     uint64_t *random)
{
    struct convert_one all[TOGETHER] = {0};
    struct recon_delivery deliveries[TOGETHER];
    uint64_t at[TOGETHER + 1] = {64}, ticket = 0;
    char why[160] = "";
    bool good = true;
    for (int i = 0; i < TOGETHER && good; i++) {
        all[i].k.random = (*random += 0x9e3779b97f4a7c15u);
        good = case_make(s, &all[i], why);
        deliveries[i] = all[i].delivery;
        deliveries[i].host = host;
        for (int p = 0; p < 3 && good; p++) {
            deliveries[i].stride[p] = (uint32_t)all[i].out.stride[p];
            deliveries[i].offset[p] = at[i] + (uint64_t)(all[i].out.plane[p] - all[i].out.memory);
        }
        at[i + 1] = at[i] + all[i].out.size;
    }
    memset(memory, UNTOUCHED, HOST_BYTES);
    int err = good ? recon_submit(s->recon, NULL, 0, deliveries, TOGETHER, &ticket) : -1;
    if (good && err == GPU_OK)
        err = recon_wait(s->recon, ticket, UINT64_MAX);
    if (!good || err)
        printf("checkgpu convert: %s\n", good ? gpu_error_text(err) : why);
    good &= !err;
    for (int i = 0; i < TOGETHER && good; i++)
        good = case_equal(&all[i], memory, at[i]);
    for (int i = 0; i < TOGETHER; i++)
        case_free(&all[i]);
    return good ? 0 : -1;
}

int check_group_convert(struct check_env *env)
{
    uint8_t *memory =
        mmap(NULL, HOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct gpu_host *host = NULL;
    int failed = memory == MAP_FAILED || gpu_host_import(env->gpu, memory, HOST_BYTES, &host) < 0;
    for (int i = 0; i < STORES && !failed; i++) {
        struct conversion_case k = {.random = env->random + (uint64_t)i};
        struct convert_store s;
        failed = store_open(env, &s, &k) < 0;
        uint64_t random = k.random;
        for (int round = 0; round < ROUNDS && !failed; round++) {
            failed = round_run(&s, host, memory, &random) != 0;
            env->batches++;
            env->pictures += TOGETHER;
        }
        store_close(&s);
    }
    gpu_host_free(host);
    if (memory != MAP_FAILED)
        munmap(memory, HOST_BYTES);
    return failed;
}
