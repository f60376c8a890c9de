/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame stores: one recon per picture size and format, its slots, and each session's quota of them.
 *
 * A slot belongs to a picture from its submission until the picture's last holder (DPB, readers, output) lets go: its life is
 * the picture's (job_picture_freed). No session can starve another, as the quotas of a store never exceed its slots; and a
 * session cannot starve itself: pictures submitted ahead of the oldest waiting one may use only quota - base slots, so that
 * `base` stay for progress in decoding order, which needs at most the DPB, the picture itself and what is being delivered. The
 * first sessions of a store get all it can give; a new one takes back what they do not use, but for a fair share.
 *
 * Host memory: pictures between step 1 and reconstruction are bounded by lookahead_sure per session (at most 320 MiB), and beyond
 * that by engine.window_budget over all sessions; reconstructed ones by the slots. A picture of the window that nobody has begun
 * to decode holds its bytes only.
 */
#include "daemon/worker/engine_internal.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_STORES    2   /* kept, because building pipelines takes long */
#define DELIVERY_SLOTS 4   /* frames that left the DPB and are still being delivered */
#define MB_BYTES       176 /* host memory of a picture per macroblock: records and motion; to it comes room for coefficients */
#define EXTRA_SLOTS    24  /* a session that would get less looks for another store */
#define MOST_SLOTS     1024
#define MOST_BYTES     (5ull << 29) /* of one image: drivers refuse allocations of 4 GiB */
#define MOST_AHEAD     1024

bool store_key_equal(const struct store_key *a, const struct store_key *b)
{
    return a->mb_width == b->mb_width && a->mb_height == b->mb_height && a->chroma_format_idc == b->chroma_format_idc &&
           a->bit_depth[0] == b->bit_depth[0] && a->bit_depth[1] == b->bit_depth[1] && a->interlaced == b->interlaced &&
           a->separate_planes == b->separate_planes;
}

struct store_key store_key_of(const struct h264_picture *pic)
{
    return (struct store_key){.mb_width = pic->sps->mb_width,
                              .mb_height = pic->sps->mb_height,
                              .chroma_format_idc = pic->sps->chroma_format_idc,
                              .bit_depth = {pic->sps->bit_depth[0], pic->sps->bit_depth[1]},
                              .interlaced = !pic->sps->frame_mbs_only_flag,
                              .separate_planes = pic->sps->separate_colour_plane_flag};
}

static const uint32_t samples_per_mb[4] = {256, 384, 512, 768};

static bool is_wide(const uint8_t bit_depth[2])
{
    return bit_depth[0] > 8 || bit_depth[1] > 8;
}

uint64_t window_picture_bytes(const struct h264_picture *pic)
{
    uint32_t samples = samples_per_mb[h264_chroma_array_type(pic->sps) & 3];
    return (uint64_t)pic->mb_count * (MB_BYTES + samples * (is_wide(pic->sps->bit_depth) ? 4 : 2)) + 1;
}

/* Pictures between step 1 and reconstruction. Independent ones are in different groups of pictures, often hundreds apart: what a
 * GPU can use is far more than what one batch holds. */
uint32_t lookahead_for(const struct engine *e, uint64_t picture_bytes, uint32_t *sure)
{
    if (e->params.lookahead)
        return *sure = e->params.lookahead;
    uint64_t budget = (e->software ? 64ull : 320ull) << 20;
    uint32_t most = e->software ? 8 : 48;
    uint64_t fit = budget / picture_bytes, ahead = e->window_budget / picture_bytes;
    *sure = fit > most ? most : fit < 4 ? 4 : (uint32_t)fit;
    return ahead > MOST_AHEAD ? MOST_AHEAD : ahead < *sure ? *sure : (uint32_t)ahead;
}

static void store_free(struct store *st)
{
    if (!st)
        return;
    recon_free(st->recon);
    while (st->spare) {
        struct batch *b = st->spare;
        st->spare = b->next;
        free(b->jobs);
        free(b->pictures);
        free(b->views);
        free(b);
    }
    free(st->free_slots);
    free(st);
}

static uint64_t frame_bytes(const struct store_key *key)
{
    return (uint64_t)key->mb_width * key->mb_height * samples_per_mb[key->chroma_format_idc & 3] * (is_wide(key->bit_depth) ? 2 : 1);
}

/* Without the lock. */
static int store_create(struct engine *e, const struct store_key *key, uint32_t slots, uint32_t width, struct store **out)
{
    struct store *st = calloc(1, sizeof *st);
    if (!st)
        return GPU_ERR_NOMEM;
    st->key = *key;
    st->slots = slots;
    st->width = width;
    st->flight = 3;
    st->free_slots = malloc(slots * sizeof *st->free_slots);
    struct recon_params params = {.mb_width = key->mb_width,
                                  .mb_height = key->mb_height,
                                  .chroma_format_idc = key->chroma_format_idc,
                                  .bit_depth = {key->bit_depth[0], key->bit_depth[1]},
                                  .interlaced = key->interlaced,
                                  .separate_planes = key->separate_planes,
                                  .slots = slots,
                                  .width = width,
                                  .flight = st->flight,
                                  .wavefront = e->params.wavefront};
    int err = st->free_slots ? recon_create(e->gpu, &params, &st->recon) : GPU_ERR_NOMEM;
    if (err) {
        store_free(st);
        return err;
    }
    for (uint32_t i = 0; i < slots; i++)
        st->free_slots[st->free_count++] = (int32_t)(slots - 1 - i);
    st->width = recon_width(st->recon);
    st->memory = recon_memory(st->recon);
    recon_times(st->recon, &st->times);
    *out = st;
    return 0;
}

/* How many slots a new store gets: room for more sessions, and for more pictures ahead, on a device with memory to spare. */
static uint32_t store_slots(const struct engine *e, const struct store_key *key, uint32_t base, uint32_t extra)
{
    if (e->software)
        return base + extra;
    uint64_t luma = (uint64_t)key->mb_width * key->mb_height * 256 * (is_wide(key->bit_depth) ? 2 : 1) + 1;
    uint64_t want = e->params.lookahead ? 8ull * (base + extra) : MOST_SLOTS;
    uint64_t fit = e->device->memory_bytes / 8 / (frame_bytes(key) + 1), least = base + (extra < EXTRA_SLOTS ? extra : EXTRA_SLOTS);
    fit = fit > MOST_BYTES / luma ? MOST_BYTES / luma : fit;
    fit = fit > e->device->image_layers ? e->device->image_layers : fit;
    want = want > MOST_SLOTS ? MOST_SLOTS : want;
    want = want > fit ? fit : want;
    return want < least ? (uint32_t)least : (uint32_t)want;
}

static uint32_t batch_width(const struct engine *e, uint32_t slots)
{
    uint32_t width = e->params.batch ? e->params.batch : e->software ? 4 : 32;
    return width < slots ? width : slots;
}

uint32_t store_base(const struct session *s, const struct h264_picture *pic)
{
    uint32_t dpb_frames = pic->sps->max_dpb_frames;
    if (s->params.views == PELTON_VIEWS_BOTH) /* their sets may tell different sizes, and both share the store */
        return 2 * 16 + 2 + DELIVERY_SLOTS;
    return (dpb_frames > 1 ? dpb_frames : 1) + 2 + DELIVERY_SLOTS;
}

/* A stream changes its store where a picture needs more of it than before, which only an IDR picture can: those before it must all
 * have been submitted, as a picture cannot read references from another store. */
bool store_serves(const struct session *s, const struct h264_picture *pic)
{
    struct store_key key = store_key_of(pic);
    return s->store && store_key_equal(&key, &s->store->key) && s->base >= store_base(s, pic);
}

void store_detach(struct session *s)
{
    if (!s->store)
        return;
    session_account_gpu(s, &s->gpu_sum);
    s->store->reserved -= s->quota;
    s->store->idle_since = s->engine->serial;
    s->store = NULL;
    s->gpu_pictures = 0;
}

/* Slots of st that no session is promised. */
static uint32_t slots_to_give(const struct engine *e, const struct store *st)
{
    uint32_t promised = 0;
    for (const struct session *s = e->sessions; s; s = s->next)
        if (s->store == st && s->quota > s->held)
            promised += s->quota - s->held;
    return st->free_count > promised ? st->free_count - promised : 0;
}

uint32_t pictures_ahead(const struct session *s)
{
    const struct job *job = s->window;
    uint32_t ahead = 0;
    while (job && job->state >= JOB_SUBMITTED)
        job = job->next;
    for (; job; job = job->next)
        ahead += job->state >= JOB_SUBMITTED;
    return ahead;
}

/* Sessions keep what their pictures ahead occupy, and their share of the store were there one session more. */
static void take_back(struct engine *e, struct store *st)
{
    uint32_t users = 1;
    for (const struct session *s = e->sessions; s; s = s->next)
        users += s->store == st;
    for (struct session *s = e->sessions; s; s = s->next) {
        uint32_t share = st->slots / users, ahead;
        if (s->store != st)
            continue;
        share = share > s->base + EXTRA_SLOTS ? share - s->base : EXTRA_SLOTS;
        ahead = pictures_ahead(s);
        share = s->base + (ahead > share ? ahead : share);
        if (share < s->quota) {
            st->reserved -= s->quota - share;
            s->quota = share;
        }
    }
}

/* A store with room for a session; *extra becomes what it gets beyond base, at least EXTRA_SLOTS where it wants as many. */
static struct store *store_find(struct engine *e, const struct store_key *key, uint32_t base, uint32_t *extra)
{
    uint32_t least = *extra < EXTRA_SLOTS ? *extra : EXTRA_SLOTS;
    for (struct store *st = e->stores; st; st = st->next) {
        if (!store_key_equal(&st->key, key))
            continue;
        if (slots_to_give(e, st) < base + *extra)
            take_back(e, st);
        uint32_t room = slots_to_give(e, st);
        if (room < base + least)
            continue;
        *extra = room - base < *extra ? room - base : *extra;
        return st;
    }
    return NULL;
}

/* With fewer slots where memory is short; in the end the least that still makes progress. */
static int store_create_any(struct engine *e, const struct store_key *key, uint32_t base, uint32_t *extra, struct store **out)
{
    uint32_t slots = store_slots(e, key, base, *extra);
    int err = store_create(e, key, slots, batch_width(e, slots), out);
    while (err == GPU_ERR_NOMEM && slots / 2 > base + EXTRA_SLOTS) {
        slots /= 2;
        err = store_create(e, key, slots, batch_width(e, slots), out);
    }
    if (err == GPU_ERR_NOMEM) {
        slots = base + 1;
        err = store_create(e, key, slots, 1, out);
    }
    *extra = slots - base < *extra ? slots - base : *extra;
    return err;
}

int store_attach(struct engine *e, struct session *s, const struct h264_picture *pic)
{
    struct store_key key = store_key_of(pic);
    uint32_t base = store_base(s, pic), sure;
    uint32_t extra = lookahead_for(e, window_picture_bytes(pic), &sure);
    store_detach(s);
    struct store *st = store_find(e, &key, base, &extra);
    if (!st) {
        store_collect(e, false);
        uv_mutex_unlock(&e->lock);
        int err = store_create_any(e, &key, base, &extra, &st);
        uv_mutex_lock(&e->lock);
        if (err)
            return err;
        st->next = e->stores;
        e->stores = st;
    }
    s->store = st;
    s->base = base;
    s->quota = base + extra;
    st->reserved += s->quota;
    s->gpu_base = st->times;
    s->gpu_pictures = 0;
    return 0;
}

void store_collect(struct engine *e, bool all)
{
    for (;;) {
        struct store **oldest = NULL;
        uint32_t idle = 0;
        for (struct store **at = &e->stores; *at; at = &(*at)->next) {
            struct store *st = *at;
            if (st->reserved || st->live || st->in_flight)
                continue;
            idle++;
            if (!oldest || st->idle_since < (*oldest)->idle_since)
                oldest = at;
        }
        if (!oldest || (!all && idle <= IDLE_STORES))
            return;
        struct store *st = *oldest;
        *oldest = st->next;
        uv_mutex_unlock(&e->lock);
        store_free(st);
        uv_mutex_lock(&e->lock);
    }
}
