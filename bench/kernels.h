/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Families of compute kernels that do one thing in many ways: each variant is checked against a
 * slow C reference on random input, then timed by GPU timestamps. docs/kernels.md says what came
 * out. Thread: that of the struct gpu.
 */
#ifndef PELTON_KERNELS_H
#define PELTON_KERNELS_H

#include "gpu/engine/gpu.h"

enum kernel_format {
    KERNEL_RGBA8,
    KERNEL_RGBA32F,
    KERNEL_NV12,
    KERNEL_BAYER8,
    KERNEL_BAYER12,
    KERNEL_RGB16,
    KERNEL_LUMA8,
    KERNEL_YUV420,
    KERNEL_FORMATS
};

/* One measurement apart from the variant. */
struct kernel_case {
    uint32_t width, height; /* multiples of 8, 16..8192 */
    enum kernel_format format;
    uint32_t taps;     /* blur: width of the kernel, odd, 3..19 */
    bool gauss;        /* blur: weights of a Gaussian, else equal ones */
    uint32_t pictures; /* wavefront: pictures side by side, 1..128 */
};

struct kernel_family;
struct kernel_variant;

#define KERNEL_WHY 160

struct kernel_result {
    double alone;  /* seconds of one run between barriers: median */
    double batch;  /* seconds a run of many that do not depend on each other: median */
    double spread; /* between the shortest and the longest batch, as a part of the median */
    /* the lowest of the device's clocks beside its rounds, as a part of the highest seen; 0: not
     * known */
    double clock;
    double host;    /* seconds in which one CPU reads the result; 0: not measured */
    uint64_t bytes; /* least traffic: input read once, output written once */
    uint32_t runs;  /* of the batch; their data exceeds the device's caches on a GPU */
    double error; /* largest difference from the reference, in units of the last place of 8 bits */
};

struct kernel_bench;

/* Random input comes from seed. rounds: timed batches; 0: nothing is timed, only checked. */
int kernel_bench_create(struct gpu *g, uint64_t seed, uint32_t rounds, struct kernel_bench **out);
void kernel_bench_free(struct kernel_bench *b); /* NULL allowed */

uint32_t kernel_family_count(void);
const struct kernel_family *kernel_family(uint32_t index);
const struct kernel_family *kernel_family_find(const char *name); /* NULL: none */
const char *kernel_family_name(const struct kernel_family *family);
/* What sets a family's cases apart, beside their size and format. */
enum kernel_axis { KERNEL_AXIS_SIZE, KERNEL_AXIS_TAPS, KERNEL_AXIS_PICTURES };
enum kernel_axis kernel_family_axis(const struct kernel_family *family);
uint32_t kernel_variant_count(const struct kernel_family *family);
const struct kernel_variant *kernel_variant(const struct kernel_family *family, uint32_t index);
const struct kernel_variant *kernel_variant_find(const struct kernel_family *family,
                                                 const char *name);
const char *kernel_variant_name(const struct kernel_variant *variant);
/* The family's cases: what it is measured with where the user names nothing. quick: only the one
 * that `pelton tune` takes. */
uint32_t kernel_case_count(const struct kernel_family *family, bool quick);
void kernel_case_get(const struct kernel_family *family, bool quick, uint32_t index,
                     struct kernel_case *out);

const char *kernel_format_name(enum kernel_format format);
bool kernel_format_find(const char *name, enum kernel_format *out);
/* "1920x1080 rgba8 gauss 9": in one line. */
void kernel_case_text(const struct kernel_family *family, const struct kernel_case *c, char *out,
                      size_t size);

/* NULL, or in one line why the variant is not for the case, on any device. */
const char *kernel_not_for(const struct kernel_family *family, const struct kernel_variant *variant,
                           const struct kernel_case *c);

/* GPU_OK; 1 where the variant does not exist for the case or the device, GPU_ERR_INVALID where the
 * result differs from the reference (out is filled then, too), or an error. why: one line in all
 * cases but GPU_OK. */
int kernel_run(struct kernel_bench *b, const struct kernel_family *family,
               const struct kernel_variant *variant, const struct kernel_case *c,
               struct kernel_result *out, char why[KERNEL_WHY]);

/* The same without times, and with what takes the host long: references and pipelines are kept for
 * kernel_run. Clocks of a GPU that mostly waits fall to a fifth: check all variants of a case, then
 * time them one after the other. */
int kernel_check(struct kernel_bench *b, const struct kernel_family *family,
                 const struct kernel_variant *variant, const struct kernel_case *c,
                 char why[KERNEL_WHY]);

/* The pipelines of the variants for which wanted[] is set, side by side on all cores. */
int kernel_compile(struct kernel_bench *b, const struct kernel_family *family,
                   const struct kernel_case *c, const bool *wanted);

/* Bytes read and written a second by the fastest way to copy device memory: the queue's own copy,
 * or a shader of 16 bytes a thread. */
int kernel_copy_bandwidth(struct kernel_bench *b, double *bytes_per_second);

#endif
