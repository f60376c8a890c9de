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

#include <stdlib.h>

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
#define GPU_SECONDS   3e-6
#define FETCH_SECONDS 0.02 /* a batch, from its end on */
#define MARGIN        1.5  /* the GPU may be late by so much */
#define LEAST_PART    2    /* a batch is begun with half of the pictures that it can hold, or more, */
#define FIRST_BATCH   8    /* the first one, which is measured, with so many */
#define MOST_CANDIDATES (3 * ENTROPY_PICTURES)
#define WORTH_SECONDS 0.1 /* of all workers: a queue that the GPU may help with */
#define FORGET_NS     500000000ll
#define FORGET        0.8

struct entropy_capacity entropy_capacity(const struct engine *e)
{
    const struct gpu_device_info *device = e->device;
    struct entropy_capacity c = {0};
    uint64_t mb = MB_BYTES + MB_UNITS * UNIT_BYTES, fit = device->memory_bytes / MEMORY_PART / (mb * HD_MBS);
    enum engine_entropy mode = e->params.entropy;
    /* docs/performance.md: not yet measured to be faster, so it has to be asked for */
    if (mode == ENGINE_ENTROPY_CPU || mode == ENGINE_ENTROPY_AUTO)
        return c;
    if (mode == ENGINE_ENTROPY_BOTH && !e->software && (device->memory_bytes < LEAST_MEMORY || !gpu_background_queues(e->gpu)))
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
            job->urgent = true;
            workers_wake(e, 1);
        }
    }
    return n;
}

/* Candidates for one batch. */
struct candidates {
    struct job *jobs[MOST_CANDIDATES];
    uint32_t count;
};

/* From the end, what the GPU will have finished when its turn comes. */
static void find_last(struct engine *e, struct candidates *c)
{
    double cpu = seconds_a_byte(&e->cpu_rate, CPU_SECONDS) / e->worker_count, gpu = MARGIN * seconds_a_byte(&e->gpu_rate, GPU_SECONDS);
    double fetch = MARGIN * seconds_a_byte(&e->gpu_fetch, FETCH_SECONDS);
    uint64_t before = e->entropy_bytes;
    c->count = 0;
    for (struct job *job = e->entropy_last; job && c->count < MOST_CANDIDATES; job = job->prev_entropy) {
        before -= job->pic->bytes_size;
        if (cpu * (double)before < fetch)
            return;
        if (eligible(job) && gpu * (double)job->largest_slice + fetch <= cpu * (double)before)
            c->jobs[c->count++] = job;
    }
}

static int by_size(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    return (x->largest_slice > y->largest_slice) - (x->largest_slice < y->largest_slice);
}

/* A batch takes as long as its largest slice: of the candidates those whose sizes are most alike. */
static uint32_t most_alike(struct candidates *c, uint32_t most)
{
    double best = 0, sum = 0;
    uint32_t from = 0;
    qsort(c->jobs, c->count, sizeof(c->jobs[0]), by_size);
    for (uint32_t i = 0; i < c->count; i++) {
        sum += (double)c->jobs[i]->largest_slice;
        if (i >= most)
            sum -= (double)c->jobs[i - most]->largest_slice;
        if (i + 1 >= most && sum / (double)(c->jobs[i]->largest_slice + 1) > best) {
            best = sum / (double)(c->jobs[i]->largest_slice + 1);
            from = i + 1 - most;
        }
    }
    return from;
}

static uint32_t choose_last(struct engine *e, struct entropy_capacity room, struct job **out)
{
    struct candidates c;
    uint32_t n = 0, most = room.pictures, least = e->gpu_rate.bytes > 0 ? (most + LEAST_PART - 1) / LEAST_PART : FIRST_BATCH;
    find_last(e, &c);
    if (c.count < least)
        return 0;
    most = e->gpu_rate.bytes > 0 ? most : FIRST_BATCH;
    for (uint32_t i = c.count > most ? most_alike(&c, most) : 0; i < c.count && n < most; i++)
        if (takes(&room, c.jobs[i]))
            out[n++] = c.jobs[i];
    return n;
}

bool entropy_worth(const struct engine *e)
{
    if (e->entropy_all)
        return e->entropy != NULL;
    return seconds_a_byte(&e->cpu_rate, CPU_SECONDS) / e->worker_count * (double)e->entropy_bytes > WORTH_SECONDS;
}

/* What was measured a while ago may not be so any more, and nothing new is measured as long as it seems too slow. */
static void forget_slowly(struct engine *e)
{
    int64_t now = now_ns();
    if (!e->gpu_chosen_ns)
        e->gpu_chosen_ns = now;
    if (now - e->gpu_chosen_ns < FORGET_NS)
        return;
    e->gpu_chosen_ns = now;
    e->gpu_rate.seconds *= FORGET;
    e->gpu_fetch.seconds *= FORGET;
}

uint32_t entropy_choose(struct engine *e, const struct entropy_capacity *c, struct job *out[ENTROPY_PICTURES], uint64_t *largest)
{
    uint32_t n = e->entropy_all ? choose_all(e, *c, out) : choose_last(e, *c, out);
    *largest = 1;
    if (n)
        e->gpu_chosen_ns = now_ns();
    else
        forget_slowly(e);
    for (uint32_t i = 0; i < n; i++) {
        entropy_remove(e, out[i]);
        *largest = out[i]->largest_slice > *largest ? out[i]->largest_slice : *largest;
    }
    return n;
}
