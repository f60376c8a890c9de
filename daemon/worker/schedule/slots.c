/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules for frame slots.
 *
 * Each window is sure of `base` slots. Progress in decoding order needs no more: the DPB, the
 * picture itself, and frames in delivery. Pictures ahead of the oldest waiting one take slots that
 * nobody is sure of (slots.owed_to_all), so no window starves another or itself. A quota, equal for
 * all windows, keeps them even. A new window finds the slots that pictures ahead leave for it
 * (kept), or waits until the others are down to their new quotas. It gets a store of its own if
 * that takes long, because readers stand still, or if a store has as many windows as is good for
 * it.
 */
#include "daemon/worker/schedule/slots.h"

#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

bool slots_key_equal(const struct slots_key *a, const struct slots_key *b)
{
    return a->mb_width == b->mb_width && a->mb_height == b->mb_height &&
           a->chroma_format_idc == b->chroma_format_idc && a->bit_depth[0] == b->bit_depth[0] &&
           a->bit_depth[1] == b->bit_depth[1] && a->interlaced == b->interlaced &&
           a->separate_planes == b->separate_planes;
}

struct slots_key slots_key_of(const struct h264_sps *sps)
{
    return (struct slots_key){.mb_width = sps->mb_width,
                              .mb_height = sps->mb_height,
                              .chroma_format_idc = sps->chroma_format_idc,
                              .bit_depth = {sps->bit_depth[0], sps->bit_depth[1]},
                              .interlaced = !sps->frame_mbs_only_flag,
                              .separate_planes = sps->separate_colour_plane_flag};
}

/* ---- how many ---- */

static const uint32_t samples_per_mb[4] = {256, 384, 512, 768};

static uint64_t sample_bytes(const struct slots_key *key)
{
    return key->bit_depth[0] > 8 || key->bit_depth[1] > 8 ? 2 : 1;
}

static uint64_t frame_bytes(const struct slots_key *key, uint32_t samples)
{
    return (uint64_t)key->mb_width * key->mb_height * samples * sample_bytes(key) + 1;
}

uint64_t slots_bytes(const struct slots_key *key, uint32_t count)
{
    return frame_bytes(key, samples_per_mb[key->chroma_format_idc & 3]) * count;
}

uint64_t slots_limit(const struct schedule *s, const struct slots_key *key)
{
    uint64_t fit = SLOTS_IMAGE_BYTES / frame_bytes(key, 256);
    return fit > s->setting.image_layers ? s->setting.image_layers : fit;
}

/* Room for more windows, and for more pictures ahead, on a device with memory to spare. */
uint32_t slots_for(const struct schedule *s, const struct slots_wish *wish)
{
    const struct schedule_setting *set = &s->setting;
    uint32_t base = wish->base, extra = wish->want;
    if (set->software)
        return base + extra;
    uint64_t limit = slots_limit(s, &wish->key);
    uint64_t all = frame_bytes(&wish->key, samples_per_mb[wish->key.chroma_format_idc & 3]);
    uint64_t most = SLOTS_MOST * (uint64_t)window_small_times(s, all, SPLIT_HD_MBS * 384ull);
    uint64_t want = set->lookahead ? (uint64_t)SLOTS_SHARES * (base + extra) : most;
    uint64_t fit = set->device_memory / tuned(set->tuning.slots, SLOTS_MEMORY_PART) / all;
    uint64_t least = base + (extra < SLOTS_EXTRA ? extra : SLOTS_EXTRA), tight = 2 * fit;
    if (least > tight)
        least = tight > base ? tight : base + 1;
    fit = fit > limit ? limit : fit;
    want = want > most ? most : want;
    want = want > fit ? fit : want;
    return want < least ? (uint32_t)least : (uint32_t)want;
}

/* Beyond base. A stream that is alone never uses more than it wants. */
static uint64_t slots_extra(const struct window *w, const struct slots_wish *wish, uint32_t most)
{
    uint64_t frames = w->frames ? w->frames : UINT64_MAX;
    uint64_t extra = w->schedule->at_work_count > 1 ? most : wish->want;
    uint64_t first = tuned(w->schedule->setting.tuning.first, SLOTS_MOST);
    extra = extra < first ? extra : first;
    if (w->live)
        return SLOTS_LIVE;
    if (frames <= SLOTS_SHORT_FRAMES && extra > SLOTS_SHORT)
        extra = SLOTS_SHORT;
    return frames < extra ? frames : extra;
}

/* Memory takes time to make: 0.2 s for all slots. A store grows while it is used. */
uint32_t slots_first(const struct window *w, const struct slots_wish *wish, uint32_t most)
{
    bool software = w->schedule->setting.software;
    uint64_t extra = software ? SLOTS_FIRST_SOFTWARE : slots_extra(w, wish, most);
    return extra < most && wish->base + extra < most ? wish->base + (uint32_t)extra : most;
}

/* Frames that it will have yet, as far as that is known. A picture may be a field. */
static uint64_t frames_left(const struct window *w)
{
    if (!w->frames)
        return UINT64_MAX;
    return w->frames > w->slots.pictures ? w->frames - w->slots.pictures : 0;
}

static uint64_t slots_used_by(const struct window *w)
{
    uint64_t left = frames_left(w);
    return w->slots.base + (left < w->slots.want ? left : w->slots.want);
}

/* Twice as many, so that it seldom grows, but no more than its windows can use. */
uint32_t slots_next(const struct schedule *s, const struct slots *st)
{
    uint64_t use = 0;
    if (st->count >= st->most) /* nobody walks over all windows for that */
        return st->count;
    for (const struct window *w = s->windows; w; w = w->next)
        use += w->slots.of == st ? slots_used_by(w) : 0;
    use += s->setting.software ? 0 : use / SLOTS_KEPT_PART + 1;
    /* a window that waits for slots is not counted: it waits for half of them at most */
    use = use < st->count + st->count / 2 && s->store_waits ? st->count + st->count / 2 : use;
    uint64_t next = use < 2ull * st->count ? use : 2ull * st->count;
    next = next < st->most ? next : st->most;
    return next > st->count ? (uint32_t)next : st->count;
}

/* Narrow where slots are few: unfiltered pictures and uploads take memory, too. Small pictures take
 * less, and more of them fill the device. */
uint32_t slots_batch_width(const struct schedule *s, const struct slots_key *key, uint32_t count)
{
    bool software = s->setting.software,
         small = (uint64_t)key->mb_width * key->mb_height * BATCH_SMALL_PART <= SPLIT_HD_MBS;
    uint32_t most = software
                        ? BATCH_WIDTH_SOFTWARE
                        : tuned(s->setting.tuning.width, small ? BATCH_WIDTH_SMALL : BATCH_WIDTH);
    uint32_t part = count / (software ? SLOTS_OF_WIDTH_SOFTWARE : SLOTS_OF_WIDTH);
    part = part ? part : 1;
    if (s->setting.batch)
        return s->setting.batch < count ? s->setting.batch : count;
    return part < most ? part : most;
}

uint32_t slots_base(const struct window *w, const struct h264_sps *sps)
{
    uint32_t dpb_frames = sps->max_dpb_frames;
    /* their parameter sets may differ in size, and both views share the store */
    if (w->both_views)
        return 2 * 16 + 2 + SLOTS_DELIVERY;
    return (dpb_frames > 1 ? dpb_frames : 1) + 2 + SLOTS_DELIVERY;
}

struct slots_wish slots_wish_of(const struct window *w, const struct h264_sps *sps)
{
    const struct schedule *s = w->schedule;
    uint64_t bytes = window_picture_bytes(sps, (uint32_t)sps->mb_width * sps->mb_height);
    uint32_t want = window_arrays_for(s, bytes, 1);
    return (struct slots_wish){.key = slots_key_of(sps),
                               .base = slots_base(w, sps),
                               /* pictures of the GPU are between those of the coders */
                               .want = want * (s->split.depth ? 2 : 1)};
}

/* ---- stores ---- */

/* As it is while no window waits for the store. */
static void slots_keep_usual(struct slots *st, const struct schedule *s)
{
    st->kept = s->setting.software ? 0 : st->count / SLOTS_KEPT_PART;
}

static void slots_set_count(struct slots *st, const struct schedule *s, uint32_t count)
{
    st->count = count;
    st->width = slots_batch_width(s, &st->key, count);
    slots_keep_usual(st, s);
}

/* The numbers from `first` on, the lowest on top. */
static void slots_add_free(struct slots *st, uint32_t first, uint32_t count)
{
    for (uint32_t i = count; i > first; i--)
        st->free[st->free_count++] = (int32_t)(i - 1);
}

bool slots_init(struct slots *st, const struct schedule *s, const struct slots_key *key,
                uint32_t count)
{
    *st = (struct slots){.key = *key, .most = count};
    slots_set_count(st, s, count);
    st->free = malloc(count * sizeof(*st->free));
    if (!st->free)
        return false;
    slots_add_free(st, 0, count);
    return true;
}

bool slots_resize(struct schedule *s, struct slots *st, uint32_t count)
{
    uint32_t before = st->count;
    int32_t *grown = realloc(st->free, (count > before ? count : before) * sizeof(*grown));
    if (!grown)
        return false;
    st->free = grown;
    if (count < before)
        st->free_count = before = 0;
    slots_set_count(st, s, count);
    slots_add_free(st, before, count);
    return true;
}

uint32_t slots_taken(const struct slots *st, uint32_t *out)
{
    uint32_t count = 0;
    memset(out, 0, st->count * sizeof(*out));
    for (uint32_t i = 0; i < st->free_count; i++)
        out[st->free[i]] = 1;
    for (uint32_t i = 0; i < st->count; i++)
        if (!out[i])
            out[count++] = i; /* never behind i */
    return count;
}

void slots_free(struct slots *st)
{
    free(st->free);
    st->free = NULL;
}

void slots_add(struct schedule *s, struct slots *st)
{
    st->next = s->stores;
    s->stores = st;
}

void slots_remove(struct schedule *s, struct slots *st)
{
    struct slots **at = &s->stores;
    while (*at != st)
        at = &(*at)->next;
    *at = st->next;
}

struct slots *slots_remove_idle(struct schedule *s, bool all)
{
    struct slots **oldest = NULL;
    uint32_t idle = 0;
    for (struct slots **at = &s->stores; *at; at = &(*at)->next) {
        struct slots *st = *at;
        if (!slots_idle(st))
            continue;
        idle++;
        if (!oldest || st->idle_since < (*oldest)->idle_since)
            oldest = at;
    }
    if (!oldest || (!all && idle <= SLOTS_IDLE_STORES))
        return NULL;
    struct slots *st = *oldest;
    *oldest = st->next;
    return st;
}

/* ---- windows ---- */

uint32_t slots_era(struct window *w, const struct h264_sps *sps)
{
    struct window_slots *slots = &w->slots;
    struct slots_key key = slots_key_of(sps);
    uint32_t base = slots_base(w, sps);
    if (slots->era && base <= slots->era_base && slots_key_equal(&key, &slots->era_key))
        return slots->era;
    slots->era_key = key;
    slots->era_base = base;
    return ++slots->era;
}

/* A stream changes its store where a picture needs more of it than before. Those before it must all
 * have been submitted, as a picture cannot read references from another store. */
bool slots_serve(const struct window *w, const struct h264_sps *sps)
{
    struct slots_key key = slots_key_of(sps);
    return w->slots.of && slots_key_equal(&key, &w->slots.of->key) &&
           w->slots.base >= slots_base(w, sps);
}

/* Of `count` slots those beyond base, for each window. base not 0: as if one more window joined,
 * which needs it. */
static uint32_t even_extra(const struct slots *st, uint32_t count, uint32_t base)
{
    uint32_t sum = base + st->bases, users = st->users + (base != 0);
    return users && count > sum ? (count - sum) / users : 0;
}

uint32_t slots_quota(const struct window *w)
{
    uint32_t extra = even_extra(w->slots.of, w->slots.of->count, 0);
    return w->slots.base + (w->slots.want < extra ? w->slots.want : extra);
}

void slots_detach(struct window *w)
{
    struct slots *st = w->slots.of;
    if (!st)
        return;
    st->users--;
    st->bases -= w->slots.base;
    st->owed_to_all -= w->slots.owed;
    st->idle_since = w->schedule->serial;
    w->slots.of = NULL;
    w->slots.pictures = 0;
    w->slots.owed = 0;
}

void slots_attach(struct window *w, struct slots *st, const struct slots_wish *wish)
{
    struct window_slots *slots = &w->slots;
    window_works(w);
    slots->of = st;
    slots->base = wish->base;
    slots->want = wish->want;
    slots->held = 0;
    slots->seat++;
    slots->wait_ns = 0;
    slots->pictures = 0;
    slots->short_ns = 0;
    slots->asked = false;
    st->users++;
    st->bases += slots->base;
    slots_recount(w);
    slots_keep_usual(st, w->schedule);
}

enum slots_found slots_find(struct window *w, const struct slots_wish *wish, int64_t now_ns,
                            struct slots **out)
{
    struct schedule *s = w->schedule;
    uint32_t least = wish->want < SLOTS_EXTRA_LEAST ? wish->want : SLOTS_EXTRA_LEAST;
    bool later = false;
    for (struct slots *st = s->stores; st; st = st->next) {
        if (!slots_key_equal(&st->key, &wish->key) || even_extra(st, st->most, wish->base) < least)
            continue;
        if (st->free_count >= st->owed_to_all + wish->base) {
            *out = st;
            return SLOTS_FOUND;
        }
        later = true;
        st->wanted = true;
    }
    if (!later)
        return SLOTS_NONE;
    w->slots.wait_ns = w->slots.wait_ns ? w->slots.wait_ns : now_ns;
    return now_ns - w->slots.wait_ns < SLOTS_PATIENCE_NS ? SLOTS_LATER : SLOTS_NONE;
}

/* Pictures ahead leave the window's base to it, for as long as it waits. */
enum slots_found slots_share(const struct window *w, const struct slots_wish *wish,
                             struct slots **out)
{
    const struct schedule *s = w->schedule;
    bool later = false;
    for (struct slots *st = s->stores; st; st = st->next) {
        uint64_t sum = (uint64_t)st->bases + wish->base;
        if (!slots_key_equal(&st->key, &wish->key))
            continue;
        if (sum > st->most && !st->stuck && sum <= slots_limit(s, &st->key))
            st->most = (uint32_t)sum;
        if (sum > st->most)
            continue;
        if (st->free_count >= st->owed_to_all + wish->base) {
            *out = st;
            return SLOTS_FOUND;
        }
        later = true;
        st->wanted = true;
        st->kept = st->kept > wish->base ? st->kept : wish->base;
    }
    return later ? SLOTS_LATER : SLOTS_NONE;
}

/* ---- pictures ---- */

static bool window_in_flight(const struct window *w)
{
    for (const struct picture *p = w->first; p; p = p->next)
        if (p->stage == PICTURE_SUBMITTED)
            return true;
    return false;
}

/* No completion and no reader will free a slot: the stream keeps more pictures than its DPB size
 * allows. */
static bool window_is_stuck(const struct window *w)
{
    if (window_in_flight(w))
        return false;
    const struct picture *head = w->outputs ? w->outputs->pic->holder.user : NULL;
    return !head || !frame_submitted(head);
}

/* A chain of pictures that refer to each other could take all slots. The others, which come before
 * in decoding order, would go one by one. */
static bool slots_claim_ahead(const struct window *w, struct slots *st, uint32_t older)
{
    const struct window_slots *slots = &w->slots;
    uint32_t near = older < SLOTS_NEAR ? older : SLOTS_NEAR, quota = slots_quota(w);
    bool may = slots->held + near < quota && w->frames_ahead < quota - slots->base &&
               st->free_count > st->owed + st->kept;
    st->wanted |= !may;
    return may;
}

bool slots_claim(struct window *w, struct slots *st, bool oldest, uint32_t older)
{
    struct window_slots *slots = &w->slots;
    if (!oldest)
        return slots_claim_ahead(w, st, older);
    if (slots_in_order(w) < slots->base && st->free_count) {
        st->owed -= st->owed > 0;
        return true;
    }
    if (slots->held < slots_quota(w) && st->free_count > st->owed)
        return true;
    st->wanted = true;
    if (!window_is_stuck(w))
        return false;
    if (!st->free_count && st->used == slots->held && st->count == st->most) {
        w->starves = true;
        wake_window(w);
    }
    return st->free_count > 0;
}

void slots_take(struct slots *st, struct picture *p)
{
    p->slot.slots = st;
    p->slot.number = p->owner == p ? st->free[--st->free_count] : p->owner->slot.number;
    p->pic->holder.slot = p->slot.number;
    if (p->owner != p)
        return;
    p->slot.seat = p->window->slots.seat;
    st->used++;
    p->window->slots.held++;
    slots_recount(p->window);
}

void slots_give(struct slots *st, struct window *w, uint32_t seat, int32_t slot)
{
    st->free[st->free_count++] = slot;
    st->used--;
    w->slots.held -= seat == w->slots.seat;
    slots_recount(w);
}
