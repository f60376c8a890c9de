/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the files of checkisp.
 */
#ifndef PELTON_TESTS_ISP_CHECKISP_H
#define PELTON_TESTS_ISP_CHECKISP_H

#include "gpu/isp/isp.h"

#define CHECK_HOST_BYTES (64u << 20)

struct check_env {
    struct gpu *gpu;
    struct isp *isp;
    struct gpu_host *host;
    uint8_t *memory;         /* of host */
    struct gpu_arena *arena; /* 16 MiB */
    uint8_t *arena_memory;
    uint64_t random;
    unsigned long frames, all_frames;
    unsigned long long samples, inexact;
    double worst; /* difference beyond rounding, in code values */
};

uint32_t check_random(struct check_env *env, uint32_t below);
double check_uniform(struct check_env *env, double low, double high);

/* Random parameters: a small sensor, no lens. */
void check_params(struct check_env *env, struct isp_params *p);
void check_lens(struct check_env *env, struct isp_params *p);

/* One frame through the device and the reference. 0, or 1 after printing what differs.
 * Zero-initialise `make` but for these. */
struct check_frame {
    struct isp_params params;
    float gain[3];
    int pattern; /* 0 noise, 1 smooth with noise, 2 extremes */
    bool in_arena, padded, statistics;
    /* made by check_prepare */
    struct isp_camera *camera;
    uint8_t *raw;
    double *reference[3]; /* code values before they are rounded */
    uint32_t stride, row_bytes[3], rows[3], planes;
    uint64_t offset[3];
    uint32_t out_stride[3];
    struct isp_statistics got, wanted;
};
/* at: the first free byte of env->host; moves on. */
int check_prepare(struct check_env *env, struct check_frame *f, uint64_t *at, uint64_t *arena_at);
void check_describe(const struct check_frame *f, struct isp_frame *out, struct check_env *env);
int check_compare(struct check_env *env, struct check_frame *f);
void check_release(struct check_frame *f);
/* All of it for n frames in one call of isp_submit. */
int check_run(struct check_env *env, struct check_frame *frames, uint32_t n);

/* f, and the same frame with the rectangles of blurred, which is f's parameters but for them, in
 * one batch: exact. */
int check_blurred(struct check_env *env, struct check_frame *f, const struct isp_params *blurred);

/* checkisp_cases.c */
struct check_group {
    const char *name;
    int (*run)(struct check_env *env);
};
extern const struct check_group check_groups[];
extern const size_t check_group_count;

/* checkisp_time.c: prints how long batches take */
int check_timing(struct gpu *gpu, uint32_t width, uint32_t height);

#endif
