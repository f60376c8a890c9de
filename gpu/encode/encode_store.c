/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of jobs. The failure modes: no memory at creation; a device that is lost fails all jobs
 * of a batch, and each one after it.
 */
#include "gpu/encode/encode_store.h"

#include "encode/reference/quantise.h"
#include "gpu/h264/recon.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct encode_store {
    struct gpu *g;
    struct encode_store_params params;
    struct gpu_encode *encode;
    struct recon *recon;
    struct gpu_host *host; /* reconstructions of a batch */
    uint8_t *frames;
    size_t frames_size;
    uint64_t frame_size, picture_bytes; /* of a frame with room for chroma; of its samples */
    bool *taken;                        /* streams */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running;
    struct encode_job *first, **last; /* those that wait */
    struct gpu_encoder_counts counts; /* but passes */
    /* of the batch that runs */
    struct encode_job **jobs;
    struct enc_picture *heads;
    struct recon_picture *recon_pictures;
    struct recon_delivery *deliveries;
    const uint8_t **sources;
    const int8_t **offsets;
    struct gpu_encode_reference *references;
    struct gpu_encode_result *results;
};

/* ---- life ---- */

static void quantisers_fill(struct enc_quantiser out[6])
{
    for (int m = 0; m < 6; m++) {
        struct quantiser q = quantiser_at(m, 0, 0);
        memcpy(out[m].factor4, q.factor4, sizeof(q.factor4));
        memcpy(out[m].factor8, q.factor8, sizeof(q.factor8));
    }
}

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
                                       .sets = p->pictures + p->streams * p->references};
    struct recon_params recon = {.mb_width = p->mb_width,
                                 .mb_height = p->mb_height,
                                 .chroma_format_idc = p->chroma_format_idc,
                                 .bit_depth = {8, 8},
                                 .slots = p->streams * slots_of(p),
                                 .width = p->pictures,
                                 .flight = 2};
    int err;
    quantisers_fill(encode.quantiser);
    err = gpu_encode_create(s->g, &encode, &s->encode);
    return err < 0 ? err : recon_create(s->g, &recon, &s->recon);
}

/* Memory that the device writes reconstructions to */
static int store_create_frames(struct encode_store *s)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    s->frame_size = gpu_encode_frame_size(s->encode);
    s->picture_bytes = s->params.chroma_format_idc ? s->frame_size : s->frame_size / 3 * 2;
    s->frames_size = (s->params.pictures * s->frame_size + page - 1) / page * page;
    int fd = memfd_create("encode", MFD_CLOEXEC);
    if (fd < 0)
        return GPU_ERR_NOMEM;
    if (ftruncate(fd, (off_t)s->frames_size) < 0) {
        close(fd);
        return GPU_ERR_NOMEM;
    }
    void *memory = mmap(NULL, s->frames_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return GPU_ERR_NOMEM;
    s->frames = memory;
    return gpu_host_import(s->g, s->frames, s->frames_size, &s->host);
}

static bool store_create_lists(struct encode_store *s)
{
    uint32_t n = s->params.pictures;
    s->taken = calloc(s->params.streams, sizeof(*s->taken));
    s->jobs = calloc(n, sizeof(*s->jobs));
    s->heads = calloc(n, sizeof(*s->heads));
    s->recon_pictures = calloc(n, sizeof(*s->recon_pictures));
    s->deliveries = calloc(n, sizeof(*s->deliveries));
    s->sources = calloc(n, sizeof(*s->sources));
    s->offsets = calloc(n, sizeof(*s->offsets));
    s->references = calloc(n, sizeof(*s->references));
    s->results = calloc(n, sizeof(*s->results));
    return s->taken && s->jobs && s->heads && s->recon_pictures && s->deliveries && s->sources &&
           s->offsets && s->references && s->results;
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
    if (err == GPU_OK)
        err = store_create_frames(s);
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
    recon_free(s->recon);
    gpu_encode_free(s->encode);
    if (s->host)
        gpu_host_free(s->host);
    if (s->frames)
        munmap(s->frames, s->frames_size);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s->taken);
    free(s->jobs);
    free(s->heads);
    free(s->recon_pictures);
    free(s->deliveries);
    free(s->sources);
    free(s->offsets);
    free(s->references);
    free(s->results);
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
    if (i < s->params.streams)
        s->taken[i] = true;
    pthread_mutex_unlock(&s->lock);
    *stream = i;
    return i < s->params.streams;
}

void encode_store_leave(struct encode_store *s, uint32_t stream)
{
    pthread_mutex_lock(&s->lock);
    s->taken[stream] = false;
    pthread_mutex_unlock(&s->lock);
}

uint32_t encode_store_slot(const struct encode_store *s, uint32_t stream, uint32_t turn)
{
    return stream * slots_of(&s->params) + turn % slots_of(&s->params);
}

uint32_t encode_store_set(const struct encode_store *s, uint32_t stream, uint32_t turn)
{
    return s->params.pictures + stream * s->params.references + turn % s->params.references;
}

void encode_store_count(struct encode_store *s, struct gpu_encoder_counts *sums)
{
    pthread_mutex_lock(&s->lock);
    sums->batches += s->counts.batches;
    sums->pictures += s->counts.pictures;
    sums->decide_s += s->counts.decide_s;
    sums->accept_s += s->counts.accept_s;
    for (uint32_t i = 0; i < GPU_ENCODER_PASSES && !s->running; i++) {
        double seconds = 0;
        sums->pass[i] = gpu_encode_time(s->encode, i, &seconds);
        sums->pass_s[i] += seconds;
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- a batch ---- */

/* The whole frame of a slot to the i-th place of the batch */
static struct recon_delivery delivery_of(const struct encode_store *s, uint32_t slot, uint32_t i)
{
    uint32_t width = 16 * s->params.mb_width, height = 16 * s->params.mb_height;
    uint64_t luma = (uint64_t)width * height, at = i * s->frame_size;
    return (struct recon_delivery){
        .slot = slot,
        .host = s->host,
        .offset = {at, at + luma, at + luma + luma / 4},
        .stride = {width, width / 2, width / 2},
        .width = width,
        .height = height,
        .format = s->params.chroma_format_idc ? RECON_I420 : RECON_GRAY,
    };
}

/* Reconstruct by the decoder's passes, then make planes of the results. */
static int accept_run(struct encode_store *s, uint32_t count)
{
    uint64_t ticket;
    int err;
    for (uint32_t i = 0; i < count; i++) {
        const struct encode_job *job = s->jobs[i];
        s->recon_pictures[i] =
            (struct recon_picture){.view = job->accept, .slot = job->accept->head.slot};
        s->deliveries[i] = delivery_of(s, job->accept->head.slot, i);
        s->references[i] = (struct gpu_encode_reference){.host = s->host,
                                                         .offset = i * s->frame_size,
                                                         .motion = job->accept->motion,
                                                         .set = job->set,
                                                         .stream = job->stream};
    }
    err = recon_submit(s->recon, s->recon_pictures, count, s->deliveries, count, &ticket);
    if (err == GPU_OK)
        err = recon_wait(s->recon, ticket, UINT64_MAX);
    if (err == GPU_OK)
        err = gpu_encode_accept(s->encode, s->references, count);
    for (uint32_t i = 0; err == GPU_OK && i < count; i++)
        if (s->jobs[i]->frame)
            memcpy(s->jobs[i]->frame, s->frames + i * s->frame_size, s->picture_bytes);
    return err;
}

static int decide_run(struct encode_store *s, uint32_t count)
{
    int err;
    for (uint32_t i = 0; i < count; i++) {
        s->heads[i] = s->jobs[i]->picture;
        s->heads[i].source = i;
        s->heads[i].stream = s->jobs[i]->stream;
        s->sources[i] = s->jobs[i]->frame;
        s->offsets[i] = s->jobs[i]->offsets;
        s->results[i] = s->jobs[i]->result;
    }
    err = gpu_encode_decide(s->encode, s->heads, count, s->sources, s->offsets, s->results);
    for (uint32_t i = 0; err == GPU_OK && i < count; i++)
        s->jobs[i]->result = s->results[i];
    return err;
}

/* Jobs of the kind of the oldest one leave the queue. With the lock */
static uint32_t batch_take(struct encode_store *s)
{
    struct encode_job **at = &s->first;
    bool accept = s->first->accept != NULL;
    uint32_t count = 0;
    while (*at && count < s->params.pictures)
        if (((*at)->accept != NULL) == accept) {
            s->jobs[count++] = *at;
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    for (s->last = &s->first; *s->last;)
        s->last = &(*s->last)->next;
    return count;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With the lock, which is free while the batch runs */
static void batch_run(struct encode_store *s)
{
    uint32_t count = batch_take(s);
    bool accept = s->jobs[0]->accept != NULL;
    double begun = seconds_now();
    int err;
    s->running = true;
    pthread_mutex_unlock(&s->lock);
    err = accept ? accept_run(s, count) : decide_run(s, count);
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < count; i++) {
        s->jobs[i]->err = err;
        s->jobs[i]->done = true;
    }
    s->running = false;
    s->counts.batches += !accept;
    s->counts.pictures += accept ? 0 : count;
    *(accept ? &s->counts.accept_s : &s->counts.decide_s) += seconds_now() - begun;
    pthread_cond_broadcast(&s->changed);
}

int encode_store_run(struct encode_store *s, struct encode_job *job)
{
    job->next = NULL;
    job->done = false;
    pthread_mutex_lock(&s->lock);
    *s->last = job;
    s->last = &job->next;
    while (!job->done)
        if (s->running)
            pthread_cond_wait(&s->changed, &s->lock);
        else
            batch_run(s);
    pthread_mutex_unlock(&s->lock);
    return job->err;
}
