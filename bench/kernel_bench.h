/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The machine that runs variants: buffers of a case, in many sets so that a batch exceeds the
 * caches, and the recording of runs.
 */
#ifndef PELTON_KERNEL_BENCH_H
#define PELTON_KERNEL_BENCH_H

#include "bench/kernels_internal.h"

#define KERNEL_MAX_SETS 64
#define KERNEL_QUERIES  (2 * KERNEL_MAX_SETS + 2)

struct kernel_push {
    uint32_t width, height, items, groups;
    float weights[BENCH_WEIGHTS];
    uint32_t halves[BENCH_WEIGHTS]; /* each twice */
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
    uint32_t rounds, most_sets;
    VkQueryPool queries;
    struct gpu_pulse *pulse;   /* NULL: nothing is timed, or a software device */
    double fastest;            /* seconds of the shortest pulse so far */
    VkSampler nearest, linear; /* beyond the border: the border; nothing */
    const struct gpu_layout *layout;

    /* of the case at hand */
    const struct kernel_family *family;
    struct kernel_case c;
    struct kernel_data data;
    uint32_t sets;
    uint64_t stride[KERNEL_BINDINGS]; /* bytes from one set to the next */
    struct gpu_buffer buffers[KERNEL_BINDINGS];
    struct kernel_bench_image images[KERNEL_IMAGES];
    struct gpu_buffer staging; /* for results; grows */
    VkDescriptorPool pool;
    VkDescriptorSet descriptors[KERNEL_MAX_SETS];

    /* of the variant at hand */
    VkBuffer output; /* that of buffers, or host memory */
    VkPipeline pipelines[KERNEL_MAX_PASSES];
    const struct kernel_variant *variant;
};

/* Make family and case the ones at hand: data, reference, buffers. GPU_ERR_FEATURE where the device
 * cannot hold them. */
int kernel_case_open(struct kernel_bench *b, const struct kernel_family *family,
                     const struct kernel_case *c);
void kernel_case_close(struct kernel_bench *b);
/* Let the descriptors of the output name this buffer, which has room for all sets. */
void kernel_case_output(struct kernel_bench *b, VkBuffer output);
/* Bytes [at, at + size) of a device buffer; *memory lasts until the next call. */
int kernel_download(struct kernel_bench *b, VkBuffer from, uint64_t at, uint64_t size,
                    const uint8_t **memory);

/* kernel_record.c: commands of the variant at hand. A barrier for all that was written. */
void kernel_all_done(struct gpu *g, VkCommandBuffer commands);
/* Workgroups of a pass */
void kernel_groups(const struct kernel_bench *b, uint32_t pass, uint32_t xyz[3]);
/* For gpu_run, ctx is the bench: the first set; all sets with a timestamp before and after each,
 * and then all of them as a batch. */
void kernel_record_once(struct gpu *g, VkCommandBuffer commands, void *ctx);
void kernel_record_round(struct gpu *g, VkCommandBuffer commands, void *ctx);

/* kernel_time.c: of n values, which it sorts, 0 of none; the monotonic clock */
double kernel_median(double *values, uint32_t n);
double kernel_seconds(void);
/* Rounds of the variant at hand: all of *out but bytes, runs and error. map: the output is mapped
 * there, and the CPU's time to read it is taken too. */
int kernel_time_rounds(struct kernel_bench *b, const uint8_t *map, struct kernel_result *out);

/* kernel_clock.c: a GPU lowers its clocks while the host does other things, and all times become
 * longer with them. A pulse, which takes the same number of cycles each time, tells by how much:
 * rounds beside which pulses are slow do not count. */
struct kernel_watch {
    /* when watching began; the clocks before the round at hand: 1 the highest seen, 0 not known */
    double start, before;
    double least; /* of the rounds that count */
};
int kernel_clock_open(struct kernel_bench *b);
void kernel_clock_close(struct kernel_bench *b); /* half-built is fine */
/* Some of the work that is to be timed, and its time. */
typedef int (*kernel_round_fn)(void *ctx, double *seconds);
/* Clocks are up, or have not come up for long. */
int kernel_watch_begin(struct kernel_bench *b, kernel_round_fn round, void *ctx,
                       struct kernel_watch *w);
/* A round is over: *counts says whether clocks were up before and after it. Where they stay low for
 * long, rounds count all the same. */
int kernel_watch_round(struct kernel_bench *b, struct kernel_watch *w, bool *counts);
/* All of it, of one run and of a batch, which round tells apart by its ctx: alone, batch, spread
 * and clock of *out. The bench's rounds of the first, `batches` of the second; one is enough where
 * a round is many batches, and then the spread is that of single runs. */
int kernel_steady(struct kernel_bench *b, kernel_round_fn round, void *alone, void *batch,
                  uint32_t batches, struct kernel_result *out);

/* kernel_image.c: the family's image `index` of the case at hand; its buffers are there and filled.
 */
int kernel_image_create(struct kernel_bench *b, uint32_t index);
void kernel_image_free(struct kernel_bench *b, uint32_t index); /* half-built is fine */
/* in the set's descriptors */
void kernel_image_describe(struct kernel_bench *b, uint32_t index, uint32_t set);
/* to the output buffer */
void kernel_image_save(struct kernel_bench *b, VkCommandBuffer commands, uint32_t index,
                       uint32_t set);

#endif
