/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The machine that runs variants: buffers of a case, in many sets so that a batch exceeds the caches, and the recording of runs.
 */
#ifndef PELTON_KERNEL_BENCH_H
#define PELTON_KERNEL_BENCH_H

#include "gpu/kernels/kernels_internal.h"

#define KERNEL_MAX_SETS 64

struct kernel_push {
    uint32_t width, height, items, groups;
    float weights[BENCH_WEIGHTS];
};

/* A layer for each set. */
struct kernel_bench_image {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView views[KERNEL_MAX_SETS];
};

struct kernel_bench {
    struct gpu *g;
    uint64_t random;
    uint32_t rounds;
    VkQueryPool queries;
    double busy;                           /* when the device last was, on the monotonic clock */
    VkSampler nearest, linear;             /* beyond the border: the border; nothing */
    const struct gpu_layout *layout;

    /* of the case at hand */
    const struct kernel_family *family;
    struct kernel_case c;
    struct kernel_data data;
    uint32_t sets;
    uint64_t stride[KERNEL_BINDINGS];      /* bytes from one set to the next */
    struct gpu_buffer buffers[KERNEL_BINDINGS];
    struct kernel_bench_image images[KERNEL_IMAGES];
    struct gpu_buffer staging;             /* for results; grows */
    VkDescriptorPool pool;
    VkDescriptorSet descriptors[KERNEL_MAX_SETS];

    /* of the variant at hand */
    VkBuffer output;                       /* that of buffers, or host memory */
    VkPipeline pipelines[KERNEL_MAX_PASSES];
    const struct kernel_variant *variant;
};

/* Make family and case the ones at hand: data, reference, buffers. GPU_ERR_FEATURE where the device cannot hold them. */
int kernel_case_open(struct kernel_bench *b, const struct kernel_family *family, const struct kernel_case *c);
void kernel_case_close(struct kernel_bench *b);
/* Let the descriptors of the output name this buffer, which has room for all sets. */
void kernel_case_output(struct kernel_bench *b, VkBuffer output);
/* Bytes [at, at + size) of a device buffer; *memory lasts until the next call. */
int kernel_download(struct kernel_bench *b, VkBuffer from, uint64_t at, uint64_t size, const uint8_t **memory);

/* kernel_run.c: of n values, which it sorts, 0 of none; the monotonic clock */
double kernel_median(double *values, uint32_t n);
double kernel_seconds(void);
/* How long to keep the device busy before times count: while the host does other things a GPU lowers its clocks. */
double kernel_warm_seconds(const struct kernel_bench *b);

/* kernel_image.c: the family's image `index` of the case at hand; its buffers are there and filled. */
int kernel_image_create(struct kernel_bench *b, uint32_t index);
void kernel_image_free(struct kernel_bench *b, uint32_t index); /* half-built is fine */
void kernel_image_describe(struct kernel_bench *b, uint32_t index, uint32_t set); /* in the set's descriptors */
void kernel_image_save(struct kernel_bench *b, VkCommandBuffer commands, uint32_t index, uint32_t set); /* to the output buffer */

#endif
