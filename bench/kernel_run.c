/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One variant of one case: run or time, then compare.
 *
 * Two times are taken. "Alone": one run after the other with barriers between them, the median.
 * "Batch": every pass for all sets of buffers, then a barrier: as a decoder works that has many
 * pictures at hand. The sets are more than the caches of a GPU hold.
 */
#include "bench/kernel_bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define QUERIES (2 * KERNEL_MAX_SETS + 2)

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
                                     .queryCount = QUERIES};
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

/* ---- recording ---- */

static void all_done(struct gpu *g, VkCommandBuffer commands)
{
    const VkPipelineStageFlags stages =
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                         VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    g->vk.vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void stamp(struct kernel_bench *b, VkCommandBuffer commands, uint32_t query)
{
    b->g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->queries, query);
}

static bool clears(const struct kernel_bench *b)
{
    return b->variant->clear || b->variant->clear_scratch;
}

static void clear(struct kernel_bench *b, VkCommandBuffer commands, uint32_t set)
{
    const uint32_t out = BENCH_BIND_OUTPUT, scratch = BENCH_BIND_SCRATCH;
    if (b->variant->clear)
        b->g->vk.vkCmdFillBuffer(commands, b->output, set * b->stride[out], b->data.size[out], 0);
    if (b->variant->clear_scratch && b->data.size[scratch])
        b->g->vk.vkCmdFillBuffer(commands, b->buffers[scratch].buffer, set * b->stride[scratch],
                                 b->data.size[scratch], 0);
}

static void groups_of(const struct kernel_bench *b, uint32_t pass, uint32_t xyz[3])
{
    xyz[0] = xyz[1] = xyz[2] = 1;
    b->family->groups(&b->c, b->variant, &b->variant->passes[pass], &b->data, xyz);
}

/* The nearest half, of values from 2^-14 to 65504 and what is less as 0. */
static uint32_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits < 113u << 23 ? 0 : (bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
}

static void dispatch(struct kernel_bench *b, VkCommandBuffer commands, uint32_t pass, uint32_t set)
{
    struct gpu *g = b->g;
    uint32_t first[3], xyz[3];
    groups_of(b, 0, first);
    groups_of(b, pass, xyz);
    if (!xyz[0] || !xyz[1] || !xyz[2])
        return;
    struct kernel_push push = {b->c.width,
                               b->c.height,
                               b->family->items ? b->family->items(&b->c) : 0,
                               first[0] * first[1] * first[2],
                               {0},
                               {0}};
    if (b->family->push)
        b->family->push(&b->c, &b->data, push.weights);
    for (int i = 0; i < BENCH_WEIGHTS; i++)
        push.halves[i] = half_of(push.weights[i]) * 0x10001u;
    g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, b->pipelines[pass]);
    g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, b->layout->pipeline, 0,
                                  1, &b->descriptors[set], 0, NULL);
    g->vk.vkCmdPushConstants(commands, b->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(push), &push);
    g->vk.vkCmdDispatch(commands, xyz[0], xyz[1], xyz[2]);
}

/* All passes for sets [first, end). */
static void run_sets(struct kernel_bench *b, VkCommandBuffer commands, uint32_t first, uint32_t end)
{
    const struct kernel_variant *v = b->variant;
    for (uint32_t s = first; s < end && clears(b); s++)
        clear(b, commands, s);
    if (clears(b))
        all_done(b->g, commands);
    for (uint32_t s = first; s < end && v->copy; s++) {
        VkBufferCopy region = {s * b->stride[BENCH_BIND_INPUT], s * b->stride[BENCH_BIND_OUTPUT],
                               b->data.size[BENCH_BIND_OUTPUT]};
        b->g->vk.vkCmdCopyBuffer(commands, b->buffers[BENCH_BIND_INPUT].buffer, b->output, 1,
                                 &region);
    }
    for (uint32_t p = 0; p < v->pass_count; p++) {
        for (uint32_t s = first; s < end; s++)
            dispatch(b, commands, p, s);
        if (p + 1 < v->pass_count && !v->independent)
            all_done(b->g, commands);
    }
    all_done(b->g, commands);
}

static void record_once(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    run_sets(ctx, commands, 0, 1);
}

static void record_round(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    struct kernel_bench *b = ctx;
    g->vk.vkCmdResetQueryPool(commands, b->queries, 0, QUERIES);
    for (uint32_t s = 0; s < b->sets; s++) {
        stamp(b, commands, 2 * s);
        run_sets(b, commands, s, s + 1);
        stamp(b, commands, 2 * s + 1);
    }
    all_done(g, commands);
    stamp(b, commands, 2 * b->sets);
    run_sets(b, commands, 0, b->sets);
    stamp(b, commands, 2 * b->sets + 1);
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
        groups_of(b, p, xyz);
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
    all_done(g, commands);
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

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double kernel_median(double *values, uint32_t n)
{
    if (!n)
        return 0;
    qsort(values, n, sizeof(*values), by_value);
    return values[n / 2];
}

double kernel_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How long a CPU takes to read one result out of memory that the device has written. */
static double read_by_host(const struct kernel_bench *b, const uint8_t *map, uint8_t *to)
{
    double start = kernel_seconds();
    memcpy(to, map, b->data.size[BENCH_BIND_OUTPUT]);
    return kernel_seconds() - start;
}

static int one_round(void *ctx, double *seconds)
{
    struct kernel_bench *b = ctx;
    *seconds = 0; /* time_rounds reads more of them */
    return gpu_run(b->g, record_round, b);
}

static int time_rounds(struct kernel_bench *b, const uint8_t *map, struct kernel_result *out)
{
    struct gpu *g = b->g;
    int err = GPU_OK;
    uint64_t ticks[QUERIES];
    uint32_t alone = 0;
    struct kernel_watch watch;
    double *samples = malloc((size_t)b->rounds * (b->sets + 2) * sizeof(*samples)), *batches,
           *hosts;
    uint8_t *to = malloc(b->data.size[BENCH_BIND_OUTPUT]);
    if (!samples || !to) {
        free(samples);
        free(to);
        return GPU_ERR_NOMEM;
    }
    batches = samples + (size_t)b->rounds * b->sets;
    hosts = batches + b->rounds;
    TRY(kernel_watch_begin(b, one_round, b, &watch));
    for (uint32_t r = 0; r < b->rounds;) {
        bool counts;
        TRY(gpu_run(g, record_round, b));
        VK(g, g->vk.vkGetQueryPoolResults(g->device, b->queries, 0, 2 * b->sets + 2, sizeof(ticks),
                                          ticks, sizeof(*ticks),
                                          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
        hosts[r] = map ? read_by_host(b, map, to) : 0;
        TRY(kernel_watch_round(b, &watch, &counts));
        if (!counts)
            continue;
        double unit = g->limits.timestampPeriod * 1e-9;
        for (uint32_t s = 0; s < b->sets; s++)
            samples[alone++] =
                (double)((ticks[2 * s + 1] - ticks[2 * s]) & g->main->tick_mask) * unit;
        batches[r++] =
            (double)((ticks[2 * b->sets + 1] - ticks[2 * b->sets]) & g->main->tick_mask) * unit /
            b->sets;
    }
    out->alone = kernel_median(samples, alone);
    out->batch = kernel_median(batches, b->rounds);
    out->spread = out->batch > 0 ? (batches[b->rounds - 1] - batches[0]) / out->batch : 0;
    out->host = kernel_median(hosts, b->rounds);
    out->clock = watch.least;
error:
    free(samples);
    free(to);
    return err;
}

static int run_checked(struct kernel_bench *b, const uint8_t *map, struct kernel_result *out,
                       char why[KERNEL_WHY])
{
    int err = GPU_OK;
    struct kernel_result r = {.bytes = b->family->traffic(&b->c), .runs = b->sets};
    TRY(make_pipelines(b));
    if (b->rounds)
        TRY(time_rounds(b, map, &r));
    else
        TRY(gpu_run(b->g, record_once, b));
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
