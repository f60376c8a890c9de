/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the workers do next: idle workers, pictures whose slices nobody has taken, pictures whose
 * motion may be derived.
 *
 * A session's oldest pictures go first, and sessions take turns: so each picture has its turn, and
 * what has the lowest is done next, be it entropy decoding or motion. With shuffle_seed the order
 * is random over the window, which proves that it does not matter.
 */
#include "daemon/worker/schedule/queues.h"

unsigned workers_take(struct engine *e, unsigned most, struct worker **out)
{
    unsigned n = 0;
    while (e->idle && n < most) {
        struct worker *w = e->idle;
        e->idle = w->next_idle;
        w->idle = false;
        out[n++] = w;
    }
    return n;
}

void workers_wake(struct engine *e, unsigned most)
{
    struct worker *w;
    for (unsigned i = 0; i < most && workers_take(e, 1, &w); i++)
        uv_cond_signal(&w->wake);
}

static uint32_t motion_rank(const struct job *job)
{
    return job ? job->motion_rank : 0;
}

/* Two heaps into one (Knuth, The Art of Computer Programming, 5.2.3, leftist trees): as deep as the
 * logarithm of their sizes. */
static struct job *motion_merge(struct job *a, struct job *b)
{
    if (!a || !b)
        return a ? a : b;
    struct job *top = b->turn < a->turn ? b : a;
    struct job *below = motion_merge(top->motion_right, top == a ? b : a), *left = top->motion_left;
    bool swap = motion_rank(left) < motion_rank(below);
    top->motion_left = swap ? below : left;
    top->motion_right = swap ? left : below;
    top->motion_rank = motion_rank(top->motion_right) + 1;
    return top;
}

void motion_push(struct engine *e, struct job *job)
{
    bool gpu = job->raw || job->sends;
    struct job **heap = gpu ? &e->derive : &e->motion;
    job->motion_left = job->motion_right = NULL;
    job->motion_rank = 1;
    *heap = motion_merge(*heap, job);
    if (gpu)
        entropy_gpu_wake(e);
    else
        workers_wake(e, 1);
}

struct job *motion_pop(struct job **heap)
{
    struct job *job = *heap;
    *heap = motion_merge(job->motion_left, job->motion_right);
    return job;
}

/* Nobody has begun with it, and nobody waits for it. */
static bool plain(const struct job *job)
{
    return !job->allocated && !job->urgent;
}

void entropy_insert(struct engine *e, struct job *job, struct job *prev)
{
    struct job *next = prev ? prev->next_entropy : e->entropy;
    job->queued = true;
    job->session->queued += plain(job);
    job->prev_entropy = prev;
    job->next_entropy = next;
    *(prev ? &prev->next_entropy : &e->entropy) = job;
    *(next ? &next->prev_entropy : &e->entropy_last) = job;
    e->entropy_count++;
    e->entropy_bytes += job->bytes;
}

/* The workers have decoded so many pictures of the session that there must be some that the GPU has
 * in work and that these wait for. */
static bool far_ahead(const struct engine *e, const struct session *s)
{
    return s->arrays >= s->arrays_most && !e->params.shuffle_seed && entropy_gpu_works(e);
}

/* Where the GPU decodes all that it can, the workers leave that to it. */
static bool for_workers(const struct engine *e, const struct job *job)
{
    return job->session->abort ||
           ((!e->entropy_all || !job->offloads) && !(plain(job) && far_ahead(e, job->session)));
}

/* The last one in the queue whose turn is not after this one's. Most pictures come behind their
 * session's last, or at an end. */
static struct job *entropy_before(const struct engine *e, const struct job *job)
{
    struct job *prev = job->session->last_queued, *next;
    if (prev && prev->turn > job->turn)
        prev = NULL;
    if (prev || job->turn <= e->turn_taken) {
        for (next = prev ? prev->next_entropy : e->entropy; next && next->turn <= job->turn;
             next = next->next_entropy)
            prev = next;
        return prev;
    }
    for (prev = e->entropy_last; prev && prev->turn > job->turn; prev = prev->prev_entropy)
        ;
    return prev;
}

/* Sessions take turns, a picture each, however far ahead each of them has read: one that comes or
 * falls behind need not wait for the others' look-ahead. What is decoded as it arrives goes before
 * what is decoded ahead. */
void entropy_push(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    s->turn = s->turn < e->turn_taken ? e->turn_taken : s->turn + 1;
    job->turn = s->params.realtime ? 0 : s->turn;
    entropy_insert(e, job, entropy_before(e, job));
    s->last_queued = job;
    if (job->offloads)
        entropy_gpu_wake(e);
    if (!job->live && for_workers(e, job))
        workers_wake(e, 1);
}

void entropy_put(struct engine *e, struct job *job)
{
    job->urgent = true;
    entropy_insert(e, job, entropy_before(e, job));
    workers_wake(e, 1);
}

void entropy_remove(struct engine *e, struct job *job)
{
    *(job->prev_entropy ? &job->prev_entropy->next_entropy : &e->entropy) = job->next_entropy;
    *(job->next_entropy ? &job->next_entropy->prev_entropy : &e->entropy_last) = job->prev_entropy;
    job->queued = false;
    job->session->queued -= plain(job);
    if (job->session->last_queued == job)
        job->session->last_queued = NULL;
    e->entropy_count--;
    e->entropy_bytes -= job->bytes;
}

static bool may_shuffle(const struct engine *e, const struct job *job)
{
    const struct session *s = job->session;
    return for_workers(e, job) && (s->source_waits || s->thread_ended || s->abort);
}

/* So that nobody has to look at all of the queue to find that. */
static bool all_far_ahead(const struct engine *e)
{
    uint32_t count = 0;
    for (const struct session *s = e->sessions; s; s = s->next)
        count += far_ahead(e, s) && !s->abort ? s->queued : 0;
    return count == e->entropy_count;
}

/* With shuffle_seed the window is let fill up first, then any picture of it may be next. */
struct job *pick_entropy(struct engine *e, struct worker *w)
{
    struct job *first = e->entropy;
    if (first && !for_workers(e, first) && all_far_ahead(e))
        return NULL;
    while (first && !for_workers(e, first))
        first = first->next_entropy;
    if (!e->params.shuffle_seed || !first)
        return first;
    uint32_t eligible = 0;
    for (struct job *job = first; job; job = job->next_entropy)
        eligible += may_shuffle(e, job);
    if (!eligible)
        return NULL;
    uint32_t n = (uint32_t)(next_random(&w->random) % eligible);
    for (struct job *job = first; job; job = job->next_entropy)
        if (may_shuffle(e, job) && n-- == 0)
            return job;
    return NULL;
}
