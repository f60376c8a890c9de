/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation on the GPU: batches of what waits in engine.derive.
 */
#include "daemon/worker/steps/motion_gpu.h"
#include "daemon/worker/schedule/queues.h"

#include "codec/abi/motion_abi.h"
#include "gpu/h264/gpu_motion.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCHES           2  /* one is filled while the other is in work */
#define PICTURES          64 /* of a batch, as many of 1920x1088, */
#define SLICES            (8 * PICTURES)
#define MBS               (8160 * PICTURES)
#define SOFTWARE_PICTURES 8
#define MB_BYTES                                                                                   \
    (sizeof(struct rec_mb) + sizeof(struct rec_motion) + sizeof(struct h264_mb_syntax) +           \
     2 * sizeof(uint16_t))
#define MEMORY_PART 64 /* of the device's memory, for all batches together, at most */
#define ALIGN       256

struct motion_group {
    struct gpu_motion_batch *batch; /* NULL: free */
    bool submitted;                 /* else none of it could be */
    uint32_t count;
    struct {
        struct job *job;
        bool skip;             /* its session was aborted before */
        uint32_t index, kinds; /* in the batch; DER_* once it is done */
        bool added;            /* else it is as it was */
        int error;
    } parts[PICTURES];
};

struct motion_gpu {
    struct engine *engine;
    struct resident *resident;
    struct gpu_motion *gpu;
    struct gpu_motion_params params;
    bool failed; /* the workers do it from now on */
    uint32_t busy;
    struct {
        uint64_t batches, pictures, sent; /* sent: decoded by workers */
        double device;
    } sum;
    struct motion_group groups[BATCHES];
};

/* ---- raw records: macroblocks, motion, syntax ---- */

static uint64_t aligned(uint64_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t motion_at(uint32_t mb_count)
{
    return aligned((uint64_t)mb_count * sizeof(struct rec_mb));
}

static uint64_t syntax_at(uint32_t mb_count)
{
    return motion_at(mb_count) + aligned((uint64_t)mb_count * sizeof(struct rec_motion));
}

uint64_t motion_gpu_raw_bytes(uint32_t mb_count)
{
    return syntax_at(mb_count) + aligned((uint64_t)mb_count * sizeof(struct h264_mb_syntax));
}

static bool make_raw(struct motion_gpu *m, struct job *job)
{
    const struct h264_allocator *a = resident_allocator(m->resident);
    job->raw = a->get(a->ctx, motion_gpu_raw_bytes(job->pic->mb_count));
    return job->raw != NULL;
}

bool motion_gpu_keep(struct motion_gpu *m, struct job *job)
{
    const struct h264_picture *pic = job->pic;
    bool fits = m && pic->mb_count <= m->params.mbs && pic->slice_count <= m->params.slices;
    return fits && !m->failed && job->derives && make_raw(m, job);
}

void motion_gpu_places(const struct job *job, struct gpu_entropy_target *to)
{
    to->mbs = job->raw;
    to->motion = (uint8_t *)job->raw + motion_at(job->pic->mb_count);
    to->syntax = (uint8_t *)job->raw + syntax_at(job->pic->mb_count);
}

bool motion_gpu_wants_host(const struct job *job)
{
    return job->pic->nal_ref_idc || job->session->params.views == PELTON_VIEWS_BOTH ||
           h264_picture_lacks_refs(job->pic);
}

void motion_gpu_drop(struct motion_gpu *m, struct job *job)
{
    if (!job->raw)
        return;
    const struct h264_allocator *a = resident_allocator(m->resident);
    a->put(a->ctx, job->raw, motion_gpu_raw_bytes(job->pic->mb_count));
    job->raw = NULL;
}

/* ---- one batch ---- */

/* The slices of a picture, and the map of each one's colocated picture. NULL: no memory. */
struct slices {
    const uint16_t **maps;
    struct der_slice *slices;
};

static bool export_slices(const struct h264_picture *pic, struct slices *out)
{
    out->maps = malloc(pic->slice_count * sizeof(*out->maps));
    out->slices = malloc(pic->slice_count * sizeof(*out->slices));
    if (!out->maps || !out->slices)
        return false;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        h264_slice_export_motion(&pic->slices[i], &out->slices[i], &out->maps[i]);
    return true;
}

static uint32_t units_of(const struct job *job)
{
    return job->sends ? job->units : job->fetched;
}

/* GPU_ERR_NOMEM: the batch is full. */
static int add(struct gpu_motion_batch *batch, const struct job *job, uint32_t *index)
{
    const struct h264_picture *pic = job->pic;
    struct slices s;
    int err = GPU_ERR_INVALID;
    if (export_slices(pic, &s)) {
        bool sends = job->sends, host = motion_gpu_wants_host(job);
        struct gpu_entropy_target at;
        motion_gpu_places(job, &at);
        const struct gpu_motion_picture picture = {
            .head = {.mb_count = pic->mb_count,
                     .mb_width = pic->mb_width,
                     .slice_count = pic->slice_count,
                     .coeff_blocks = units_of(job),
                     .chroma_blocks = pic->sps->chroma_format_idc ? 4 : 0},
            .slices = s.slices,
            .maps = s.maps,
            .mbs = sends ? pic->arrays.mbs : at.mbs,
            .motion = sends ? pic->arrays.motion : at.motion,
            .syntax = sends ? (void *)pic->arrays.syntax : at.syntax,
            .final_mbs = at.mbs,
            .final_motion = at.motion,
            .to_mbs = sends || !host ? NULL : pic->arrays.mbs,
            .to_motion = host ? pic->arrays.motion : NULL,
            .to_still = pic->arrays.col_zero};
        err = gpu_motion_add(batch, &picture, index);
    }
    free(s.maps);
    free(s.slices);
    return err;
}

/* *left: how many pictures are for another batch. Without the lock. */
static int submit(struct motion_gpu *m, struct motion_group *group, uint32_t *left)
{
    uint32_t added = 0, i = 0;
    int submitted = GPU_OK;
    for (; i < group->count; i++) {
        struct job *job = group->parts[i].job;
        bool may = !group->parts[i].skip && (job->raw || make_raw(m, job));
        int err = may ? add(group->batch, job, &group->parts[i].index) : GPU_ERR_INVALID;
        if (err == GPU_ERR_NOMEM && added)
            break;
        group->parts[i].added = err == GPU_OK;
        added += err == GPU_OK;
    }
    *left = group->count - i;
    if (added)
        submitted = gpu_motion_submit(group->batch);
    group->submitted = added && submitted == GPU_OK;
    return submitted;
}

/* The raw records are the picture's. */
static int adopt(struct motion_gpu *m, struct job *job, unsigned kinds)
{
    struct gpu_entropy_target at;
    motion_gpu_places(job, &at);
    const struct h264_device_records final = {.memory = job->raw,
                                              .size = motion_gpu_raw_bytes(job->pic->mb_count),
                                              .from = resident_allocator(m->resident),
                                              .mbs = at.mbs,
                                              .motion = at.motion};
    int err = h264_picture_import_motion(job->pic, units_of(job), kinds, &final,
                                         motion_gpu_wants_host(job));
    if (!err)
        job->raw = NULL;
    return err;
}

/* It still has in host memory what a worker has decoded. */
static bool is_intact(const struct motion_group *group, uint32_t i)
{
    return group->parts[i].job->sends && !(group->submitted && group->parts[i].added);
}

/* What came of it, with the pictures completed; done: the batch is, without an error. Without the
 * lock. */
static void complete(struct motion_gpu *m, struct motion_group *group, bool done)
{
    for (uint32_t i = 0; i < group->count; i++) {
        struct job *job = group->parts[i].job;
        bool came = done && group->parts[i].added;
        group->parts[i].kinds =
            came ? gpu_motion_result(group->batch, group->parts[i].index) : DER_BAD;
        group->parts[i].error =
            group->parts[i].kinds & DER_BAD ? H264_OK : adopt(m, job, group->parts[i].kinds);
        motion_gpu_drop(m, job);
        if (group->parts[i].kinds & DER_BAD && !is_intact(group, i))
            h264_picture_free_arrays(job->pic);
    }
    m->sum.device += done ? gpu_motion_seconds(group->batch) : 0;
    m->sum.batches += done;
}

/* Without an error. With the lock. */
static void settle_derived(struct motion_gpu *m, struct job *job, int error)
{
    job->session->stats.gpu_entropy_pictures += !job->sends;
    m->sum.pictures++;
    m->sum.sent += job->sends;
    job->slices_left = job->fetched = 0;
    job->failed |= error != 0; /* marked when it is submitted */
    job_motion_finished(m->engine, job);
}

/* It was not derived, or is not good: to be decoded by a worker, once more perhaps, or only derived
 * by one, where its records are as they were. With the lock. */
static void settle_refused(struct motion_gpu *m, struct job *job, bool intact)
{
    struct engine *e = m->engine;
    if (job->session->abort) {
        job->slices_left = job->fetched = 0;
        job->failed = true;
        job_motion_finished(e, job);
    } else if (job->sends && intact) {
        job->sends = false;
        motion_push(e, job);
    } else {
        job_give_back(e, job);
    }
}

/* Back to the workers. With the lock. */
static void settle(struct motion_gpu *m, struct motion_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (group->parts[i].kinds & DER_BAD)
            settle_refused(m, group->parts[i].job, is_intact(group, i));
        else
            settle_derived(m, group->parts[i].job, group->parts[i].error);
    group->count = 0;
    group->batch = NULL;
    m->busy--;
}

/* The device cannot, or not any more. With the lock. */
static void fail(struct motion_gpu *m, int error)
{
    struct engine *e = m->engine;
    char line[160];
    bool said = m->failed || error == GPU_ERR_LOST; /* by the GPU thread */
    m->failed = true;
    e->derives = 0;
    if (said || !e->params.log)
        return;
    snprintf(line, sizeof(line), "no motion derivation on the GPU: %.100s", gpu_error_text(error));
    e->params.log(e->params.log_ctx, 1, line);
}

/* With the lock, dropped meanwhile. */
static bool group_step(struct motion_gpu *m, struct motion_group *group)
{
    struct engine *e = m->engine;
    uv_mutex_unlock(&e->lock);
    int err = group->submitted ? gpu_motion_poll(group->batch) : GPU_OK;
    bool done = group->submitted && err == GPU_OK;
    /* until then the device may write to arrays that are freed now */
    if (err <= 0 && !done)
        gpu_motion_end(group->batch);
    if (err <= 0)
        complete(m, group, done);
    if (done)
        gpu_motion_end(group->batch);
    uv_mutex_lock(&e->lock);
    if (err < 0)
        fail(m, err);
    if (err <= 0)
        settle(m, group);
    return err <= 0;
}

/* All that waits, as much as one batch holds. With the lock, dropped meanwhile. */
static bool take(struct motion_gpu *m, struct motion_group *group)
{
    struct engine *e = m->engine;
    uint32_t left = 0;
    uv_mutex_unlock(&e->lock);
    group->batch = gpu_motion_begin(m->gpu);
    uv_mutex_lock(&e->lock);
    if (!group->batch) {
        if (!m->busy)
            fail(m, GPU_ERR_NOMEM);
        return false;
    }
    while (e->derive && group->count < PICTURES) {
        struct job *job = motion_pop(&e->derive);
        job_trace(job, PELTON_TRACE_MOTION_BEGIN);
        group->parts[group->count].skip = job->session->abort;
        group->parts[group->count++].job = job;
    }
    m->busy++;
    uv_mutex_unlock(&e->lock);
    int err = submit(m, group, &left);
    uv_mutex_lock(&e->lock);
    for (; left; left--)
        motion_push(e, group->parts[--group->count].job);
    if (err)
        fail(m, err);
    return true;
}

/* The workers decode again, or derive, what waits. With the lock, dropped meanwhile. */
static bool give_all_back(struct motion_gpu *m)
{
    struct engine *e = m->engine;
    bool any = e->derive != NULL;
    while (e->derive) {
        struct job *job = motion_pop(&e->derive);
        uv_mutex_unlock(&e->lock);
        motion_gpu_drop(m, job);
        if (!job->sends)
            h264_picture_free_arrays(job->pic);
        uv_mutex_lock(&e->lock);
        settle_refused(m, job, true);
    }
    return any;
}

bool motion_gpu_step(struct motion_gpu *m)
{
    bool any = false;
    if (!m)
        return false;
    for (uint32_t i = 0; i < BATCHES; i++)
        if (m->groups[i].batch)
            any |= group_step(m, &m->groups[i]);
    if (m->failed)
        return give_all_back(m) || any;
    for (uint32_t i = 0; i < BATCHES; i++)
        if (!m->groups[i].batch && m->engine->derive)
            return take(m, &m->groups[i]) || any;
    return any;
}

bool motion_gpu_works(const struct motion_gpu *m)
{
    return m && (m->busy || m->engine->derive);
}

uint32_t motion_gpu_most(const struct motion_gpu *m)
{
    return m ? m->params.mbs : 0;
}

uint64_t motion_gpu_memory(const struct motion_gpu *m)
{
    return m ? (uint64_t)BATCHES * m->params.mbs * MB_BYTES : 0;
}

struct motion_gpu *motion_gpu_create(struct engine *e, struct resident *resident)
{
    uint64_t fit = e->device->memory_bytes / MEMORY_PART / BATCHES / MB_BYTES,
             most = e->software ? MBS / PICTURES * SOFTWARE_PICTURES : MBS;
    uint32_t mbs = (uint32_t)(fit < most ? fit : most);
    struct motion_gpu *m = resident && !e->params.cpu_motion ? calloc(1, sizeof(*m)) : NULL;
    if (!m)
        return NULL;
    m->engine = e;
    m->resident = resident;
    m->params = (struct gpu_motion_params){
        .batches = BATCHES, .pictures = PICTURES, .slices = SLICES, .mbs = mbs, .maps = mbs};
    int err = gpu_motion_create(e->gpu, &m->params, &m->gpu);
    if (!err)
        err = gpu_motion_prepare(m->gpu);
    if (!err)
        return m;
    motion_gpu_free(m);
    return NULL;
}

static void log_sums(const struct motion_gpu *m)
{
    const struct engine *e = m->engine;
    char line[200];
    if (!m->sum.batches || !e->params.log)
        return;
    snprintf(line, sizeof(line),
             "motion derivation on the GPU: %llu pictures, %llu of them decoded by workers, in "
             "%llu batches, %.2f ms of the device's each",
             (unsigned long long)m->sum.pictures, (unsigned long long)m->sum.sent,
             (unsigned long long)m->sum.batches, 1e3 * m->sum.device / (double)m->sum.batches);
    e->params.log(e->params.log_ctx, 2, line);
}

void motion_gpu_free(struct motion_gpu *m)
{
    if (!m)
        return;
    log_sums(m);
    gpu_motion_free(m->gpu);
    free(m);
}
