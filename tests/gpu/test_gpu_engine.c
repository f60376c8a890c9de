/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine and the executor without reconstruction: device choice, delivery against a model in C, copies of slots, both ways to
 * host memory, splitting, tickets, invalid arguments. Exits 77 = skipped where there is no Vulkan device. The device is
 * $PELTON_DEVICE, or any.
 */
#include "gpu/recon_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define MB_WIDTH 5
#define MB_HEIGHT 3
#define WIDTH (16 * MB_WIDTH)
#define HEIGHT (16 * MB_HEIGHT)
#define SLOTS 4

struct frame {
    uint8_t y[HEIGHT][WIDTH], c[2][HEIGHT / 2][WIDTH / 2];
};

static struct gpu *gpu;
static uint64_t seed = 1;

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

static struct recon *make_recon(void)
{
    struct recon_params params = {.mb_width = MB_WIDTH, .mb_height = MB_HEIGHT, .chroma_format_idc = 1, .bit_depth = {8, 8},
                                  .slots = SLOTS, .width = 2};
    struct recon *r = NULL;
    assert_int_equal(recon_create(gpu, &params, &r), GPU_OK);
    assert_int_equal(recon_width(r), 2);
    assert_true(recon_memory(r) > SLOTS * sizeof(struct frame));
    return r;
}

static void fill_slot(struct recon *r, uint32_t slot, struct frame *f)
{
    for (size_t i = 0; i < sizeof(*f); i++)
        ((uint8_t *)f)[i] = (uint8_t)random_below(256);
    assert_int_equal(recon_write_slot(r, slot, f->y[0], f->c[0][0], f->c[1][0]), GPU_OK);
}

static void expect_slot(struct recon *r, uint32_t slot, const struct frame *want)
{
    struct frame got;
    assert_int_equal(recon_read_slot(r, slot, got.y[0], got.c[0][0], got.c[1][0]), GPU_OK);
    assert_memory_equal(&got, want, sizeof(got));
}

static uint8_t *map_memfd(size_t size)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0 && !ftruncate(fd, (off_t)size));
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    close(fd);
    return memory;
}

/* What a delivery writes, sample by sample, into memory that begins at byte base of the host. */
static void model(const struct frame *f, const struct recon_delivery *d, uint8_t *memory, uint64_t base)
{
    uint32_t cw = (d->width + 1) / 2, ch = (d->height + 1) / 2;
    for (uint32_t y = 0; y < d->height; y++)
        for (uint32_t x = 0; x < d->width; x++)
            memory[d->offset[0] - base + (uint64_t)y * d->stride[0] + x] = f->y[d->crop_y + y][d->crop_x + x];
    if (d->format == RECON_GRAY)
        return;
    for (uint32_t y = 0; y < ch; y++) {
        for (uint32_t x = 0; x < 2 * cw; x++) {
            uint8_t sample = f->c[x & 1][d->crop_y / 2 + y][d->crop_x / 2 + x / 2];
            if (d->format == RECON_NV12)
                memory[d->offset[1] - base + (uint64_t)y * d->stride[1] + x] = sample;
            else
                memory[d->offset[1 + (x & 1)] - base + (uint64_t)y * d->stride[1 + (x & 1)] + x / 2] = sample;
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

static void ignore_padding(const struct recon_delivery *d, uint8_t *got, const uint8_t *want, uint64_t base)
{
    uint32_t planes = d->format == RECON_I420 ? 3 : d->format == RECON_NV12 ? 2 : 1;
    for (uint32_t i = 0; i < planes; i++) {
        uint32_t bytes = i == 0 ? d->width : planes == 2 ? (d->width + 1) / 2 * 2 : (d->width + 1) / 2;
        for (uint32_t y = 0; y < (i == 0 ? d->height : (d->height + 1) / 2); y++)
            for (uint32_t x = bytes; x < d->stride[i]; x++) {
                uint64_t at = d->offset[i] - base + (uint64_t)y * d->stride[i] + x;
                got[at] = want[at];
            }
    }
}

/* Deliver at random into [base, base + size) of a host; nothing but the planes may change. */
static void deliver_at_random(struct recon *r, struct gpu_host *host, uint8_t *memory, uint64_t base, uint64_t size, int rounds)
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

static void choice(void **state)
{
    struct gpu_device_info list[] = {
        {.name = "llvmpipe (LLVM)", .uuid = "aa", .kind = GPU_KIND_SOFTWARE, .software = true, .usable = true},
        {.name = "Intel Arc", .uuid = "bb", .kind = GPU_KIND_INTEGRATED, .usable = true},
        {.name = "NVIDIA H200", .uuid = "cc", .kind = GPU_KIND_DISCRETE, .usable = true},
        {.name = "NVIDIA old", .uuid = "dd", .kind = GPU_KIND_DISCRETE, .usable = false, .missing = "shaderInt8"},
    };
    size_t unusable = 9;
    assert_int_equal(gpu_choose(list, 4, NULL, NULL), 2);
    assert_int_equal(gpu_choose(list, 4, "auto", NULL), 2);
    assert_int_equal(gpu_choose(list, 2, "auto", NULL), 1);
    assert_int_equal(gpu_choose(list, 1, "auto", NULL), 0);
    assert_int_equal(gpu_choose(list, 1, "gpu", NULL), GPU_ERR_NO_DEVICE);
    assert_int_equal(gpu_choose(list, 4, "gpu", NULL), 2);
    assert_int_equal(gpu_choose(list, 4, "cpu", NULL), 0);
    assert_int_equal(gpu_choose(list + 1, 3, "cpu", NULL), GPU_ERR_NO_DEVICE);
    assert_int_equal(gpu_choose(list, 4, "nvidia", NULL), 2);
    assert_int_equal(gpu_choose(list, 4, "ARC", NULL), 1);
    assert_int_equal(gpu_choose(list, 4, "BB", NULL), 1);
    assert_int_equal(gpu_choose(list, 4, "old", &unusable), GPU_ERR_FEATURE);
    assert_int_equal(unusable, 3);
    assert_int_equal(gpu_choose(list, 4, "dd", NULL), GPU_ERR_FEATURE);
    assert_int_equal(gpu_choose(list, 4, "voodoo", NULL), GPU_ERR_NO_DEVICE);
    assert_int_equal(gpu_choose(list, 0, "auto", NULL), GPU_ERR_NO_DEVICE);
}

static void open_by_name(void **state)
{
    struct gpu_device_info *list = NULL;
    size_t count = 0;
    assert_int_equal(gpu_list(&list, &count), GPU_OK);
    assert_true(count > 0);
    struct gpu *g = NULL;
    struct gpu_params params = {.device = gpu_info(gpu)->uuid};
    assert_int_equal(gpu_open(&params, &g), GPU_OK);
    assert_string_equal(gpu_info(g)->name, gpu_info(gpu)->name);
    gpu_close(g);
    g = NULL;
    params.device = "no such device";
    assert_int_equal(gpu_open(&params, &g), GPU_ERR_NO_DEVICE);
    assert_null(g);
    gpu_close(NULL);
    free(list);
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
    struct recon_delivery d = {.slot = 1, .host = host, .stride = {WIDTH}, .width = WIDTH, .height = HEIGHT, .format = RECON_GRAY};
    fill_slot(r, 1, &f);
    assert_int_equal(recon_submit(r, NULL, 0, &d, 1, &ticket), GPU_OK);
    gpu_host_free(host);
    memcpy(got.y, memory, sizeof(got.y));
    assert_memory_equal(got.y, f.y, sizeof(got.y));
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    recon_free(r);
    munmap(memory, size);
}

/* Beyond what one descriptor reaches, in a pool that is mostly untouched, and in two hosts at once. */
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
        d[i] = (struct recon_delivery){.slot = 3, .host = i == 1 ? second : host, .offset = {i == 2 ? size - sizeof(f.y) : 0},
                                       .stride = {WIDTH}, .width = WIDTH, .height = HEIGHT, .format = RECON_GRAY};
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

static void copy_and_fill(void **state)
{
    struct recon *r = make_recon();
    struct frame f[SLOTS], grey;
    uint64_t ticket = 0;
    memset(&grey, 0x80, sizeof(grey));
    for (uint32_t i = 0; i < SLOTS; i++) {
        expect_slot(r, i, &grey); /* a new store is grey, not another process's memory */
        fill_slot(r, i, &f[i]);
    }
    const struct recon_picture pictures[] = {{.slot = 0, .copy_from = 1}, {.slot = 2, .copy_from = COPY_FILL}, {.slot = 3, .copy_from = 3}};
    assert_int_equal(recon_submit(r, pictures, 3, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    expect_slot(r, 0, &f[1]);
    expect_slot(r, 1, &f[1]);
    expect_slot(r, 2, &grey);
    expect_slot(r, 3, &f[3]);
    recon_free(r);
}

/* Each batch reads what the one before wrote; more of them than are in flight, and more deliveries than fit one submission. */
static void order_and_splitting(void **state)
{
    enum { N = 200, BYTES = WIDTH * HEIGHT };
    struct recon *r = make_recon();
    struct gpu_host *host = NULL;
    size_t size = (N * BYTES + 4095) / 4096 * 4096;
    uint8_t *memory = map_memfd(size);
    struct recon_delivery d[N];
    struct frame f;
    uint64_t ticket = 0;
    assert_int_equal(gpu_host_import(gpu, memory, size, &host), GPU_OK);
    fill_slot(r, 0, &f);
    for (uint32_t i = 0; i < N; i++)
        d[i] = (struct recon_delivery){.slot = i % SLOTS, .host = host, .offset = {i * BYTES}, .stride = {WIDTH}, .width = WIDTH,
                                       .height = HEIGHT, .format = RECON_GRAY};
    for (uint32_t i = 1; i < SLOTS; i++) {
        struct recon_picture p = {.slot = i, .copy_from = i - 1};
        assert_int_equal(recon_submit(r, &p, 1, NULL, 0, &ticket), GPU_OK);
        assert_int_equal(ticket, i);
    }
    assert_int_equal(recon_submit(r, NULL, 0, d, N, &ticket), GPU_OK);
    assert_int_equal(ticket, SLOTS);
    assert_int_equal(recon_wait(r, ticket + 1, 0), GPU_ERR_INVALID);
    while (recon_done(r) < ticket)
        assert_true(recon_wait(r, ticket, 1000) >= 0);
    for (uint32_t i = 0; i < N; i++)
        assert_memory_equal(memory + i * BYTES, f.y, BYTES);
    struct recon_times times;
    recon_times(r, &times);
    assert_int_equal(times.batches, SLOTS);
    assert_int_equal(times.pictures, SLOTS - 1);
    assert_int_equal(times.deliveries, N);
    assert_int_equal(times.deliver_bytes, N * BYTES);
    assert_true(times.seconds[RECON_DELIVER] > 0 && times.seconds[RECON_UPLOAD] > 0);
    gpu_host_free(host);
    recon_free(r);
    munmap(memory, size);
}

static void invalid_arguments(void **state)
{
    struct recon *r = make_recon(), *none = NULL;
    struct gpu_host *host = NULL;
    uint8_t *memory = map_memfd(8192);
    uint64_t ticket = 77;
    assert_int_equal(gpu_host_import(gpu, memory, 8192 - 4, &host), GPU_ERR_INVALID);
    assert_int_equal(gpu_host_import(gpu, memory + 4, 4096, &host), GPU_ERR_INVALID);
    assert_int_equal(gpu_host_import(gpu, memory, 8192, &host), GPU_OK);
    const struct recon_delivery good = {.host = host, .offset = {0, 3840, 4800}, .stride = {WIDTH, WIDTH / 2, WIDTH / 2}, .width = WIDTH, .height = HEIGHT};
    struct recon_delivery bad[14];
    for (int i = 0; i < 14; i++)
        bad[i] = good;
    bad[0].slot = SLOTS;
    bad[1].host = NULL;
    bad[2].crop_x = 1;
    bad[3].crop_y = 2;
    bad[4].width = WIDTH + 1;
    bad[5].width = 0;
    bad[6].stride[1] = WIDTH / 2 - 4;
    bad[7].offset[2] = 8192 - 4;
    bad[8].offset[0] = 2;
    bad[9].offset[1] = UINT64_MAX - 3;
    bad[10].stride[0] = 0xfffffffcu;
    bad[11].crop_x = 0xfffffffeu;
    bad[12].format = (enum recon_format)3;
    bad[13].height = 0xffffffffu;
    for (int i = 0; i < 14; i++)
        assert_int_equal(recon_submit(r, NULL, 0, &bad[i], 1, &ticket), GPU_ERR_INVALID);
    struct rec_view view = {.head = {.mb_width = MB_WIDTH + 1, .mb_height = MB_HEIGHT}};
    const struct recon_picture pictures[] = {{.slot = SLOTS}, {.copy_from = SLOTS}, {.view = &view}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(recon_submit(r, &pictures[i], 1, NULL, 0, &ticket), GPU_ERR_INVALID);
    assert_int_equal(ticket, 77);
    assert_int_equal(recon_submit(r, NULL, 0, &good, 1, &ticket), GPU_OK);
    assert_int_equal(ticket, 1);
    struct recon_params params = {.mb_width = 0, .mb_height = 1, .chroma_format_idc = 1, .bit_depth = {8, 8}, .slots = 1, .width = 1};
    assert_int_equal(recon_create(gpu, &params, &none), GPU_ERR_INVALID);
    params.mb_width = 1;
    params.bit_depth[1] = 15;
    assert_int_equal(recon_create(gpu, &params, &none), GPU_ERR_INVALID);
    params.bit_depth[1] = 8;
    params.interlaced = true; /* half a macroblock pair */
    assert_int_equal(recon_create(gpu, &params, &none), GPU_ERR_INVALID);
    params.interlaced = false;
    params.separate_planes = true;
    assert_int_equal(recon_create(gpu, &params, &none), GPU_ERR_INVALID);
    assert_null(none);
    recon_free(r);
    gpu_host_free(host);
    recon_free(NULL);
    gpu_host_free(NULL);
    munmap(memory, 8192);
}

struct pcm {
    struct rec_mb mbs[MB_WIDTH * MB_HEIGHT];
    int16_t units[MB_WIDTH * MB_HEIGHT * 24 + 1000][16];
    struct rec_slice slice;
    struct rec_scaling scaling;
};

/* 6.4.3: x and y of a 4x4 block in its macroblock, in blocks */
static void block_xy(int blk, int *x, int *y)
{
    *x = (blk & 1) + 2 * (blk >> 2 & 1);
    *y = (blk >> 1 & 1) + 2 * (blk >> 3 & 1);
}

/* A frame as I_PCM macroblocks, their units `gap` apart. */
static struct rec_view pcm_view(struct pcm *p, const struct frame *f, uint32_t gap)
{
    *p = (struct pcm){.slice = {.slice_type = 2}};
    memset(&p->scaling, 16, sizeof(p->scaling));
    uint32_t next = gap;
    for (int i = 0; i < MB_WIDTH * MB_HEIGHT; i++) {
        int mx = i % MB_WIDTH, my = i / MB_WIDTH, x, y;
        p->mbs[i] = (struct rec_mb){.coeff = next, .coded = {0xffff, 0xf, 0xf}, .kind = REC_MB_INTRA_PCM, .nonzero = 0xffff};
        for (int u = 0; u < 24; u++) {
            block_xy(u < 16 ? u : u & 3, &x, &y);
            for (int s = 0; s < 16; s++)
                p->units[next + u][s] = u < 16 ? f->y[my * 16 + y * 4 + s / 4][mx * 16 + x * 4 + s % 4]
                                               : f->c[u >= 20][my * 8 + y * 4 + s / 4][mx * 8 + x * 4 + s % 4];
        }
        next += 24 + gap;
    }
    return (struct rec_view){
        .head = {.mb_width = MB_WIDTH, .mb_height = MB_HEIGHT, .structure = REC_FRAME, .chroma_format_idc = 1, .bit_depth = {8, 8},
                 .coeff_bytes = 2, .has_intra = 1, .mb_count = MB_WIDTH * MB_HEIGHT},
        .mbs = p->mbs, .slices = &p->slice, .coeffs = p->units, .scaling = &p->scaling, .slice_count = 1, .unit_count = next,
        .scaling_count = 1};
}

/* Pictures whose units are dense, and sparse beyond what the macroblocks could fill; more of them than one submission holds. */
static void packing(void **state)
{
    enum { N = 5 };
    struct recon *r = make_recon();
    static struct frame frames[N];
    static struct pcm pcm[N];
    struct rec_view views[N];
    struct recon_picture pictures[N];
    uint64_t ticket = 0;
    const char *reason = NULL;
    for (uint32_t i = 0; i < N; i++) {
        for (size_t k = 0; k < sizeof(frames[i]); k++)
            ((uint8_t *)&frames[i])[k] = (uint8_t)random_below(256);
        views[i] = pcm_view(&pcm[i], &frames[i], i & 1 ? 50 : 0);
        assert_int_equal(records_validate(&views[i], SLOTS, &reason), 0);
        pictures[i] = (struct recon_picture){.view = &views[i], .slot = i % SLOTS};
    }
    for (uint32_t n = 1; n <= N; n++) {
        assert_int_equal(recon_submit(r, pictures, n, NULL, 0, &ticket), GPU_OK);
        assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
        assert_int_equal(ticket, n);
        for (uint32_t i = n > SLOTS ? n - SLOTS : 0; i < n; i++)
            expect_slot(r, i % SLOTS, &frames[i]);
    }
    recon_free(r);
}

/* More slots than memory or layers: an error, and everything acquired before is given back. */
static void too_large(void **state)
{
    struct recon_params params = {.mb_width = 1024, .mb_height = 1024, .chroma_format_idc = 1, .bit_depth = {8, 8}, .slots = 1u << 30, .width = 1};
    struct recon *r = NULL;
    int err = recon_create(gpu, &params, &r);
    assert_true(err == GPU_ERR_FEATURE || err == GPU_ERR_NOMEM);
    assert_null(r);
}

/* Vulkan calls that fail at the n-th: the device's table is its own, so calls can be replaced. */
static struct VolkDeviceTable real;
static int calls_left;

static VkResult spend(VkResult on_failure)
{
    return calls_left > 0 && --calls_left == 0 ? on_failure : VK_SUCCESS;
}

#define FAILING(name, parameters, arguments)                                                                                     \
    static VKAPI_ATTR VkResult VKAPI_CALL fail_##name parameters                                                                 \
    {                                                                                                                            \
        VkResult result = spend(VK_ERROR_OUT_OF_DEVICE_MEMORY);                                                                  \
        return result < 0 ? result : real.name arguments;                                                                        \
    }
#define CREATE(name, info, object)                                                                                               \
    FAILING(name, (VkDevice d, const info *i, const VkAllocationCallbacks *a, object *o), (d, i, a, o))

CREATE(vkAllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)
CREATE(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)
CREATE(vkCreateImage, VkImageCreateInfo, VkImage)
CREATE(vkCreateImageView, VkImageViewCreateInfo, VkImageView)
CREATE(vkCreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)
CREATE(vkCreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
CREATE(vkCreateQueryPool, VkQueryPoolCreateInfo, VkQueryPool)
CREATE(vkCreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)
FAILING(vkMapMemory, (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f, void **p), (d, m, o, s, f, p))
FAILING(vkAllocateDescriptorSets, (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), (d, i, o))
FAILING(vkAllocateCommandBuffers, (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *o), (d, i, o))
FAILING(vkBeginCommandBuffer, (VkCommandBuffer c, const VkCommandBufferBeginInfo *i), (c, i))
FAILING(vkEndCommandBuffer, (VkCommandBuffer c), (c))
FAILING(vkQueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f), (q, n, i, f))

static VKAPI_ATTR VkResult VKAPI_CALL lose_submit(VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f)
{
    VkResult result = spend(VK_ERROR_DEVICE_LOST);
    return result < 0 ? result : real.vkQueueSubmit(q, n, i, f);
}

static void replace_calls(struct gpu *g)
{
    real = g->vk;
    g->vk.vkAllocateMemory = fail_vkAllocateMemory;
    g->vk.vkCreateBuffer = fail_vkCreateBuffer;
    g->vk.vkCreateImage = fail_vkCreateImage;
    g->vk.vkCreateImageView = fail_vkCreateImageView;
    g->vk.vkCreateCommandPool = fail_vkCreateCommandPool;
    g->vk.vkCreateDescriptorPool = fail_vkCreateDescriptorPool;
    g->vk.vkCreateQueryPool = fail_vkCreateQueryPool;
    g->vk.vkCreateShaderModule = fail_vkCreateShaderModule;
    g->vk.vkMapMemory = fail_vkMapMemory;
    g->vk.vkAllocateDescriptorSets = fail_vkAllocateDescriptorSets;
    g->vk.vkAllocateCommandBuffers = fail_vkAllocateCommandBuffers;
    g->vk.vkBeginCommandBuffer = fail_vkBeginCommandBuffer;
    g->vk.vkEndCommandBuffer = fail_vkEndCommandBuffer;
    g->vk.vkQueueSubmit = fail_vkQueueSubmit;
}

static void count_validation(void *ctx, int level, const char *line)
{
    if (strncmp(line, "validation", 10))
        return;
    fprintf(stderr, "%s\n", line);
    ++*(int *)ctx;
}

/* Everything a test does, one failure at a time. Returns GPU_OK or that failure. */
static int whole_life(struct gpu *g, uint8_t *memory, size_t size)
{
    struct recon_params params = {.mb_width = MB_WIDTH, .mb_height = MB_HEIGHT, .chroma_format_idc = 1, .bit_depth = {8, 8},
                                  .slots = SLOTS, .width = 1, .flight = 2};
    struct recon *r = NULL;
    struct gpu_host *host = NULL;
    uint64_t ticket = 0;
    int err = recon_create(g, &params, &r);
    if (err == GPU_OK)
        err = gpu_host_import(g, memory, size, &host);
    struct recon_delivery d = {.slot = 0, .host = host, .stride = {WIDTH}, .width = WIDTH, .height = HEIGHT, .format = RECON_GRAY};
    if (err == GPU_OK)
        err = recon_submit(r, NULL, 0, &d, 1, &ticket);
    if (err == GPU_OK)
        err = recon_wait(r, ticket, UINT64_MAX);
    gpu_host_free(host);
    recon_free(r);
    return err;
}

static void every_call_fails_once(void **state)
{
    int messages = 0, failures = 0, err = GPU_ERR_NOMEM;
    struct gpu_params params = {.device = getenv("PELTON_DEVICE"), .timestamps = true, .log = count_validation, .log_ctx = &messages};
    size_t size = 8192;
    uint8_t *memory = map_memfd(size);
    struct gpu *g = NULL;
    assert_int_equal(gpu_open(&params, &g), GPU_OK);
    replace_calls(g);
    for (int n = 1; n < 1000; n++) {
        calls_left = n;
        memset(memory, 0, size);
        err = whole_life(g, memory, size);
        if (calls_left > 0)
            break;
        /* an import that fails is not an error: staging takes over */
        assert_true(err == GPU_OK || err == GPU_ERR_NOMEM);
        failures += err != GPU_OK;
    }
    assert_int_equal(err, GPU_OK);
    assert_int_equal(memory[0], 0x80);
    assert_true(failures > 50);
    gpu_close(g); /* the layer reports what was not destroyed */
    assert_int_equal(messages, 0);
    munmap(memory, size);
}

/* After a submission that fails for want of memory the next one works; a lost device stays lost, and closing does not wait. */
static void failed_submissions(void **state)
{
    struct gpu_params params = {.device = getenv("PELTON_DEVICE")};
    struct recon_params shape = {.mb_width = MB_WIDTH, .mb_height = MB_HEIGHT, .chroma_format_idc = 1, .bit_depth = {8, 8}, .slots = SLOTS, .width = 1};
    struct gpu *g = NULL;
    struct recon *r = NULL;
    struct gpu_host *host = NULL;
    struct recon_picture fill = {.slot = 1, .copy_from = COPY_FILL};
    uint64_t ticket = 0;
    uint8_t *memory = map_memfd(4096);
    assert_int_equal(gpu_open(&params, &g), GPU_OK);
    assert_int_equal(recon_create(g, &shape, &r), GPU_OK);
    assert_int_equal(gpu_host_import(g, memory, 4096, &host), GPU_OK);
    replace_calls(g);
    calls_left = 3; /* begin, end, submit */
    assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_ERR_NOMEM);
    assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(ticket, 1);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    g->vk.vkQueueSubmit = lose_submit;
    calls_left = 3;
    assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_ERR_LOST);
    assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_ERR_LOST);
    assert_int_equal(recon_done(r), 1);
    gpu_host_free(host);
    recon_free(r);
    gpu_close(g);
    munmap(memory, 4096);
}

static void no_validation_messages(void **state)
{
    assert_int_equal(gpu_validation_messages(gpu), 0);
}

/* The copy is timed by the device: never slower than the wall clock says, which has the fill and a copy more. */
static void bandwidth(void **state)
{
    struct timespec begin, end;
    double bytes_per_second = 0, bytes = 2.0 * 8 * (gpu_info(gpu)->software ? 16 << 20 : 256 << 20);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(gpu_bandwidth(gpu, &bytes_per_second), GPU_OK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    print_message("%.1f GB/s\n", bytes_per_second * 1e-9);
    assert_true(bytes / bytes_per_second < seconds);
    assert_true(bytes_per_second < 1e14);
}

int main(void)
{
    struct gpu_params params = {.device = getenv("PELTON_DEVICE"), .timestamps = true, .log = log_line};
    int err = gpu_open(&params, &gpu);
    if (err == GPU_ERR_NO_DEVICE) {
        printf("skipped: %s\n", gpu_error_text(err));
        return 77;
    }
    if (err < 0)
        return 1;
    printf("device: %s\n", gpu_info(gpu)->name);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choice), cmocka_unit_test(open_by_name), cmocka_unit_test(deliver), cmocka_unit_test(deliver_staged),
        cmocka_unit_test(deliver_wide), cmocka_unit_test(copy_and_fill), cmocka_unit_test(order_and_splitting),
        cmocka_unit_test(invalid_arguments), cmocka_unit_test(packing), cmocka_unit_test(too_large), cmocka_unit_test(bandwidth),
        cmocka_unit_test(every_call_fails_once), cmocka_unit_test(failed_submissions), cmocka_unit_test(no_validation_messages),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gpu_close(gpu);
    return failed;
}
