/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A device, and a small store of random frames on it, for tests of the executor. The device is
 * $PELTON_DEVICE, or any. Exit code 77 = skipped without a Vulkan device.
 */
#ifndef PELTON_TESTS_GPUWORLD_H
#define PELTON_TESTS_GPUWORLD_H

#include "gpu/h264/recon_internal.h"

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

#define MB_WIDTH  5
#define MB_HEIGHT 3
#define WIDTH     (16 * MB_WIDTH)
#define HEIGHT    (16 * MB_HEIGHT)
#define SLOTS     4

struct frame {
    uint8_t y[HEIGHT][WIDTH], c[2][HEIGHT / 2][WIDTH / 2];
};

static struct gpu *gpu;
static uint64_t seed = 1;

static inline void log_line(void *ctx, int level, const char *line)
{
    if (level <= 1)
        fprintf(stderr, "%s\n", line);
}

static inline uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

static inline struct recon *make_recon(void)
{
    struct recon_params params = {.mb_width = MB_WIDTH,
                                  .mb_height = MB_HEIGHT,
                                  .chroma_format_idc = 1,
                                  .bit_depth = {8, 8},
                                  .slots = SLOTS,
                                  .width = 2};
    struct recon *r = NULL;
    assert_int_equal(recon_create(gpu, &params, &r), GPU_OK);
    assert_int_equal(recon_width(r), 2);
    assert_true(recon_memory(r) > SLOTS * sizeof(struct frame));
    return r;
}

static inline void fill_slot(struct recon *r, uint32_t slot, struct frame *f)
{
    for (size_t i = 0; i < sizeof(*f); i++)
        ((uint8_t *)f)[i] = (uint8_t)random_below(256);
    assert_int_equal(recon_write_slot(r, slot, f->y[0], f->c[0][0], f->c[1][0]), GPU_OK);
}

static inline void expect_slot(struct recon *r, uint32_t slot, const struct frame *want)
{
    struct frame got;
    assert_int_equal(recon_read_slot(r, slot, got.y[0], got.c[0][0], got.c[1][0]), GPU_OK);
    assert_memory_equal(&got, want, sizeof(got));
}

static inline uint8_t *map_memfd(size_t size)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0 && !ftruncate(fd, (off_t)size));
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    close(fd);
    return memory;
}

static inline void no_validation_messages(void **state)
{
    assert_int_equal(gpu_validation_messages(gpu), 0);
}

/* 0, or the exit code of a program that has no device */
static inline int open_device(void)
{
    struct gpu_params params = {
        .device = getenv("PELTON_DEVICE"), .timestamps = true, .log = log_line};
    int err = gpu_open(&params, &gpu);
    if (err == GPU_ERR_NO_DEVICE)
        printf("skipped: %s\n", gpu_error_text(err));
    else if (err == GPU_OK)
        printf("device: %s\n", gpu_info(gpu)->name);
    return err == GPU_OK ? 0 : err == GPU_ERR_NO_DEVICE ? 77 : 1;
}

static inline int device_run(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                             CMFixtureFunction teardown)
{
    int code = open_device();
    if (code)
        return code;
    code = _cmocka_run_group_tests("tests", tests, count, setup, teardown);
    gpu_close(gpu);
    return code;
}

/* What main returns: an array of tests on the device */
#define run_on_device(tests, setup, teardown)                                                      \
    device_run(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

#endif
