/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The look-ahead windows: pictures come in, are counted, and leave once they are DONE.
 *
 * Host memory: pictures that are not DONE are bounded by setting.window_budget. Each window at work
 * has the same share of it, but room for WINDOW_LEAST pictures at least. A picture that nobody has
 * begun holds its bytes only; a begun one holds its arrays, too. These are as large as its slices
 * need, so a share holds the more pictures the fewer bits they have.
 */
#include "daemon/worker/schedule/window.h"

#include "codec/h264_export.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/schedule/slots.h"
#include "daemon/worker/schedule/split.h"

void window_open(struct window *w, struct schedule *s)
{
    w->schedule = s;
    w->tail = &w->first;
    w->outputs_tail = &w->outputs;
    w->next = s->windows;
    s->windows = w;
}

void window_works(struct window *w)
{
    struct schedule *s = w->schedule;
    w->work.last = s->serial;
    if (w->work.listed)
        return;
    w->work.listed = true;
    w->work.next = NULL;
    s->at_work_tail = s->at_work ? s->at_work_tail : &s->at_work;
    *s->at_work_tail = w;
    s->at_work_tail = &w->work.next;
    s->at_work_count++;
}

static void window_unlist(struct schedule *s, struct window **at)
{
    struct window *w = *at;
    *at = w->work.next;
    if (!*at)
        s->at_work_tail = at;
    w->work.listed = false;
    s->at_work_count--;
}

void windows_rest(struct schedule *s)
{
    struct window **at = &s->at_work;
    if (s->serial - s->rested_at < WINDOW_RESTS_LOOK)
        return;
    s->rested_at = s->serial;
    while (*at) {
        struct window *w = *at;
        if (w->busy || w->outputs)
            w->work.last = s->serial;
        if (s->serial - w->work.last < WINDOW_RESTS)
            at = &w->work.next;
        else
            window_unlist(s, at);
    }
}

void window_set_live(struct window *w, bool live)
{
    w->schedule->live.windows += live;
    w->schedule->live.windows -= w->live;
    w->live = live;
}

struct window *window_take_noted(struct schedule *s)
{
    struct window *w = s->noted;
    if (!w)
        return NULL;
    s->noted = w->next_noted;
    s->noted_count--;
    w->noted = false;
    return w;
}

static void window_forget_note(struct window *w)
{
    struct schedule *s = w->schedule;
    struct window **at = &s->noted, *before = NULL;
    if (!w->noted)
        return;
    for (; *at != w; at = &before->next_noted)
        before = *at;
    *at = w->next_noted;
    if (s->noted_last == w)
        s->noted_last = before;
    s->noted_count--;
    w->noted = false;
}

void window_close(struct window *w)
{
    struct schedule *s = w->schedule;
    struct window **at = &s->windows, **woken = &s->wakes.sources, **working = &s->at_work,
                  **due = &s->due;
    window_forget_note(w);
    window_set_live(w, false);
    while (*due && *due != w)
        due = &(*due)->due.next;
    if (*due)
        window_not_due(s, due);
    while (*working && *working != w)
        working = &(*working)->work.next;
    if (*working)
        window_unlist(s, working);
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    while (*woken && *woken != w)
        woken = &(*woken)->next_woken;
    if (*woken)
        *woken = w->next_woken;
}

/* ---- how many ---- */

static const uint32_t samples_per_mb[4] = {256, 384, 512, 768};

/* window_picture_bytes of 4:2:0 of 8 bits */
#define HD_PICTURE_BYTES (SPLIT_HD_MBS * (uint64_t)(SPLIT_MB_BYTES + 384 * 2))

static bool has_wide_levels(const struct h264_sps *sps)
{
    return sps->bit_depth[0] > 8 || sps->bit_depth[1] > 8;
}

uint64_t window_picture_bytes(const struct h264_sps *sps, uint32_t mb_count)
{
    uint32_t samples = samples_per_mb[h264_chroma_array_type(sps) & 3];
    uint64_t records =
        sizeof(struct rec_mb) + sizeof(struct rec_motion) + sizeof(struct h264_mb_syntax);
    return (uint64_t)mb_count * (records + samples * (has_wide_levels(sps) ? 4 : 2)) + 1;
}

uint64_t window_need(const struct h264_picture *pic, uint64_t level_bytes)
{
    uint64_t samples = samples_per_mb[h264_chroma_array_type(pic->sps) & 3],
             levels = pic->mb_count * samples * (has_wide_levels(pic->sps) ? 4 : 2);
    return window_picture_bytes(pic->sps, pic->mb_count) - levels + level_bytes;
}

bool window_packs(const struct picture *p)
{
    uint32_t packed = tuned(p->window->schedule->setting.tuning.packed, PACKED_LEVELS);
    return packed == PACKED_LEVELS && p->pace == PACE_AHEAD && !has_wide_levels(p->pic->sps);
}

uint32_t window_packed_words(const struct picture *p)
{
    return window_packs(p) ? split_words(p->pic->mb_count, (uint32_t)p->entropy.bytes) : 0;
}

/* Chunks of several slices count as if they had no gaps. */
static uint64_t need_of_blocks(const struct h264_picture *pic, uint64_t blocks)
{
    uint64_t most = window_picture_bytes(pic->sps, pic->mb_count),
             need = window_need(pic, blocks * (has_wide_levels(pic->sps) ? 64 : 32));
    return need < most ? need : most;
}

/* A coder's picture of one slice gets room by its bytes (picture_alloc in steps/admit.c). */
static uint64_t need_of(const struct picture *p)
{
    const struct h264_picture *pic = p->pic;
    bool grows = p->pace == PACE_AHEAD && pic->slice_count == 1;
    if (window_packs(p))
        return window_need(pic, 4ull * h264_picture_packed_room(pic, split_coder_words(pic)));
    return need_of_blocks(pic, grows ? split_coder_blocks(pic) : UINT32_MAX);
}

void window_grew(struct picture *p)
{
    const struct h264_arrays *a = &p->pic->arrays;
    picture_set_need(p, a->packed_capacity ? window_need(p->pic, 4ull * a->packed_capacity)
                                           : need_of_blocks(p->pic, a->coeff_block_capacity));
}

void window_dropped_records(struct picture *p)
{
    uint64_t records = window_need(p->pic, 0);
    picture_set_need(p, p->need > records ? p->need - records : 0);
}

bool window_is_full(const struct window *w)
{
    const struct schedule *s = w->schedule;
    uint64_t share = s->setting.window_budget / (s->at_work_count ? s->at_work_count : 1);
    return share && !s->setting.lookahead && w->arrays.begun >= WINDOW_LEAST &&
           w->arrays.bytes + w->picture_bytes > share;
}

static uint32_t software_arrays(uint64_t picture_bytes)
{
    uint64_t fit = WINDOW_SOFTWARE_BYTES / picture_bytes;
    return fit > WINDOW_LEAST            ? WINDOW_LEAST
           : fit < WINDOW_LEAST_SOFTWARE ? WINDOW_LEAST_SOFTWARE
                                         : (uint32_t)fit;
}

uint32_t window_small_times(const struct schedule *s, uint64_t bytes, uint64_t hd_bytes)
{
    uint64_t most = tuned(s->setting.tuning.small, WINDOW_SMALL), times = hd_bytes / bytes;
    times = times < most ? times : most;
    return times ? (uint32_t)times : 1;
}

/* More than keeps the coders busy would only wait: it costs latency, and memory to be pinned. */
uint32_t window_arrays_for(const struct schedule *s, uint64_t picture_bytes, uint32_t windows)
{
    if (s->setting.lookahead)
        return s->setting.lookahead;
    if (s->setting.software)
        return software_arrays(picture_bytes);
    windows = windows ? windows : 1;
    uint64_t most =
        (uint64_t)tuned(s->setting.tuning.ahead, WINDOW_AHEAD_PER_CODER) * s->setting.coders;
    most = most > WINDOW_AHEAD_MOST ? WINDOW_AHEAD_MOST : most;
    most = most < WINDOW_AHEAD_LEAST ? WINDOW_AHEAD_LEAST : most;
    most = most * window_small_times(s, picture_bytes, HD_PICTURE_BYTES) / windows;
    uint64_t fit = s->setting.window_budget / windows / picture_bytes;
    fit = fit > most ? most : fit;
    return fit < WINDOW_LEAST ? WINDOW_LEAST : (uint32_t)fit;
}

/* Begun pictures, those that the GPU has in work, and as many that wait meanwhile. Most of these
 * hold their bytes only. */
static uint32_t lookahead_for(const struct schedule *s, uint64_t picture_bytes, uint32_t windows)
{
    uint32_t least = window_arrays_for(s, picture_bytes, windows), depth = s->split.depth;
    if (!depth || s->setting.lookahead || s->setting.software)
        return least;
    windows = windows ? windows : 1;
    uint32_t alone = tuned(s->setting.tuning.alone, SPLIT_BATCHES_ALONE) * SPLIT_PICTURES_WHOLE;
    depth = windows < 2 && !s->split.all && depth > alone ? alone : depth;
    uint32_t part =
        s->split.all ? WINDOW_DECODED_PART : tuned(s->setting.tuning.waiting, WINDOW_WAITING_PART);
    uint32_t halves = windows > 1 ? tuned(s->setting.tuning.halves, WINDOW_GPU_HALVES)
                                  : tuned(s->setting.tuning.halves_alone, WINDOW_GPU_HALVES_ALONE);
    uint64_t more = halves * (uint64_t)depth / 2,
             wait = tuned(s->setting.tuning.wait, WINDOW_WAIT_LEAST);
    more = (more < wait ? wait : more) / windows;
    uint64_t fit = s->setting.window_budget / windows / (picture_bytes / part + 1);
    return least + (uint32_t)(more > fit ? fit : more);
}

bool window_has_room(const struct window *w)
{
    const struct schedule *s = w->schedule;
    uint32_t most = w->picture_bytes ? lookahead_for(s, w->picture_bytes, s->at_work_count) : 1;
    return w->busy < most;
}

/* ---- records in host memory ---- */

void window_read_records(struct window *w)
{
    w->read_until = w->created + WINDOW_READ;
}

bool window_reads_records(const struct window *w)
{
    return w->live || w->both_views || w->created < w->read_until;
}

bool window_wants_records(const struct picture *p)
{
    const struct window *w = p->window;
    if (p->stage != PICTURE_QUEUED)
        return p->motion.host;
    if (!p->pic->nal_ref_idc)
        return w->both_views;
    return window_reads_records(w) || !h264_picture_may_restore(p->pic);
}

/* ---- pictures ---- */

/* A stream that comes faster than it plays is decoded ahead. */
enum picture_pace window_pace(const struct window *w, uint32_t slices)
{
    return w->live && w->busy < WINDOW_LIVE_PICTURES && slices ? PACE_LIVE : PACE_AHEAD;
}

/* The picture whose frame slot pic shares; NULL: it has its own. */
static struct picture *find_owner(const struct h264_picture *pic)
{
    const struct h264_picture *owner = pic->plane0 ? pic->plane0 : pic;
    owner = owner->first_field ? owner->first_field : owner;
    return owner == pic ? NULL : owner->holder.user;
}

static void join_frame(struct picture *p)
{
    const struct h264_picture *pic = p->pic;
    struct picture *owner = find_owner(pic);
    p->owner = owner ? owner : p;
    p->owner->frame.pictures++;
    for (unsigned i = 0; i < 2; i++)
        if (pic->structure & (i ? REC_BOTTOM : REC_TOP))
            p->owner->frame.poc[i] = pic->poc[i];
}

/* The first pictures of a stream are waited for, as are those of a live stream. Where there are
 * more streams than coders, they wait for their turn in any case. */
static void set_can(struct picture *p, const struct picture_facts *facts)
{
    const struct window *w = p->window;
    const struct schedule *s = w->schedule;
    const struct schedule_setting *set = &s->setting;
    bool all = set->entropy == ENGINE_ENTROPY_GPU;
    uint32_t early = s->at_work_count > set->coders ? 1 : WINDOW_FIRST_PICTURES;
    bool first = w->created < tuned(set->tuning.early, early);
    if (!facts->entropy_gpu || p->pace == PACE_LIVE)
        return;
    p->entropy.largest_slice = facts->largest_slice;
    p->can |= facts->motion_gpu ? CAN_MOTION_GPU : 0;
    p->can |= all || (!w->live && !first) ? CAN_ENTROPY_GPU : 0;
}

/* Coders for all of its slices wake at once; the device's thread wakes meanwhile. */
static void begin_live(struct schedule *s, struct picture *p, int64_t now_ns)
{
    uint32_t chunk = p->entropy.slice_chunk;
    uint32_t tasks = (p->entropy.slices_left + chunk - 1) / chunk;
    int64_t gap = now_ns - p->window->live_ns;
    p->window->live_ns = s->live.last_ns = now_ns;
    s->live.due_ns = gap <= WINDOW_WATCH_GAP_NS ? now_ns + gap : 0;
    s->live.coders = tasks;
    s->live.pictures++;
    wake_coders(s, tasks < LIVE_WAKE_SLICES ? tasks : LIVE_WAKE_SLICES);
    wake_device(s);
}

void window_add(struct window *w, struct picture *p, const struct picture_facts *facts,
                int64_t now_ns)
{
    struct schedule *s = w->schedule;
    p->window = w;
    p->slot.era = slots_era(w, p->pic->sps);
    join_frame(p);
    set_can(p, facts);
    w->pictures++;
    w->busy++;
    window_works(w);
    w->created++;
    if (facts->reads_records)
        window_read_records(w);
    picture_set_need(p, need_of(p));
    if (w->picture_bytes)
        w->picture_bytes += p->need / WINDOW_NEED_LAST - w->picture_bytes / WINDOW_NEED_LAST;
    w->arrays.most = window_arrays_for(s, w->picture_bytes, s->at_work_count);
    *w->tail = p;
    w->tail = &p->next;
    w->waiting = w->waiting ? w->waiting : p;
    picture_trace(p, TRACE_PARSED, now_ns);
    if (!p->entropy.slices_left) {
        picture_move(p, EDGE_EMPTY);
        wake_window(w);
        return;
    }
    for (uint32_t i = 0; i < facts->colocated_count; i++)
        queue_wait_for(p, facts->colocated[i]);
    if (p->pace == PACE_LIVE)
        begin_live(s, p, now_ns);
    queue_add(s, p);
}

void window_forget(struct picture *p)
{
    struct window *w = p->window;
    if (p->slot.slots && p->owner == p)
        slots_give(p->slot.slots, w, p->slot.seat, p->slot.number);
    w->pictures--;
    wake_window(w);
}

struct h264_picture *window_retire(struct window *w)
{
    struct picture *p = w->first;
    if (!p || p->stage != PICTURE_DONE)
        return NULL;
    w->first = p->next;
    if (!w->first)
        w->tail = &w->first;
    return p->pic;
}

/* ---- abort ---- */

void window_abort(struct window *w)
{
    w->abort = true;
    queue_abort(w);
    wake_source(w);
    wake_coders(w->schedule, w->busy); /* they drop what nobody has begun */
    wake_window(w);
}

bool window_discard(struct window *w)
{
    bool any = false;
    for (struct picture *p = w->first; p; p = p->next) {
        if (p->stage != PICTURE_READY)
            continue;
        picture_move(p, EDGE_DISCARD);
        any = true;
    }
    slots_recount(w);
    return any;
}

/* ---- outputs ---- */

void window_output(struct window *w, struct output *out)
{
    out->next = NULL;
    *w->outputs_tail = out;
    w->outputs_tail = &out->next;
    window_works(w);
    wake_window(w);
}

struct output *window_drop_output(struct window *w)
{
    struct output **at = &w->outputs;
    while (*at && (*at)->state != OUTPUT_QUEUED)
        at = &(*at)->next;
    struct output *out = *at;
    if (!out)
        return NULL;
    *at = out->next;
    if (!*at)
        w->outputs_tail = at;
    return out;
}
