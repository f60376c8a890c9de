/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the schedule must keep, by the model's books: which edge a picture may take, and the
 * counters as sums over the pictures.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

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
void model_probe_edge(const struct picture *p)
{
    struct picture q = *p;
    struct book kept = *book_of(p), *b = book_of(p);
    struct window w = *p->window;
    enum picture_edge_name edge = (enum picture_edge_name)model_pick(PICTURE_EDGES);
    uint32_t bits = (uint32_t)next_random(&m.random) >> 7;
    q.window = &w;
    if (model_chance(90))
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
    uint32_t alive, busy, ready, blocked, begun, held, owed, live;
    uint32_t decoded; /* and without waits */
    uint64_t kept, bytes;
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
    t->bytes +=
        p->stage != PICTURE_DONE && p->entropy.by == BY_CPU && p->pace == PACE_AHEAD ? p->need : 0;
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
    CHECK(w->arrays.begun == t.begun && w->arrays.bytes == t.bytes);
    CHECK(w->slots.held == t.held);
    CHECK(!w->slots.of || slots_quota(w) >= w->slots.base);
    const struct picture *oldest = w->first;
    while (oldest && oldest->stage >= PICTURE_SUBMITTED)
        oldest = oldest->next;
    CHECK(w->waiting == oldest);
    uint32_t ahead = 0;
    for (; oldest; oldest = oldest->next)
        ahead += oldest->stage >= PICTURE_SUBMITTED && oldest->owner == oldest;
    CHECK(w->frames_ahead == ahead);
    CHECK(w->open.listed == (w->ready > w->blocked));
    uint32_t in_order = t.held > ahead ? t.held - ahead : 0;
    CHECK(w->slots.owed ==
          (w->slots.of && w->slots.base > in_order ? w->slots.base - in_order : 0));
    all->owed += w->slots.owed;
    all->held += t.held;
    all->live += t.live;
    all->decoded += t.decoded;
    all->kept += t.kept;
}

static void check_queue(void)
{
    uint32_t count = 0, coders = 0;
    uint64_t bytes = 0, weight = 0;
    const struct picture *prev = NULL;
    for (const struct picture *p = m.s.entropy.first; p; prev = p, p = p->entropy.next) {
        CHECK(p->entropy.prev == prev);
        CHECK(p->stage == PICTURE_QUEUED ||
              (p->stage == PICTURE_ENTROPY && p->entropy.by == BY_CPU));
        CHECK(p->entropy.slice_next < p->pic->slice_count);
        count++;
        bytes += p->entropy.bytes;
        weight += p->entropy.largest_slice;
        coders += !split_may_take(p);
        CHECK(p->entropy.coders == !split_may_take(p));
    }
    CHECK(m.s.entropy.last == prev && m.s.entropy.count == count && m.s.entropy.coders == coders);
    CHECK(m.s.entropy.bytes == bytes && m.s.entropy.weight == weight);
}

void model_check(void)
{
    struct sums all = {0};
    for (uint32_t i = 0; i < WINDOWS; i++)
        check_window(&m.windows[i], &all);
    check_queue();
    CHECK(heap_size(m.s.motion_cpu) + heap_size(m.s.motion_gpu) == all.decoded);
    CHECK(m.s.split.kept == all.kept);
    CHECK(m.s.live.pictures == all.live);
    CHECK(m.slots.owed_to_all == all.owed);
    CHECK(m.slots.used == all.held && m.slots.used + m.slots.free_count == m.slots.count);
    CHECK(m.slots.in_flight == m.in_flight);
}
