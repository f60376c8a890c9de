/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JPEG files of the GPU: the bytes of jpeg_encode, for pictures of all kinds in batches of any
 * width, from memory of the host and of the device.
 */
#include "tests/gpu/gpuworld.h"

#include "gpu/jpeg/gpu_jpeg.h"
#include "tests/jpeg/jpeg_frames.h"

#include <unistd.h>

#define SIDE  200 /* of random pictures, at most */
#define BATCH 5
#define GUARD 64 /* bytes behind a file that stay */

/* Pictures and where their frames and files are */
struct desk {
    struct gpu_jpeg *jpeg;
    struct gpu_arena *frames, *files;
    uint8_t *frame, *file; /* places of the arenas; picture i has one BATCH-th of each */
    uint64_t frame_room, file_room;
    struct built_frame built[BATCH];
    struct gpu_jpeg_picture pictures[BATCH];
};

static void desk_open(struct desk *d, uint32_t width, uint32_t height)
{
    struct jpeg_settings largest = {.width = width, .height = height, .sampling = JPEG_444};
    struct gpu_jpeg_params params = {
        .width = width, .height = height, .sampling = JPEG_444, .pictures = BATCH};
    void *memory;
    memset(d, 0, sizeof(*d));
    d->frame_room = params.frame_size = 3ull * (width + 16) * (height + 1) + 64;
    d->file_room = (jpeg_most_bytes(&largest) + GUARD + 63) / 64 * 64;
    assert_int_equal(gpu_jpeg_create(gpu, &params, &d->jpeg), GPU_OK);
    assert_int_equal(gpu_arena_create(gpu, BATCH * d->frame_room, &d->frames, &memory), GPU_OK);
    d->frame = memory;
    assert_int_equal(gpu_arena_create(gpu, BATCH * d->file_room, &d->files, &memory), GPU_OK);
    d->file = memory;
}

static void desk_close(struct desk *d)
{
    gpu_jpeg_free(d->jpeg);
    gpu_arena_free(d->files);
    gpu_arena_free(d->frames);
}

static void desk_draw(struct desk *d, uint32_t i, const struct jpeg_settings *s,
                      enum frame_kind kind, uint32_t first, uint32_t gap)
{
    struct built_frame *f = &d->built[i];
    struct gpu_jpeg_picture *p = &d->pictures[i];
    f->settings = *s;
    frame_layout(f, first, gap);
    assert_true(f->size <= d->frame_room);
    frame_draw(f, kind, d->frame + i * d->frame_room);
    *p = (struct gpu_jpeg_picture){.settings = *s,
                                   .frame = f->data,
                                   .frame_size = f->size,
                                   .out = d->file + i * d->file_room,
                                   .room = jpeg_most_bytes(s)};
    memcpy(p->offset, f->offset, sizeof(p->offset));
    memcpy(p->stride, f->stride, sizeof(p->stride));
    memset(p->out, 0xa5, d->file_room);
}

static void expect_file(const struct built_frame *f, const struct gpu_jpeg_picture *p)
{
    size_t room = jpeg_most_bytes(&f->settings);
    struct jpeg_planes planes = frame_planes(f);
    uint8_t *want = malloc(room);
    assert_non_null(want);
    size_t size = jpeg_encode(&f->settings, &planes, want, room);
    if (p->size != size || memcmp(p->out, want, size) != 0)
        fail_msg("%u x %u, sampling %d, quality %u: %llu bytes instead of %zu, or others",
                 f->settings.width, f->settings.height, (int)f->settings.sampling,
                 f->settings.quality, (unsigned long long)p->size, size);
    free(want);
}

static void desk_check(struct desk *d, uint32_t count)
{
    assert_int_equal(gpu_jpeg_encode(d->jpeg, d->pictures, count), GPU_OK);
    for (uint32_t i = 0; i < count; i++) {
        expect_file(&d->built[i], &d->pictures[i]);
        for (uint32_t k = 0; k < GUARD; k++)
            assert_int_equal(d->pictures[i].out[d->pictures[i].room + k], 0xa5);
    }
}

static void test_built(void **state)
{
    static const uint32_t sizes[][3] = {{1, 1, 75},    {8, 8, 50},     {17, 9, 90},
                                        {16, 16, 100}, {200, 33, 100}, {64, 200, 1}};
    struct desk d;
    desk_open(&d, SIDE, SIDE);
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int sampling = 0; sampling < JPEG_SAMPLINGS; sampling++) {
            for (uint32_t kind = 0; kind < FRAME_KINDS; kind++) {
                struct jpeg_settings s = {.width = sizes[i][0],
                                          .height = sizes[i][1],
                                          .quality = sizes[i][2],
                                          .sampling = sampling};
                assert_true(jpeg_colours_of(kind % 2 ? 1 : 6, kind % 3, 0, &s.colours));
                desk_draw(&d, kind % BATCH, &s, kind, i, kind);
            }
            desk_check(&d, BATCH);
        }
    desk_close(&d);
}

/* Rows of more blocks than a workgroup has threads */
static void test_wide(void **state)
{
    struct jpeg_settings s = {.width = 1500, .height = 40, .quality = 85, .sampling = JPEG_420};
    struct desk d;
    desk_open(&d, 1500, 360);
    assert_true(jpeg_colours_of(2, false, 1080, &s.colours));
    desk_draw(&d, 0, &s, FRAME_SCENE, 0, 0);
    s.quality = 100;
    desk_draw(&d, 1, &s, FRAME_EXTREMES, 3, 1);
    s.width = 640, s.height = 360, s.quality = 75;
    desk_draw(&d, 2, &s, FRAME_SCENE, 0, 0);
    desk_check(&d, 3);
    desk_check(&d, 3); /* what the batch before had is known now */
    desk_close(&d);
}

static void test_random(void **state)
{
    struct desk d;
    frame_seed = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)frame_seed);
    desk_open(&d, SIDE, SIDE);
    for (int turn = 0; turn < 40; turn++) {
        uint32_t count = 1 + frame_random(BATCH);
        for (uint32_t i = 0; i < count; i++) {
            struct jpeg_settings s;
            frame_settings_random(&s, turn % 4 ? 60 : SIDE);
            desk_draw(&d, i, &s, frame_random(FRAME_KINDS), frame_random(9), frame_random(9));
        }
        desk_check(&d, count);
    }
    desk_close(&d);
}

/* Two batches at once, and a third one that is refused */
static void test_flight(void **state)
{
    struct jpeg_settings s = {.width = 90, .height = 60, .quality = 60, .sampling = JPEG_422};
    struct desk d;
    uint32_t batches[GPU_JPEG_FLIGHT], third = 77;
    desk_open(&d, SIDE, SIDE);
    assert_true(jpeg_colours_of(6, true, 0, &s.colours));
    for (uint32_t i = 0; i < BATCH; i++)
        desk_draw(&d, i, &s, FRAME_NOISE, 0, 0);
    for (uint32_t i = 0; i < GPU_JPEG_FLIGHT; i++)
        assert_int_equal(gpu_jpeg_submit(d.jpeg, &d.pictures[2 * i], 2, &batches[i]), GPU_OK);
    assert_int_equal(gpu_jpeg_submit(d.jpeg, &d.pictures[4], 1, &third), GPU_ERR_INVALID);
    assert_int_equal(third, 77);
    for (uint32_t i = 0; i < GPU_JPEG_FLIGHT; i++)
        assert_int_equal(gpu_jpeg_wait(d.jpeg, batches[i], &d.pictures[2 * i]), GPU_OK);
    for (uint32_t i = 0; i < 2 * GPU_JPEG_FLIGHT; i++)
        expect_file(&d.built[i], &d.pictures[i]);
    assert_int_equal(gpu_jpeg_encode(d.jpeg, &d.pictures[4], 1), GPU_OK);
    expect_file(&d.built[4], &d.pictures[4]);
    desk_close(&d);
}

static void test_device_memory(void **state)
{
    struct jpeg_settings s = {.width = 100, .height = 30, .quality = 60, .sampling = JPEG_420};
    struct gpu_arena *arena;
    struct desk d;
    void *memory;
    desk_open(&d, SIDE, SIDE);
    assert_true(jpeg_colours_of(1, false, 0, &s.colours));
    desk_draw(&d, 0, &s, FRAME_SCENE, 0, 0);
    assert_int_equal(gpu_arena_create_device(gpu, d.frame_room, &arena, &memory), GPU_OK);
    assert_int_equal(gpu_arena_write(gpu, memory, d.built[0].size, d.built[0].data), GPU_OK);
    d.pictures[0].frame = memory;
    desk_check(&d, 1);
    gpu_arena_free(arena);
    desk_close(&d);
}

/* Frames of a pool in the device's memory, beside one of an arena. A frame that ends behind the
 * host is refused. */
static void test_pool(void **state)
{
    struct jpeg_settings s = {.width = 40, .height = 30, .quality = 60, .sampling = JPEG_420};
    enum { SLOT = 4096 };
    struct gpu_export exported;
    struct gpu_host *host;
    struct desk d;
    desk_open(&d, SIDE, SIDE);
    assert_true(jpeg_colours_of(1, false, 0, &s.colours));
    for (uint32_t i = 0; i < 2; i++)
        desk_draw(&d, i, &s, i ? FRAME_NOISE : FRAME_FLAT, 0, 0);
    assert_int_equal(gpu_host_export(gpu, 2 * SLOT, &host, &exported), GPU_OK);
    for (uint32_t c = 0; c < 3; c++) {
        const struct built_frame *f = &d.built[0];
        const struct gpu_host_fill fill = {.offset = SLOT + f->offset[c],
                                           .size = f->stride[c] * (c ? 15 : 30),
                                           .count = 1,
                                           .word = 0x01010101u * f->data[f->offset[c]]};
        assert_int_equal(gpu_host_fill(host, &fill), GPU_OK);
    }
    d.pictures[0].frame = NULL;
    d.pictures[0].host = host;
    d.pictures[0].host_offset = SLOT;
    desk_check(&d, 2);
    d.pictures[0].host_offset = 2 * SLOT - d.pictures[0].frame_size + 4;
    assert_int_equal(gpu_jpeg_encode(d.jpeg, d.pictures, 2), GPU_ERR_INVALID);
    gpu_host_free(host);
    close(exported.fd);
    desk_close(&d);
}

/* A file that does not fit has no size, and the others of its batch are whole. */
static void test_no_room(void **state)
{
    struct jpeg_settings s = {.width = 70, .height = 70, .quality = 90, .sampling = JPEG_420};
    struct desk d;
    uint64_t size;
    desk_open(&d, SIDE, SIDE);
    assert_true(jpeg_colours_of(6, true, 0, &s.colours));
    for (uint32_t i = 0; i < 3; i++)
        desk_draw(&d, i, &s, FRAME_NOISE, 0, 0);
    desk_check(&d, 3);
    size = d.pictures[1].size;
    for (uint64_t room = 0; room < size; room += room < size - 400 ? 399 : 40) {
        memset(d.pictures[1].out, 0xa5, d.file_room);
        d.pictures[1].room = room;
        assert_int_equal(gpu_jpeg_encode(d.jpeg, d.pictures, 3), GPU_OK);
        assert_int_equal(d.pictures[1].size, 0);
        for (uint64_t k = room; k < size; k++)
            assert_int_equal(d.pictures[1].out[k], 0xa5);
        expect_file(&d.built[0], &d.pictures[0]);
        expect_file(&d.built[2], &d.pictures[2]);
    }
    d.pictures[1].room = size;
    assert_int_equal(gpu_jpeg_encode(d.jpeg, d.pictures, 3), GPU_OK);
    expect_file(&d.built[1], &d.pictures[1]);
    desk_close(&d);
}

static void test_refused(void **state)
{
    struct jpeg_settings s = {.width = 40, .height = 40, .quality = 50, .sampling = JPEG_420};
    struct gpu_jpeg_params bad[4];
    struct gpu_jpeg *none = NULL;
    struct desk d;
    desk_open(&d, 48, 48);
    assert_true(jpeg_colours_of(6, true, 0, &s.colours));
    desk_draw(&d, 0, &s, FRAME_RAMP, 0, 0);
    const struct gpu_jpeg_picture good = d.pictures[0];
    struct gpu_jpeg_picture p[9];
    for (int i = 0; i < 9; i++)
        p[i] = good;
    p[0].settings.quality = 0, p[1].settings.width = 0, p[2].settings.width = 400;
    p[3].frame_size--, p[4].stride[2]++, p[5].offset[2]++, p[6].frame_size = 1u << 30;
    p[7].frame = (const uint8_t *)&s, p[8].out = (uint8_t *)&d;
    desk_check(&d, 1); /* bytes are expected from now on: p[8] is asked for them */
    for (int i = 0; i < 9; i++)
        assert_int_equal(gpu_jpeg_encode(d.jpeg, &p[i], 1), GPU_ERR_INVALID);
    assert_int_equal(gpu_jpeg_encode(d.jpeg, p, 0), GPU_ERR_INVALID);
    assert_int_equal(gpu_jpeg_encode(d.jpeg, p, BATCH + 1), GPU_ERR_INVALID);
    desk_check(&d, 1);
    for (int i = 0; i < 4; i++)
        bad[i] = *gpu_jpeg_params_of(d.jpeg);
    bad[0].width = 0, bad[1].pictures = 0, bad[2].frame_size = 0, bad[3].height = 70000;
    for (int i = 0; i < 4; i++)
        assert_int_equal(gpu_jpeg_create(gpu, &bad[i], &none), GPU_ERR_INVALID);
    desk_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_flight),
        cmocka_unit_test(test_device_memory),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
