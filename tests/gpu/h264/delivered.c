/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --frames reads slots by deliveries into host memory, in the submission that writes them.
 * Bytes between the planes must not change.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HOST_BYTES (8u << 20)
#define GAP_BYTES  256
#define UNTOUCHED  0xa5

struct check_host {
    struct gpu_host *host;
    uint8_t *memory;
};

int check_host_open(struct check_env *env)
{
    struct check_host *h = calloc(1, sizeof(*h));
    void *memory =
        mmap(NULL, HOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!h || memory == MAP_FAILED || gpu_host_import(env->gpu, memory, HOST_BYTES, &h->host) < 0) {
        if (memory != MAP_FAILED)
            munmap(memory, HOST_BYTES);
        free(h);
        return -1;
    }
    h->memory = memory;
    memset(memory, UNTOUCHED, HOST_BYTES);
    env->host = h;
    return 0;
}

void check_host_close(struct check_env *env)
{
    if (!env->host)
        return;
    gpu_host_free(env->host->host);
    munmap(env->host->memory, HOST_BYTES);
    free(env->host);
    env->host = NULL;
}

static uint32_t plane_stride(const struct check_env *env, int c)
{
    bool wide = env->format.bit_depth[0] > 8 || env->format.bit_depth[1] > 8;
    return env->mb_width * ref_mb_width(env->format.chroma_format_idc, c) * (wide ? 2 : 1);
}

static size_t plane_size(const struct check_env *env, int c)
{
    return (size_t)plane_stride(env, c) * env->mb_height *
           ref_mb_height(env->format.chroma_format_idc, c);
}

/* Where a plane of a slot goes. A gap stands before each. */
static size_t plane_offset(const struct check_env *env, uint32_t slot, int c)
{
    size_t frame = 3 * GAP_BYTES + plane_size(env, 0) + plane_size(env, 1) + plane_size(env, 2),
           at = slot * frame + GAP_BYTES;
    for (int i = 0; i < c; i++)
        at += plane_size(env, i) + GAP_BYTES;
    return at;
}

void check_delivery(const struct check_env *env, uint32_t slot, struct recon_delivery *out)
{
    static const enum recon_format formats[4] = {RECON_GRAY, RECON_I420, RECON_I422, RECON_I444};
    *out = (struct recon_delivery){.slot = slot,
                                   .host = env->host->host,
                                   .width = 16 * env->mb_width,
                                   .height = 16 * env->mb_height,
                                   .format = formats[env->format.chroma_format_idc]};
    for (int c = 0; c < (env->format.chroma_format_idc ? 3 : 1); c++) {
        out->offset[c] = plane_offset(env, slot, c);
        out->stride[c] = plane_stride(env, c);
    }
}

int check_host_load(struct check_env *env, uint32_t slot)
{
    uint8_t *memory = env->host->memory;
    for (int c = 0; c < (env->format.chroma_format_idc ? 3 : 1); c++) {
        size_t at = plane_offset(env, slot, c), size = plane_size(env, c);
        memcpy(env->got[c], memory + at, size);
        memset(memory + at, UNTOUCHED, size);
        for (size_t i = at - GAP_BYTES; i < at + size + GAP_BYTES; i++)
            if (memory[i] != UNTOUCHED && (i < at || i >= at + size)) {
                printf("checkgpu: byte %zu of the host's memory, beside plane %d of slot %u, was "
                       "changed\n",
                       i, c, slot);
                return GPU_ERR_INVALID;
            }
    }
    return GPU_OK;
}
