/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deliveries against a model in C, by both ways to host memory.
 */
#include "tests/gpu/gpuworld.h"

/* What a delivery writes, sample by sample, into memory that begins at byte base of the host. */
static void model(const struct frame *f, const struct recon_delivery *d, uint8_t *memory,
                  uint64_t base)
{
    uint32_t cw = (d->width + 1) / 2, ch = (d->height + 1) / 2;
    for (uint32_t y = 0; y < d->height; y++)
        for (uint32_t x = 0; x < d->width; x++)
            memory[d->offset[0] - base + (uint64_t)y * d->stride[0] + x] =
                f->y[d->crop_y + y][d->crop_x + x];
    if (d->format == RECON_GRAY)
        return;
    for (uint32_t y = 0; y < ch; y++) {
        for (uint32_t x = 0; x < 2 * cw; x++) {
            uint8_t sample = f->c[x & 1][d->crop_y / 2 + y][d->crop_x / 2 + x / 2];
            if (d->format == RECON_NV12)
                memory[d->offset[1] - base + (uint64_t)y * d->stride[1] + x] = sample;
            else
                memory[d->offset[1 + (x & 1)] - base + (uint64_t)y * d->stride[1 + (x & 1)] +
                       x / 2] = sample;
        }
    }
}

static struct recon_delivery random_delivery(struct gpu_host *host, uint64_t at, uint64_t *end)
{
    struct recon_delivery d = {.host = host, .format = (enum recon_format)random_below(3)};
    d.crop_x = random_below(3) ? 2 * random_below(WIDTH / 2) : 8 * random_below(WIDTH / 8);
    d.crop_y = 2 * random_below(HEIGHT / 2);
    d.width = 1 + random_below(WIDTH - d.crop_x);
    d.height = 1 + random_below(HEIGHT - d.crop_y);
    uint32_t planes = d.format == RECON_I420 ? 3 : d.format == RECON_NV12 ? 2 : 1;
    for (uint32_t i = 0; i < planes; i++) {
        uint32_t bytes = i == 0 ? d.width : planes == 2 ? (d.width + 1) / 2 * 2 : (d.width + 1) / 2;
        d.offset[i] = at + 4 * random_below(3);
        d.stride[i] = (bytes + 3) / 4 * 4 + 4 * random_below(4);
        at = d.offset[i] + (uint64_t)d.stride[i] * (i == 0 ? d.height : (d.height + 1) / 2);
    }
    *end = at;
    return d;
}

static void ignore_padding(const struct recon_delivery *d, uint8_t *got, const uint8_t *want,
                           uint64_t base)
{
    uint32_t planes = d->format == RECON_I420 ? 3 : d->format == RECON_NV12 ? 2 : 1;
    for (uint32_t i = 0; i < planes; i++) {
        uint32_t bytes = i == 0        ? d->width
                         : planes == 2 ? (d->width + 1) / 2 * 2
                                       : (d->width + 1) / 2;
        for (uint32_t y = 0; y < (i == 0 ? d->height : (d->height + 1) / 2); y++)
            for (uint32_t x = bytes; x < d->stride[i]; x++) {
                uint64_t at = d->offset[i] - base + (uint64_t)y * d->stride[i] + x;
                got[at] = want[at];
            }
    }
}

/* Deliver at random into [base, base + size) of a host; nothing but the planes may change. */
static void deliver_at_random(struct recon *r, struct gpu_host *host, uint8_t *memory,
                              uint64_t base, uint64_t size, int rounds)
{
    struct frame frames[SLOTS];
    struct recon_delivery d[5];
    uint8_t *want = malloc(size);
    assert_non_null(want);
    for (uint32_t i = 0; i < SLOTS; i++)
        fill_slot(r, i, &frames[i]);
    for (int round = 0; round < rounds; round++) {
        uint64_t at = base, ticket = 0;
        uint32_t count = 1 + random_below(5);
        r->deliver_by_copy = round & 1; /* whichever the device would choose */
        for (uint64_t i = 0; i < size; i++)
            want[i] = memory[base + i] = (uint8_t)random_below(256);
        for (uint32_t i = 0; i < count; i++) {
            d[i] = random_delivery(host, at, &at);
            d[i].slot = random_below(SLOTS);
            model(&frames[d[i].slot], &d[i], want, base);
        }
        assert_true(at <= base + size);
        assert_int_equal(recon_submit(r, NULL, 0, d, count, &ticket), GPU_OK);
        assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
        for (uint32_t i = 0; i < count; i++)
            ignore_padding(&d[i], memory + base, want, base);
        assert_memory_equal(memory + base, want, size);
    }
    free(want);
}

static void deliver(void **state)
{
    struct recon *r = make_recon();
    struct gpu_host *host = NULL;
    size_t size = 1 << 16;
    uint8_t *memory = map_memfd(size);
    assert_int_equal(gpu_host_import(gpu, memory, size, &host), GPU_OK);
    if (gpu_info(gpu)->external_memory_host)
        assert_true(gpu_host_is_direct(host));
    deliver_at_random(r, host, memory, 0, size, 200);
    gpu_host_free(host);
    recon_free(r);
    munmap(memory, size);
}

static void deliver_staged(void **state)
{
    struct recon *r = make_recon();
    struct gpu_host *host = NULL;
    size_t size = 1 << 16;
    uint8_t *memory = map_memfd(size);
    setenv("PELTON_NO_HOST_IMPORT", "1", 1);
    assert_int_equal(gpu_host_import(gpu, memory, size, &host), GPU_OK);
    unsetenv("PELTON_NO_HOST_IMPORT");
    assert_false(gpu_host_is_direct(host));
    deliver_at_random(r, host, memory, 0, size, 50);
    /* a host that is freed before anyone asks gets its frame all the same */
    struct frame f, got = {0};
    uint64_t ticket = 0;
    struct recon_delivery d = {.slot = 1,
                               .host = host,
                               .stride = {WIDTH},
                               .width = WIDTH,
                               .height = HEIGHT,
                               .format = RECON_GRAY};
    fill_slot(r, 1, &f);
    assert_int_equal(recon_submit(r, NULL, 0, &d, 1, &ticket), GPU_OK);
    gpu_host_free(host);
    memcpy(got.y, memory, sizeof(got.y));
    assert_memory_equal(got.y, f.y, sizeof(got.y));
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    recon_free(r);
    munmap(memory, size);
}

/* Beyond what one descriptor reaches, in a pool that is mostly untouched, and in two hosts at once.
 */
static void deliver_wide(void **state)
{
    struct recon *r = make_recon();
    struct gpu_host *host = NULL, *second = NULL;
    size_t size = 400u << 20;
    uint8_t *memory = map_memfd(size), *other = map_memfd(4096 * 4);
    assert_int_equal(gpu_host_import(gpu, memory, size, &host), GPU_OK);
    assert_int_equal(gpu_host_import(gpu, other, 4096 * 4, &second), GPU_OK);
    const uint64_t bases[] = {0, (64u << 20) - 4096, (128u << 20) - 8192, 200u << 20, size - 65536};
    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
        deliver_at_random(r, host, memory, bases[i], 65536, 4);
    struct frame f;
    struct recon_delivery d[3];
    uint64_t ticket = 0;
    fill_slot(r, 3, &f);
    for (int i = 0; i < 3; i++)
        d[i] = (struct recon_delivery){.slot = 3,
                                       .host = i == 1 ? second : host,
                                       .offset = {i == 2 ? size - sizeof(f.y) : 0},
                                       .stride = {WIDTH},
                                       .width = WIDTH,
                                       .height = HEIGHT,
                                       .format = RECON_GRAY};
    assert_int_equal(recon_submit(r, NULL, 0, d, 3, &ticket), GPU_OK);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    assert_memory_equal(memory, f.y, sizeof(f.y));
    assert_memory_equal(other, f.y, sizeof(f.y));
    assert_memory_equal(memory + size - sizeof(f.y), f.y, sizeof(f.y));
    gpu_host_free(host);
    gpu_host_free(second);
    recon_free(r);
    munmap(memory, size);
    munmap(other, 4096 * 4);
}

#define CHANGES 64
#define LEAVING 4 /* of each batch, at most */

/* Batches that change slots, each beside deliveries of its own, with as many in flight as there can
 * be: every frame leaves as it was when its batch came, whichever queue takes it out. */
static void slots_change_while_frames_leave(void **state)
{
    struct recon *r = make_recon();
    struct gpu_host *host = NULL;
    struct frame frames[SLOTS];
    size_t size = (CHANGES * LEAVING * sizeof(struct frame) + 4095) / 4096 * 4096;
    uint8_t *memory = map_memfd(size), *want = calloc(1, size);
    uint64_t ticket = 0, at = 0;
    assert_non_null(want);
    assert_int_equal(gpu_host_import(gpu, memory, size, &host), GPU_OK);
    for (uint32_t i = 0; i < SLOTS; i++)
        fill_slot(r, i, &frames[i]);
    for (int round = 0; round < CHANGES; round++) {
        struct recon_delivery d[LEAVING];
        struct recon_picture copy = {.slot = random_below(SLOTS)};
        uint32_t count = 1 + random_below(LEAVING);
        bool chroma = random_below(2);
        copy.copy_from = (copy.slot + 1 + random_below(SLOTS - 1)) % SLOTS;
        frames[copy.slot] = frames[copy.copy_from];
        for (uint32_t i = 0; i < count; i++, at += sizeof(struct frame)) {
            d[i] = (struct recon_delivery){
                .slot = random_below(SLOTS),
                .host = host,
                .width = WIDTH,
                .height = HEIGHT,
                .offset = {at, at + WIDTH * HEIGHT, at + WIDTH * HEIGHT * 5 / 4},
                .stride = {WIDTH, chroma ? WIDTH : WIDTH / 2, WIDTH / 2},
                .format = chroma ? RECON_NV12 : RECON_I420};
            model(&frames[d[i].slot], &d[i], want, 0);
        }
        assert_int_equal(recon_submit(r, &copy, 1, d, count, &ticket), GPU_OK);
        if (round % 8 == 7) /* new content, so that no two frames of a slot are alike for long */
            fill_slot(r, copy.slot, &frames[copy.slot]);
    }
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    assert_memory_equal(memory, want, size);
    gpu_host_free(host);
    recon_free(r);
    munmap(memory, size);
    free(want);
}

/* Frames stay where they are while the store grows, and memory is given back when it shrinks. */
static void grow_and_shrink(void **state)
{
    static struct frame frames[SLOTS], late;
    struct gpu_held before, grown, after;
    struct recon_growth *growth = NULL;
    gpu_memory_held(gpu, &before);
    struct recon *r = make_recon();
    uint32_t all[SLOTS];
    for (uint32_t i = 0; i < SLOTS; i++) {
        fill_slot(r, i, &frames[i]);
        all[i] = SLOTS - 1 - i;
    }
    uint64_t bytes = recon_memory(r);
    assert_int_equal(recon_growth_create(r, 3 * SLOTS, 5, &growth), GPU_OK);
    assert_int_equal(recon_grow(r, growth, all, SLOTS), GPU_OK);
    assert_int_equal(recon_width(r), 5);
    assert_true(recon_memory(r) > 2 * bytes);
    for (uint32_t i = 0; i < SLOTS; i++)
        expect_slot(r, i, &frames[i]);
    fill_slot(r, 3 * SLOTS - 1, &late);
    expect_slot(r, 3 * SLOTS - 1, &late);
    struct recon_picture grey[5];
    for (uint32_t i = 0; i < 5; i++)
        grey[i] = (struct recon_picture){.slot = 2 * SLOTS + i % SLOTS, .copy_from = UINT32_MAX};
    uint64_t ticket;
    assert_int_equal(recon_submit(r, grey, 5, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    expect_slot(r, 0, &frames[0]);
    gpu_memory_held(gpu, &grown);
    assert_true(grown.device[GPU_USE_SLOTS] > before.device[GPU_USE_SLOTS]);
    assert_int_equal(recon_growth_create(r, 1, 1, &growth), GPU_OK);
    assert_int_equal(recon_grow(r, growth, all, SLOTS), GPU_OK);
    expect_slot(r, 0, &frames[0]);
    assert_true(recon_memory(r) < bytes);
    grey[0].slot = 0;
    assert_int_equal(recon_submit(r, grey, 1, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    recon_free(r);
    gpu_memory_held(gpu, &after);
    assert_memory_equal(&after, &before, sizeof(after));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grow_and_shrink),
        cmocka_unit_test(deliver),
        cmocka_unit_test(deliver_staged),
        cmocka_unit_test(deliver_wide),
        cmocka_unit_test(slots_change_while_frames_leave),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
