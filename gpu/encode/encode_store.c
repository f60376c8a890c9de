/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of jobs. The failure modes: no memory at creation; a device that is lost fails all jobs
 * of a batch, and each one after it.
 */
#include "gpu/encode/encode_store.h"

#include "gpu/encode/encode_codes.h"
#include "gpu/engine/gpu_clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(GPU_ENCODER_PASSES == GPU_ENCODE_PASSES, "gpu_encoder_counts has all of them");

/* What a stream's thread waits for: one of both, the other is NULL */
struct encode_job {
    const struct gpu_encode_look *look;
    struct gpu_encode_decision *decision;
    struct encode_job *next;
    int64_t handed_ns; /* when it was handed in */
    bool done;
    int err;
};

/* A batch that runs */
struct store_batch {
    bool running;
    int64_t begun_ns;
    uint32_t count;
    struct encode_job **jobs;
    const struct gpu_encode_look **looks;
    struct gpu_encode_decision **decisions;
};

struct encode_store {
    struct gpu *g;
    struct encode_store_params params;
    struct gpu_encode *encode;
    bool *taken; /* streams */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct encode_job *first, **last; /* those that wait */
    uint32_t waiting, entered;        /* their number; streams */
    struct gpu_encoder_counts counts; /* but passes */
    struct store_batch batches[GPU_ENCODE_FLIGHT];
};

/* ---- life ---- */

/* The references, and the picture that is decided */
static uint32_t slots_of(const struct encode_store_params *p)
{
    return p->references + 1u;
}

static int store_create_passes(struct encode_store *s)
{
    const struct encode_store_params *p = &s->params;
    struct gpu_encode_params encode = {.mb_width = p->mb_width,
                                       .mb_height = p->mb_height,
                                       .pictures = p->pictures,
                                       .streams = p->streams,
                                       .sources = 2 * p->streams,
                                       .sets = p->streams * (2 + slots_of(p))};
    encode_quantisers_fill(encode.quantiser);
    encode_codes_fill(&encode.codes);
    return gpu_encode_create(s->g, &encode, &s->encode);
}

static bool store_create_lists(struct encode_store *s)
{
    uint32_t n = s->params.pictures;
    bool good = (s->taken = calloc(s->params.streams, sizeof(*s->taken))) != NULL;
    for (int i = 0; i < GPU_ENCODE_FLIGHT && good; i++) {
        struct store_batch *b = &s->batches[i];
        b->jobs = calloc(n, sizeof(*b->jobs));
        b->looks = calloc(n, sizeof(*b->looks));
        b->decisions = calloc(n, sizeof(*b->decisions));
        good = b->jobs && b->looks && b->decisions;
    }
    return good;
}

int encode_store_create(struct gpu *g, const struct encode_store_params *params,
                        struct encode_store **out)
{
    struct encode_store *s = calloc(1, sizeof(*s));
    int err;
    if (!s)
        return GPU_ERR_NOMEM;
    s->g = g;
    s->params = *params;
    s->last = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    err = store_create_lists(s) ? store_create_passes(s) : GPU_ERR_NOMEM;
    if (err < 0) {
        encode_store_free(s);
        return err;
    }
    *out = s;
    return GPU_OK;
}

void encode_store_free(struct encode_store *s)
{
    if (!s)
        return;
    gpu_encode_free(s->encode);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s->taken);
    for (int i = 0; i < GPU_ENCODE_FLIGHT; i++) {
        free(s->batches[i].jobs);
        free(s->batches[i].looks);
        free(s->batches[i].decisions);
    }
    free(s);
}

bool encode_store_fits(const struct encode_store *s, const struct encode_store_params *params)
{
    const struct encode_store_params *p = &s->params;
    return p->mb_width == params->mb_width && p->mb_height == params->mb_height &&
           p->chroma_format_idc == params->chroma_format_idc && p->references == params->references;
}

bool encode_store_enter(struct encode_store *s, uint32_t *stream)
{
    uint32_t i = 0;
    pthread_mutex_lock(&s->lock);
    while (i < s->params.streams && s->taken[i])
        i++;
    if (i < s->params.streams) {
        s->taken[i] = true;
        s->entered++;
    }
    pthread_mutex_unlock(&s->lock);
    *stream = i;
    return i < s->params.streams;
}

void encode_store_leave(struct encode_store *s, uint32_t stream)
{
    pthread_mutex_lock(&s->lock);
    s->taken[stream] = false;
    s->entered--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

uint32_t encode_store_slot(const struct encode_store *s, uint32_t stream, uint32_t turn)
{
    return stream * slots_of(&s->params) + turn % slots_of(&s->params);
}

uint32_t encode_store_set(const struct encode_store *s, uint32_t stream, uint32_t turn)
{
    return 2 * s->params.streams + encode_store_slot(s, stream, turn);
}

void encode_store_count(struct encode_store *s, struct gpu_encoder_counts *sums)
{
    pthread_mutex_lock(&s->lock);
    sums->batches += s->counts.batches;
    sums->pictures += s->counts.pictures;
    sums->records += s->counts.records;
    sums->decide_s += s->counts.decide_s;
    sums->analyse_s += s->counts.analyse_s;
    for (uint32_t i = 0; i < GPU_ENCODER_PASSES; i++) {
        double seconds = 0;
        sums->pass[i] = gpu_encode_time(s->encode, i, &seconds);
        sums->pass_s[i] += seconds;
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- a batch ---- */

static int batch_analyse(struct encode_store *s, struct store_batch *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        b->looks[i] = b->jobs[i]->look;
    return gpu_encode_analyse(s->encode, b->looks, b->count);
}

static int batch_decide(struct encode_store *s, struct store_batch *b)
{
    uint32_t ticket;
    for (uint32_t i = 0; i < b->count; i++)
        b->decisions[i] = b->jobs[i]->decision;
    int err = gpu_encode_submit(s->encode, b->decisions, b->count, &ticket);
    if (err == GPU_OK)
        err = gpu_encode_wait(s->encode, ticket);
    for (uint32_t i = 0; i < b->count; i++)
        b->decisions[i]->result.spent.waited = 1e-9 * (double)(b->begun_ns - b->jobs[i]->handed_ns);
    return err;
}

/* Jobs of the kind of the oldest one leave the queue. With the lock */
static void batch_take(struct encode_store *s, struct store_batch *b)
{
    struct encode_job **at = &s->first;
    bool analysis = s->first->look != NULL;
    b->count = 0;
    while (*at && b->count < s->params.pictures)
        if (((*at)->look != NULL) == analysis) {
            b->jobs[b->count++] = *at;
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    for (s->last = &s->first; *s->last;)
        s->last = &(*s->last)->next;
    s->waiting -= b->count;
}

/* With the lock, once a batch has run */
static void batch_count(struct encode_store *s, const struct store_batch *b)
{
    double seconds = 1e-9 * (double)(gpu_clock_ns() - b->begun_ns);
    if (b->jobs[0]->look) {
        s->counts.analyse_s += seconds;
        return;
    }
    s->counts.decide_s += seconds;
    s->counts.batches++;
    s->counts.pictures += b->count;
    for (uint32_t i = 0; i < b->count; i++)
        s->counts.records += !b->decisions[i]->result.coded;
}

/* With the lock, which is free while the batch runs */
static void batch_run(struct encode_store *s, struct store_batch *b)
{
    b->begun_ns = gpu_clock_ns();
    batch_take(s, b);
    b->running = true;
    pthread_mutex_unlock(&s->lock);
    int err = b->jobs[0]->look ? batch_analyse(s, b) : batch_decide(s, b);
    pthread_mutex_lock(&s->lock);
    batch_count(s, b);
    for (uint32_t i = 0; i < b->count; i++) {
        b->jobs[i]->err = err;
        b->jobs[i]->done = true;
    }
    b->running = false;
    pthread_cond_broadcast(&s->changed);
}

/* A batch that may begin; NULL: none. While one runs, the next one waits for a quarter of the
 * streams, so that a stream which comes first does not go alone. Half of them would be too many:
 * others are in the batch that runs, or write bits. With the lock */
static struct store_batch *batch_due(struct encode_store *s)
{
    struct store_batch *due = NULL;
    uint32_t running = 0;
    for (int i = 0; i < GPU_ENCODE_FLIGHT; i++)
        if (s->batches[i].running)
            running++;
        else
            due = &s->batches[i];
    return s->waiting && (!running || 4 * s->waiting >= s->entered) ? due : NULL;
}

int encode_store_wait(struct encode_store *s, uint32_t stream)
{
    return gpu_encode_wait_stream(s->encode, stream);
}

static int store_run(struct encode_store *s, struct encode_job *job)
{
    struct store_batch *b;
    job->handed_ns = gpu_clock_ns();
    pthread_mutex_lock(&s->lock);
    *s->last = job;
    s->last = &job->next;
    s->waiting++;
    while (!job->done)
        if ((b = batch_due(s)))
            batch_run(s, b);
        else
            pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return job->err;
}

int encode_store_analyse(struct encode_store *s, const struct gpu_encode_look *look)
{
    return store_run(s, &(struct encode_job){.look = look});
}

int encode_store_decide(struct encode_store *s, struct gpu_encode_decision *decision)
{
    return store_run(s, &(struct encode_job){.decision = decision});
}
