/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which pictures are entropy-decoded on the GPU.
 *
 * The GPU decodes a thousand slices at once, each of them slowly. So it takes the first pictures of
 * the queue that it will have finished before the coders, who take from the front, come to them.
 * Nobody waits for the GPU as long as the estimates hold. At the start and the end of a file, and
 * if the look-ahead is short, the CPU does all.
 *
 * Its pictures wait for a short time only. Taken from the end of the queue, they would fill memory
 * the sooner the longer the queue is. That memory is bounded; what exceeds the bound is the CPU's.
 *
 * The estimates are seconds a byte, measured all the time, and the latest count most. The estimate
 * of the coders leaves out the motion of the GPU's pictures, so it is on the safe side. Pictures
 * that come late all the same make the GPU take later ones.
 */
#include "daemon/worker/schedule/split.h"

#include "daemon/worker/schedule/queues.h"

#include <stdlib.h>

/* ---- how many ---- */

/* More of them slow reconstruction down, which is of no use while that is behind: while many
 * pictures could be submitted. Those that wait for others say nothing: these may wait for entropy
 * decoding. */
uint32_t split_batches(const struct schedule *s, const struct split_capacity *c, uint32_t held)
{
    const struct split_tuning *t = &s->setting.tuning;
    uint32_t alone = tuned(t->alone, SPLIT_BATCHES_ALONE);
    if (held && held < SPLIT_PICTURES_WHOLE)
        alone = alone * SPLIT_PICTURES_WHOLE / held;
    bool narrow = c->pictures < SPLIT_PICTURES_WHOLE &&
                  c->pictures < tuned(t->pictures, SPLIT_PICTURES_WHOLE);
    uint32_t most = s->at_work_count < 2 && !narrow && c->batches > alone ? alone : c->batches;
    bool behind = s->ready - s->blocked > tuned(t->ready, SPLIT_OPEN_MOST) && !narrow;
    if (s->split.all || split_is_small(s))
        return c->batches;
    return behind && most > SPLIT_BATCHES_BEHIND ? SPLIT_BATCHES_BEHIND : most;
}

/* One stream has too few pictures of a like size to fill shared subgroups, and the chain of its
 * pictures leaves the device room. */
uint32_t split_share(const struct schedule *s)
{
    return tuned(s->setting.tuning.share, s->at_work_count < 2 && !s->split.all ? 1 : 0);
}

uint32_t split_next_pictures(const struct schedule *s, const struct split_capacity *c,
                             uint32_t mb_count)
{
    uint32_t most = split_batch_pictures(c, mb_count);
    bool all = s->split.all || s->split.gpu_rate.bytes > 0 || most < SPLIT_FIRST_BATCH;
    return all ? most : SPLIT_FIRST_BATCH;
}

/* ---- memory of the GPU's pictures ---- */

static void split_keep(struct schedule *s, struct picture *p, uint64_t bytes)
{
    s->split.kept += bytes - p->entropy.kept;
    p->entropy.kept = bytes;
}

/* Once it is decoded, while its coefficients stay on the device. So do all records of a picture
 * whose motion the device derives, unless window_wants_records. */
static uint64_t kept_bytes(const struct picture *p)
{
    const struct schedule *s = p->window->schedule;
    bool device = p->can & CAN_MOTION_GPU && p->pic->mb_count <= s->split.motion_mbs;
    if (device && !window_wants_records(p))
        return 0;
    return (uint64_t)p->pic->mb_count * SPLIT_MB_BYTES;
}

void split_keep_results(struct schedule *s, struct picture *p, uint64_t levels)
{
    uint64_t all = (uint64_t)p->pic->mb_count * SPLIT_MB_BYTES;
    split_keep(s, p, (p->records == LIVES_HOST ? all : kept_bytes(p)) + levels);
}

static uint64_t memory_left(const struct schedule *s)
{
    uint64_t budget = s->setting.window_budget;
    uint32_t preset = budget < SPLIT_LITTLE_BYTES ? SPLIT_KEPT_LITTLE : SPLIT_KEPT_EIGHTHS;
    uint64_t most = budget * tuned(s->setting.tuning.kept, preset) / 8;
    if (!budget)
        return UINT64_MAX;
    return most > s->split.kept ? most - s->split.kept : 0;
}

/* ---- estimates ---- */

void split_rate_add(struct split_rate *r, double seconds, double bytes)
{
    r->seconds = SPLIT_DECAY * r->seconds + seconds;
    r->bytes = SPLIT_DECAY * r->bytes + bytes;
}

uint64_t split_slice_weight(const struct h264_slice *slice)
{
    uint32_t first = slice->hdr.first_mb, end = slice->end_mb;
    return slice->nal_size + (uint64_t)SPLIT_MB_WEIGHT * (end > first ? end - first : 0);
}

bool split_is_late(const struct schedule *s, const struct picture *p)
{
    return !s->split.all && p->entropy.turn + p->window->arrays.most < s->entropy.turn_taken;
}

static double split_margin(const struct split *split)
{
    return split->margin > 0 ? split->margin : SPLIT_MARGIN;
}

void split_learn(struct schedule *s, uint32_t late)
{
    const struct split_tuning *t = &s->setting.tuning;
    double least = 0.01 * tuned(t->margin, SPLIT_MARGIN_LEAST);
    double most = 0.01 * tuned(t->margin_most, SPLIT_MARGIN_MOST);
    double margin = split_margin(&s->split) * (late ? SPLIT_MARGIN_LATE : SPLIT_MARGIN_TIMELY);
    margin = margin < least ? least : margin;
    s->split.margin = margin > most ? most : margin;
}

static double seconds_a_byte(const struct split_rate *r, double preset)
{
    return r->bytes > 0 ? r->seconds / r->bytes : preset;
}

/* Of all coders together. */
static double cpu_seconds_a_byte(const struct schedule *s)
{
    return seconds_a_byte(&s->split.cpu_rate, SPLIT_CPU_SECONDS) / s->setting.coders;
}

/* Of a batch of the GPU with slices as large as the pictures in the queue are on average. */
static double batch_seconds(const struct schedule *s)
{
    const struct entropy_queue *q = &s->entropy;
    const uint64_t bytes = q->bytes / q->count;
    double weight = (double)bytes + (double)SPLIT_MB_WEIGHT * (double)q->first->pic->mb_count;
    return weight * seconds_a_byte(&s->split.gpu_rate, SPLIT_GPU_SECONDS) +
           seconds_a_byte(&s->split.gpu_fetch, SPLIT_FETCH_SECONDS);
}

/* Unasked, the GPU begins when more waits than the coders decode in the time of a batch. Its memory
 * is made after the first pictures are submitted, which would wait for it. */
static bool split_joins(const struct schedule *s)
{
    if (s->setting.entropy != ENGINE_ENTROPY_AUTO)
        return true;
    if (s->setting.tuning.join == JOIN_SPENT)
        return s->split.cpu_spent >= SPLIT_AUTO_SECONDS * s->setting.coders;
    return s->serial && cpu_seconds_a_byte(s) * (double)s->entropy.bytes > batch_seconds(s);
}

/* Where the device encodes, too, coders that have nothing to do say that its own time is short:
 * they are ahead of it as far as they may. Then it leaves entropy decoding to them. */
static bool split_is_encoders(const struct schedule *s)
{
    uint32_t part = tuned(s->setting.tuning.idle, SPLIT_IDLE_PART);
    return s->encoders && s->setting.entropy == ENGINE_ENTROPY_AUTO &&
           s->idle * part >= s->setting.coders;
}

bool split_worth(const struct schedule *s)
{
    if (s->split.all || !s->entropy.first)
        return s->entropy.first != NULL;
    double worth = 1e-3 * tuned(s->setting.tuning.worth, SPLIT_WORTH_MS);
    if (split_is_small(s))
        return !split_is_encoders(s) && split_small_enough(s);
    return !split_is_encoders(s) && cpu_seconds_a_byte(s) * (double)s->entropy.bytes > worth &&
           split_joins(s);
}

/* ---- the choice ---- */

/* room: of a batch, less what it takes. */
static bool room_takes(struct split_capacity *room, const struct picture *p)
{
    const struct h264_picture *pic = p->pic;
    uint64_t bytes = p->entropy.bytes + (uint64_t)pic->slice_count * SPLIT_SLICE_PADDING;
    uint32_t blocks = split_blocks(room, p);
    if (pic->mb_count > room->mbs || bytes > room->bytes || pic->slice_count > room->slices ||
        blocks > room->coeff_blocks)
        return false;
    room->mbs -= pic->mb_count;
    room->coeff_blocks -= blocks;
    room->bytes -= (uint32_t)bytes;
    room->slices -= pic->slice_count;
    return true;
}

/* Larger than a whole batch: the coders decode it, at once. */
static void leave_to_coders(struct schedule *s, struct picture *p)
{
    queue_remove(s, p);
    p->can &= (uint8_t)~CAN_ENTROPY_GPU;
    p->refusals++;
    queue_again(s, p);
}

void split_leave(struct schedule *s)
{
    for (struct picture *p = s->entropy.first, *next; p; p = next) {
        next = p->entropy.next;
        if (split_may_take(p))
            leave_to_coders(s, p);
    }
}

/* All that can be had, the soonest needed first. left: bytes of host memory for them. */
static uint32_t choose_all(struct schedule *s, struct split_capacity room, uint64_t left,
                           struct picture **out)
{
    uint32_t n = 0, most = room.pictures;
    s->split.full = false;
    for (struct picture *p = s->entropy.first, *next; p && n < most; p = next) {
        next = p->entropy.next;
        if (!split_may_take(p))
            continue;
        uint64_t kept = kept_bytes(p);
        s->split.full = kept > left;
        if (s->split.full)
            break;
        if (room_takes(&room, p)) {
            out[n++] = p;
            left -= kept;
        } else if (n)
            break;
        else
            leave_to_coders(s, p);
    }
    return n;
}

/* Candidates for one batch. */
struct split_candidates {
    struct picture *pictures[SPLIT_CANDIDATES * SPLIT_PICTURES];
    uint32_t count;
};

/* Those that the GPU will have finished when their turn comes, the soonest needed first. */
static void find_first(struct schedule *s, struct split_candidates *c, uint32_t most)
{
    double cpu = cpu_seconds_a_byte(s), margin = split_margin(&s->split);
    double gpu = margin * seconds_a_byte(&s->split.gpu_rate, SPLIT_GPU_SECONDS);
    double fetch = margin * seconds_a_byte(&s->split.gpu_fetch, SPLIT_FETCH_SECONDS);
    uint64_t before = 0;
    c->count = 0;
    if (cpu * (double)s->entropy.bytes < fetch)
        return;
    for (struct picture *p = s->entropy.first; p && c->count < most; p = p->entropy.next) {
        double seconds = gpu * (double)p->entropy.largest_slice + fetch;
        if (seconds <= cpu * (double)before && split_may_take(p))
            c->pictures[c->count++] = p;
        before += p->entropy.bytes;
    }
}

static int compare_sizes(const void *a, const void *b)
{
    const struct picture *p = *(struct picture *const *)a, *q = *(struct picture *const *)b;
    if (p->entropy.largest_slice != q->entropy.largest_slice)
        return p->entropy.largest_slice > q->entropy.largest_slice ? 1 : -1;
    return (p->entropy.turn > q->entropy.turn) - (p->entropy.turn < q->entropy.turn);
}

/* Candidates from..to of one batch: what they take of its room, and what they are worth. */
struct split_window {
    uint32_t from, to;
    uint64_t mbs, blocks, bytes, slices, weight, value;
};

/* sign: 1 or -1. */
static void split_window_add(struct split_window *w, const struct split_capacity *room,
                             const struct picture *p, bool bytes, int sign)
{
    uint64_t one = (uint64_t)(int64_t)sign, padding = SPLIT_SLICE_PADDING * p->pic->slice_count;
    w->mbs += one * p->pic->mb_count;
    w->blocks += one * split_blocks(room, p);
    w->bytes += one * (p->entropy.bytes + padding);
    w->slices += one * p->pic->slice_count;
    w->weight += one * p->entropy.largest_slice;
    w->value += one * (bytes ? p->entropy.bytes : p->entropy.largest_slice);
}

static bool split_window_fits(const struct split_window *w, const struct split_capacity *room,
                              uint32_t most)
{
    return w->to - w->from <= most && w->mbs <= room->mbs && w->blocks <= room->coeff_blocks &&
           w->bytes <= room->bytes && w->slices <= room->slices;
}

/* The GPU's time for the batch. Slices share the GPU, so each costs its weight; and all the places
 * of a batch are taken as long as its largest slice is in work. */
static double split_window_cost(const struct split_window *w, const struct picture *largest,
                                const struct schedule *s, uint32_t most)
{
    double time = (double)largest->entropy.largest_slice + 1;
    bool shared = s->setting.tuning.choice != CHOICE_ALIKE && most > SPLIT_NARROW;
    return shared ? (double)w->weight + SPLIT_PLACE_COST * time * most : time;
}

/* The candidates that spare the coders most for the GPU's time. */
static struct split_window most_valuable(const struct schedule *s, struct split_candidates *c,
                                         const struct split_capacity *room, uint32_t most)
{
    bool bytes = s->setting.tuning.choice != CHOICE_ALIKE;
    struct split_window w = {0}, found = {.to = c->count};
    double best = 0;
    qsort(c->pictures, c->count, sizeof(c->pictures[0]), compare_sizes);
    while (w.to < c->count) {
        const struct picture *p = c->pictures[w.to++];
        split_window_add(&w, room, p, bytes, 1);
        while (!split_window_fits(&w, room, most))
            split_window_add(&w, room, c->pictures[w.from++], bytes, -1);
        double value = (double)w.value / split_window_cost(&w, p, s, most);
        bool full = w.from || w.to == c->count || w.to - w.from == most;
        if (full && value > best) {
            best = value;
            found = w;
        }
    }
    return found;
}

/* In time, as many as there is memory for. A batch takes as long with few of
 * them, and then others wait for it. */
static uint32_t choose_some(struct schedule *s, struct split_capacity room, int64_t now_ns,
                            struct picture **out)
{
    struct split_candidates c;
    struct picture *first = s->entropy.first;
    uint64_t left = memory_left(s);
    s->split.full = false;
    if (!first)
        return 0;
    uint32_t n = 0, most = split_next_pictures(s, &room, first->pic->mb_count);
    uint32_t least = (most + SPLIT_LEAST_PART - 1) / SPLIT_LEAST_PART;
    if (!left || left < least * kept_bytes(first)) {
        s->split.chosen_ns = now_ns; /* for lack of memory nothing is to be forgotten */
        s->split.full = true;
        return 0;
    }
    find_first(s, &c, SPLIT_CANDIDATES * most);
    if (c.count < least)
        return 0;
    struct split_window w = most_valuable(s, &c, &room, most);
    for (uint32_t i = w.from; i < w.to && left >= kept_bytes(c.pictures[i]); i++)
        if (room_takes(&room, c.pictures[i])) {
            left -= kept_bytes(c.pictures[i]);
            out[n++] = c.pictures[i];
        }
    return n;
}

/* Old measurements may be wrong by now, and nothing new is measured while the GPU seems too slow.
 */
static void forget_slowly(struct split *split, int64_t now_ns)
{
    if (!split->chosen_ns)
        split->chosen_ns = now_ns;
    if (now_ns - split->chosen_ns < SPLIT_FORGET_NS)
        return;
    split->chosen_ns = now_ns;
    split->gpu_rate.seconds *= SPLIT_FORGET;
    split->gpu_fetch.seconds *= SPLIT_FORGET;
}

uint32_t split_choose(struct schedule *s, const struct split_capacity *c, int64_t now_ns,
                      struct picture *out[SPLIT_PICTURES], uint64_t *largest)
{
    bool small = split_is_small(s);
    uint32_t n = 0;
    s->split.timely = !s->split.all && !small;
    if (s->split.timely)
        n = choose_some(s, *c, now_ns, out);
    else if (s->split.all || split_worth(s))
        n = choose_all(s, *c, small ? memory_left(s) : UINT64_MAX, out);
    *largest = 1;
    if (n)
        s->split.chosen_ns = now_ns;
    else
        forget_slowly(&s->split, now_ns);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t weight = out[i]->entropy.largest_slice;
        queue_remove(s, out[i]);
        out[i]->motion.host = window_wants_records(out[i]);
        picture_move(out[i], EDGE_TAKE_GPU);
        picture_trace(out[i], TRACE_ENTROPY_BEGIN, now_ns);
        split_keep(s, out[i], kept_bytes(out[i]));
        *largest = weight > *largest ? weight : *largest;
    }
    return n;
}
