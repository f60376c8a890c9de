/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Privacy blur of deliveries against the slow reference: every format of a store, depth and kind of
 * picture. Samples outside the rectangles and the slots themselves stay unchanged. PELTON_SEED
 * makes the pictures. Exits 77 = skipped without a Vulkan device.
 */
#include "gpu/h264/recon_internal.h"
#include "reference/ref_blur.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

struct store {
    struct recon_params params;
    struct recon *recon;
    uint32_t width, height, shift_x, shift_y, top[3];
    uint16_t *plane[3];
};

static struct gpu *gpu;
static uint64_t seed;

static void log_line(void *ctx, int level, const char *line)
{
    if (level <= 1)
        fprintf(stderr, "%s\n", line);
}

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

static uint32_t plane_width(const struct store *s, int plane)
{
    return plane ? s->width >> s->shift_x : s->width;
}

static uint32_t plane_height(const struct store *s, int plane)
{
    return plane ? s->height >> s->shift_y : s->height;
}

static bool is_wide(const struct store *s)
{
    return s->params.bit_depth[0] > 8 || s->params.bit_depth[1] > 8;
}

/* Random samples into slot 0, or with stripes the finest pattern there is: every other column black
 * and white. */
static void fill(struct store *s, bool stripes)
{
    uint8_t *bytes[3] = {NULL, NULL, NULL};
    int planes = s->params.chroma_format_idc ? 3 : 1;
    for (int p = 0; p < planes; p++) {
        size_t count = (size_t)plane_width(s, p) * plane_height(s, p);
        bytes[p] = malloc(2 * count);
        assert_non_null(bytes[p]);
        for (size_t i = 0; i < count; i++) {
            uint16_t value =
                (uint16_t)(stripes ? (i & 1) * s->top[p] : random_below(s->top[p] + 1));
            s->plane[p][i] = value;
            if (is_wide(s))
                memcpy(bytes[p] + 2 * i, &value, 2);
            else
                bytes[p][i] = (uint8_t)value;
        }
    }
    assert_int_equal(recon_write_slot(s->recon, 0, bytes[0], bytes[1], bytes[2]), GPU_OK);
    for (int p = 0; p < 3; p++)
        free(bytes[p]);
}

static void store_open(struct store *s, uint32_t mb_width, uint32_t mb_height, uint8_t chroma,
                       uint8_t luma_depth, uint8_t chroma_depth, bool interlaced)
{
    *s = (struct store){.params = {.mb_width = mb_width,
                                   .mb_height = mb_height,
                                   .chroma_format_idc = chroma,
                                   .interlaced = interlaced,
                                   .bit_depth = {luma_depth, chroma_depth},
                                   .slots = 1,
                                   .width = 1},
                        .width = 16 * mb_width,
                        .height = 16 * mb_height,
                        .shift_x = chroma == 3 ? 0 : 1,
                        .shift_y = chroma == 1 ? 1 : 0};
    assert_int_equal(recon_create(gpu, &s->params, &s->recon), GPU_OK);
    for (int p = 0; p < 3; p++) {
        s->top[p] = (1u << s->params.bit_depth[p > 0]) - 1;
        s->plane[p] = malloc(2 * (size_t)s->width * s->height);
        assert_non_null(s->plane[p]);
    }
    fill(s, false);
}

static void store_close(struct store *s)
{
    recon_free(s->recon);
    for (int p = 0; p < 3; p++)
        free(s->plane[p]);
}

/* What leaves of a plane before any blur. */
static uint16_t *cut(const struct store *s, const struct recon_delivery *d, int p, uint32_t width,
                     uint32_t height)
{
    uint32_t step = d->structure ? 2 : 1, first = d->structure == REC_BOTTOM;
    uint32_t x0 = p ? d->crop_x >> s->shift_x : d->crop_x,
             y0 = p ? d->crop_y >> s->shift_y : d->crop_y;
    uint16_t *out = malloc(2 * (size_t)width * height);
    assert_non_null(out);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t row = (y0 + y) * step + first, column = x0 + x;
            out[(size_t)y * width + x] = s->plane[p][(size_t)row * plane_width(s, p) + column];
        }
    return out;
}

static uint16_t got_sample(const struct store *s, const struct recon_delivery *d,
                           const uint8_t *memory, int p, uint32_t x, uint32_t y)
{
    bool pairs = d->format == RECON_NV12 && p;
    uint32_t at = pairs ? 2 * x + (uint32_t)p - 1 : x, plane = pairs ? 1 : (uint32_t)p;
    const uint8_t *row = memory + d->offset[plane] + (size_t)y * d->stride[plane];
    uint16_t value = row[at];
    if (is_wide(s))
        memcpy(&value, row + 2 * at, 2);
    return value;
}

static void expect(const struct store *s, const struct recon_delivery *d, const uint8_t *memory)
{
    struct ref_rect rects[RECON_BLURS];
    for (uint32_t i = 0; i < d->blur_count; i++)
        rects[i] =
            (struct ref_rect){d->blur[i].x, d->blur[i].y, d->blur[i].width, d->blur[i].height};
    for (int p = 0; p < (d->format == RECON_GRAY ? 1 : 3); p++) {
        uint32_t sx = p ? s->shift_x : 0, sy = p ? s->shift_y : 0, width = (d->width + sx) >> sx,
                 height = (d->height + sy) >> sy;
        const struct ref_blur_plane plane = {.width = width,
                                             .height = height,
                                             .shift_x = sx,
                                             .shift_y = sy,
                                             .picture_width = d->width,
                                             .picture_height = d->height,
                                             .woven = s->params.interlaced && !d->structure};
        uint16_t *from = cut(s, d, p, width, height), *want = malloc(2 * (size_t)width * height);
        assert_non_null(want);
        ref_blur(&plane, rects, d->blur_count, from, want);
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++)
                if (got_sample(s, d, memory, p, x, y) != want[(size_t)y * width + x])
                    fail_msg("plane %d, %u,%u of %ux%u: %u instead of %u (it was %u)", p, x, y,
                             width, height, got_sample(s, d, memory, p, x, y),
                             want[(size_t)y * width + x], from[(size_t)y * width + x]);
        free(from);
        free(want);
    }
}

static struct recon_delivery random_delivery(const struct store *s, struct gpu_host *host,
                                             enum recon_format format, uint64_t *at)
{
    struct recon_delivery d = {.host = host, .format = format};
    uint32_t bytes = is_wide(s) ? 2 : 1, rows = s->height;
    if (s->params.interlaced) {
        d.structure = (uint8_t)random_below(3); /* 0: both fields */
        rows /= d.structure ? 2 : 1;
    }
    d.crop_x = 2 * random_below(8);
    d.crop_y = 4 * random_below(3);
    d.width = s->width - d.crop_x - random_below(9);
    d.height = rows - d.crop_y - random_below(9);
    uint32_t planes = format == RECON_GRAY ? 1 : format == RECON_NV12 ? 2 : 3;
    for (uint32_t p = 0; p < planes; p++) {
        d.offset[p] = *at;
        d.stride[p] = (s->width * bytes + 15) / 8 * 8;
        *at += (uint64_t)d.stride[p] * s->height;
    }
    d.blur_count = random_below(5) ? 1 + random_below(random_below(3) ? 3 : RECON_BLURS) : 0;
    for (uint32_t i = 0; i < d.blur_count; i++) {
        struct recon_rect *r = &d.blur[i];
        *r = (struct recon_rect){random_below(d.width), random_below(d.height),
                                 1 + random_below(d.width), 1 + random_below(d.height)};
        if (random_below(3) == 0)
            r->width = r->height = 1 + random_below(20);
        if (random_below(8) == 0)
            r->width = r->height = UINT32_MAX;
    }
    return d;
}

static uint8_t *map(size_t size)
{
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

enum { BATCH = 4 };

static void deliver_at_random(struct store *s, const enum recon_format *formats, uint32_t n_formats,
                              int rounds)
{
    size_t size = ((size_t)BATCH * 3 * (2 * s->width + 16) * s->height + 4095) / 4096 * 4096;
    uint8_t *memory = map(size);
    struct gpu_host *host = NULL;
    assert_int_equal(gpu_host_import(gpu, memory, size, &host), GPU_OK);
    for (int round = 0; round < rounds; round++) {
        struct recon_delivery d[BATCH];
        uint64_t ticket = 0, at = 0;
        for (int i = 0; i < BATCH; i++)
            d[i] = random_delivery(s, host, formats[random_below(n_formats)], &at);
        assert_int_equal(recon_submit(s->recon, NULL, 0, d, BATCH, &ticket), GPU_OK);
        assert_int_equal(recon_wait(s->recon, ticket, UINT64_MAX), 0);
        for (int i = 0; i < BATCH; i++)
            expect(s, &d[i], memory);
    }
    gpu_host_free(host);
    munmap(memory, size);
}

static void all_formats(void **state)
{
    static const struct {
        uint8_t chroma, depth[2];
        bool interlaced;
        uint32_t n;
        enum recon_format formats[3];
    } cases[] = {
        {1, {8, 8}, false, 3, {RECON_I420, RECON_NV12, RECON_GRAY}},
        {1, {8, 8}, true, 3, {RECON_I420, RECON_NV12, RECON_GRAY}},
        {0, {8, 8}, false, 1, {RECON_GRAY}},
        {2, {10, 10}, true, 2, {RECON_I422, RECON_GRAY}},
        {3, {14, 14}, false, 2, {RECON_I444, RECON_GRAY}},
        {1, {9, 12}, true, 2, {RECON_I420, RECON_GRAY}},
        {0, {12, 12}, false, 1, {RECON_GRAY}},
        {3, {8, 8}, false, 2, {RECON_I444, RECON_GRAY}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct store s;
        store_open(&s, 11, 8, cases[i].chroma, cases[i].depth[0], cases[i].depth[1],
                   cases[i].interlaced);
        deliver_at_random(&s, cases[i].formats, cases[i].n, 6);
        store_close(&s);
    }
}

/* Cells of more than 256 samples a side are sampled; sums of 14 bits must not overflow. */
static void large_cells(void **state)
{
    static const enum recon_format format = RECON_GRAY;
    struct store s;
    store_open(&s, 140, 18, 0, 14, 14, false);
    deliver_at_random(&s, &format, 1, 2);
    store_close(&s);
}

/* The finest pattern there is leaves as one grey, and the slot keeps it. */
static void nothing_is_left(void **state)
{
    struct store s;
    size_t size = 1 << 16;
    uint8_t *memory = map(size), *kept = malloc(160 * 96), *chroma = malloc(2 * 80 * 48);
    struct gpu_host *host = NULL;
    uint64_t ticket = 0;
    store_open(&s, 10, 6, 1, 8, 8, false);
    fill(&s, true);
    assert_int_equal(gpu_host_import(gpu, memory, size, &host), GPU_OK);
    struct recon_delivery d = {.host = host,
                               .stride = {160},
                               .width = 160,
                               .height = 96,
                               .format = RECON_GRAY,
                               .blur_count = 1,
                               .blur = {{16, 16, 128, 64}}};
    assert_int_equal(recon_submit(s.recon, NULL, 0, &d, 1, &ticket), GPU_OK);
    assert_int_equal(recon_wait(s.recon, ticket, UINT64_MAX), 0);
    for (uint32_t y = 0; y < 96; y++)
        for (uint32_t x = 0; x < 160; x++) {
            bool inside = x >= 16 && x < 144 && y >= 16 && y < 80;
            assert_int_equal(memory[y * 160 + x], inside ? 128 : (x & 1) * 255);
        }
    assert_non_null(kept);
    assert_non_null(chroma);
    assert_int_equal(recon_read_slot(s.recon, 0, kept, chroma, chroma + 80 * 48), GPU_OK);
    for (uint32_t i = 0; i < 160 * 96; i++)
        assert_int_equal(kept[i], s.plane[0][i]);
    gpu_host_free(host);
    store_close(&s);
    free(kept);
    free(chroma);
    munmap(memory, size);
}

static void refused(void **state)
{
    struct store s;
    uint8_t *memory = map(1 << 16);
    struct gpu_host *host = NULL;
    uint64_t ticket = 0;
    store_open(&s, 10, 6, 1, 8, 8, false);
    assert_int_equal(gpu_host_import(gpu, memory, 1 << 16, &host), GPU_OK);
    const struct recon_rect bad[] = {{160, 0, 1, 1}, {0, 96, 1, 1},         {0, 0, 0, 1},
                                     {0, 0, 1, 0},   {UINT32_MAX, 0, 2, 2}, {0, UINT32_MAX, 2, 2}};
    struct recon_delivery d = {.host = host,
                               .stride = {160},
                               .width = 160,
                               .height = 96,
                               .format = RECON_GRAY,
                               .blur_count = 1};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        d.blur[0] = bad[i];
        assert_int_equal(recon_submit(s.recon, NULL, 0, &d, 1, &ticket), GPU_ERR_INVALID);
    }
    d.blur_count = RECON_BLURS + 1;
    assert_int_equal(recon_submit(s.recon, NULL, 0, &d, 1, &ticket), GPU_ERR_INVALID);
    gpu_host_free(host);
    store_close(&s);
    munmap(memory, 1 << 16);
}

static void no_validation_messages(void **state)
{
    assert_int_equal(gpu_validation_messages(gpu), 0);
}

int main(void)
{
    struct gpu_params params = {.device = getenv("PELTON_DEVICE"), .log = log_line};
    const char *text = getenv("PELTON_SEED");
    seed = text ? strtoull(text, NULL, 10) : 1;
    printf("PELTON_SEED=%llu\n", (unsigned long long)seed);
    int err = gpu_open(&params, &gpu);
    if (err == GPU_ERR_NO_DEVICE) {
        printf("skipped: %s\n", gpu_error_text(err));
        return 77;
    }
    if (err < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_formats),
        cmocka_unit_test(large_cells),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(refused),
        cmocka_unit_test(no_validation_messages),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gpu_close(gpu);
    return failed;
}
