/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine and the executor without reconstruction: device choice, copies of slots, splitting,
 * tickets, packing of records, invalid arguments.
 */
#include "tests/gpu/gpuworld.h"

static void choice(void **state)
{
    struct gpu_device_info list[] = {
        {.name = "llvmpipe (LLVM)",
         .uuid = "aa",
         .kind = GPU_KIND_SOFTWARE,
         .software = true,
         .usable = true},
        {.name = "Intel Arc", .uuid = "bb", .kind = GPU_KIND_INTEGRATED, .usable = true},
        {.name = "NVIDIA H200", .uuid = "cc", .kind = GPU_KIND_DISCRETE, .usable = true},
        {.name = "NVIDIA old",
         .uuid = "dd",
         .kind = GPU_KIND_DISCRETE,
         .usable = false,
         .missing = "shaderInt8"},
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
    const struct recon_picture pictures[] = {{.slot = 0, .copy_from = 1},
                                             {.slot = 2, .copy_from = COPY_FILL},
                                             {.slot = 3, .copy_from = 3}};
    assert_int_equal(recon_submit(r, pictures, 3, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    expect_slot(r, 0, &f[1]);
    expect_slot(r, 1, &f[1]);
    expect_slot(r, 2, &grey);
    expect_slot(r, 3, &f[3]);
    recon_free(r);
}

/* Each batch reads what the one before wrote; more of them than are in flight, and more deliveries
 * than fit one submission. */
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
        d[i] = (struct recon_delivery){.slot = i % SLOTS,
                                       .host = host,
                                       .offset = {i * BYTES},
                                       .stride = {WIDTH},
                                       .width = WIDTH,
                                       .height = HEIGHT,
                                       .format = RECON_GRAY};
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
    const struct recon_delivery good = {.host = host,
                                        .offset = {0, 3840, 4800},
                                        .stride = {WIDTH, WIDTH / 2, WIDTH / 2},
                                        .width = WIDTH,
                                        .height = HEIGHT};
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
    const struct recon_picture pictures[] = {
        {.slot = SLOTS}, {.copy_from = SLOTS}, {.view = &view}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(recon_submit(r, &pictures[i], 1, NULL, 0, &ticket), GPU_ERR_INVALID);
    assert_int_equal(ticket, 77);
    assert_int_equal(recon_submit(r, NULL, 0, &good, 1, &ticket), GPU_OK);
    assert_int_equal(ticket, 1);
    struct recon_params params = {.mb_width = 0,
                                  .mb_height = 1,
                                  .chroma_format_idc = 1,
                                  .bit_depth = {8, 8},
                                  .slots = 1,
                                  .width = 1};
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
    int16_t coeff_blocks[MB_WIDTH * MB_HEIGHT * 24 + 1000][16];
    struct rec_slice slice;
    struct rec_scaling scaling;
};

/* 6.4.3: x and y of a 4x4 block in its macroblock, in blocks */
static void block_xy(int blk, int *x, int *y)
{
    *x = (blk & 1) + 2 * (blk >> 2 & 1);
    *y = (blk >> 1 & 1) + 2 * (blk >> 3 & 1);
}

/* A frame as I_PCM macroblocks, their coefficient blocks `gap` apart. */
static struct rec_view pcm_view(struct pcm *p, const struct frame *f, uint32_t gap)
{
    *p = (struct pcm){.slice = {.slice_type = 2}};
    memset(&p->scaling, 16, sizeof(p->scaling));
    uint32_t next = gap;
    for (int i = 0; i < MB_WIDTH * MB_HEIGHT; i++) {
        int mx = i % MB_WIDTH, my = i / MB_WIDTH, x, y;
        p->mbs[i] = (struct rec_mb){.coeff = next,
                                    .coded = {0xffff, 0xf, 0xf},
                                    .kind = REC_MB_INTRA_PCM,
                                    .nonzero = 0xffff};
        for (int u = 0; u < 24; u++) {
            block_xy(u < 16 ? u : u & 3, &x, &y);
            for (int s = 0; s < 16; s++)
                p->coeff_blocks[next + u][s] =
                    u < 16 ? f->y[my * 16 + y * 4 + s / 4][mx * 16 + x * 4 + s % 4]
                           : f->c[u >= 20][my * 8 + y * 4 + s / 4][mx * 8 + x * 4 + s % 4];
        }
        next += 24 + gap;
    }
    return (struct rec_view){.head = {.mb_width = MB_WIDTH,
                                      .mb_height = MB_HEIGHT,
                                      .structure = REC_FRAME,
                                      .chroma_format_idc = 1,
                                      .bit_depth = {8, 8},
                                      .coeff_bytes = 2,
                                      .has_intra = 1,
                                      .mb_count = MB_WIDTH * MB_HEIGHT},
                             .mbs = p->mbs,
                             .slices = &p->slice,
                             .coeffs = p->coeff_blocks,
                             .scaling = &p->scaling,
                             .slice_count = 1,
                             .coeff_block_count = next,
                             .scaling_count = 1};
}

/* Pictures whose coefficient blocks are dense, and sparse beyond what the macroblocks could fill;
 * more of them than one submission holds. */
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

/* By the queue that fetches, as entropy decoding does. */
static void move_to_device(const void *from, const void *to, size_t size)
{
    struct gpu_place source, target;
    struct gpu_queue *down = NULL;
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint64_t value = 0;
    assert_true(gpu_arena_find(gpu, from, size, &source) && !source.device);
    assert_true(gpu_arena_find(gpu, to, size, &target) && target.device);
    assert_int_equal(gpu_queue_get(gpu, GPU_QUEUE_DOWN, &down), GPU_OK);
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                         .queueFamilyIndex = down->family};
    assert_int_equal(gpu->vk.vkCreateCommandPool(gpu->device, &pool_info, NULL, &pool), VK_SUCCESS);
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    assert_int_equal(gpu->vk.vkAllocateCommandBuffers(gpu->device, &allocate, &commands),
                     VK_SUCCESS);
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    assert_int_equal(gpu->vk.vkBeginCommandBuffer(commands, &begin), VK_SUCCESS);
    gpu->vk.vkCmdCopyBuffer(commands, source.buffer, target.buffer, 1,
                            &(VkBufferCopy){source.offset, target.offset, size});
    assert_int_equal(gpu->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    assert_int_equal(gpu_queue_submit(down, commands, NULL, 0, &value), GPU_OK);
    assert_int_equal(gpu_queue_wait(down, value, UINT64_MAX), 0);
    gpu_arena_written(gpu, &(struct gpu_point){down, value});
    gpu->vk.vkDestroyCommandPool(gpu->device, pool, NULL);
}

/* Coefficients that the device fetches itself, and such that it has already. */
static void arenas(void **state)
{
    enum { N = 4, ROOM = sizeof(((struct pcm *)0)->coeff_blocks) };
    struct recon *r = make_recon();
    static struct frame frames[N];
    static struct pcm pcm[N];
    struct rec_view views[N];
    struct recon_picture pictures[N];
    struct gpu_arena *arena = NULL, *device = NULL;
    struct gpu_place place;
    void *memory = NULL, *away = NULL, *read = malloc(ROOM);
    uint64_t ticket = 0;
    assert_non_null(read);
    assert_int_equal(gpu_arena_create(gpu, N * ROOM, &arena, &memory), GPU_OK);
    assert_int_equal(gpu_arena_create_device(gpu, N * ROOM, &device, &away), GPU_OK);
    for (uint32_t i = 0; i < N; i++) {
        uint8_t *here = (uint8_t *)memory + i * ROOM, *there = (uint8_t *)away + i * ROOM;
        for (size_t k = 0; k < sizeof(frames[i]); k++)
            ((uint8_t *)&frames[i])[k] = (uint8_t)random_below(256);
        views[i] = pcm_view(&pcm[i], &frames[i], 0);
        memcpy(here, pcm[i].coeff_blocks, ROOM);
        move_to_device(here, there, ROOM);
        assert_int_equal(gpu_arena_read(gpu, there, ROOM, read), GPU_OK);
        assert_memory_equal(read, here, ROOM);
        views[i].coeffs = i & 1 ? there : here;
        pictures[i] = (struct recon_picture){.view = &views[i], .slot = i % SLOTS};
    }
    for (uint32_t n = 1; n <= N; n++) { /* first alone, then beside others */
        for (uint32_t i = 0; i < n; i++)
            views[i].coeffs =
                (uint8_t *)(views[i].coeffs == (uint8_t *)away + i * ROOM ? memory : away) +
                i * ROOM;
        assert_int_equal(recon_submit(r, pictures, n, NULL, 0, &ticket), GPU_OK);
        assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
        for (uint32_t i = n > SLOTS ? n - SLOTS : 0; i < n; i++)
            expect_slot(r, i % SLOTS, &frames[i]);
    }
    /* there are more coefficient blocks than macroblocks can have, so they would have to be packed
     */
    views[0] = pcm_view(&pcm[0], &frames[0], 50);
    views[0].coeffs = away;
    assert_int_equal(recon_submit(r, pictures, 1, NULL, 0, &ticket), GPU_ERR_INVALID);
    assert_false(gpu_arena_find(gpu, away, N * ROOM + 1, &place));
    assert_int_equal(gpu_arena_read(gpu, away, N * ROOM + 1, read), GPU_ERR_INVALID);
    gpu_arena_free(device);
    assert_false(gpu_arena_find(gpu, away, 1, &place));
    gpu_arena_free(arena);
    free(read);
    recon_free(r);
}

/* More slots than memory or layers: an error, and everything acquired before is given back. */
static void too_large(void **state)
{
    struct recon_params params = {.mb_width = 1024,
                                  .mb_height = 1024,
                                  .chroma_format_idc = 1,
                                  .bit_depth = {8, 8},
                                  .slots = 1u << 30,
                                  .width = 1};
    struct recon *r = NULL;
    int err = recon_create(gpu, &params, &r);
    assert_true(err == GPU_ERR_FEATURE || err == GPU_ERR_NOMEM);
    assert_null(r);
}

/* The copy is timed by the device: never slower than the wall clock says, which has the fill and a
 * copy more. */
static void bandwidth(void **state)
{
    struct timespec begin, end;
    double bytes_per_second = 0, bytes = 2.0 * 8 * (gpu_info(gpu)->software ? 16 << 20 : 256 << 20);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(gpu_bandwidth(gpu, &bytes_per_second), GPU_OK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    print_message("%.1f GB/s\n", bytes_per_second * 1e-9);
    assert_true(bytes / bytes_per_second < seconds);
    assert_true(bytes_per_second < 1e14);
}

/* The same of operations, which the wall clock has twice */
static void operations(void **state)
{
    struct timespec begin, end;
    double per_second = 0,
           count = gpu_info(gpu)->software ? 16.0 * 256 * 256 * 32 : 8192.0 * 256 * 1024 * 32;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(gpu_operations(gpu, &per_second), GPU_OK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    print_message("%.3f Top/s\n", per_second * 1e-12);
    assert_true(count / per_second < seconds);
    assert_true(per_second < 1e15);
}

/* One that is not over is not submitted again, which the validation layer would say. */
static void pulses(void **state)
{
    struct gpu_pulse *pulse = NULL;
    assert_int_equal(gpu_pulse_create(gpu, 1000, &pulse), GPU_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(gpu_pulse(pulse), GPU_OK);
    gpu_pulse_free(pulse);
    gpu_pulse_free(NULL);
}

#define MIB (1ull << 20)

static int make_buffer(int use, uint64_t size, struct gpu_buffer *out)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    return gpu_buffer_create_for(gpu, (enum gpu_use)use, size, usage, GPU_MEMORY_DEVICE, out);
}

/* Beyond the bound memory is refused, but for what is needed or promised. A stream that waits goes
 * before those who can do without. */
static void budget(void **state)
{
    struct gpu_buffer a, b, c;
    uint64_t refused = gpu_memory_refused(gpu), promise = 0, first = 0;
    gpu_memory_limit(gpu, 8 * MIB);
    assert_int_equal(make_buffer(GPU_USE_SLOTS, 5 * MIB, &a), GPU_OK);
    assert_int_equal(make_buffer(GPU_USE_BATCHES, 4 * MIB, &b), GPU_ERR_NOMEM);
    assert_int_equal(gpu_memory_refused(gpu), refused + 1);
    assert_int_equal(make_buffer(GPU_USE_BATCHES | GPU_USE_NEEDED, 4 * MIB, &b), GPU_OK);
    assert_false(gpu_memory_has(gpu, 1));
    gpu_buffer_free(gpu, &b);
    assert_true(gpu_promise(gpu, &promise, 2 * MIB, false));
    assert_false(gpu_promise(gpu, &promise, 4 * MIB, false));
    assert_int_equal(make_buffer(GPU_USE_BATCHES | GPU_USE_PROMISED, 2 * MIB, &b), GPU_OK);
    assert_true(gpu_memory_has(gpu, MIB / 2));
    assert_false(gpu_promise_exceeds(gpu, promise, MIB));
    gpu_memory_want(gpu, MIB);
    assert_true(gpu_promise_exceeds(gpu, promise, MIB));
    assert_false(gpu_promise(gpu, &promise, promise + 1, false));
    assert_true(gpu_promise(gpu, &first, 1024, false)); /* that of the stream itself */
    gpu_promise_lower(gpu, &first, 0);
    assert_false(gpu_memory_fits(gpu, MIB / 2));
    assert_int_equal(make_buffer(GPU_USE_ENTROPY, MIB / 2, &c), GPU_ERR_NOMEM);
    assert_int_equal(make_buffer(GPU_USE_SLOTS, MIB / 2, &c), GPU_OK);
    gpu_memory_want(gpu, 0);
    gpu_buffer_free(gpu, &c);
    gpu_buffer_free(gpu, &b);
    gpu_promise_lower(gpu, &promise, 0);
    gpu_buffer_free(gpu, &a);
    assert_true(gpu_memory_has(gpu, 7 * MIB));
    gpu_memory_limit(gpu, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choice),
        cmocka_unit_test(open_by_name),
        cmocka_unit_test(copy_and_fill),
        cmocka_unit_test(order_and_splitting),
        cmocka_unit_test(invalid_arguments),
        cmocka_unit_test(packing),
        cmocka_unit_test(arenas),
        cmocka_unit_test(too_large),
        cmocka_unit_test(bandwidth),
        cmocka_unit_test(operations),
        cmocka_unit_test(pulses),
        cmocka_unit_test(budget),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
