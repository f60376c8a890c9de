/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation on the GPU: batches of the pictures that the schedule leaves to it.
 *
 * The life of a batch: pictures are taken -> submitted -> completed -> settled. A picture that the
 * device refuses goes back to the coders. Its records may still be in host memory as coders decoded
 * them; else it is decoded again. The failure modes are a lost device and one without memory: then
 * all that waits goes back, too.
 */
#include "daemon/worker/steps/motion_gpu.h"

#include "codec/abi/motion_abi.h"
#include "codec/h264_error.h"
#include "codec/h264_export.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/engine/session_internal.h"
#include "gpu/h264/gpu_motion.h"

#include <stdio.h>
#include <stdlib.h>

#define SLICES (MOTION_PICTURE_SLICES * MOTION_HD_PICTURES)
#define MBS    (SPLIT_HD_MBS * MOTION_HD_PICTURES)
#define ALIGN  256
/* of a batch: records, syntax, and the map of the colocated picture before and after */
#define MB_BYTES                                                                                   \
    (sizeof(struct rec_mb) + sizeof(struct rec_motion) + sizeof(struct h264_mb_syntax) +           \
     2 * sizeof(uint16_t))

struct motion_batch {
    struct gpu_motion_batch *work; /* NULL: the batch is free */
    bool submitted;                /* else none of it could be */
    uint32_t count;
    struct {
        struct picture *picture;
        bool skip;      /* its stream was aborted before */
        bool added;     /* to the work; else it is as it was */
        uint32_t index; /* in the work */
        uint32_t kinds; /* DER_*, once it is done */
        uint64_t bytes; /* over the bus */
        int error;      /* H264_OK: its records are good */
    } parts[MOTION_PICTURES];
};

struct motion_gpu {
    struct engine *engine;
    struct resident *resident;
    struct gpu_motion *gpu;
    struct gpu_motion_params params;
    bool failed; /* the coders do it from now on */
    uint32_t busy;
    int64_t begun_ns; /* the latest batch */
    struct {
        uint64_t batches, pictures, by_coders; /* by_coders: entropy-decoded by them */
        uint64_t read;                         /* bytes of records that coders made */
        double device;
    } sum;
    struct motion_batch batches[MOTION_BATCHES];
};

/* ---- records on the device: macroblocks, motion, syntax ---- */

static uint64_t motion_at(uint32_t mb_count)
{
    return align_up((uint64_t)mb_count * sizeof(struct rec_mb), ALIGN);
}

static uint64_t syntax_at(uint32_t mb_count)
{
    return motion_at(mb_count) + align_up((uint64_t)mb_count * sizeof(struct rec_motion), ALIGN);
}

uint64_t motion_gpu_record_bytes(uint32_t mb_count)
{
    return syntax_at(mb_count) +
           align_up((uint64_t)mb_count * sizeof(struct h264_mb_syntax), ALIGN);
}

static bool make_records(struct motion_gpu *m, struct picture *p)
{
    const struct h264_allocator *a = resident_allocator(m->resident);
    p->motion.device_records = a->get(a->ctx, motion_gpu_record_bytes(p->pic->mb_count));
    return p->motion.device_records != NULL;
}

bool motion_gpu_keep(struct motion_gpu *m, struct picture *p)
{
    const struct h264_picture *pic = p->pic;
    bool fits = m && pic->mb_count <= m->params.mbs && pic->slice_count <= m->params.slices;
    return fits && !m->failed && p->can & CAN_MOTION_GPU && make_records(m, p);
}

void motion_gpu_places(const struct picture *p, struct gpu_entropy_target *to)
{
    uint8_t *base = p->motion.device_records;
    to->mbs = base;
    to->motion = base ? base + motion_at(p->pic->mb_count) : NULL;
    to->syntax = base ? base + syntax_at(p->pic->mb_count) : NULL;
}

void motion_gpu_drop(struct motion_gpu *m, struct picture *p)
{
    if (!p->motion.device_records)
        return;
    const struct h264_allocator *a = resident_allocator(m->resident);
    a->put(a->ctx, p->motion.device_records, motion_gpu_record_bytes(p->pic->mb_count));
    p->motion.device_records = NULL;
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

/* Coders entropy-decoded it, and its records are in host memory. */
static bool is_from_host(const struct picture *p)
{
    return p->entropy.by == BY_CPU;
}

static struct gpu_motion_picture motion_picture_of(const struct picture *p, const struct slices *s)
{
    const struct h264_picture *pic = p->pic;
    const struct h264_arrays *arrays = &pic->arrays;
    bool from_host = is_from_host(p), host = p->motion.host;
    struct gpu_entropy_target at;
    motion_gpu_places(p, &at);
    return (struct gpu_motion_picture){
        .head = {.mb_count = pic->mb_count,
                 .mb_width = pic->mb_width,
                 .slice_count = pic->slice_count,
                 .coeff_blocks = p->motion.coeff_blocks,
                 .chroma_blocks = pic->sps->chroma_format_idc ? 4 : 0},
        .slices = s->slices,
        .maps = s->maps,
        .mbs = from_host ? arrays->mbs : at.mbs,
        .motion = from_host ? arrays->motion : at.motion,
        .syntax = from_host ? (void *)arrays->syntax : at.syntax,
        .final_mbs = at.mbs,
        .final_motion = at.motion,
        .to_mbs = from_host || !host ? NULL : arrays->mbs,
        .to_motion = host ? arrays->motion : NULL,
        .to_still = arrays->col_zero};
}

/* What of it crosses between host and device, both ways, beside records that coders made. */
static uint64_t bytes_over_bus(const struct picture *p)
{
    const uint64_t n = p->pic->mb_count;
    uint64_t bytes = p->pic->arrays.col_zero ? n * sizeof(uint16_t) : 0;
    bytes += p->motion.host ? n * sizeof(struct rec_motion) : 0;
    bool mbs = !is_from_host(p) && p->motion.host;
    return bytes + (mbs ? n * sizeof(struct rec_mb) : 0);
}

/* GPU_ERR_NOMEM: the batch is full. */
static int add_picture(struct gpu_motion_batch *work, const struct picture *p, uint32_t *index)
{
    struct slices s;
    int err = GPU_ERR_INVALID;
    if (export_slices(p->pic, &s)) {
        struct gpu_motion_picture picture = motion_picture_of(p, &s);
        err = gpu_motion_add(work, &picture, index);
    }
    free(s.maps);
    free(s.slices);
    return err;
}

/* *left: so many pictures are for another batch. Without the lock. */
static int batch_submit(struct motion_gpu *m, struct motion_batch *b, uint32_t *left)
{
    uint32_t added = 0, i = 0;
    int submitted = GPU_OK;
    for (; i < b->count; i++) {
        struct picture *p = b->parts[i].picture;
        bool may = !b->parts[i].skip && (p->motion.device_records || make_records(m, p));
        int err = may ? add_picture(b->work, p, &b->parts[i].index) : GPU_ERR_INVALID;
        if (err == GPU_ERR_NOMEM && added)
            break;
        b->parts[i].added = err == GPU_OK;
        b->parts[i].bytes = err == GPU_OK ? bytes_over_bus(p) : 0;
        added += err == GPU_OK;
    }
    *left = b->count - i;
    if (added)
        submitted = gpu_motion_submit(b->work);
    b->submitted = added && submitted == GPU_OK;
    return submitted;
}

/* The records on the device become the codec's. */
static int adopt_records(struct motion_gpu *m, const struct motion_batch *b, uint32_t i,
                         unsigned kinds)
{
    struct picture *p = b->parts[i].picture;
    bool host = p->motion.host;
    struct gpu_entropy_target at;
    motion_gpu_places(p, &at);
    const struct h264_device_records records = {.memory = p->motion.device_records,
                                                .size = motion_gpu_record_bytes(p->pic->mb_count),
                                                .from = resident_allocator(m->resident),
                                                .mbs = at.mbs,
                                                .motion = at.motion};
    for (uint32_t k = 0; k < p->pic->slice_count; k++)
        gpu_motion_used(b->work, b->parts[i].index, k, p->pic->slices[k].used);
    int err = h264_picture_import_motion(p->pic, p->motion.coeff_blocks, kinds, &records, host);
    if (!err)
        p->motion.device_records = NULL;
    return err;
}

/* It still has in host memory what coders have decoded. */
static bool part_is_intact(const struct motion_batch *b, uint32_t i)
{
    return is_from_host(b->parts[i].picture) && !(b->submitted && b->parts[i].added);
}

/* done: the batch is, without an error. Without the lock. */
static void batch_complete(struct motion_gpu *m, struct motion_batch *b, bool done)
{
    for (uint32_t i = 0; i < b->count; i++) {
        struct picture *p = b->parts[i].picture;
        bool came = done && b->parts[i].added;
        uint32_t kinds = came ? gpu_motion_result(b->work, b->parts[i].index) : DER_BAD;
        uint64_t read = came ? gpu_motion_host_bytes(b->work, b->parts[i].index) : 0;
        b->parts[i].bytes += read;
        m->sum.read += read;
        b->parts[i].kinds = kinds;
        b->parts[i].error = kinds & DER_BAD ? H264_OK : adopt_records(m, b, i, kinds);
        motion_gpu_drop(m, p);
        if (kinds & DER_BAD && !part_is_intact(b, i))
            h264_picture_free_arrays(p->pic);
    }
    m->sum.device += done ? gpu_motion_seconds(b->work) : 0;
    m->sum.batches += done;
}

/* With the lock. */
static void picture_derived(struct motion_gpu *m, struct picture *p, int error, int64_t now)
{
    bool by_coders = is_from_host(p);
    struct pelton_stats *stats = &session_of(p->window)->stats;
    stats->gpu_entropy_pictures += !by_coders;
    stats->gpu_entropy_bytes += by_coders ? 0 : p->entropy.bytes;
    m->sum.pictures++;
    m->sum.by_coders += by_coders;
    if (!error)
        p->records = p->motion.host ? LIVES_BOTH : LIVES_DEVICE;
    if (by_coders && p->records == LIVES_DEVICE)
        window_dropped_records(p);
    gpu_motion_done(&m->engine->schedule, p, error != 0, now);
}

/* Back to the schedule. With the lock. */
static void batch_settle(struct motion_gpu *m, struct motion_batch *b)
{
    struct schedule *s = &m->engine->schedule;
    int64_t now = now_ns();
    for (uint32_t i = 0; i < b->count; i++) {
        struct picture *p = b->parts[i].picture;
        session_of(p->window)->stats.bytes_over_bus += b->submitted ? b->parts[i].bytes : 0;
        if (b->parts[i].kinds & DER_BAD)
            gpu_motion_refused(s, p, part_is_intact(b, i), now);
        else
            picture_derived(m, p, b->parts[i].error, now);
    }
    b->count = 0;
    b->work = NULL;
    m->busy--;
}

/* The device cannot, or not any more. With the lock. */
static void motion_gpu_fail(struct motion_gpu *m, int error)
{
    char line[160];
    bool said = m->failed || error == GPU_ERR_LOST; /* by the device's thread */
    m->failed = true;
    m->engine->schedule.split.motion_mbs = 0;
    if (said)
        return;
    snprintf(line, sizeof(line), "no motion derivation on the GPU: %.100s", gpu_error_text(error));
    engine_log(m->engine, 1, line);
}

/* With the lock, dropped meanwhile. */
static bool batch_step(struct motion_gpu *m, struct motion_batch *b)
{
    struct engine *e = m->engine;
    engine_unlock(e);
    int err = b->submitted ? gpu_motion_poll(b->work) : GPU_OK;
    bool done = b->submitted && err == GPU_OK;
    /* until then the device may write to arrays that are freed now */
    if (err <= 0 && !done)
        gpu_motion_end(b->work);
    if (err <= 0)
        batch_complete(m, b, done);
    if (done)
        gpu_motion_end(b->work);
    engine_lock(e);
    if (err < 0)
        motion_gpu_fail(m, err);
    if (err <= 0)
        batch_settle(m, b);
    return err <= 0;
}

/* All that waits, as much as one batch holds. With the lock. */
static void batch_fill(struct motion_gpu *m, struct motion_batch *b)
{
    int64_t now = now_ns();
    uint32_t mbs = 0;
    while (b->count < MOTION_PICTURES && mbs < m->params.mbs) {
        struct picture *p = gpu_motion_take(&m->engine->schedule, now);
        if (!p)
            break;
        mbs += p->pic->mb_count;
        b->parts[b->count].skip = p->window->abort;
        b->parts[b->count++].picture = p;
    }
    m->busy++;
}

/* The coders decode again, or derive, what waits. With the lock, dropped meanwhile. */
static bool give_all_back(struct motion_gpu *m)
{
    struct engine *e = m->engine;
    struct picture *p;
    bool any = false;
    while ((p = gpu_motion_take(&e->schedule, now_ns()))) {
        engine_unlock(e);
        motion_gpu_drop(m, p);
        if (!is_from_host(p))
            h264_picture_free_arrays(p->pic);
        engine_lock(e);
        gpu_motion_refused(&e->schedule, p, is_from_host(p), now_ns());
        any = true;
    }
    return any;
}

/* With the lock, dropped meanwhile. */
static bool batch_begin(struct motion_gpu *m, struct motion_batch *b)
{
    struct engine *e = m->engine;
    uint32_t left = 0;
    uint64_t refused = gpu_memory_refused(e->gpu);
    engine_unlock(e);
    b->work = gpu_motion_begin(m->gpu);
    engine_lock(e);
    if (!b->work) {
        if (m->busy)
            return false;
        if (gpu_memory_refused(e->gpu) != refused)
            return give_all_back(m); /* the budget is short for now */
        motion_gpu_fail(m, GPU_ERR_NOMEM);
        return false;
    }
    m->begun_ns = now_ns();
    batch_fill(m, b);
    engine_unlock(e);
    int err = batch_submit(m, b, &left);
    engine_lock(e);
    for (; left; left--)
        gpu_motion_untake(&e->schedule, b->parts[--b->count].picture);
    if (err)
        motion_gpu_fail(m, err);
    return true;
}

/* The main queue derives a few pictures as long as many, and nothing else meanwhile. So a batch
 * waits for more of them while reconstruction does not wait for it. */
static bool batch_waits(const struct motion_gpu *m)
{
    const struct schedule *s = &m->engine->schedule;
    return !s->setting.software && s->motion_gpu_count < MOTION_ENOUGH &&
           s->ready - s->blocked >= MOTION_READY && now_ns() - m->begun_ns < MOTION_WAIT_NS;
}

bool motion_gpu_step(struct motion_gpu *m)
{
    bool any = false;
    if (!m)
        return false;
    for (uint32_t i = 0; i < MOTION_BATCHES; i++)
        if (m->batches[i].work)
            any |= batch_step(m, &m->batches[i]);
    if (m->failed)
        return give_all_back(m) || any;
    for (uint32_t i = 0; i < MOTION_BATCHES; i++)
        if (!m->batches[i].work && m->engine->schedule.motion_gpu && !batch_waits(m))
            return batch_begin(m, &m->batches[i]) || any;
    return any;
}

bool motion_gpu_works(const struct motion_gpu *m)
{
    return m && (m->busy || m->engine->schedule.motion_gpu);
}

uint32_t motion_gpu_most(const struct motion_gpu *m)
{
    return m ? m->params.mbs : 0;
}

uint64_t motion_gpu_memory(const struct motion_gpu *m)
{
    return m ? (uint64_t)MOTION_BATCHES * m->params.mbs * MB_BYTES : 0;
}

struct motion_gpu *motion_gpu_create(struct engine *e, struct resident *resident)
{
    uint64_t fit =
        e->schedule.setting.device_memory / MOTION_MEMORY_PART / MOTION_BATCHES / MB_BYTES;
    uint64_t most = e->software ? SPLIT_HD_MBS * MOTION_SOFTWARE_PICTURES : MBS;
    uint32_t mbs = (uint32_t)(fit < most ? fit : most);
    struct motion_gpu *m = resident && e->params.gpu_motion ? calloc(1, sizeof(*m)) : NULL;
    if (!m)
        return NULL;
    m->engine = e;
    m->resident = resident;
    m->params =
        (struct gpu_motion_params){.batches = MOTION_BATCHES,
                                   .pictures = MOTION_PICTURES,
                                   .slices = SLICES,
                                   .mbs = mbs,
                                   .maps = mbs,
                                   .copies = e->schedule.setting.tuning.fetch == FETCH_COPIES};
    int err = gpu_motion_create(e->gpu, &m->params, &m->gpu);
    if (!err)
        err = gpu_motion_prepare(m->gpu);
    if (!err)
        return m;
    motion_gpu_free(m);
    return NULL;
}

void motion_gpu_log(const struct motion_gpu *m)
{
    char line[200];
    if (!m || !m->sum.batches)
        return;
    snprintf(line, sizeof(line),
             "motion derivation on the GPU: %llu pictures, %llu of them decoded by workers (%llu "
             "bytes), in %llu batches, %.2f ms of the device's each",
             (unsigned long long)m->sum.pictures, (unsigned long long)m->sum.by_coders,
             (unsigned long long)m->sum.read, (unsigned long long)m->sum.batches,
             1e3 * m->sum.device / (double)m->sum.batches);
    engine_log(m->engine, 2, line);
}

void motion_gpu_trim(struct motion_gpu *m)
{
    if (m && !m->busy && !m->failed)
        gpu_motion_trim(m->gpu);
}

void motion_gpu_free(struct motion_gpu *m)
{
    if (!m)
        return;
    gpu_motion_free(m->gpu);
    free(m);
}
