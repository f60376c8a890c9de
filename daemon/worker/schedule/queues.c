/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The entropy queue, the two heaps of motion, and the moves that coders and the GPU make between
 * them. Refused pictures go back into the queue at their turn; they are urgent, as others that are
 * decoded already wait for them.
 */
#include "daemon/worker/schedule/queues.h"

#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/split.h"
#include "daemon/worker/schedule/xorshift.h"

/* ---- motion: leftist heaps ---- */

static uint32_t heap_rank(const struct picture *p)
{
    return p ? p->motion.rank : 0;
}

/* Two heaps into one (Knuth, The Art of Computer Programming, 5.2.3): as deep as the logarithm of
 * their sizes. */
static struct picture *heap_merge(struct picture *a, struct picture *b)
{
    if (!a || !b)
        return a ? a : b;
    struct picture *top = b->entropy.turn < a->entropy.turn ? b : a;
    struct picture *below = heap_merge(top->motion.right, top == a ? b : a);
    struct picture *left = top->motion.left;
    bool swap = heap_rank(left) < heap_rank(below);
    top->motion.left = swap ? below : left;
    top->motion.right = swap ? left : below;
    top->motion.rank = heap_rank(top->motion.right) + 1;
    return top;
}

static struct picture *heap_pop(struct picture **heap)
{
    struct picture *p = *heap;
    *heap = heap_merge(p->motion.left, p->motion.right);
    return p;
}

/* A DECODED picture that waits for nobody. */
static void motion_queue(struct schedule *s, struct picture *p)
{
    bool gpu = p->motion.by == BY_GPU;
    struct picture **heap = gpu ? &s->motion_gpu : &s->motion_cpu;
    p->motion.left = p->motion.right = NULL;
    p->motion.rank = 1;
    *heap = heap_merge(*heap, p);
    s->motion_gpu_count += gpu;
    if (gpu)
        wake_gpu_coder(s);
    else
        wake_coders(s, 1);
}

void queue_wait_for(struct picture *p, const struct h264_picture *pic)
{
    struct picture *other = pic->holder.user;
    if (!other || other == p || other->stage >= PICTURE_READY)
        return;
    struct picture_wait *wait = &p->motion.wait[p->motion.wait_count++];
    wait->waiter = p;
    wait->next = other->motion.waiters;
    other->motion.waiters = wait;
    p->motion.waits++;
}

void queue_release(struct schedule *s, struct picture *p)
{
    for (struct picture_wait *wait = p->motion.waiters; wait; wait = wait->next) {
        struct picture *waiter = wait->waiter;
        if (--waiter->motion.waits == 0 && waiter->stage == PICTURE_DECODED)
            motion_queue(s, waiter);
    }
    p->motion.waiters = NULL;
    wake_window(p->window);
}

static void picture_ready(struct schedule *s, struct picture *p, enum picture_edge_name edge,
                          int64_t now_ns)
{
    picture_move(p, edge);
    picture_trace(p, TRACE_MOTION_END, now_ns);
    queue_release(s, p);
}

/* ---- the entropy queue ---- */

/* Nobody has begun it, and nobody waits for it. */
static bool picture_is_plain(const struct picture *p)
{
    return p->stage == PICTURE_QUEUED && p->records == LIVES_NOWHERE && !p->refusals;
}

/* prev NULL: first. */
static void queue_insert(struct schedule *s, struct picture *p, struct picture *prev)
{
    struct entropy_queue *q = &s->entropy;
    struct picture *next = prev ? prev->entropy.next : q->first;
    p->window->queued += picture_is_plain(p);
    p->entropy.prev = prev;
    p->entropy.next = next;
    *(prev ? &prev->entropy.next : &q->first) = p;
    *(next ? &next->entropy.prev : &q->last) = p;
    p->entropy.coders = !split_may_take(p);
    q->coders += p->entropy.coders;
    q->count++;
    q->bytes += p->entropy.bytes;
    q->weight += p->entropy.largest_slice;
}

void queue_remove(struct schedule *s, struct picture *p)
{
    struct entropy_queue *q = &s->entropy;
    *(p->entropy.prev ? &p->entropy.prev->entropy.next : &q->first) = p->entropy.next;
    *(p->entropy.next ? &p->entropy.next->entropy.prev : &q->last) = p->entropy.prev;
    p->window->queued -= picture_is_plain(p);
    if (p->window->last_queued == p)
        p->window->last_queued = NULL;
    q->coders -= p->entropy.coders;
    q->count--;
    q->bytes -= p->entropy.bytes;
    q->weight -= p->entropy.largest_slice;
}

void queue_abort(const struct window *w)
{
    struct entropy_queue *q = &w->schedule->entropy;
    for (struct picture *p = w->first; p; p = p->next) {
        if (p->stage != PICTURE_QUEUED)
            continue;
        q->coders += !p->entropy.coders;
        p->entropy.coders = true;
    }
}

/* The last one whose turn is not after this one's. Most pictures come behind their window's last,
 * or at an end. */
static struct picture *queue_before(const struct schedule *s, const struct picture *p)
{
    const struct entropy_queue *q = &s->entropy;
    struct picture *prev = p->window->last_queued, *next;
    uint64_t turn = p->entropy.turn;
    if (prev && prev->entropy.turn > turn)
        prev = NULL;
    if (prev || turn <= q->turn_taken) {
        for (next = prev ? prev->entropy.next : q->first; next && next->entropy.turn <= turn;
             next = next->entropy.next)
            prev = next;
        return prev;
    }
    for (prev = q->last; prev && prev->entropy.turn > turn; prev = prev->entropy.prev)
        ;
    return prev;
}

/* Coders have begun so many pictures of the window that these must wait for pictures that the GPU
 * has in work. */
static bool window_far_ahead(const struct schedule *s, const struct window *w)
{
    bool most = w->arrays.begun >= w->arrays.most || window_is_full(w);
    return most && !s->setting.shuffle_seed && s->split.depth;
}

/* If the GPU does all that it can, the coders leave that to it. */
static bool picture_for_coders(const struct schedule *s, const struct picture *p)
{
    if (p->window->abort)
        return true;
    if (s->split.all && p->can & CAN_ENTROPY_GPU)
        return false;
    return !(picture_is_plain(p) && window_far_ahead(s, p->window));
}

static uint32_t coders_busy(const struct schedule *s)
{
    return s->setting.coders > s->idle ? s->setting.coders - s->idle : 0;
}

/* Streams take turns, a picture each, however far ahead each of them has read. So a stream that
 * comes late does not wait for the look-ahead of others. What is decoded as it arrives goes before
 * what is decoded ahead. */
void queue_add(struct schedule *s, struct picture *p)
{
    struct window *w = p->window;
    w->turn = w->turn < s->entropy.turn_taken ? s->entropy.turn_taken : w->turn + 1;
    p->entropy.turn = w->realtime ? 0 : w->turn;
    queue_insert(s, p, queue_before(s, p));
    w->last_queued = p;
    if (p->can & CAN_ENTROPY_GPU)
        wake_gpu_coder(s);
    bool left = split_leaves(s, coders_busy(s)) && !p->entropy.coders;
    if (p->pace == PACE_AHEAD && picture_for_coders(s, p) && !left)
        wake_coders(s, 1);
}

void queue_again(struct schedule *s, struct picture *p)
{
    queue_insert(s, p, queue_before(s, p));
    wake_coders(s, 1);
}

/* With shuffle_seed the window is let fill up first. */
static bool picture_may_shuffle(const struct schedule *s, const struct picture *p)
{
    const struct window *w = p->window;
    return picture_for_coders(s, p) && (w->source_waits || w->source_ended || w->abort);
}

/* Nobody has to look at all of the queue to find that. */
static bool all_far_ahead(const struct schedule *s)
{
    uint32_t count = 0;
    for (const struct window *w = s->at_work; w; w = w->work.next)
        count += window_far_ahead(s, w) && !w->abort ? w->queued : 0;
    return count == s->entropy.count;
}

static struct picture *queue_shuffled(const struct schedule *s, struct picture *first,
                                      uint64_t *random)
{
    uint32_t eligible = 0;
    for (struct picture *p = first; p; p = p->entropy.next)
        eligible += picture_may_shuffle(s, p);
    if (!eligible)
        return NULL;
    uint32_t n = (uint32_t)(next_random(random) % eligible);
    for (struct picture *p = first; p; p = p->entropy.next)
        if (picture_may_shuffle(s, p) && n-- == 0)
            return p;
    return NULL;
}

/* NULL: nothing that coders should do. A coder asks. */
static struct picture *queue_pick(const struct schedule *s, uint64_t *random)
{
    struct picture *first = s->entropy.first;
    uint32_t busy = coders_busy(s), others = busy ? busy - 1 : 0;
    bool left = !s->setting.shuffle_seed && split_leaves(s, others);
    if (left && !s->entropy.coders)
        return NULL;
    if (first && !picture_for_coders(s, first) && all_far_ahead(s))
        return NULL;
    while (first && (!picture_for_coders(s, first) || (left && !first->entropy.coders)))
        first = first->entropy.next;
    return s->setting.shuffle_seed && first ? queue_shuffled(s, first, random) : first;
}

/* ---- coders ---- */

static bool motion_is_next(const struct schedule *s, const struct picture *p)
{
    return s->motion_cpu &&
           (!p || s->setting.shuffle_seed || s->motion_cpu->entropy.turn <= p->entropy.turn);
}

/* False: nobody wants it any more. */
static bool take_motion(struct schedule *s, int64_t now_ns, struct coder_work *out)
{
    struct picture *p = heap_pop(&s->motion_cpu);
    if (p->window->abort) {
        picture_ready(s, p, EDGE_DROP_DECODED, now_ns);
        return false;
    }
    picture_move(p, EDGE_MOTION_CPU);
    picture_trace(p, TRACE_MOTION_BEGIN, now_ns);
    *out = (struct coder_work){.task = p->entropy.by == BY_GPU ? TASK_IMPORT : TASK_MOTION,
                               .picture = p};
    return true;
}

/* Another coder derives the motion of a LIVE picture's only slice while this one decodes it. */
static void share_slice(struct schedule *s, struct picture *p)
{
    p->entropy.slices_left++; /* the other one's share */
    p->motion.next_follow = s->follow;
    s->follow = p;
    wake_coders(s, 1);
}

static void take_slices(struct schedule *s, struct picture *p, struct coder_work *out)
{
    uint32_t from = p->entropy.slice_next, end = p->pic->slice_count;
    uint32_t to = end - from > p->entropy.slice_chunk ? from + p->entropy.slice_chunk : end;
    p->entropy.slice_next = to;
    if (to == end)
        queue_remove(s, p);
    *out = (struct coder_work){.task = TASK_SLICES, .picture = p, .from = from, .to = to};
    out->follows = p->can & CAN_PER_SLICE && !p->motion.waits && p->motion.by == BY_CPU;
    out->shared =
        out->follows && !p->window->abort && p->pace == PACE_LIVE && p->pic->slice_count == 1;
    if (out->shared)
        share_slice(s, p);
}

/* Arrays come as late as this, so that pictures that only wait take no memory for them. Meanwhile
 * the picture is in no queue. */
static void begin_picture(struct schedule *s, struct picture *p, struct coder_work *out)
{
    bool gpu =
        p->can & CAN_MOTION_GPU && p->pace == PACE_AHEAD && p->pic->mb_count <= s->split.motion_mbs;
    bool arrays = p->records != LIVES_NOWHERE;
    if (!arrays)
        queue_remove(s, p);
    p->motion.host = window_wants_records(p);
    picture_move(p, EDGE_TAKE_CPU);
    p->motion.by = gpu ? BY_GPU : BY_CPU;
    if (arrays) {
        take_slices(s, p, out);
        return;
    }
    if (p->entropy.turn > s->entropy.turn_taken)
        s->entropy.turn_taken = p->entropy.turn;
    *out = (struct coder_work){.task = TASK_ARRAYS, .picture = p};
}

void coder_arrays_done(struct schedule *s, struct picture *p, bool error, struct coder_work *out)
{
    if (!error)
        p->records = p->coeffs = LIVES_HOST;
    queue_insert(s, p, NULL);
    if (p->entropy.slices_left > p->entropy.slice_chunk)
        wake_coders(s, (p->entropy.slices_left - 1) / p->entropy.slice_chunk);
    take_slices(s, p, out);
}

void coder_take(struct schedule *s, uint64_t *random, int64_t now_ns, struct coder_work *out)
{
    for (*out = (struct coder_work){0}; out->task == TASK_NONE;) {
        if (s->follow) {
            *out = (struct coder_work){.task = TASK_FOLLOW, .picture = s->follow};
            s->follow = s->follow->motion.next_follow;
            return;
        }
        struct picture *p = queue_pick(s, random);
        if (motion_is_next(s, p)) {
            take_motion(s, now_ns, out);
            continue;
        }
        if (!p)
            return;
        if (p->entropy.slice_next == 0)
            picture_trace(p, TRACE_ENTROPY_BEGIN, now_ns);
        if (p->stage == PICTURE_QUEUED && p->window->abort) {
            queue_remove(s, p);
            picture_ready(s, p, EDGE_DROP_QUEUED, now_ns);
        } else if (p->stage == PICTURE_QUEUED) {
            begin_picture(s, p, out);
        } else {
            take_slices(s, p, out);
        }
    }
}

bool coder_slices_done(struct picture *p, uint32_t count)
{
    p->entropy.slices_left -= count;
    return p->entropy.slices_left == 0;
}

void coder_decoded(struct schedule *s, struct picture *p, bool intact,
                   const struct h264_picture *source, int64_t now_ns)
{
    picture_trace(p, TRACE_ENTROPY_END, now_ns);
    if (p->window->abort) {
        picture_ready(s, p, EDGE_DROP_ENTROPY, now_ns);
        return;
    }
    if (!intact)
        p->motion.by = BY_CPU;
    picture_move(p, EDGE_DECODED_CPU);
    if (source)
        queue_wait_for(p, source);
    if (!p->motion.waits)
        motion_queue(s, p);
}

void coder_motion_done(struct schedule *s, struct picture *p, bool error, int64_t now_ns)
{
    if (error)
        picture_spoil(p);
    picture_ready(s, p, EDGE_READY_CPU, now_ns);
}

void coder_import_done(struct schedule *s, struct picture *p, bool good, bool error, int64_t now_ns)
{
    if (good) {
        coder_motion_done(s, p, error, now_ns);
        return;
    }
    p->can &= (uint8_t)~CAN_PER_SLICE;
    picture_move(p, EDGE_IMPORT_REFUSED);
    queue_again(s, p);
}

/* ---- the GPU ---- */

void gpu_entropy_done(struct schedule *s, struct picture *p, uint32_t coeff_blocks, int64_t now_ns)
{
    p->motion.coeff_blocks = coeff_blocks;
    p->motion.by = p->motion.device_records ? BY_GPU : BY_CPU;
    picture_move(p, EDGE_DECODED_GPU);
    picture_trace(p, TRACE_ENTROPY_END, now_ns);
    if (!p->motion.waits)
        motion_queue(s, p);
}

void gpu_entropy_refused(struct schedule *s, struct picture *p, int64_t now_ns)
{
    if (p->window->abort) {
        picture_ready(s, p, EDGE_DROP_ENTROPY, now_ns);
        return;
    }
    picture_move(p, EDGE_ENTROPY_REFUSED);
    queue_again(s, p);
}

struct picture *gpu_motion_take(struct schedule *s, int64_t now_ns)
{
    if (!s->motion_gpu)
        return NULL;
    struct picture *p = heap_pop(&s->motion_gpu);
    s->motion_gpu_count--;
    picture_move(p, EDGE_MOTION_GPU);
    picture_trace(p, TRACE_MOTION_BEGIN, now_ns);
    return p;
}

void gpu_motion_untake(struct schedule *s, struct picture *p)
{
    picture_move(p, EDGE_BATCH_FULL);
    motion_queue(s, p);
}

void gpu_motion_done(struct schedule *s, struct picture *p, bool error, int64_t now_ns)
{
    if (error)
        picture_spoil(p);
    picture_ready(s, p, EDGE_READY_GPU, now_ns);
}

void gpu_motion_refused(struct schedule *s, struct picture *p, bool intact, int64_t now_ns)
{
    if (p->window->abort) {
        picture_ready(s, p, EDGE_DROP_MOTION, now_ns);
    } else if (intact && p->entropy.by == BY_CPU) {
        picture_move(p, EDGE_MOTION_INTACT);
        motion_queue(s, p);
    } else {
        picture_move(p, EDGE_MOTION_REFUSED);
        queue_again(s, p);
    }
}
