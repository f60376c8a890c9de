/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which pictures are entropy-decoded on the GPU. It decodes a thousand slices at once and each of
 * them slowly, so of the queue it takes the first pictures that it will have finished before the
 * codec workers, which take from the front, would come to them. So nobody ever waits for the GPU as
 * long as the estimates hold: at the start and at the end of a file, and where the look-ahead is
 * short, the CPU does all. And what it has decoded waits as short as can be: were it to take from
 * the end, its pictures would fill the memory the sooner the longer the queue is. That memory is
 * bounded; what the GPU must not take for that reason is the CPU's.
 *
 * And as they do not hold always, pictures that come late make it take later ones.
 *
 * Both estimates are of seconds a byte, measured while decoding goes on, the latest counting most.
 * That of the workers leaves out the motion of the GPU's pictures, and so is on the safe side.
 */
#include "daemon/worker/steps/entropy_gpu.h"

#include <stdlib.h>

#define MEMORY_PART 8 /* of the device's memory, for all batches together */
/* of it, for coefficients of pictures that wait to be reconstructed, */
#define RESIDENT_PART     16
#define SOFTWARE_RESIDENT (256ull << 20) /* and no more of the host's */
#define LEAST_MEMORY      (2ull << 30)   /* devices with less than that have no room for it */
#define HD_MBS            8160           /* macroblocks of a picture of 1920x1088 */
#define MB_BYTES          (32 + 136 + 8)
#define MB_UNITS          24 /* of 4:2:0 at most, 16 of 4:0:0 */
#define GREY_UNITS        16
#define BATCH_UNITS       10 /* a macroblock, on average over a batch */
#define UNIT_BYTES        32
/* of slices: 0.7 to 1.0 on average, and more in one of a hundred pictures of conformance streams,
 * which are the CPU's */
#define UNITS_A_BYTE 8 / 5
/* that a slice may leave unused: it takes them for eight macroblocks at once */
#define SLICE_UNITS       384
#define PICTURE_BYTES     (64u << 10) /* of slices, on average */
#define PICTURE_SLICES    8
#define SOFTWARE_BATCHES  2
#define SOFTWARE_PICTURES 8
#define DECAY             0.95 /* of what was measured, each time something new is */
#define CPU_SECONDS       1e-7 /* a byte, before anything is measured; of one worker */
#define GPU_SECONDS       2e-6
#define SLICE_MB_BYTES    3    /* 20 ms of a slice of 8,160 macroblocks, besides 0.8 a kilobyte */
#define FETCH_SECONDS     0.02 /* a batch, from its end on */
/* the GPU may take so many times as long as estimated, before it is known how often it does, */
#define MARGIN        1.3
#define LEAST_MARGIN  1.1
#define MOST_MARGIN   3.0
#define MARGIN_LATE   1.1  /* after each batch that was late, */
#define MARGIN_TIMELY 0.98 /* and after the others */
#define LEAST_PART    2  /* a batch is begun with half of the pictures that it can hold, or more, */
#define FIRST_BATCH   32 /* the first ones, until one is measured, with so many */
#define KEPT_PART     3 / 8 /* of the memory for look-ahead, for what the GPU decodes */
#define CANDIDATES    3     /* times as many, to choose from */
#define LEAST_SHARED  8     /* pictures of a batch that share its units */
#define WORTH_SECONDS 0.1   /* of all workers: a queue that the GPU may help with */
/* of all workers, before the GPU is made use of without having been asked for: what does not last
 * is not worth its memory */
#define AUTO_SECONDS 1.0
#define FORGET_NS    500000000ll
#define FORGET       0.8

struct entropy_capacity entropy_capacity(enum engine_entropy mode,
                                         const struct gpu_device_info *device, unsigned queues)
{
    struct entropy_capacity c = {0};
    uint64_t picture = HD_MBS * (MB_BYTES + BATCH_UNITS * UNIT_BYTES) + PICTURE_BYTES;
    uint64_t fit = device->memory_bytes / MEMORY_PART / picture;
    bool able = device->memory_bytes >= LEAST_MEMORY && queues;
    /* Others are not known to be fast enough for one slice, and would be waited for before that is
     * measured. */
    if (mode == ENGINE_ENTROPY_CPU ||
        (mode == ENGINE_ENTROPY_AUTO && (device->kind != GPU_KIND_DISCRETE || !able)) ||
        (mode == ENGINE_ENTROPY_BOTH && !device->software && !able))
        return c;
    c.batches = device->software                     ? SOFTWARE_BATCHES
                : queues && queues < ENTROPY_BATCHES ? queues
                                                     : ENTROPY_BATCHES;
    c.pictures = device->software ? SOFTWARE_PICTURES : ENTROPY_PICTURES;
    if (fit < (uint64_t)c.batches * c.pictures)
        c.pictures = fit < c.batches ? 1 : (uint32_t)(fit / c.batches);
    c.mbs = c.pictures * HD_MBS;
    /* there are too few for an average */
    c.units = c.mbs * (c.pictures < LEAST_SHARED ? MB_UNITS : BATCH_UNITS);
    c.bytes = c.pictures * PICTURE_BYTES;
    c.slices = c.pictures * PICTURE_SLICES;
    return c;
}

uint64_t entropy_batch_bytes(const struct entropy_capacity *c)
{
    return (uint64_t)c->mbs * MB_BYTES + (uint64_t)c->units * UNIT_BYTES + c->bytes;
}

uint32_t entropy_batch_pictures(const struct entropy_capacity *c, uint32_t mb_count)
{
    uint32_t fit = c->mbs / (mb_count ? mb_count : 1);
    return fit < c->pictures ? fit : c->pictures;
}

uint32_t entropy_units(const struct h264_picture *pic)
{
    uint64_t most = (uint64_t)pic->mb_count * (pic->sps->chroma_format_idc ? MB_UNITS : GREY_UNITS);
    uint64_t units =
        (uint64_t)pic->bytes_size * UNITS_A_BYTE + (uint64_t)pic->slice_count * SLICE_UNITS;
    return (uint32_t)(units < most ? units : most);
}

void entropy_keep(struct engine *e, struct job *job, uint64_t bytes)
{
    e->entropy_kept += bytes - job->kept;
    job->kept = bytes;
}

/* Of a picture once it is decoded, while its coefficients stay on the device. */
static uint64_t kept_bytes(const struct job *job)
{
    return (uint64_t)job->pic->mb_count * MB_BYTES;
}

void entropy_keep_units(struct engine *e, struct job *job, uint32_t units)
{
    entropy_keep(e, job, kept_bytes(job) + (uint64_t)units * UNIT_BYTES);
}

uint64_t entropy_resident_limit(const struct engine *e)
{
    uint64_t part = e->device->memory_bytes / RESIDENT_PART;
    if (e->params.entropy_memory)
        return e->params.entropy_memory;
    return e->software && part > SOFTWARE_RESIDENT ? SOFTWARE_RESIDENT : part;
}

void entropy_rate_add(struct entropy_rate *r, double seconds, double bytes)
{
    r->seconds = DECAY * r->seconds + seconds;
    r->bytes = DECAY * r->bytes + bytes;
}

uint64_t entropy_slice_weight(const struct h264_slice *slice)
{
    return slice->nal_size +
           (uint64_t)SLICE_MB_BYTES *
               (slice->end_mb > slice->hdr.first_mb ? slice->end_mb - slice->hdr.first_mb : 0);
}

void entropy_learn(struct engine *e, uint32_t late)
{
    double margin =
        (e->gpu_margin > 0 ? e->gpu_margin : MARGIN) * (late ? MARGIN_LATE : MARGIN_TIMELY);
    e->gpu_margin = margin < LEAST_MARGIN  ? LEAST_MARGIN
                    : margin > MOST_MARGIN ? MOST_MARGIN
                                           : margin;
}

static double seconds_a_byte(const struct entropy_rate *r, double preset)
{
    return r->bytes > 0 ? r->seconds / r->bytes : preset;
}

/* What is left of a batch's room. */
static bool takes(struct entropy_capacity *room, const struct job *job)
{
    const struct h264_picture *pic = job->pic;
    uint64_t bytes = job->bytes + (uint64_t)pic->slice_count * 64;
    uint32_t units = entropy_units(pic);
    if (pic->mb_count > room->mbs || bytes > room->bytes || pic->slice_count > room->slices ||
        units > room->units)
        return false;
    room->mbs -= pic->mb_count;
    room->units -= units;
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
    for (struct job *job = e->entropy, *next; job && n < most; job = next) {
        next = job->next_entropy;
        if (!eligible(job))
            continue;
        if (takes(&room, job)) {
            out[n++] = job;
        } else if (n) {
            break;
        } else { /* larger than a whole batch */
            entropy_remove(e, job);
            job->offloads = false;
            entropy_put(e, job);
        }
    }
    return n;
}

/* Candidates for one batch. */
struct candidates {
    struct job *jobs[CANDIDATES * ENTROPY_PICTURES];
    uint32_t count;
};

/* What the GPU will have finished when its turn comes, the soonest needed first. */
static void find_first(struct engine *e, struct candidates *c, uint32_t most)
{
    double cpu = seconds_a_byte(&e->cpu_rate, CPU_SECONDS) / e->worker_count,
           margin = e->gpu_margin > 0 ? e->gpu_margin : MARGIN;
    double gpu = margin * seconds_a_byte(&e->gpu_rate, GPU_SECONDS),
           fetch = margin * seconds_a_byte(&e->gpu_fetch, FETCH_SECONDS);
    uint64_t before = 0;
    c->count = 0;
    if (cpu * (double)e->entropy_bytes < fetch)
        return;
    for (struct job *job = e->entropy; job && c->count < most; job = job->next_entropy) {
        if (gpu * (double)job->largest_slice + fetch <= cpu * (double)before && eligible(job))
            c->jobs[c->count++] = job;
        before += job->bytes;
    }
}

static int by_size(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    if (x->largest_slice != y->largest_slice)
        return x->largest_slice > y->largest_slice ? 1 : -1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

/* A batch takes as long as its largest slice: of the candidates those whose sizes are most alike.
 */
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

/* For what the GPU decodes. */
static uint64_t memory_left(const struct engine *e)
{
    uint64_t most = e->window_budget * KEPT_PART;
    if (!e->window_budget)
        return UINT64_MAX;
    return most > e->entropy_kept ? most - e->entropy_kept : 0;
}

/* In time, of like sizes, and as many as there is memory for; a batch takes as long with few of
 * them, and then others wait for it. */
static uint32_t choose_some(struct engine *e, struct entropy_capacity room, struct job **out)
{
    struct candidates c;
    bool known = e->gpu_rate.bytes > 0;
    uint64_t left = memory_left(e);
    if (!e->entropy)
        return 0;
    uint32_t n = 0, most = entropy_batch_pictures(&room, e->entropy->pic->mb_count);
    most = known || most < FIRST_BATCH ? most : FIRST_BATCH;
    uint32_t least = (most + LEAST_PART - 1) / LEAST_PART;
    if (left / kept_bytes(e->entropy) < least) {
        e->gpu_chosen_ns = now_ns(); /* nothing to forget for that */
        return 0;
    }
    find_first(e, &c, CANDIDATES * most);
    if (c.count < least)
        return 0;
    for (uint32_t i = c.count > most ? most_alike(&c, most) : 0;
         i < c.count && n < most && left >= kept_bytes(c.jobs[i]); i++)
        if (takes(&room, c.jobs[i])) {
            left -= kept_bytes(c.jobs[i]);
            out[n++] = c.jobs[i];
        }
    return n;
}

bool entropy_worth(const struct engine *e)
{
    if (e->entropy_all)
        return e->entropy != NULL;
    if (e->params.entropy == ENGINE_ENTROPY_AUTO && e->cpu_spent < AUTO_SECONDS * e->worker_count)
        return false;
    return seconds_a_byte(&e->cpu_rate, CPU_SECONDS) / e->worker_count * (double)e->entropy_bytes >
           WORTH_SECONDS;
}

/* What was measured a while ago may not be so any more, and nothing new is measured as long as it
 * seems too slow. */
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

uint32_t entropy_choose(struct engine *e, const struct entropy_capacity *c,
                        struct job *out[ENTROPY_PICTURES], uint64_t *largest)
{
    uint32_t n = e->entropy_all ? choose_all(e, *c, out) : choose_some(e, *c, out);
    *largest = 1;
    if (n)
        e->gpu_chosen_ns = now_ns();
    else
        forget_slowly(e);
    for (uint32_t i = 0; i < n; i++) {
        entropy_remove(e, out[i]);
        entropy_keep(e, out[i], kept_bytes(out[i]));
        *largest = out[i]->largest_slice > *largest ? out[i]->largest_slice : *largest;
    }
    return n;
}
