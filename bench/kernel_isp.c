/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The camera pipeline as a variant: the frames of a batch are the same raw picture, developed into
 * host memory; the time is that of one of its stages, a frame, by its own timestamps.
 */
#include "bench/bench_camera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH 16 /* frames; as many as the pipeline takes by itself */

struct host_frames {
    struct gpu_host *host;
    uint8_t *memory;
    size_t size;
    uint64_t one; /* bytes of a frame */
    struct isp_frame frames[BATCH];
};

static int create_frames(struct kernel_bench *b, const struct kernel_isp *how,
                         struct isp_camera *camera, struct host_frames *f)
{
    uint32_t row_bytes[3], rows[3], stride = isp_row_bytes(&how->params);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    isp_planes(&how->params, row_bytes, rows);
    f->one = ((uint64_t)row_bytes[0] * rows[0] + 255) / 256 * 256;
    f->size = (f->one * BATCH + page - 1) / page * page;
    f->memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->memory == MAP_FAILED) {
        f->memory = NULL;
        return GPU_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < BATCH; i++)
        f->frames[i] = (struct isp_frame){.camera = camera,
                                          .raw = how->raw,
                                          .raw_stride = stride,
                                          .offset = {i * f->one},
                                          .gain = {how->gain[0], how->gain[1], how->gain[2]},
                                          .stride = {row_bytes[0]}};
    int err = gpu_host_import(b->g, f->memory, f->size, &f->host);
    for (uint32_t i = 0; i < BATCH && err == GPU_OK; i++)
        f->frames[i].host = f->host;
    return err;
}

static void free_frames(struct host_frames *f)
{
    if (f->host)
        gpu_host_free(f->host);
    if (f->memory)
        munmap(f->memory, f->size);
}

/* Seconds of the stage, a frame. */
static int run_batch(struct isp *isp, const struct host_frames *f, uint32_t n, enum isp_stage stage,
                     double *seconds)
{
    struct isp_times before, after;
    uint64_t ticket = 0;
    isp_times(isp, &before);
    int err = isp_submit(isp, f->frames, n, &ticket);
    if (err == GPU_OK)
        err = isp_wait(isp, ticket, UINT64_MAX);
    isp_times(isp, &after);
    *seconds = (after.seconds[stage] - before.seconds[stage]) / n;
    return err;
}

struct batches {
    struct isp *isp;
    const struct host_frames *f;
    uint32_t n;
    enum isp_stage stage;
};

static int one_batch(void *ctx, double *seconds)
{
    const struct batches *t = ctx;
    return run_batch(t->isp, t->f, t->n, t->stage, seconds);
}

int kernel_isp_run(struct kernel_bench *b, const struct kernel_isp *how,
                   double (*compare)(struct kernel_bench *b, const uint16_t *rgb), double allowed,
                   struct kernel_result *out, char why[KERNEL_WHY])
{
    struct isp *isp = NULL;
    struct isp_camera *camera = NULL;
    struct host_frames f = {0};
    struct kernel_result r = {.bytes = b->family->traffic(&b->c), .runs = BATCH};
    char reason[ISP_WHY] = "";
    double unused;
    int err = isp_create(b->g, &(struct isp_options){.width = BATCH}, &isp);
    if (err == GPU_OK)
        err = isp_camera_create(isp, &how->params, &camera, reason);
    if (err == GPU_ERR_INVALID)
        snprintf(why, KERNEL_WHY, "the pipeline: %.120s", reason);
    if (err == GPU_OK)
        err = create_frames(b, how, camera, &f);
    if (err == GPU_OK)
        err = run_batch(isp, &f, 2, how->stage, &unused);
    if (err == GPU_OK && b->rounds)
        err = kernel_steady(b, one_batch, &(struct batches){isp, &f, 1, how->stage},
                            &(struct batches){isp, &f, BATCH, how->stage}, b->rounds, &r);
    if (err == GPU_OK) {
        r.error = compare(b, (const uint16_t *)(const void *)(f.memory + f.one));
        if (!(r.error <= allowed)) {
            snprintf(why, KERNEL_WHY, "differs from the reference by %g, %g is allowed", r.error,
                     allowed);
            err = GPU_ERR_INVALID;
        }
        *out = r;
    }
    isp_camera_free(camera);
    isp_free(isp);
    free_frames(&f);
    return err;
}
