/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One variant of one case: run or time, then compare.
 */
#include "bench/kernel_bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static int create_sampler(struct gpu *g, VkFilter filter, VkSamplerAddressMode beyond,
                          VkSampler *out)
{
    int err = GPU_OK;
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                .magFilter = filter,
                                .minFilter = filter,
                                .addressModeU = beyond,
                                .addressModeV = beyond,
                                .addressModeW = beyond,
                                .borderColor = VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK};
    VK(g, g->vk.vkCreateSampler(g->device, &info, NULL, out));
error:
    return err;
}

int kernel_bench_create(struct gpu *g, uint64_t seed, uint32_t rounds, struct kernel_bench **out)
{
    int err = GPU_OK;
    struct kernel_bench *b = calloc(1, sizeof(*b));
    if (!b)
        return GPU_ERR_NOMEM;
    b->g = g;
    b->random = seed | 1;
    b->most_sets = KERNEL_MAX_SETS;
    b->rounds = g->main->tick_mask ? rounds : 0;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = KERNEL_QUERIES};
    TRY(create_sampler(g, VK_FILTER_NEAREST, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, &b->nearest));
    TRY(create_sampler(g, VK_FILTER_LINEAR, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER, &b->linear));
    VK(g, g->vk.vkCreateQueryPool(g->device, &queries, NULL, &b->queries));
    TRY(kernel_clock_open(b));
    *out = b;
    return GPU_OK;
error:
    kernel_bench_free(b);
    return err;
}

void kernel_bench_free(struct kernel_bench *b)
{
    if (!b)
        return;
    kernel_case_close(b);
    kernel_clock_close(b);
    b->g->vk.vkDestroyQueryPool(b->g->device, b->queries, NULL);
    b->g->vk.vkDestroySampler(b->g->device, b->nearest, NULL);
    b->g->vk.vkDestroySampler(b->g->device, b->linear, NULL);
    gpu_buffer_free(b->g, &b->staging);
    free(b);
}

/* ---- the variant ---- */

static void want_pipeline(const struct kernel_bench *b, const struct kernel_variant *v,
                          uint32_t pass, struct gpu_pipeline_want *w)
{
    const struct kernel_pass *p = &v->passes[pass];
    *w = (struct gpu_pipeline_want){.layout = b->layout,
                                    .spirv = p->spirv,
                                    .spirv_size = p->spirv_size,
                                    .constant_count = p->constant_count,
                                    .whole = v->whole,
                                    .name = v->name};
    memcpy(w->constants, p->constants, sizeof(w->constants));
    if (b->family->constants) {
        uint32_t n = b->family->constants(&b->c, p, w->constants);
        w->constant_count = n > w->constant_count ? n : w->constant_count;
    }
}

static int make_pipelines(struct kernel_bench *b)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < b->variant->pass_count && err == GPU_OK; i++) {
        struct gpu_pipeline_want w;
        want_pipeline(b, b->variant, i, &w);
        err = gpu_pipeline_get_whole(b->g, w.layout, w.spirv, w.spirv_size, w.constants,
                                     w.constant_count, w.whole, w.name, &b->pipelines[i]);
    }
    return err;
}

static bool dispatchable(const struct kernel_bench *b)
{
    for (uint32_t p = 0; p < b->variant->pass_count; p++) {
        uint32_t xyz[3];
        kernel_groups(b, p, xyz);
        for (int k = 0; k < 3; k++)
            if (xyz[k] > b->g->limits.maxComputeWorkGroupCount[k])
                return false;
    }
    return true;
}

struct saving {
    struct kernel_bench *b;
    uint32_t set;
};

static void record_save(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct saving *s = ctx;
    kernel_image_save(s->b, commands, s->b->variant->image_output - 1, s->set);
    kernel_all_done(g, commands);
}

/* Compare the outputs of a set with the reference. map: the output is mapped there. */
static int check(struct kernel_bench *b, uint32_t set, const uint8_t *map,
                 struct kernel_result *out, char why[KERNEL_WHY])
{
    uint64_t size = b->data.size[BENCH_BIND_OUTPUT], at = set * b->stride[BENCH_BIND_OUTPUT];
    double allowed = 0;
    const uint8_t *got = map ? map + at : NULL;
    int err = GPU_OK;
    if (b->variant->image_output)
        err = gpu_run(b->g, record_save, &(struct saving){b, set});
    if (err == GPU_OK && !map)
        err = kernel_download(b, b->output, at, size, &got);
    if (err < 0)
        return err;
    out->error = b->family->compare(&b->c, b->variant, &b->data, got, &allowed);
    if (out->error <= allowed)
        return GPU_OK;
    snprintf(why, KERNEL_WHY, "differs from the reference by %g, %g is allowed (set %u)",
             out->error, allowed, set);
    return GPU_ERR_INVALID;
}

static int run_checked(struct kernel_bench *b, const uint8_t *map, struct kernel_result *out,
                       char why[KERNEL_WHY])
{
    int err = GPU_OK;
    struct kernel_result r = {.bytes = b->family->traffic(&b->c), .runs = b->sets};
    TRY(make_pipelines(b));
    if (b->rounds)
        TRY(kernel_time_rounds(b, map, &r));
    else
        TRY(gpu_run(b->g, kernel_record_once, b));
    err = check(b, b->rounds ? b->sets - 1 : 0, map, &r, why);
    if (err == GPU_OK || err == GPU_ERR_INVALID)
        *out = r;
error:
    return err;
}

/* ---- outputs in host memory ---- */

static int create_uncached(struct gpu *g, uint64_t size, struct gpu_buffer *out)
{
    return gpu_buffer_create(g, size,
                             VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                             GPU_MEMORY_UPLOAD, out);
}

static int run_in_memfd(struct kernel_bench *b, uint64_t size, struct kernel_result *out,
                        char why[KERNEL_WHY])
{
    struct gpu_host *host = NULL;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    size = (size + page - 1) / page * page;
    int fd = memfd_create("pelton-kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING), err = GPU_ERR_NOMEM;
    void *map = fd >= 0 && ftruncate(fd, (off_t)size) == 0
                    ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                    : MAP_FAILED;
    /* sealed as the daemon's pools are: only this mapping may write */
    if (map == MAP_FAILED ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) < 0)
        goto error;
    TRY(gpu_host_import(b->g, map, size, &host));
    if (gpu_host_is_direct(host)) {
        kernel_case_output(b, gpu_host_buffer(host));
        err = run_checked(b, map, out, why);
    } else {
        snprintf(why, KERNEL_WHY, "the device cannot write into a memfd");
        err = 1;
    }
error:
    if (host)
        gpu_host_free(host);
    if (map != MAP_FAILED)
        munmap(map, size);
    if (fd >= 0)
        close(fd);
    return err;
}

static int run_in_host_memory(struct kernel_bench *b, struct kernel_result *out,
                              char why[KERNEL_WHY])
{
    struct gpu_buffer host = {0};
    uint64_t size = b->stride[BENCH_BIND_OUTPUT] * b->sets;
    int err;
    if (b->variant->memory == KERNEL_MEMFD) {
        err = run_in_memfd(b, size, out, why);
    } else {
        err = b->variant->memory == KERNEL_HOST_UNCACHED
                  ? create_uncached(b->g, size, &host)
                  : gpu_buffer_create(b->g, size,
                                      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                      GPU_MEMORY_READBACK, &host);
        if (err == GPU_OK) {
            kernel_case_output(b, host.buffer);
            err = run_checked(b, host.map, out, why);
        }
        gpu_buffer_free(b->g, &host);
    }
    kernel_case_output(b, b->buffers[BENCH_BIND_OUTPUT].buffer);
    return err;
}

static const char *impossible(const struct kernel_bench *b, const struct kernel_family *family,
                              const struct kernel_variant *v, const struct kernel_case *c)
{
    const char *not = kernel_not_for(family, v, c);
    if (not )
        return not ;
    if (v->whole && !b->g->info.fixed_subgroups)
        return "the device does not say how large its subgroups are";
    if (v->halves && !b->g->info.half_floats)
        return "the device does not compute in halves";
    if (v->shuffles && (!b->g->info.shuffles || b->g->info.subgroup_size < 8))
        return "the device does not shuffle in subgroups of eight or more";
    return NULL;
}

int kernel_run(struct kernel_bench *b, const struct kernel_family *family,
               const struct kernel_variant *variant, const struct kernel_case *c,
               struct kernel_result *out, char why[KERNEL_WHY])
{
    const char *not = impossible(b, family, variant, c);
    why[0] = 0;
    int err = not ? 1 : kernel_case_open(b, family, c);
    if (err == GPU_ERR_FEATURE)
        not = "too large for this device, or of a kind that it has not";
    b->variant = variant;
    if (!not &&err == GPU_OK && !variant->hosted && !dispatchable(b))
        not = "more workgroups than the device takes";
    if (not ) {
        snprintf(why, KERNEL_WHY, "%s", not );
        return 1;
    }
    if (err == GPU_OK && variant->hosted)
        err = family->host(b, variant, out, why);
    else if (err == GPU_OK)
        err = variant->memory == KERNEL_DEVICE ? run_checked(b, NULL, out, why)
                                               : run_in_host_memory(b, out, why);
    if (err < 0 && !why[0])
        snprintf(why, KERNEL_WHY, "%s", gpu_error_text(err));
    return err;
}

int kernel_compile(struct kernel_bench *b, const struct kernel_family *family,
                   const struct kernel_case *c, const bool *wanted)
{
    struct gpu_pipeline_want *wants =
        malloc(family->variant_count * KERNEL_MAX_PASSES * sizeof(*wants));
    uint32_t n = 0;
    int err = wants ? GPU_OK : GPU_ERR_NOMEM;
    for (uint32_t v = 0; v < family->variant_count && err == GPU_OK; v++) {
        const struct kernel_variant *variant = &family->variants[v];
        if (!wanted[v] || variant->hosted || impossible(b, family, variant, c))
            continue;
        err = kernel_case_open(b, family, c);
        for (uint32_t p = 0; p < variant->pass_count && err == GPU_OK; p++)
            want_pipeline(b, variant, p, &wants[n++]);
    }
    if (err == GPU_OK)
        err = gpu_pipelines_make(b->g, wants, n);
    free(wants);
    return err == GPU_ERR_FEATURE ? GPU_OK : err; /* kernel_run says it for each variant */
}

int kernel_check(struct kernel_bench *b, const struct kernel_family *family,
                 const struct kernel_variant *variant, const struct kernel_case *c,
                 char why[KERNEL_WHY])
{
    struct kernel_result unused;
    uint32_t rounds = b->rounds;
    b->rounds = 0;
    int err = kernel_run(b, family, variant, c, &unused, why);
    b->rounds = rounds;
    return err;
}

int kernel_copy_bandwidth(struct kernel_bench *b, double *bytes_per_second)
{
    struct kernel_case c = {.width = 8192, .height = 4096, .format = KERNEL_NV12};
    struct kernel_result r = {0};
    char why[KERNEL_WHY];
    double best = 0;
    uint32_t rounds = b->rounds;
    if (b->g->info.software)
        c.width = c.height = 1024;
    int err = gpu_bandwidth(b->g, &best);
    b->rounds = rounds && rounds < 5 ? 5 : rounds;
    if (err == GPU_OK && b->rounds)
        err = kernel_run(b, &kernel_readback,
                         kernel_variant_find(&kernel_readback, "device-linear"), &c, &r, why);
    b->rounds = rounds;
    if (err < 0)
        return err;
    if (r.batch > 0 && (double)r.bytes / r.batch > best)
        best = (double)r.bytes / r.batch;
    *bytes_per_second = best;
    return GPU_OK;
}
