/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The machine that runs variants: buffers of a case, in many sets so that a batch exceeds the caches, and the recording of runs.
 */
#ifndef PELTON_KERNEL_BENCH_H
#define PELTON_KERNEL_BENCH_H

#include "gpu/kernels/kernels_internal.h"

#define KERNEL_MAX_SETS 64

struct kernel_push {
    uint32_t width, height, step, pictures, items, patient, groups;
    float weights[BENCH_MAX_TAPS / 2 + 1];
};

struct kernel_bench {
    struct gpu *g;
    uint64_t random;
    uint32_t rounds;
    VkQueryPool queries;
    VkSampler sampler;
    const struct gpu_layout *layout;

    /* of the case at hand */
    const struct kernel_family *family;
    struct kernel_case c;
    struct kernel_data data;
    uint32_t sets;
    uint64_t stride[KERNEL_BINDINGS];      /* bytes from one set to the next */
    struct gpu_buffer buffers[KERNEL_BINDINGS];
    VkImage image;                         /* a layer for each set */
    VkDeviceMemory image_memory;
    VkImageView view;
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
/* Bytes [at, at + size) of a device buffer to memory. */
int kernel_download(struct kernel_bench *b, VkBuffer from, uint64_t at, uint64_t size, uint8_t *memory);

#endif
