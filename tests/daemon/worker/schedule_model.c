/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedule under random events, without threads, device and clock.
 *
 * Each sequence opens streams, admits pictures, lets coders and the GPU take them, and ends their
 * work in every way: done, damaged, refused, no memory. Streams are aborted, the device is lost,
 * the GPU fails. At the end everything must come to DONE. The test keeps books of its own: what it
 * did to each picture (struct book). After each event the schedule's counters are compared with
 * sums over the pictures, and one edge of one picture, at random, with the books.
 *
 * schedule_model N      N sequences
 * schedule_model mutate each edge and each of its needs removed in turn: the sequences must fail
 */
#include "daemon/worker/schedule/batch.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/schedule/slots.h"
#include "daemon/worker/schedule/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOWS  2
#define PICTURES 12 /* alive at a time */
#define TASKS    3  /* coders */
#define BATCHES  3
#define WIDTH    4
#define MBS      16

/* ---- books ---- */

/* What the test knows of a picture by its own acts. */
struct book {
    bool alive, retired, output; /* output: one holds it */
    uint32_t readers;            /* pictures not DONE that refer to it */
    enum picture_stage stage;
    enum picture_by entropy, motion;
    bool may_entropy, may_motion;
    bool records, on_host, coeffs, raw;
    uint32_t left;
    bool placed, copy;
};

struct model {
    struct schedule s;
    struct h264_sps sps;
    struct window windows[WINDOWS];
    struct picture pictures[PICTURES];
    struct h264_picture pics[PICTURES];
    struct h264_slice slices[PICTURES][3];
    struct book books[PICTURES];
    struct output outputs[PICTURES];
    struct slots slots;
    int32_t slot_numbers[64];
    struct coder_work tasks[TASKS];
    struct picture *gpu_entropy[PICTURES], *gpu_motion[PICTURES];
    uint32_t gpu_entropy_count, gpu_motion_count;
    struct batch batches[BATCHES]; /* in flight, oldest first */
    struct batch_entry entries[BATCHES][WIDTH];
    uint32_t in_flight, admitted[WINDOWS];
    uint64_t random;
    uint64_t sequence;
    uint32_t id;
    int64_t now;
    bool gpu_failed;
};

static struct model m;
static uint64_t events;

static void model_fail(const char *text, int line)
{
    fprintf(stderr, "sequence %llu, event %llu, line %d: %s\n", (unsigned long long)m.sequence,
            (unsigned long long)events, line, text);
    exit(1);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            model_fail(#condition, __LINE__);                                                      \
    } while (0)

static uint32_t pick(uint32_t n)
{
    return (uint32_t)((next_random(&m.random) >> 11) % n);
}

static bool chance(uint32_t percent)
{
    return pick(100) < percent;
}

static uint32_t index_of(const struct picture *p)
{
    return (uint32_t)(p - m.pictures);
}

static struct book *book_of(const struct picture *p)
{
    return &m.books[index_of(p)];
}

/* ---- the edges once more, by the books ---- */

static bool book_allows(const struct picture *p, enum picture_edge_name edge)
{
    const struct book *b = book_of(p);
    bool aborted = p->window->abort, arrays = b->records && b->coeffs, none = !p->motion.waits;
    bool cpu = b->entropy == BY_CPU, gpu = b->entropy == BY_GPU;
    bool motion_cpu = b->motion == BY_CPU, motion_gpu = b->motion == BY_GPU;
    bool queued = b->stage == PICTURE_QUEUED, entropy = b->stage == PICTURE_ENTROPY;
    bool decoded = b->stage == PICTURE_DECODED, motion = b->stage == PICTURE_MOTION;
    bool ready = b->stage == PICTURE_READY;
    switch (edge) {
    case EDGE_TAKE_CPU:
        return queued && b->left && !aborted;
    case EDGE_TAKE_GPU:
        return queued && b->left && !aborted && b->may_entropy && !b->records && !b->coeffs;
    case EDGE_DECODED_CPU:
        return entropy && cpu && !b->left && arrays && b->on_host;
    case EDGE_DECODED_GPU:
        return entropy && gpu && arrays;
    case EDGE_ENTROPY_REFUSED:
        return entropy && gpu && !b->raw;
    case EDGE_MOTION_CPU:
        return decoded && motion_cpu && none && b->on_host;
    case EDGE_MOTION_GPU:
        return decoded && motion_gpu && none && b->may_motion;
    case EDGE_BATCH_FULL:
        return motion && motion_gpu;
    case EDGE_MOTION_INTACT:
        return motion && motion_gpu && cpu && b->on_host && !b->raw;
    case EDGE_MOTION_REFUSED:
        return motion && motion_gpu && !b->raw;
    case EDGE_IMPORT_REFUSED:
        return motion && motion_cpu && gpu && !b->raw;
    case EDGE_READY_CPU:
        return motion && motion_cpu && !b->raw && (b->copy || arrays);
    case EDGE_READY_GPU:
        return motion && motion_gpu && !b->raw && (b->copy || arrays);
    case EDGE_EMPTY:
        return queued && !b->left;
    case EDGE_DROP_QUEUED:
        return queued && aborted && !b->raw;
    case EDGE_DROP_ENTROPY:
        return entropy && aborted && !b->raw;
    case EDGE_DROP_DECODED:
        return decoded && aborted && !b->raw && none;
    case EDGE_DROP_MOTION:
        return motion && aborted && !b->raw;
    case EDGE_SUBMIT:
        return ready && !aborted && b->placed && (b->copy || arrays);
    case EDGE_COMPLETE:
        return b->stage == PICTURE_SUBMITTED && b->placed;
    case EDGE_DISCARD:
        return ready && aborted;
    case PICTURE_EDGES:
        break;
    }
    return false;
}

/* A state that the schedule never shows by itself: every condition of every edge is met and broken
 * somewhere. */
static void probe_edge(const struct picture *p)
{
    struct picture q = *p;
    struct book kept = *book_of(p), *b = book_of(p);
    struct window w = *p->window;
    enum picture_edge_name edge = (enum picture_edge_name)pick(PICTURE_EDGES);
    uint32_t bits = (uint32_t)next_random(&m.random) >> 7;
    q.window = &w;
    if (chance(90))
        q.stage = b->stage = picture_edges[edge].from;
    w.abort = bits & 1;
    q.entropy.by = b->entropy = (enum picture_by)(bits >> 1 & 3) % 3;
    q.motion.by = b->motion = (enum picture_by)(bits >> 3 & 3) % 3;
    b->may_entropy = bits >> 5 & 1;
    b->may_motion = bits >> 6 & 1;
    q.can =
        (uint8_t)((b->may_entropy ? CAN_ENTROPY_GPU : 0) | (b->may_motion ? CAN_MOTION_GPU : 0));
    q.records = (enum picture_lives)(bits >> 7 & 3);
    b->records = q.records != LIVES_NOWHERE;
    b->on_host = q.records == LIVES_HOST || q.records == LIVES_BOTH;
    b->coeffs = bits >> 9 & 1;
    q.coeffs = b->coeffs ? LIVES_DEVICE : LIVES_NOWHERE;
    b->raw = bits >> 10 & 1;
    q.motion.device_records = b->raw ? &q : NULL;
    q.entropy.slices_left = b->left = bits >> 11 & 1;
    q.motion.waits = bits >> 12 & 1;
    b->placed = bits >> 13 & 1;
    q.slot.slots = b->placed ? &m.slots : NULL;
    q.slot.batch = b->placed;
    b->copy = bits >> 14 & 1;
    q.outcome = b->copy ? OUTCOME_COPY : OUTCOME_WHOLE;
    struct picture *real = &m.pictures[index_of(p)], saved = *real;
    *real = q; /* book_allows finds the book by the address */
    bool allowed = picture_may(real, edge), expected = book_allows(real, edge);
    *real = saved;
    *b = kept;
    if (allowed != expected) {
        fprintf(stderr, "edge %s: the table says %d, the books %d\n", picture_edges[edge].name,
                allowed, expected);
        exit(1);
    }
}

/* ---- invariants ---- */

static uint32_t heap_size(const struct picture *p)
{
    if (!p)
        return 0;
    CHECK(p->stage == PICTURE_DECODED && p->motion.waits == 0);
    CHECK(!p->motion.left || p->motion.left->entropy.turn >= p->entropy.turn);
    CHECK(!p->motion.right || p->motion.right->entropy.turn >= p->entropy.turn);
    return 1 + heap_size(p->motion.left) + heap_size(p->motion.right);
}

struct sums {
    uint32_t alive, busy, ready, blocked, begun, held, live;
    uint32_t decoded; /* and without waits */
    uint64_t kept;
};

static void sum_picture(const struct picture *p, struct sums *t)
{
    const struct book *b = book_of(p);
    bool waits = p->stage < PICTURE_READY;
    CHECK(p->stage == b->stage);
    CHECK(p->entropy.by == b->entropy || p->stage >= PICTURE_READY);
    CHECK(!(p->can & CAN_ENTROPY_GPU) || b->may_entropy);
    CHECK(!(p->can & CAN_MOTION_GPU) || b->may_motion);
    CHECK(p->stage != PICTURE_SUBMITTED || (p->slot.slots && p->slot.batch));
    CHECK(!p->blocked || p->stage == PICTURE_READY);
    CHECK(p->blocked ? p->block.by->stage < PICTURE_SUBMITTED : !p->block.by);
    for (const struct picture *q = p->block.first; q; q = q->block.next)
        CHECK(book_of(q)->alive && q->blocked && q->block.by == p);
    t->alive++;
    t->busy += p->stage != PICTURE_DONE;
    t->ready += p->stage == PICTURE_READY;
    t->blocked += p->blocked;
    t->begun += p->stage != PICTURE_DONE && p->entropy.by == BY_CPU && p->pace == PACE_AHEAD;
    t->held += p->slot.slots && p->owner == p;
    t->live += p->pace == PACE_LIVE && p->stage < PICTURE_SUBMITTED;
    t->decoded += waits && p->stage == PICTURE_DECODED && p->motion.waits == 0;
    t->kept += p->entropy.kept;
}

static void check_window(struct window *w, struct sums *all)
{
    struct sums t = {0};
    for (uint32_t i = 0; i < PICTURES; i++)
        if (m.books[i].alive && m.pictures[i].window == w)
            sum_picture(&m.pictures[i], &t);
    CHECK(w->pictures == t.alive && w->busy == t.busy && w->ready == t.ready);
    CHECK(w->blocked == t.blocked);
    CHECK(w->arrays.begun == t.begun);
    CHECK(w->slots.held == t.held);
    CHECK(!w->slots.of || w->slots.quota >= w->slots.base);
    const struct picture *oldest = w->first;
    while (oldest && oldest->stage >= PICTURE_SUBMITTED)
        oldest = oldest->next;
    CHECK(w->waiting == oldest);
    uint32_t ahead = 0;
    for (; oldest; oldest = oldest->next)
        ahead += oldest->stage >= PICTURE_SUBMITTED && oldest->owner == oldest;
    CHECK(w->frames_ahead == ahead);
    all->held += t.held;
    all->live += t.live;
    all->decoded += t.decoded;
    all->kept += t.kept;
}

static void check_queue(void)
{
    uint32_t count = 0;
    uint64_t bytes = 0;
    const struct picture *prev = NULL;
    for (const struct picture *p = m.s.entropy.first; p; prev = p, p = p->entropy.next) {
        CHECK(p->entropy.prev == prev);
        CHECK(p->stage == PICTURE_QUEUED ||
              (p->stage == PICTURE_ENTROPY && p->entropy.by == BY_CPU));
        CHECK(p->entropy.slice_next < p->pic->slice_count);
        count++;
        bytes += p->entropy.bytes;
    }
    CHECK(m.s.entropy.last == prev && m.s.entropy.count == count && m.s.entropy.bytes == bytes);
}

static void check_all(void)
{
    struct sums all = {0};
    for (uint32_t i = 0; i < WINDOWS; i++)
        check_window(&m.windows[i], &all);
    check_queue();
    CHECK(heap_size(m.s.motion_cpu) + heap_size(m.s.motion_gpu) == all.decoded);
    CHECK(m.s.split.kept == all.kept);
    CHECK(m.s.live.pictures == all.live);
    CHECK(m.slots.used == all.held && m.slots.used + m.slots.free_count == m.slots.count);
    CHECK(m.slots.in_flight == m.in_flight);
}

/* ---- the life of a picture ---- */

static void moved(struct picture *p, enum picture_stage stage)
{
    book_of(p)->stage = stage;
}

/* Its arrays are gone and it waits again, but not for the GPU. */
static void requeued(struct picture *p)
{
    struct book *b = book_of(p);
    *b = (struct book){.alive = true, .output = b->output, .readers = b->readers};
    b->left = p->pic->slice_count;
}

static void dropped(struct picture *p)
{
    struct book *b = book_of(p);
    b->stage = PICTURE_READY;
    b->copy = true;
}

/* Coders may have dropped pictures of aborted windows on the way. */
static void notice_drops(void)
{
    for (uint32_t i = 0; i < PICTURES; i++) {
        struct picture *p = &m.pictures[i];
        const struct book *b = &m.books[i];
        bool may = b->alive && p->window->abort && b->stage != p->stage;
        if (may && p->stage == PICTURE_READY &&
            (b->stage == PICTURE_QUEUED || b->stage == PICTURE_DECODED))
            dropped(p);
    }
}

static void forget_if_free(struct picture *p)
{
    struct book *b = book_of(p);
    if (!b->alive || !b->retired || b->output || b->readers)
        return;
    b->alive = false;
    window_forget(p);
    if (p->owner == p)
        return;
    book_of(p->owner)->readers--;
    forget_if_free(p->owner);
}

/* It is DONE: the pictures that it read are held no longer. */
static void done(struct picture *p)
{
    book_of(p)->stage = PICTURE_DONE;
    for (uint32_t i = 0; i < p->pic->refs_held_count; i++) {
        struct picture *ref = p->pic->refs_held[i]->holder.user;
        book_of(ref)->readers--;
        forget_if_free(ref);
    }
    p->pic->refs_held_count = 0;
}

static void add_reference(struct picture *p, struct picture_facts *facts)
{
    struct window *w = p->window;
    for (uint32_t i = 0; i < PICTURES; i++) {
        struct picture *ref = &m.pictures[i];
        if (!m.books[i].alive || ref == p || ref->window != w || m.books[i].retired || !chance(40))
            continue;
        p->pic->refs_held[p->pic->refs_held_count++] = ref->pic;
        m.books[i].readers++;
        if (ref->owner == ref && chance(50))
            facts->colocated[facts->colocated_count++] = ref->pic;
    }
}

/* The second field of the newest picture of the window, if that is a lonely first field. */
static void maybe_join(struct picture *p, const struct window *w)
{
    struct picture *last = NULL;
    for (struct picture *q = w->first; q; q = q->next)
        last = q;
    p->pic->structure = chance(20) ? REC_TOP : REC_FRAME;
    if (!last || last->pic->structure != REC_TOP || last->pic->paired || last->owner != last ||
        book_of(last)->output)
        return;
    p->pic->structure = REC_BOTTOM;
    p->pic->first_field = last->pic;
    last->pic->paired = 1;
    book_of(last)->readers++; /* as long as it lives: its slot is there */
}

static void admit(uint32_t at)
{
    struct window *w = &m.windows[at];
    uint32_t i = 0;
    struct picture_facts facts = {0};
    while (i < PICTURES && m.books[i].alive)
        i++;
    if (i == PICTURES || w->abort || w->source_ended || !window_has_room(w))
        return;
    struct picture *p = &m.pictures[i];
    struct h264_picture *pic = &m.pics[i];
    uint32_t slices = pick(16) ? 1 + pick(3) : 0;
    *p = (struct picture){.pic = pic, .window = w};
    pic->id = m.id++;
    pic->sps = &m.sps;
    pic->slices = m.slices[i];
    pic->slice_count = slices;
    pic->non_existing = slices == 0;
    pic->mb_count = MBS;
    pic->bytes_size = 100 + pick(1000);
    pic->refs_held_count = 0;
    pic->first_field = NULL;
    pic->paired = 0;
    pic->holder.user = p;
    pic->holder.slot = -1;
    p->entropy.bytes = pic->bytes_size;
    p->entropy.slices_left = slices;
    p->entropy.slice_chunk = 1 + pick(2);
    p->pace = window_pace(w, slices);
    if (p->pace == PACE_LIVE)
        p->records = p->coeffs = LIVES_HOST;
    m.books[i] = (struct book){.alive = true, .left = slices};
    maybe_join(p, w);
    add_reference(p, &facts);
    facts.entropy_gpu = slices && chance(80);
    facts.motion_gpu = chance(80);
    facts.largest_slice = pic->bytes_size;
    m.books[i].may_entropy = facts.entropy_gpu;
    m.books[i].may_motion = facts.entropy_gpu && facts.motion_gpu;
    m.books[i].records = m.books[i].coeffs = m.books[i].on_host = p->pace == PACE_LIVE;
    window_add(w, p, &facts, m.now);
    if (!slices)
        dropped(p);
    if (p->owner == p && chance(80)) { /* output order is decoding order here */
        m.outputs[i] = (struct output){.pic = pic, .structure = REC_FRAME};
        m.books[i].output = true;
        window_output(w, &m.outputs[i]);
    }
}

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
    notice_drops();
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
    bool intact = b->motion == BY_GPU && chance(70);
    const struct h264_picture *source = NULL;
    for (uint32_t i = 0; i < p->pic->refs_held_count && !intact && chance(30); i++)
        source = p->pic->refs_held[i];
    if (!p->window->abort) {
        p->motion.coeff_blocks = 1;
        b->motion = intact ? BY_GPU : BY_CPU;
        b->stage = PICTURE_DECODED;
    }
    coder_decoded(&m.s, p, intact, source, m.now);
    if (p->window->abort)
        dropped(p);
}

static void abort_window(struct window *w)
{
    window_abort(w);
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
    bool error = chance(2);
    if (error)
        abort_window(p->window);
    else
        b->records = b->coeffs = b->on_host = true;
    if (!error && b->motion == BY_CPU && chance(60))
        p->can |= CAN_PER_SLICE;
    coder_arrays_done(&m.s, p, error, t);
    CHECK(t->task == TASK_SLICES && t->picture == p);
    shares(t);
}

static void import_ends(struct picture *p)
{
    bool good = p->window->abort || chance(70), error = good && chance(10);
    struct book *b = book_of(p);
    if (good) {
        b->stage = PICTURE_READY;
        b->copy |= error;
    }
    coder_import_done(&m.s, p, good, error, m.now);
    if (!good)
        requeued(p);
}

static void motion_ends(struct picture *p)
{
    bool error = chance(10);
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

static bool coder_event(void)
{
    struct coder_work *t = &m.tasks[pick(TASKS)];
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
    uint32_t at = pick(*count);
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
    bool raw = good && b->may_motion && m.s.split.motion_mbs && chance(60);
    if (!good) {
        bool abort = p->window->abort;
        gpu_entropy_refused(&m.s, p, m.now);
        if (abort)
            dropped(p);
        else
            requeued(p);
        return;
    }
    p->records = raw ? LIVES_DEVICE : LIVES_HOST;
    p->coeffs = chance(50) ? LIVES_DEVICE : LIVES_HOST;
    p->motion.device_records = raw ? p : NULL;
    if (p->coeffs == LIVES_HOST)
        split_keep_blocks(&m.s, p, 3);
    b->records = b->coeffs = true;
    b->on_host = !raw;
    b->raw = raw;
    b->motion = raw ? BY_GPU : BY_CPU;
    b->stage = PICTURE_DECODED;
    gpu_entropy_done(&m.s, p, 3, m.now);
}

static bool entropy_event(void)
{
    if (!m.gpu_entropy_count)
        return entropy_takes();
    entropy_ends(take_out(m.gpu_entropy, &m.gpu_entropy_count), !m.gpu_failed && chance(75));
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
    bool abort = p->window->abort, intact = b->entropy == BY_CPU && chance(50);
    free_raw(p);
    gpu_motion_refused(&m.s, p, intact, m.now);
    if (abort) {
        dropped(p);
    } else if (intact) {
        b->stage = PICTURE_DECODED;
        b->motion = BY_CPU;
        b->may_motion = false;
    } else {
        requeued(p);
    }
}

static void motion_derived(struct picture *p)
{
    struct book *b = book_of(p);
    bool error = chance(10);
    free_raw(p);
    p->records = chance(50) ? LIVES_BOTH : LIVES_DEVICE;
    b->stage = PICTURE_READY;
    b->copy |= error;
    gpu_motion_done(&m.s, p, error, m.now);
}

static bool motion_takes(void)
{
    struct picture *p = gpu_motion_take(&m.s, m.now);
    if (!p)
        return false;
    moved(p, PICTURE_MOTION);
    if (chance(10)) {
        moved(p, PICTURE_DECODED);
        gpu_motion_untake(&m.s, p);
        return true;
    }
    m.gpu_motion[m.gpu_motion_count++] = p;
    return true;
}

static bool motion_event(void)
{
    if (!m.gpu_motion_count || chance(30))
        return motion_takes();
    struct picture *p = take_out(m.gpu_motion, &m.gpu_motion_count);
    if (m.gpu_failed || p->window->abort || chance(30))
        motion_refused(p);
    else
        motion_derived(p);
    return true;
}

/* ---- the device ---- */

static void outputs_with(const struct batch *b)
{
    for (uint32_t i = 0; i < WINDOWS; i++) {
        struct output *out = NULL;
        while ((out = batch_next_output(&m.windows[i], b, m.windows[i].has_pool, out)))
            out->state = OUTPUT_COMPLETE;
    }
}

static bool submits(void)
{
    struct batch *b = &m.batches[m.in_flight];
    if (m.in_flight >= batches_most(&m.s))
        return false;
    b->entries = m.entries[b - m.batches];
    b->width = WIDTH;
    batch_collect(&m.s, &m.slots, b);
    for (uint32_t i = 0; i < b->count; i++) {
        struct picture *p = b->entries[i].picture;
        if (!p)
            continue;
        CHECK(book_of(p)->stage == PICTURE_READY && !p->window->abort);
        for (uint32_t k = 0; k < p->pic->refs_held_count; k++) {
            const struct picture *ref = p->pic->refs_held[k]->holder.user;
            CHECK(ref->stage >= PICTURE_SUBMITTED && ref->slot.batch < b->serial);
        }
        book_of(p)->placed = true;
        moved(p, PICTURE_SUBMITTED);
        if (chance(5))
            picture_spoil(p);
        book_of(p)->copy |= p->outcome == OUTCOME_COPY;
    }
    outputs_with(b);
    if (!b->count)
        return false;
    m.s.serial++;
    m.in_flight++;
    m.slots.in_flight++;
    return true;
}

static bool completes(void)
{
    struct batch b = m.batches[0];
    if (!m.in_flight)
        return false;
    m.in_flight--;
    m.slots.in_flight--;
    for (uint32_t i = 0; i < b.count; i++)
        if (m.entries[0][i].picture) {
            struct picture *p = m.entries[0][i].picture;
            picture_move(p, EDGE_COMPLETE);
            done(p);
        }
    memmove(&m.batches[0], &m.batches[1], sizeof(m.batches[0]) * (BATCHES - 1));
    memmove(&m.entries[0], &m.entries[1], sizeof(m.entries[0]) * (BATCHES - 1));
    return true;
}

static bool tend(struct window *w)
{
    bool any = false;
    struct h264_picture *pic;
    if (w->starves)
        abort_window(w);
    if (w->abort)
        any = window_discard(w);
    for (struct picture *p = w->first; p && w->abort; p = p->next)
        if (p->stage == PICTURE_DONE && book_of(p)->stage == PICTURE_READY)
            done(p);
    struct output *out;
    while (w->abort && (out = window_drop_output(w))) {
        book_of(out->pic->holder.user)->output = false;
        forget_if_free(out->pic->holder.user);
        any = true;
    }
    while (w->outputs && w->outputs->state == OUTPUT_COMPLETE) {
        out = w->outputs;
        const struct picture *p = out->pic->holder.user;
        w->outputs = out->next;
        if (!w->outputs)
            w->outputs_tail = &w->outputs;
        book_of(p)->output = false;
        forget_if_free(out->pic->holder.user);
        any = true;
    }
    while ((pic = window_retire(w))) {
        book_of(pic->holder.user)->retired = true;
        forget_if_free(pic->holder.user);
        any = true;
    }
    return any;
}

static void attach(struct window *w)
{
    struct slots_wish wish = slots_wish_of(w, &m.sps);
    struct slots *found = NULL;
    if (w->slots.of || !w->waiting || w->waiting->stage != PICTURE_READY)
        return;
    enum slots_found how = slots_find(w, &wish, m.now, &found);
    CHECK(how != SLOTS_FOUND || found == &m.slots);
    /* there is no second store here: a small one is shared all the same */
    if (how == SLOTS_FOUND || m.slots.free_count >= slots_owed(&m.s, &m.slots) + wish.base)
        slots_attach(w, &m.slots, &wish);
}

static bool device_event(void)
{
    struct window *w = &m.windows[pick(WINDOWS)];
    uint32_t what = pick(8);
    attach(w);
    if (what < 3)
        return submits();
    return what < 5 ? completes() : tend(w);
}

/* ---- accidents ---- */

static void gpu_fails(void)
{
    m.gpu_failed = true;
    m.s.split.all = false;
    m.s.split.depth = 0;
    m.s.split.motion_mbs = 0;
}

static void accident(void)
{
    uint32_t what = pick(100);
    if (what < 50)
        abort_window(&m.windows[pick(WINDOWS)]);
    else if (what < 70)
        m.windows[pick(WINDOWS)].source_ended = true;
    else if (what < 90)
        gpu_fails();
    else /* the device is lost */
        for (uint32_t i = 0; i < WINDOWS; i++)
            abort_window(&m.windows[i]);
}

/* ---- sequences ---- */

static void begin_sequence(uint64_t sequence, uint32_t slots)
{
    uint64_t random = (sequence + 1) * 0x9e3779b97f4a7c15ull | 1;
    memset(&m.s, 0, sizeof(m.s));
    memset(m.windows, 0, sizeof(m.windows));
    memset(m.books, 0, sizeof(m.books));
    memset(m.tasks, 0, sizeof(m.tasks));
    memset(&m.slots, 0, sizeof(m.slots));
    m.sequence = sequence;
    m.random = random;
    m.gpu_entropy_count = m.gpu_motion_count = m.in_flight = 0;
    m.gpu_failed = false;
    m.now += 1000000;
    m.sps = (struct h264_sps){.mb_width = 4,
                              .mb_height = 4,
                              .chroma_format_idc = 1,
                              .max_dpb_frames = 1,
                              .bit_depth = {8, 8},
                              .frame_mbs_only_flag = 0};
    m.s.setting = (struct schedule_setting){.entropy = ENGINE_ENTROPY_GPU,
                                            .coders = TASKS,
                                            .lookahead = 6,
                                            .batch = WIDTH,
                                            .shuffle_seed = chance(10) ? 7 : 0,
                                            .software = true};
    m.s.split.present = true;
    m.s.split.all = chance(50);
    m.s.split.depth = 6;
    m.s.split.motion_mbs = chance(80) ? MBS : 0;
    m.s.split.cpu_rate = (struct split_rate){1, 1}; /* the GPU is always in time */
    m.s.split.gpu_rate = m.s.split.gpu_fetch = (struct split_rate){1e-9, 1};
    m.slots.key = slots_key_of(&m.sps);
    m.slots.count = slots;
    m.slots.width = WIDTH;
    m.slots.free = m.slot_numbers;
    for (uint32_t i = 0; i < slots; i++)
        m.slot_numbers[m.slots.free_count++] = (int32_t)i;
    slots_add(&m.s, &m.slots);
    for (uint32_t i = 0; i < WINDOWS; i++) {
        struct window *w = &m.windows[i];
        window_open(w, &m.s);
        w->live = chance(20);
        w->realtime = w->live && chance(50);
        w->has_pool = chance(50);
        w->picture_bytes = 1000;
    }
}

static void event(void)
{
    uint32_t what = pick(32);
    m.now += 1000;
    events++;
    if (what < 6)
        admit(pick(WINDOWS));
    else if (what < 16)
        coder_event();
    else if (what < 20)
        entropy_event();
    else if (what < 23)
        motion_event();
    else if (what < 31)
        device_event();
    else if (chance(15))
        accident();
}

static bool all_done(void)
{
    for (uint32_t i = 0; i < WINDOWS; i++)
        if (m.windows[i].first || m.windows[i].outputs)
            return false;
    return true;
}

/* Whatever happened: without new pictures all of them are DONE soon. */
static void drain(void)
{
    for (uint32_t i = 0; i < WINDOWS; i++)
        m.windows[i].source_ended = true;
    for (uint32_t rounds = 0; !all_done(); rounds++) {
        CHECK(rounds < 1000);
        events++;
        coder_event();
        entropy_event();
        motion_event();
        for (uint32_t i = 0; i < WINDOWS; i++) {
            attach(&m.windows[i]);
            tend(&m.windows[i]);
        }
        submits();
        completes();
    }
    check_all();
    CHECK(m.slots.used == 0 && m.s.split.kept == 0 && m.s.entropy.count == 0);
    for (uint32_t i = 0; i < WINDOWS; i++)
        window_close(&m.windows[i]);
    CHECK(m.s.window_count == 0 && !m.s.windows);
}

static void run_sequence(uint64_t sequence, uint32_t length, uint32_t slots)
{
    begin_sequence(sequence, slots);
    for (uint32_t i = 0; i < length; i++) {
        event();
        check_all();
        uint32_t at = pick(PICTURES);
        if (m.books[at].alive)
            probe_edge(&m.pictures[at]);
    }
    drain();
}

static void run_sequences(uint64_t count)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (uint64_t i = 0; i < count; i++)
        run_sequence(i, i % 1000 ? 4 + i % 12 : 1000, 15 + i % 10);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    for (unsigned i = 0; i < PICTURE_EDGES && count >= 1000; i++)
        if (!picture_moves[i]) {
            fprintf(stderr, "no picture went along %s\n", picture_edges[i].name);
            exit(1);
        }
    printf("%llu sequences, %llu events, %.1f s of CPU time\n", (unsigned long long)count,
           (unsigned long long)events,
           (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
}

/* ---- mutations ---- */

/* In a process of its own: a forbidden move ends it. */
static bool is_noticed(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
            _exit(0);
        alarm(600);
        run_sequences(20000);
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child &&
           !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static unsigned mutate(struct picture_edge *edge, unsigned needs, const char *what)
{
    struct picture_edge kept = *edge;
    if (needs)
        edge->needs &= ~needs;
    else
        edge->name = NULL;
    bool noticed = is_noticed();
    *edge = kept;
    printf("%-16s %-24s %s\n", edge->name, what, noticed ? "noticed" : "NOT NOTICED");
    return !noticed;
}

static int mutate_all(void)
{
    unsigned missed = 0, count = 0;
    for (unsigned i = 0; i < PICTURE_EDGES; i++) {
        struct picture_edge *edge = &picture_edges[i];
        missed += mutate(edge, 0, "edge");
        count++;
        for (unsigned bit = 0; bit < PICTURE_NEEDS; bit++) {
            char what[32];
            if (!(edge->needs >> bit & 1))
                continue;
            snprintf(what, sizeof(what), "need %u", bit);
            missed += mutate(edge, 1u << bit, what);
            count++;
        }
    }
    printf("%u mutations, %u missed\n", count, missed);
    return missed != 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "mutate") == 0)
        return mutate_all();
    run_sequences(argc == 2 ? strtoull(argv[1], NULL, 10) : 1000000);
    return 0;
}
