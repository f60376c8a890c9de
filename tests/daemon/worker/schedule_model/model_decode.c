/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Coders and the GPU of the model: they take pictures, and end in every way.
 */
#include "model.h"

/* ---- coders ---- */

static void follows_the_task(struct coder_work *t)
{
    struct book *b = book_of(t->picture);
    if (t->task == TASK_ARRAYS || (t->task == TASK_SLICES && b->stage == PICTURE_QUEUED)) {
        b->stage = PICTURE_ENTROPY;
        b->entropy = BY_CPU;
        b->motion = t->picture->motion.by;
        CHECK(b->motion != BY_GPU || b->may_motion);
    } else if (t->task == TASK_MOTION || t->task == TASK_IMPORT) {
        CHECK((t->task == TASK_IMPORT) == (b->entropy == BY_GPU));
        b->stage = PICTURE_MOTION;
    } else if (t->task == TASK_SLICES) {
        CHECK(b->stage == PICTURE_ENTROPY && b->entropy == BY_CPU);
    }
}

static void coder_takes(struct coder_work *t)
{
    uint64_t random = next_random(&m.random);
    coder_take(&m.s, &random, m.now, t);
    model_notice_drops();
    if (t->task != TASK_NONE)
        follows_the_task(t);
}

static void tried(struct picture *p, uint32_t count)
{
    struct book *b = book_of(p);
    b->left -= count;
    CHECK(coder_slices_done(p, count) == (b->left == 0));
    if (b->left)
        return;
    bool intact = b->motion == BY_GPU && model_chance(70);
    const struct h264_picture *source = NULL;
    for (uint32_t i = 0; i < p->pic->refs_held_count && !intact && model_chance(30); i++)
        source = p->pic->refs_held[i];
    if (!p->window->abort) {
        p->motion.coeff_blocks = 1;
        b->motion = intact ? BY_GPU : BY_CPU;
        b->stage = PICTURE_DECODED;
    }
    coder_decoded(&m.s, p, intact, source, m.now);
    if (p->window->abort)
        model_dropped(p);
}

static void shares(const struct coder_work *t)
{
    if (t->task == TASK_SLICES && t->shared)
        book_of(t->picture)->left++;
}

static void arrays_end(struct coder_work *t)
{
    struct picture *p = t->picture;
    struct book *b = book_of(p);
    bool error = model_chance(2);
    if (error)
        window_abort(p->window);
    else
        b->records = b->coeffs = b->on_host = true;
    if (!error && b->motion == BY_CPU && model_chance(60))
        p->can |= CAN_PER_SLICE;
    coder_arrays_done(&m.s, p, error, t);
    CHECK(t->task == TASK_SLICES && t->picture == p);
    shares(t);
}

static void import_ends(struct picture *p)
{
    bool good = p->window->abort || model_chance(70), error = good && model_chance(10);
    struct book *b = book_of(p);
    if (good) {
        b->stage = PICTURE_READY;
        b->copy |= error;
    }
    coder_import_done(&m.s, p, good, error, m.now);
    if (!good)
        model_requeued(p);
}

static void motion_ends(struct picture *p)
{
    bool error = model_chance(10);
    book_of(p)->stage = PICTURE_READY;
    book_of(p)->copy |= error;
    coder_motion_done(&m.s, p, error, m.now);
}

static void coder_ends(struct coder_work *t)
{
    struct coder_work w = *t;
    if (w.task == TASK_ARRAYS) {
        arrays_end(t);
        return; /* the coder goes on with its slices */
    }
    t->task = TASK_NONE;
    if (w.task == TASK_FOLLOW)
        tried(w.picture, 1);
    else if (w.task == TASK_SLICES)
        tried(w.picture, w.to - w.from);
    else if (w.task == TASK_MOTION)
        motion_ends(w.picture);
    else if (w.task == TASK_IMPORT)
        import_ends(w.picture);
}

bool model_coder_event(void)
{
    struct coder_work *t = &m.tasks[model_pick(TASKS)];
    if (t->task != TASK_NONE) {
        coder_ends(t);
        return true;
    }
    coder_takes(t);
    shares(t);
    return t->task != TASK_NONE;
}

/* ---- the GPU ---- */

static struct picture *take_out(struct picture **list, uint32_t *count)
{
    uint32_t at = model_pick(*count);
    struct picture *p = list[at];
    list[at] = list[--*count];
    return p;
}

static bool entropy_takes(void)
{
    static const struct split_capacity room = {.batches = 2,
                                               .pictures = 3,
                                               .mbs = 3 * MBS,
                                               .coeff_blocks = 4096,
                                               .bytes = 4000,
                                               .slices = 8};
    struct picture *out[SPLIT_PICTURES];
    uint64_t largest;
    if (m.gpu_failed || m.gpu_entropy_count || !m.s.entropy.first)
        return false;
    uint32_t n = split_choose(&m.s, &room, m.now, out, &largest);
    for (uint32_t i = 0; i < n; i++) {
        struct book *b = book_of(out[i]);
        CHECK(b->stage == PICTURE_QUEUED && b->may_entropy && !b->records);
        b->stage = PICTURE_ENTROPY;
        b->entropy = BY_GPU;
        m.gpu_entropy[m.gpu_entropy_count++] = out[i];
    }
    return n > 0;
}

static void entropy_ends(struct picture *p, bool good)
{
    struct book *b = book_of(p);
    bool raw = good && b->may_motion && m.s.split.motion_mbs && model_chance(60);
    if (!good) {
        bool abort = p->window->abort;
        gpu_entropy_refused(&m.s, p, m.now);
        if (abort)
            model_dropped(p);
        else
            model_requeued(p);
        return;
    }
    p->records = raw ? LIVES_DEVICE : LIVES_HOST;
    p->coeffs = model_chance(50) ? LIVES_DEVICE : LIVES_HOST;
    p->motion.device_records = raw ? p : NULL;
    split_keep_results(&m.s, p, p->coeffs == LIVES_HOST ? 96 : 0);
    b->records = b->coeffs = true;
    b->on_host = !raw;
    b->raw = raw;
    b->motion = raw ? BY_GPU : BY_CPU;
    b->stage = PICTURE_DECODED;
    gpu_entropy_done(&m.s, p, 3, m.now);
}

bool model_entropy_event(void)
{
    if (!m.gpu_entropy_count)
        return entropy_takes();
    entropy_ends(take_out(m.gpu_entropy, &m.gpu_entropy_count), !m.gpu_failed && model_chance(75));
    return true;
}

/* The raw records are freed or adopted before the schedule hears of it. */
static void free_raw(struct picture *p)
{
    p->motion.device_records = NULL;
    book_of(p)->raw = false;
}

static void motion_refused(struct picture *p)
{
    struct book *b = book_of(p);
    bool abort = p->window->abort, intact = b->entropy == BY_CPU && model_chance(50);
    free_raw(p);
    gpu_motion_refused(&m.s, p, intact, m.now);
    if (abort) {
        model_dropped(p);
    } else if (intact) {
        b->stage = PICTURE_DECODED;
        b->motion = BY_CPU;
        b->may_motion = false;
    } else {
        model_requeued(p);
    }
}

static void motion_derived(struct picture *p)
{
    struct book *b = book_of(p);
    bool error = model_chance(10);
    free_raw(p);
    p->records = model_chance(50) ? LIVES_BOTH : LIVES_DEVICE;
    b->stage = PICTURE_READY;
    b->copy |= error;
    gpu_motion_done(&m.s, p, error, m.now);
}

static bool motion_takes(void)
{
    struct picture *p = gpu_motion_take(&m.s, m.now);
    if (!p)
        return false;
    model_moved(p, PICTURE_MOTION);
    if (model_chance(10)) {
        model_moved(p, PICTURE_DECODED);
        gpu_motion_untake(&m.s, p);
        return true;
    }
    m.gpu_motion[m.gpu_motion_count++] = p;
    return true;
}

bool model_motion_event(void)
{
    if (!m.gpu_motion_count || model_chance(30))
        return motion_takes();
    struct picture *p = take_out(m.gpu_motion, &m.gpu_motion_count);
    if (m.gpu_failed || p->window->abort || model_chance(30))
        motion_refused(p);
    else
        motion_derived(p);
    return true;
}
