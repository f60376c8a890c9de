/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which pictures are entropy-decoded on the GPU. It decodes hundreds of slices at once and each of them slowly, so it takes the
 * pictures that are needed last, from the end of the queue, and of these the ones that it will have finished before the codec
 * workers, which take from the front, would come to them. So nobody ever waits for the GPU as long as the estimates hold: at the
 * start and at the end of a file, and where the look-ahead is short, the CPU does all.
 *
 * Both estimates are of seconds a byte, measured while decoding goes on, the latest counting most.
 */
#include "daemon/worker/entropy_gpu.h"

#define MEMORY_PART   8    /* of the device's memory, for all batches together */
#define LEAST_MEMORY  (2ull << 30) /* devices with less than that have no room for it */
#define HD_MBS        8160 /* macroblocks of a picture of 1920x1088 */
#define MB_BYTES      (32 + 136 + 8)
#define MB_UNITS      24   /* of 4:2:0 at most */
#define UNIT_BYTES    32
#define PICTURE_BYTES (128u << 10) /* of slices, on average */
#define PICTURE_SLICES 8
#define SOFTWARE_BATCHES  2
#define SOFTWARE_PICTURES 8
#define DECAY         0.95 /* of what was measured, each time something new is */
#define CPU_SECONDS   1e-7 /* a byte, before anything is measured; of one worker */
#define GPU_SECONDS   1.5e-6
#define MARGIN        1.3  /* the GPU may be late by so much */
#define LEAST_PART    2    /* a batch is begun with half of the pictures that it can hold, or more */
#define MOST_LOOKS    512  /* jobs that are looked at for one batch */

struct entropy_capacity entropy_capacity(const struct engine *e)
{
    const struct gpu_device_info *device = e->device;
    struct entropy_capacity c = {0};
    uint64_t mb = MB_BYTES + MB_UNITS * UNIT_BYTES, fit = device->memory_bytes / MEMORY_PART / (mb * HD_MBS);
    enum engine_entropy mode = e->params.entropy;
    bool good = !e->software && device->memory_bytes >= LEAST_MEMORY && gpu_background_queues(e->gpu);
    if (mode == ENGINE_ENTROPY_CPU || (mode == ENGINE_ENTROPY_AUTO && !good))
        return c;
    c.batches = e->software ? SOFTWARE_BATCHES : ENTROPY_BATCHES;
    c.pictures = e->software ? SOFTWARE_PICTURES : ENTROPY_PICTURES;
    if (fit < (uint64_t)c.batches * c.pictures)
        c.pictures = fit < c.batches ? 1 : (uint32_t)(fit / c.batches);
    c.mbs = c.pictures * HD_MBS;
    c.units = c.mbs * MB_UNITS;
    c.bytes = c.pictures * PICTURE_BYTES;
    c.slices = c.pictures * PICTURE_SLICES;
    return c;
}

uint64_t entropy_batch_bytes(const struct entropy_capacity *c)
{
    return (uint64_t)c->mbs * MB_BYTES + (uint64_t)c->units * UNIT_BYTES + c->bytes;
}

void entropy_rate_add(struct entropy_rate *r, double seconds, double bytes)
{
    r->seconds = DECAY * r->seconds + seconds;
    r->bytes = DECAY * r->bytes + bytes;
}

static double seconds_a_byte(const struct entropy_rate *r, double preset)
{
    return r->bytes > 0 ? r->seconds / r->bytes : preset;
}

/* What is left of a batch's room. */
static bool takes(struct entropy_capacity *room, const struct job *job)
{
    const struct h264_picture *pic = job->pic;
    uint64_t bytes = pic->bytes_size + (uint64_t)pic->slice_count * 64;
    if (pic->mb_count > room->mbs || bytes > room->bytes || pic->slice_count > room->slices)
        return false;
    room->mbs -= pic->mb_count;
    room->bytes -= (uint32_t)bytes;
    room->slices -= pic->slice_count;
    return true;
}

static bool eligible(const struct job *job)
{
    return job->offloads && !job->slice_next && !job->allocated && !job->session->abort;
}

/* All that can be had, the soonest needed first. */
static uint32_t choose_all(struct engine *e, struct entropy_capacity room, struct job **out)
{
    uint32_t n = 0, most = room.pictures;
    for (struct job *job = e->entropy; job && n < most; job = job->next_entropy) {
        if (!eligible(job))
            continue;
        if (takes(&room, job)) {
            out[n++] = job;
        } else if (n) {
            break;
        } else { /* larger than a whole batch */
            job->offloads = false;
            workers_wake(e, 1);
        }
    }
    return n;
}

/* From the end, what the GPU will have finished when its turn comes. */
static uint32_t choose_last(struct engine *e, struct entropy_capacity room, struct job **out)
{
    double cpu = seconds_a_byte(&e->cpu_rate, CPU_SECONDS) / e->worker_count, gpu = MARGIN * seconds_a_byte(&e->gpu_rate, GPU_SECONDS);
    uint64_t before = e->entropy_bytes;
    uint32_t n = 0, most = room.pictures, looks = 0;
    for (struct job *job = e->entropy_last; job && n < most && looks < MOST_LOOKS; job = job->prev_entropy, looks++) {
        before -= job->pic->bytes_size;
        if (!eligible(job) || gpu * (double)job->largest_slice > cpu * (double)before || !takes(&room, job))
            continue;
        out[n++] = job;
    }
    return n < (most + LEAST_PART - 1) / LEAST_PART ? 0 : n;
}

uint32_t entropy_choose(struct engine *e, const struct entropy_capacity *c, struct job *out[ENTROPY_PICTURES], uint64_t *largest)
{
    uint32_t n = e->entropy_all ? choose_all(e, *c, out) : choose_last(e, *c, out);
    *largest = 1;
    for (uint32_t i = 0; i < n; i++) {
        entropy_remove(e, out[i]);
        *largest = out[i]->largest_slice > *largest ? out[i]->largest_slice : *largest;
    }
    return n;
}
