/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools of frames, of access units and of device memory: numbers at their limits and beyond, and
 * what frames of them say.
 */
#include "proto/libpelton_pool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOT = 4096, SLOTS = 2 };

/* A format of one plane, 64 x 16 samples, and what a case changes. */
struct made {
    Pelton__FormatChanged m;
    Pelton__Plane plane, *planes[5];
    Pelton__Encoded encoded;
    Pelton__DeviceMemory device;
    uint8_t uuid[16];
    int fd;
};

static int memfd_make(size_t size)
{
    int fd = memfd_create("pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    assert_int_equal(
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
    return fd;
}

static void make(struct made *f, enum pelton_pool_kind kind)
{
    *f = (struct made){.fd = memfd_make(SLOTS * SLOT)};
    pelton__format_changed__init(&f->m);
    pelton__plane__init(&f->plane);
    pelton__encoded__init(&f->encoded);
    pelton__device_memory__init(&f->device);
    f->plane.width = f->plane.stride = 64;
    f->plane.height = 16;
    for (int i = 0; i < 5; i++)
        f->planes[i] = &f->plane;
    f->m.epoch = 1;
    f->m.width = 64;
    f->m.height = 16;
    f->m.slots = SLOTS;
    f->m.slot_size = SLOT;
    f->m.memfd_size = SLOTS * SLOT;
    f->m.n_planes = kind == POOL_UNITS ? 0 : 1;
    f->m.planes = f->planes;
    f->m.encoded = kind == POOL_UNITS ? &f->encoded : NULL;
    f->device.handle_type = PELTON_HANDLE_OPAQUE_FD;
    f->device.allocation_size = SLOTS * SLOT;
    f->device.device_uuid = f->device.driver_uuid = (ProtobufCBinaryData){16, f->uuid};
    f->m.device = kind == POOL_DEVICE ? &f->device : NULL;
}

/* The pool of a format with these changes; NULL: refused. */
#define WITH(kind, ...)                                                                            \
    ({                                                                                             \
        struct made f;                                                                             \
        struct pelton_pool *made_pool = NULL;                                                      \
        make(&f, kind);                                                                            \
        __VA_ARGS__;                                                                               \
        if (pelton_pool_map(&f.m, f.fd, kind, &made_pool) < 0)                                     \
            assert_null(made_pool);                                                                \
        if (f.fd >= 0)                                                                             \
            close(f.fd);                                                                           \
        made_pool;                                                                                 \
    })
#define REFUSED(kind, ...) assert_null(WITH(kind, __VA_ARGS__))

static void numbers(void **state)
{
    struct pelton_pool *pool = WITH(POOL_FRAMES, (void)0);
    assert_non_null(pool);
    pelton_pool_unmap(pool);
    pelton_pool_unmap(NULL);
    REFUSED(POOL_FRAMES, f.m.n_planes = 5);
    REFUSED(POOL_FRAMES, f.m.n_planes = 0);
    REFUSED(POOL_FRAMES, f.m.width = 0);
    REFUSED(POOL_FRAMES, f.m.height = 0);
    REFUSED(POOL_FRAMES, f.m.width = 65537);
    REFUSED(POOL_FRAMES, f.m.height = 65537);
    REFUSED(POOL_FRAMES, f.m.layout = PELTON_NHWC + 1);
    REFUSED(POOL_FRAMES, f.m.type = PELTON_F32 + 1);
    REFUSED(POOL_FRAMES, f.m.channels = 5);
    REFUSED(POOL_FRAMES, f.m.batch = PELTON_MOST_BATCH + 1);
    REFUSED(POOL_FRAMES, f.m.slots = 65537);
    REFUSED(POOL_FRAMES, f.m.slot_size = 0);
    REFUSED(POOL_FRAMES, f.m.slot_size = SLOT + 1);
    REFUSED(POOL_FRAMES, f.m.memfd_size = SLOTS * SLOT + 1);
    REFUSED(POOL_FRAMES, f.plane.width = 0);
    REFUSED(POOL_FRAMES, f.plane.height = 0);
    REFUSED(POOL_FRAMES, f.plane.width = f.plane.stride = (1 << 24) + 1);
    REFUSED(POOL_FRAMES, f.plane.height = 65537);
    REFUSED(POOL_FRAMES, f.plane.stride = 63);
    REFUSED(POOL_FRAMES, f.plane.stride = (2 << 24) + 1);
    REFUSED(POOL_FRAMES, f.plane.offset = SLOT + 1);
    REFUSED(POOL_FRAMES, f.plane.offset = SLOT - 64 * 16 + 1);
    REFUSED(POOL_FRAMES, f.m.encoded = &f.encoded);
    REFUSED(POOL_FRAMES, f.m.device = &f.device);
    REFUSED(POOL_FRAMES, close(f.fd); f.fd = -1);
    REFUSED(POOL_FRAMES, f.m.memfd_size = 0);
}

static void units(void **state)
{
    static uint8_t sets[] = {0, 0, 0, 1, 0x67};
    const ProtobufCBinaryData few = {sizeof(sets), sets}, many = {(1 << 17) + 1, sets};
    struct pelton_frame frame;
    Pelton__FrameReady ready = PELTON__FRAME_READY__INIT;
    struct pelton_pool *pool = WITH(POOL_UNITS, (void)0);
    assert_true(pool && pool->encoded && !pool->sets);
    pelton_pool_unmap(pool);
    REFUSED(POOL_UNITS, f.encoded.nal_length = 5);
    REFUSED(POOL_UNITS, f.encoded.parameter_sets = many);
    REFUSED(POOL_UNITS, f.m.slot_size = (uint64_t)UINT32_MAX + 1);
    REFUSED(POOL_UNITS, f.m.memfd_size = 0);
    REFUSED(POOL_UNITS, f.m.n_planes = 1);
    REFUSED(POOL_UNITS, close(f.fd); f.fd = memfd_make(SLOT));
    pool = WITH(POOL_UNITS, f.encoded.nal_length = 4; f.encoded.parameter_sets = few);
    assert_non_null(pool);
    ready.slot = 1;
    ready.bytes = SLOT + 1;
    assert_false(pelton_pool_frame(pool, &ready, &frame));
    ready.bytes = SLOT;
    assert_true(pelton_pool_frame(pool, &ready, &frame));
    assert_true(frame.data[0] == pool->memory + SLOT && frame.stride[0] == SLOT);
    assert_int_equal(frame.parameter_sets_size, sizeof(sets));
    assert_memory_equal(frame.parameter_sets, sets, sizeof(sets));
    pelton_pool_unmap(pool);
}

static void device(void **state)
{
    struct pelton_device_memory memory;
    struct pelton_frame frame;
    Pelton__FrameReady ready = PELTON__FRAME_READY__INIT;
    REFUSED(POOL_DEVICE, f.m.device = NULL);
    REFUSED(POOL_DEVICE, f.device.allocation_size = SLOT);
    REFUSED(POOL_DEVICE, f.device.handle_type = PELTON_HANDLE_NONE);
    struct pelton_pool *pool = WITH(POOL_DEVICE, f.plane.offset = 64);
    assert_true(pool && !pool->memory);
    assert_false(pelton_pool_device(pool, SLOTS, &memory));
    assert_true(pelton_pool_device(pool, 1, &memory));
    assert_true(memory.offset[0] == SLOT + 64 && memory.slots == SLOTS && memory.fd >= 3);
    assert_true(pelton_pool_frame(pool, &ready, &frame));
    assert_null(frame.data[0]);
    ready.slot = SLOTS;
    assert_false(pelton_pool_frame(pool, &ready, &frame));
    pelton_pool_unmap(pool);
    pool = WITH(POOL_FRAMES, (void)0);
    assert_false(pelton_pool_device(pool, 0, &memory));
    pelton_pool_unmap(pool);
}

/* Without memory there is a format, and no frame. Values that are not known become defaults. */
static void without_memory(void **state)
{
    struct pelton_frame frame;
    Pelton__FrameReady ready = PELTON__FRAME_READY__INIT;
    struct pelton_pool *pool = WITH(POOL_FRAMES, f.m.memfd_size = 0; close(f.fd); f.fd = -1);
    assert_non_null(pool);
    assert_false(pelton_pool_frame(pool, &ready, &frame));
    pelton_pool_unmap(pool);
    pool = WITH(POOL_FRAMES, f.m.orientation = PELTON_TURNED_270 + 9);
    assert_int_equal(pool->orientation, 0);
    uint64_t trace[PELTON_TRACE_POINTS + 1] = {1, 2};
    ready.n_trace_ns = PELTON_TRACE_POINTS + 1;
    ready.trace_ns = (void *)trace;
    ready.field_order = PELTON_BOTTOM_FIELD + 1;
    assert_true(pelton_pool_frame(pool, &ready, &frame));
    assert_true(frame.trace_ns[1] == 2 && frame.field_order == PELTON_PROGRESSIVE);
    pelton_pool_unmap(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(units),
                                       cmocka_unit_test(device), cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
