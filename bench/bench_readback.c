/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame's way out: into device memory (for comparison), host memory that the CPU's caches hold or
 * not, and a memfd, by shaders in three orders and by the queue's own copy.
 */
#include "bench/kernels_internal.h"

#include <stdlib.h>
#include <string.h>

#include "shaders/bench_readback.spv.h"

enum { LINEAR, TILED, STRIP };

#define SHADED(label, where, order)                                                                \
    {                                                                                              \
        .name = label, .formats = 1u << KERNEL_NV12, .memory = where, .pass_count = 1, .passes = { \
            {KERNEL_SHADER(bench_readback), KERNEL_CONSTANTS(order), .param = order}               \
        }                                                                                          \
    }
#define COPIED(label, where)                                                                       \
    {                                                                                              \
        .name = label, .formats = 1u << KERNEL_NV12, .memory = where, .copy = true                 \
    }
#define ALL(place, where)                                                                          \
    SHADED(place "-linear", where, LINEAR), SHADED(place "-tiled", where, TILED),                  \
        SHADED(place "-strip", where, STRIP), COPIED(place "-copy", where)

static const struct kernel_variant variants[] = {
    ALL("device", KERNEL_DEVICE), ALL("cached", KERNEL_HOST_CACHED),
    ALL("uncached", KERNEL_HOST_UNCACHED), ALL("memfd", KERNEL_MEMFD)};

#define ONE(w, h)                                                                                  \
    {                                                                                              \
        .width = w, .height = h, .format = KERNEL_NV12                                             \
    }
static const struct kernel_case cases[] = {ONE(848, 480), ONE(1280, 720), ONE(1920, 1080),
                                           ONE(3840, 2160)};

static uint64_t size(const struct kernel_case *c, uint32_t binding)
{
    return binding <= BENCH_BIND_OUTPUT ? kernel_format_bytes(c->format, c->width, c->height) : 0;
}

static uint32_t items(const struct kernel_case *c)
{
    return kernel_format_bytes(c->format, c->width, c->height) / 4;
}

static uint64_t traffic(const struct kernel_case *c)
{
    return 2ull * kernel_format_bytes(c->format, c->width, c->height);
}

static void fill(const struct kernel_case *c, struct kernel_data *d, uint64_t *random)
{
    for (uint64_t i = 0; i < d->size[BENCH_BIND_INPUT] / 4; i++) {
        uint32_t r = kernel_random(random);
        memcpy(d->input + 4 * i, &r, 4);
    }
}

static int reference(const struct kernel_case *c, struct kernel_data *d)
{
    return GPU_OK; /* the input itself */
}

static double compare(const struct kernel_case *c, const struct kernel_variant *v,
                      const struct kernel_data *d, const uint8_t *output, double *allowed)
{
    double wrong = 0;
    for (uint64_t i = 0; i < 4ull * items(c); i++)
        wrong += output[i] != d->input[i];
    *allowed = 0;
    return wrong;
}

static void groups(const struct kernel_case *c, const struct kernel_variant *v,
                   const struct kernel_pass *p, const struct kernel_data *d, uint32_t xyz[3])
{
    uint32_t pitch = c->width / 4, rows = items(c) / pitch, parts = (rows + 15) / 16;
    uint32_t threads = p->param == LINEAR  ? items(c) / 4
                       : p->param == TILED ? (pitch + 3) / 4 * parts * 64
                                           : pitch * parts;
    xyz[0] = (threads + 255) / 256;
}

const struct kernel_family kernel_readback = {
    .name = "readback",
    .variants = variants,
    .variant_count = sizeof(variants) / sizeof(*variants),
    .cases = cases,
    .case_count = sizeof(cases) / sizeof(*cases),
    .quick = ONE(1920, 1080),
    .size = size,
    .traffic = traffic,
    .fill = fill,
    .reference = reference,
    .compare = compare,
    .groups = groups,
    .items = items,
};
