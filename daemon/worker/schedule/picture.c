/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of a picture's life, and the one function that moves a picture along it.
 *
 * The happy path is QUEUED -> ENTROPY -> DECODED -> MOTION -> READY -> SUBMITTED -> DONE. The
 * failure modes are edges, too. The GPU refuses: the picture goes back to DECODED if its records
 * are still in host memory, else to QUEUED, and the CPU does the rest. Damage makes it a copy. An
 * aborted stream drops what waits and what comes back from work.
 */
#include "daemon/worker/schedule/schedule.h"

#include <assert.h>
#ifdef PELTON_CHECKS
#include <stdio.h>
#include <stdlib.h>
#endif

/* ---- what an edge needs ---- */

enum {
    ENTROPY_CPU = 1 << 0,
    ENTROPY_GPU = 1 << 1,
    MOTION_CPU = 1 << 2,
    MOTION_GPU = 1 << 3,
    MAY_ENTROPY = 1 << 4,
    MAY_MOTION = 1 << 5,
    NO_ARRAYS = 1 << 6,
    ARRAYS = 1 << 7,
    ON_HOST = 1 << 8,
    SLICES = 1 << 9,
    ALL_TRIED = 1 << 10,
    NO_WAITS = 1 << 11,
    SETTLED = 1 << 12,
    WANTED = 1 << 13,
    ABORTED = 1 << 14,
    PLACED = 1 << 15,
    COMPLETE = 1 << 16
};

static bool picture_has_arrays(const struct picture *p)
{
    return p->records != LIVES_NOWHERE && p->coeffs != LIVES_NOWHERE;
}

static unsigned picture_facts_now(const struct picture *p)
{
    unsigned facts = 0;
    facts |= p->entropy.by == BY_CPU ? ENTROPY_CPU : 0;
    facts |= p->entropy.by == BY_GPU ? ENTROPY_GPU : 0;
    facts |= p->motion.by == BY_CPU ? MOTION_CPU : 0;
    facts |= p->motion.by == BY_GPU ? MOTION_GPU : 0;
    facts |= p->can & CAN_ENTROPY_GPU ? MAY_ENTROPY : 0;
    facts |= p->can & CAN_MOTION_GPU ? MAY_MOTION : 0;
    facts |= p->records == LIVES_NOWHERE && p->coeffs == LIVES_NOWHERE ? NO_ARRAYS : 0;
    facts |= picture_has_arrays(p) ? ARRAYS : 0;
    facts |= p->records & LIVES_HOST ? ON_HOST : 0;
    facts |= p->entropy.slices_left ? SLICES : ALL_TRIED;
    facts |= p->motion.waits ? 0 : NO_WAITS;
    facts |= p->motion.device_records ? 0 : SETTLED;
    facts |= p->window->abort ? ABORTED : WANTED;
    facts |= p->slot.slots && p->slot.batch ? PLACED : 0;
    facts |= p->outcome == OUTCOME_COPY || picture_has_arrays(p) ? COMPLETE : 0;
    return facts;
}

/* ---- the table ---- */

#define EDGE(name, from, to) [EDGE_##name] = {#name, PICTURE_##from, PICTURE_##to
#define LOSES_GPU            .loses = CAN_ENTROPY_GPU | CAN_MOTION_GPU
#define AGAIN                LOSES_GPU, .frees = true

/* clang-format off */
PICTURE_TABLE struct picture_edge picture_edges[PICTURE_EDGES] = {
    EDGE(TAKE_CPU,        QUEUED,    ENTROPY),   SLICES | WANTED, .entropy = BY_CPU},
    EDGE(TAKE_GPU,        QUEUED,    ENTROPY),   SLICES | WANTED | MAY_ENTROPY | NO_ARRAYS,
                                                 .entropy = BY_GPU},
    EDGE(DECODED_CPU,     ENTROPY,   DECODED),   ENTROPY_CPU | ALL_TRIED | ARRAYS | ON_HOST},
    EDGE(DECODED_GPU,     ENTROPY,   DECODED),   ENTROPY_GPU | ARRAYS},
    EDGE(ENTROPY_REFUSED, ENTROPY,   QUEUED),    ENTROPY_GPU | SETTLED, AGAIN},
    EDGE(MOTION_CPU,      DECODED,   MOTION),    MOTION_CPU | NO_WAITS | ON_HOST},
    EDGE(MOTION_GPU,      DECODED,   MOTION),    MOTION_GPU | NO_WAITS | MAY_MOTION},
    EDGE(BATCH_FULL,      MOTION,    DECODED),   MOTION_GPU},
    EDGE(MOTION_INTACT,   MOTION,    DECODED),   MOTION_GPU | ENTROPY_CPU | ON_HOST | SETTLED,
                                                 .motion = BY_CPU, .loses = CAN_MOTION_GPU},
    EDGE(MOTION_REFUSED,  MOTION,    QUEUED),    MOTION_GPU | SETTLED, AGAIN},
    EDGE(IMPORT_REFUSED,  MOTION,    QUEUED),    MOTION_CPU | ENTROPY_GPU | SETTLED, AGAIN},
    EDGE(READY_CPU,       MOTION,    READY),     MOTION_CPU | SETTLED | COMPLETE},
    EDGE(READY_GPU,       MOTION,    READY),     MOTION_GPU | SETTLED | COMPLETE},
    EDGE(EMPTY,           QUEUED,    READY),     ALL_TRIED, .copy = true},
    EDGE(DROP_QUEUED,     QUEUED,    READY),     ABORTED | SETTLED, .copy = true},
    EDGE(DROP_ENTROPY,    ENTROPY,   READY),     ABORTED | SETTLED, .copy = true},
    EDGE(DROP_DECODED,    DECODED,   READY),     ABORTED | SETTLED | NO_WAITS, .copy = true},
    EDGE(DROP_MOTION,     MOTION,    READY),     ABORTED | SETTLED, .copy = true},
    EDGE(SUBMIT,          READY,     SUBMITTED), WANTED | PLACED | COMPLETE},
    EDGE(COMPLETE,        SUBMITTED, DONE),      PLACED},
    EDGE(DISCARD,         READY,     DONE),      ABORTED},
};
/* clang-format on */

const char *const picture_stage_names[PICTURE_STAGES] = {"QUEUED", "ENTROPY",   "DECODED", "MOTION",
                                                         "READY",  "SUBMITTED", "DONE"};

bool picture_may(const struct picture *p, enum picture_edge_name edge)
{
    const struct picture_edge *e = &picture_edges[edge];
    return e->name && p->stage == e->from && !(e->needs & ~picture_facts_now(p));
}

#ifdef PELTON_CHECKS
struct picture_need {
    unsigned bit;
    const char *text;
};

static const struct picture_need picture_needs[PICTURE_NEEDS] = {
    {ENTROPY_CPU, "coders decoded it"},
    {ENTROPY_GPU, "the GPU decoded it"},
    {MOTION_CPU, "its motion is the CPU's"},
    {MOTION_GPU, "its motion is the GPU's"},
    {MAY_ENTROPY, "the GPU may decode it"},
    {MAY_MOTION, "the GPU may derive its motion"},
    {NO_ARRAYS, "it has no arrays"},
    {ARRAYS, "it has records and coefficients"},
    {ON_HOST, "its records are in host memory"},
    {SLICES, "slices are left"},
    {ALL_TRIED, "no slice is left"},
    {NO_WAITS, "it waits for no other picture's motion"},
    {SETTLED, "no raw records are left on the device"},
    {WANTED, "its stream is not aborted"},
    {ABORTED, "its stream is aborted"},
    {PLACED, "it has a frame slot and a batch"},
    {COMPLETE, "it is a copy, or has what reconstruction reads"},
};

/* Our bug, never a stream's. */
static void picture_check(const struct picture *p, enum picture_edge_name edge)
{
    const struct picture_edge *e = &picture_edges[edge];
    if (picture_may(p, edge))
        return;
    fprintf(stderr, "picture %u: edge %s from %s is not allowed:", p->pic ? p->pic->id : 0, e->name,
            picture_stage_names[p->stage]);
    for (unsigned i = 0; i < PICTURE_NEEDS; i++)
        if (e->needs & ~picture_facts_now(p) & picture_needs[i].bit)
            fprintf(stderr, " [%s]", picture_needs[i].text);
    fprintf(stderr, "\n");
    abort();
}
#else
/* The stage alone: moves are made with the engine's lock. */
static void picture_check(const struct picture *p, enum picture_edge_name edge)
{
    assert(p->stage == picture_edges[edge].from);
}
#endif

/* ---- what follows from a move ---- */

/* A coder has begun it, and the window counts that. */
static bool picture_counts(const struct picture *p)
{
    return p->entropy.by == BY_CPU && p->pace == PACE_AHEAD;
}

static void picture_count_arrays(const struct picture *p, bool more)
{
    struct window_arrays *a = &p->window->arrays;
    if (!picture_counts(p))
        return;
    a->begun += more ? 1 : -1u;
    a->bytes += more ? p->need : -p->need;
}

void picture_set_need(struct picture *p, uint64_t bytes)
{
    bool counted = picture_counts(p) && p->stage != PICTURE_DONE;
    if (counted)
        p->window->arrays.bytes += bytes - p->need;
    p->need = bytes;
}

static void picture_free_arrays(struct picture *p)
{
    struct window *w = p->window;
    picture_count_arrays(p, false);
    w->schedule->split.kept -= p->entropy.kept;
    p->entropy.kept = 0;
    p->entropy.by = p->motion.by = BY_NOBODY;
    p->records = p->coeffs = LIVES_NOWHERE;
    p->entropy.slice_next = 0;
    p->entropy.slices_left = p->pic->slice_count;
    p->motion.coeff_blocks = 0;
    p->refusals++;
}

/* The window's oldest picture that waits may be another one now. */
static void picture_leaves_wait(struct picture *p)
{
    struct window *w = p->window;
    w->schedule->live.pictures -= p->pace == PACE_LIVE;
    if (p != w->waiting) {
        w->frames_ahead += p->owner == p;
        return;
    }
    while ((w->waiting = w->waiting->next) && w->waiting->stage >= PICTURE_SUBMITTED)
        w->frames_ahead -= w->waiting->owner == w->waiting;
}

static void picture_ends(struct picture *p)
{
    struct window *w = p->window;
    struct schedule *s = w->schedule;
    s->split.kept -= p->entropy.kept;
    p->entropy.kept = 0;
    p->owner->frame.done++;
    w->busy--;
    picture_count_arrays(p, false);
    if (picture_counts(p) && s->split.present)
        wake_coders(s, 1);
    p->coeffs = LIVES_NOWHERE;
    wake_source(w);
}

void picture_block(struct picture *p, struct picture *by)
{
    p->blocked = true;
    p->block.by = by;
    p->block.next = by->block.first;
    by->block.first = p;
    p->window->blocked++;
    p->window->schedule->blocked++;
    window_counted(p->window);
}

static void picture_unblock(struct picture *p)
{
    p->blocked = false;
    p->block.by = NULL;
    p->window->blocked--;
    p->window->schedule->blocked--;
    window_counted(p->window);
}

/* Those that wait for it may be considered; it waits for none any more, as after abort. */
static void picture_leaves_blocks(struct picture *p)
{
    for (struct picture *other = p->block.first; other; other = other->block.next)
        picture_unblock(other);
    p->block.first = NULL;
    if (!p->blocked)
        return;
    struct picture **at = &p->block.by->block.first;
    while (*at != p)
        at = &(*at)->block.next;
    *at = p->block.next;
    picture_unblock(p);
}

static void picture_count(struct picture *p, enum picture_stage from)
{
    struct window *w = p->window;
    w->ready += p->stage == PICTURE_READY;
    w->ready -= from == PICTURE_READY;
    w->schedule->ready += p->stage == PICTURE_READY;
    w->schedule->ready -= from == PICTURE_READY;
    if (from < PICTURE_SUBMITTED && p->stage >= PICTURE_SUBMITTED) {
        picture_leaves_wait(p);
        picture_leaves_blocks(p);
    }
    if (p->stage == PICTURE_SUBMITTED)
        p->owner->frame.submitted++;
    if (p->stage == PICTURE_DONE)
        picture_ends(p);
    window_counted(w);
}

#ifdef PELTON_MODEL
uint64_t picture_moves[PICTURE_EDGES];
#endif

void picture_move(struct picture *p, enum picture_edge_name edge)
{
    const struct picture_edge *e = &picture_edges[edge];
    enum picture_stage from = p->stage;
    picture_check(p, edge);
#ifdef PELTON_MODEL
    picture_moves[edge]++;
#endif
    p->stage = e->to;
    p->can &= (uint8_t)~e->loses;
    if (e->frees)
        picture_free_arrays(p);
    if (e->entropy != BY_NOBODY)
        p->entropy.by = e->entropy;
    if (e->motion != BY_NOBODY)
        p->motion.by = e->motion;
    if (e->copy)
        p->outcome = OUTCOME_COPY;
    if (edge == EDGE_TAKE_CPU)
        picture_count_arrays(p, true);
    picture_count(p, from);
}

void picture_trace(struct picture *p, enum picture_trace point, int64_t now_ns)
{
    p->owner->frame.trace[point] = now_ns;
}
