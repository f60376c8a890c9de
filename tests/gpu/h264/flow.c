/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --clip FILE --flow: the speed of a device that never waits for work. The records of a
 * clip are submitted again and again, as fast as flights come free. The batch that reconstructs a
 * picture also delivers it to host memory. On a device with queues for them, copies up,
 * reconstruction and deliveries of several batches overlap. PELTON_QUEUES=one takes these queues
 * away.
 */
#include "gpu/h264/recon_internal.h"
#include "tests/gpu/h264/checkgpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define WARM_SECONDS 0.2
#define SECONDS      0.6
/* host memory is not written again before it has been */
#define HOST_BATCHES (RECON_MAX_FLIGHT + 1)

struct flow {
    struct recon *recon;
    const struct check_clip *clip;
    struct gpu_host *host;
    uint8_t *memory;
    uint64_t frame_bytes, host_bytes;
    /* frames: that the host holds; next: of clip->order */
    uint32_t width, frames, next_frame, next;
    uint32_t *shown; /* picture that each frame of the host holds, or UINT32_MAX */
};

static void deliver_to(const struct flow *f, uint32_t slot, uint32_t frame,
                       struct recon_delivery *out)
{
    const struct rec_picture *h = &f->clip->views[0].head;
    uint32_t width = 16u * h->mb_width, height = 16u * h->mb_height;
    uint64_t at = frame * f->frame_bytes, luma = (uint64_t)width * height;
    *out = (struct recon_delivery){.slot = slot,
                                   .host = f->host,
                                   .offset = {at, at + luma, at + luma * 5 / 4},
                                   .stride = {width, width / 2, width / 2},
                                   .width = width,
                                   .height = height,
                                   .format = RECON_I420};
}

static int submit(struct flow *f, uint64_t *ticket)
{
    struct recon_picture pictures[CHECK_CLIP_WIDTH];
    struct recon_delivery deliveries[CHECK_CLIP_WIDTH];
    for (uint32_t i = 0; i < f->width; i++) {
        uint32_t picture = f->clip->order[f->next];
        pictures[i] = (struct recon_picture){.view = &f->clip->views[picture], .slot = picture};
        deliver_to(f, picture, f->next_frame, &deliveries[i]);
        f->shown[f->next_frame] = picture;
        f->next = (f->next + 1) % f->clip->count;
        f->next_frame = (f->next_frame + 1) % f->frames;
    }
    return recon_submit(f->recon, pictures, f->width, deliveries, f->width, ticket);
}

static int run(struct flow *f, double seconds, uint64_t *pictures, double *passed)
{
    double begin = check_seconds();
    uint64_t ticket = 0;
    int err = 0;
    for (*pictures = 0; err == 0 && check_seconds() - begin < seconds; *pictures += f->width)
        err = submit(f, &ticket);
    if (err == 0)
        err = recon_wait(f->recon, ticket, UINT64_MAX);
    *passed = check_seconds() - begin;
    return err;
}

static int compare(const struct flow *f)
{
    for (uint32_t i = 0; i < f->frames; i++) {
        uint32_t picture = f->shown[i];
        if (picture == UINT32_MAX || check_frame_sum(f->memory + i * f->frame_bytes,
                                                     f->frame_bytes) == f->clip->sums[picture])
            continue;
        printf("checkgpu: MISMATCH delivered picture %" PRIu32 " of the clip\n", picture);
        return -1;
    }
    return 0;
}

static void print(const struct flow *f, const struct recon_times *before,
                  const struct recon_times *after, uint64_t pictures, double passed)
{
    static const char *const stages[RECON_STAGES] = {"upload", "classify", "residual", "inter",
                                                     "intra",  "deblock",  "deliver"};
    double count = (double)pictures, sum = 0;
    printf("flow x%-2" PRIu32, f->width);
    for (int s = 0; s < RECON_STAGES; s++) {
        double us = 1e6 * (after->seconds[s] - before->seconds[s]) / count;
        printf("  %s %6.1f", stages[s], us);
        sum += us;
    }
    printf("  sum %6.1f, passed %6.1f us a picture: %.0f fps, %.1f GB/s up, %.1f down\n", sum,
           1e6 * passed / count, count / passed,
           1e-9 * (double)(after->upload_bytes - before->upload_bytes) / passed,
           1e-9 * (double)(after->deliver_bytes - before->deliver_bytes) / passed);
    fflush(stdout);
}

static int open_host(struct flow *f, struct gpu *g)
{
    f->frame_bytes = (uint64_t)f->clip->views[0].head.mb_count * 384;
    f->frames = HOST_BATCHES * f->width;
    f->host_bytes = (f->frames * f->frame_bytes + 4095) / 4096 * 4096;
    f->shown = malloc(f->frames * sizeof(*f->shown));
    if (!f->shown)
        return GPU_ERR_NOMEM;
    for (uint32_t i = 0; i < f->frames; i++)
        f->shown[i] = UINT32_MAX;
    f->memory = mmap(NULL, f->host_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return f->memory == MAP_FAILED ? GPU_ERR_NOMEM
                                   : gpu_host_import(g, f->memory, f->host_bytes, &f->host);
}

int check_flow(struct gpu *g, struct recon *r, uint32_t width, const struct check_clip *clip)
{
    struct flow f = {.recon = r, .clip = clip, .width = width, .memory = MAP_FAILED};
    struct recon_times before, after;
    uint64_t pictures = 0;
    double passed = 0;
    int err = open_host(&f, g);
    if (err == 0)
        err = run(&f, WARM_SECONDS, &pictures, &passed);
    recon_times(r, &before);
    if (err == 0)
        err = run(&f, SECONDS, &pictures, &passed);
    recon_times(r, &after);
    if (err == 0)
        print(&f, &before, &after, pictures, passed);
    if (err == 0)
        err = compare(&f);
    gpu_host_free(f.host);
    if (f.memory != MAP_FAILED)
        munmap(f.memory, f.host_bytes);
    free(f.shown);
    return err;
}
