/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a family of kernels is made of: tables of variants, one row each, and functions that know
 * its data.
 */
#ifndef PELTON_KERNELS_INTERNAL_H
#define PELTON_KERNELS_INTERNAL_H

#include "bench/kernels.h"
#include "bench/shaders/bench_args.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/pulse.h"
#include "gpu/engine/work.h"

#define KERNEL_BINDINGS       4
#define KERNEL_IMAGES         2
#define KERNEL_MAX_PASSES     4
#define KERNEL_SHADER(shader) .spirv = shader_##shader, .spirv_size = sizeof(shader_##shader)
#define KERNEL_CONSTANTS(...)                                                                      \
    .constants = {__VA_ARGS__},                                                                    \
    .constant_count = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

struct kernel_data;

struct kernel_pass {
    const uint32_t *spirv;
    size_t spirv_size;
    uint32_t constants[8], constant_count;
    uint32_t param; /* of groups() and constants(); what it means is the family's business */
};

enum kernel_memory { KERNEL_DEVICE, KERNEL_HOST_CACHED, KERNEL_HOST_UNCACHED, KERNEL_MEMFD };

struct kernel_variant {
    const char *name;
    uint32_t formats;   /* mask of enum kernel_format */
    bool whole;         /* needs full subgroups of a size that is known */
    bool halves;        /* computes in them */
    bool shuffles;      /* in subgroups, of eight or more */
    bool clear;         /* the output is cleared first, in the measured time */
    bool clear_scratch; /* the scratch buffer too */
    bool box_only;
    bool independent;          /* passes need no barrier between them */
    bool hosted;               /* runs by the family's host() */
    uint32_t image_output;     /* 1 + index of the image that is the output; 0: the buffer */
    bool copy;                 /* no shader: the queue's own copy of input to output */
    enum kernel_memory memory; /* of the output */
    uint32_t param;            /* the family's */
    uint32_t pass_count;
    struct kernel_pass passes[KERNEL_MAX_PASSES];
};

/* Host copies of a case's data. */
struct kernel_data {
    uint64_t size[KERNEL_BINDINGS]; /* bytes of each buffer; 0: none */
    /* scratch: filled by families whose size of it counts as input; else what the device leaves */
    uint8_t *input, *params, *scratch;
    void *reference;                    /* the family's; one allocation */
    uint32_t counts[KERNEL_MAX_PASSES]; /* of case lists */
    uint32_t subgroup;                  /* the device's */
    uint64_t random;                    /* of the generator, after fill() */
};

/* Beside the buffers: the same bytes, or the output, as an image. */
struct kernel_image {
    VkFormat format;
    uint32_t pixels; /* side by side in a texel */
    uint32_t from;   /* binding of the buffer that fills it; KERNEL_BINDINGS: shaders write it */
    uint32_t storage, texture; /* its bindings; 0: none */
    bool linear;               /* the texture is filtered, black beyond its border */
};

struct kernel_family {
    const char *name;
    const struct kernel_variant *variants;
    uint32_t variant_count;
    const struct kernel_case *cases;
    uint32_t case_count;
    struct kernel_case quick;
    enum kernel_axis axis;
    uint32_t image_count;
    struct kernel_image images[KERNEL_IMAGES];
    bool fills_scratch;
    bool whole_blocks; /* sizes are multiples of 16 */
    uint64_t (*size)(const struct kernel_case *c, uint32_t binding);
    uint64_t (*traffic)(const struct kernel_case *c);
    /* Random input and params; *random is the generator's state. NULL: none. */
    void (*fill)(const struct kernel_case *c, struct kernel_data *d, uint64_t *random);
    /* d->reference, allocated; GPU_ERR_NOMEM. forget frees it, after an error too; NULL: free(). */
    int (*reference)(const struct kernel_case *c, struct kernel_data *d);
    void (*forget)(struct kernel_data *d);
    /* The largest difference; more than *allowed is a failure. */
    double (*compare)(const struct kernel_case *c, const struct kernel_variant *v,
                      const struct kernel_data *d, const uint8_t *output, double *allowed);
    void (*groups)(const struct kernel_case *c, const struct kernel_variant *v,
                   const struct kernel_pass *p, const struct kernel_data *d, uint32_t xyz[3]);
    /* Constants that depend on the case, over those of the row; NULL: none. Returns their number.
     */
    uint32_t (*constants)(const struct kernel_case *c, const struct kernel_pass *p,
                          uint32_t constants[8]);
    uint32_t (*items)(const struct kernel_case *c); /* push.items; NULL: 0 */
    /* push.weights; NULL: 0 */
    void (*push)(const struct kernel_case *c, const struct kernel_data *d,
                 float weights[BENCH_WEIGHTS]);
    /* Variants that are `hosted`: check, and time where b->rounds is not 0; returns as kernel_run
     * does. NULL: none. Families without size() have only such. */
    int (*host)(struct kernel_bench *b, const struct kernel_variant *v, struct kernel_result *out,
                char why[KERNEL_WHY]);
};

extern const struct kernel_family kernel_reduce, kernel_blur, kernel_demosaic, kernel_undistort,
    kernel_readback, kernel_wavefront, kernel_inter;

/* kernels.c */
uint32_t kernel_random(uint64_t *state);
uint32_t kernel_format_bytes(enum kernel_format format, uint32_t width, uint32_t height);

#endif
