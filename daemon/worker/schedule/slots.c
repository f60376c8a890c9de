/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame stores: one recon per picture size and format, its slots, and each session's quota of them.
 *
 * A slot belongs to a picture from its submission until the picture's last holder (DPB, readers,
 * output) lets go: its life is the picture's (job_picture_freed). Each session is sure of `base`
 * slots for progress in decoding order, which needs at most the DPB, the picture itself and what is
 * being delivered. Pictures submitted ahead of the oldest waiting one take what is left beyond what
 * all sessions are sure of (slots_owed), so that no session starves another or itself; a quota, the
 * same for all sessions and new as they come and go, keeps them even. A new session finds the slots
 * that pictures ahead leave for it (store.kept), or waits a moment until the others are down to
 * their new quotas; only where that takes long (their readers stand still), or where the store
 * holds as many sessions as is good for it, it gets a second store, whose pictures share no batches
 * with the first one's.
 *
 * Host memory: pictures between step 1 and reconstruction are bounded by engine.window_budget, of
 * which each session has the same part, but at least LEAST_WINDOW pictures; reconstructed ones by
 * the slots. A picture of the window that nobody has begun to decode holds its bytes only.
 */
#include "daemon/worker/schedule/batch.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_STORES    2 /* kept, because building pipelines takes long */
#define DELIVERY_SLOTS 4 /* frames that left the DPB and are still being delivered */
/* host memory of a picture per macroblock: records and motion; to it comes room for coefficients */
#define MB_BYTES         176
#define EXTRA_SLOTS      24 /* beyond base, where memory is short */
#define LEAST_EXTRA      6  /* a session that would get less has a store of its own */
#define KEPT_PART        16 /* of the slots, for the next session */
#define PATIENCE_NS      NS_PER_S
#define LEAST_WINDOW     8
#define SOFTWARE_BYTES   (64ull << 20)
#define MOST_SLOTS       1280
#define MOST_BYTES       (5ull << 29) /* of one image: drivers refuse allocations of 4 GiB */
#define AHEAD_PER_WORKER 12           /* pictures of all windows together, within these limits */
#define LEAST_AHEAD      128
#define MOST_AHEAD       1024
#define WAITING_AND_WORK 2  /* pictures for the GPU: as many wait as it has in work */
#define WAITING_PART     16 /* of what a picture can take: more than the bytes of one that waits */
#define SMALL_ARRAYS     2  /* what the GPU has decoded takes less than that part */

bool store_key_equal(const struct store_key *a, const struct store_key *b)
{
    return a->mb_width == b->mb_width && a->mb_height == b->mb_height &&
           a->chroma_format_idc == b->chroma_format_idc && a->bit_depth[0] == b->bit_depth[0] &&
           a->bit_depth[1] == b->bit_depth[1] && a->interlaced == b->interlaced &&
           a->separate_planes == b->separate_planes;
}

struct store_key store_key_of(const struct h264_sps *sps)
{
    return (struct store_key){.mb_width = sps->mb_width,
                              .mb_height = sps->mb_height,
                              .chroma_format_idc = sps->chroma_format_idc,
                              .bit_depth = {sps->bit_depth[0], sps->bit_depth[1]},
                              .interlaced = !sps->frame_mbs_only_flag,
                              .separate_planes = sps->separate_colour_plane_flag};
}

static const uint32_t samples_per_mb[4] = {256, 384, 512, 768};

static bool is_wide(const uint8_t bit_depth[2])
{
    return bit_depth[0] > 8 || bit_depth[1] > 8;
}

uint64_t window_picture_bytes(const struct h264_sps *sps, uint32_t mb_count)
{
    uint32_t samples = samples_per_mb[h264_chroma_array_type(sps) & 3];
    return (uint64_t)mb_count * (MB_BYTES + samples * (is_wide(sps->bit_depth) ? 4 : 2)) + 1;
}

/* Pictures of each of so many sessions that the workers decode ahead of reconstruction. More than
 * keep them busy would only wait: they cost latency, and memory that has to be pinned. */
uint32_t arrays_for(const struct engine *e, uint64_t picture_bytes, uint32_t sessions)
{
    if (e->params.lookahead)
        return e->params.lookahead;
    if (e->software) {
        uint64_t fit = SOFTWARE_BYTES / picture_bytes;
        return fit > LEAST_WINDOW ? LEAST_WINDOW : fit < 4 ? 4 : (uint32_t)fit;
    }
    sessions = sessions ? sessions : 1;
    uint64_t most = AHEAD_PER_WORKER * e->worker_count;
    most = (most > MOST_AHEAD ? MOST_AHEAD : most < LEAST_AHEAD ? LEAST_AHEAD : most) / sessions;
    uint64_t fit = e->window_budget / sessions / picture_bytes;
    fit = fit > most ? most : fit;
    return fit < LEAST_WINDOW ? LEAST_WINDOW : (uint32_t)fit;
}

/* Pictures between step 1 and reconstruction: those, what the GPU has in work, and what is to keep
 * the workers busy meanwhile. Most of them hold their bytes only; how many it may have decoded is
 * bounded by itself (entropy_share.c), but where the workers decode none. */
uint32_t lookahead_for(const struct engine *e, uint64_t picture_bytes, uint32_t sessions)
{
    uint32_t least = arrays_for(e, picture_bytes, sessions), depth = entropy_gpu_depth(e);
    if (!depth || e->params.lookahead || e->software)
        return least;
    sessions = sessions ? sessions : 1;
    uint32_t part = e->entropy_all ? SMALL_ARRAYS : WAITING_PART;
    uint64_t more = WAITING_AND_WORK * (uint64_t)depth / sessions,
             fit = e->window_budget / sessions / (picture_bytes / part + 1);
    return least + (uint32_t)(more > fit ? fit : more);
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
    return (uint64_t)key->mb_width * key->mb_height * samples_per_mb[key->chroma_format_idc & 3] *
           (is_wide(key->bit_depth) ? 2 : 1);
}

/* Without the lock. */
static int store_create(struct engine *e, const struct store_key *key, uint32_t slots,
                        uint32_t width, struct store **out)
{
    struct store *st = calloc(1, sizeof(*st));
    if (!st)
        return GPU_ERR_NOMEM;
    st->key = *key;
    st->slots = slots;
    st->width = width;
    /* one more than scheduler_batches */
    st->flight = e->software ? BATCHES_IN_FLIGHT : BATCHES_IN_FLIGHT + 1;
    st->free_slots = malloc(slots * sizeof(*st->free_slots));
    enum tune_size size = tune_size_of(16 * key->mb_width, 16 * key->mb_height);
    struct recon_params params = {.mb_width = key->mb_width,
                                  .mb_height = key->mb_height,
                                  .chroma_format_idc = key->chroma_format_idc,
                                  .bit_depth = {key->bit_depth[0], key->bit_depth[1]},
                                  .interlaced = key->interlaced,
                                  .separate_planes = key->separate_planes,
                                  .slots = slots,
                                  .width = width,
                                  .flight = st->flight,
                                  .wavefront = e->params.wavefront ? e->params.wavefront
                                                                   : tune_wavefront(&e->tune, size),
                                  .delivery = tune_delivery(&e->tune, size)};
    int err = st->free_slots ? recon_create(e->gpu, &params, &st->recon) : GPU_ERR_NOMEM;
    if (err) {
        store_free(st);
        return err;
    }
    for (uint32_t i = 0; i < slots; i++)
        st->free_slots[st->free_count++] = (int32_t)(slots - 1 - i);
    st->kept = e->software ? 0 : slots / KEPT_PART;
    st->width = recon_width(st->recon);
    st->memory = recon_memory(st->recon);
    recon_times(st->recon, &st->times);
    *out = st;
    return 0;
}

/* How many slots a new store gets: room for more sessions, and for more pictures ahead, on a device
 * with memory to spare. */
static uint32_t store_slots(const struct engine *e, const struct store_key *key, uint32_t base,
                            uint32_t extra)
{
    if (e->software)
        return base + extra;
    uint64_t luma =
        (uint64_t)key->mb_width * key->mb_height * 256 * (is_wide(key->bit_depth) ? 2 : 1) + 1;
    uint64_t want = e->params.lookahead ? 8ull * (base + extra) : MOST_SLOTS;
    uint64_t fit = e->device->memory_bytes / 8 / (frame_bytes(key) + 1),
             least = base + (extra < EXTRA_SLOTS ? extra : EXTRA_SLOTS);
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

uint32_t store_base(const struct session *s, const struct h264_sps *sps)
{
    uint32_t dpb_frames = sps->max_dpb_frames;
    /* their sets may tell different sizes, and both share the store */
    if (s->params.views == PELTON_VIEWS_BOTH)
        return 2 * 16 + 2 + DELIVERY_SLOTS;
    return (dpb_frames > 1 ? dpb_frames : 1) + 2 + DELIVERY_SLOTS;
}

/* A stream changes its store where a picture needs more of it than before, which only an IDR
 * picture can: those before it must all have been submitted, as a picture cannot read references
 * from another store. */
bool store_serves(const struct session *s, const struct h264_sps *sps)
{
    struct store_key key = store_key_of(sps);
    return s->store && store_key_equal(&key, &s->store->key) && s->base >= store_base(s, sps);
}

uint32_t slots_owed(const struct engine *e, const struct store *st)
{
    uint32_t owed = 0;
    for (const struct session *s = e->sessions; s; s = s->next) {
        if (s->store != st)
            continue;
        uint32_t in_order = s->held > s->frames_ahead ? s->held - s->frames_ahead : 0;
        owed += s->base > in_order ? s->base - in_order : 0;
    }
    return owed;
}

/* Slots beyond base for each session of st; were there one more, that needs `base` itself, where
 * that is not 0. */
static uint32_t even_extra(const struct engine *e, const struct store *st, uint32_t base)
{
    uint32_t sum = base, users = st->users + (base != 0);
    for (const struct session *s = e->sessions; s; s = s->next)
        sum += s->store == st ? s->base : 0;
    return users && st->slots > sum ? (st->slots - sum) / users : 0;
}

static void set_quotas(struct engine *e, struct store *st)
{
    uint32_t extra = even_extra(e, st, 0);
    for (struct session *s = e->sessions; s; s = s->next)
        if (s->store == st)
            s->quota = s->base + (s->want < extra ? s->want : extra);
}

void store_detach(struct session *s)
{
    struct store *st = s->store;
    if (!st)
        return;
    session_account_gpu(s, &s->gpu_sum);
    st->users--;
    st->idle_since = s->engine->serial;
    s->store = NULL;
    s->gpu_pictures = 0;
    set_quotas(s->engine, st);
}

/* A store for a session. *later: there is one, once the sessions that use it have given back slots.
 */
static struct store *store_find(struct engine *e, const struct store_key *key, uint32_t base,
                                uint32_t want, bool *later)
{
    uint32_t least = want < LEAST_EXTRA ? want : LEAST_EXTRA;
    *later = false;
    for (struct store *st = e->stores; st; st = st->next) {
        if (!store_key_equal(&st->key, key) || even_extra(e, st, base) < least)
            continue;
        if (st->free_count >= slots_owed(e, st) + base)
            return st;
        *later = true;
    }
    return NULL;
}

/* With fewer slots where memory is short; in the end the least that still makes progress. */
static int store_create_any(struct engine *e, const struct store_key *key, uint32_t base,
                            uint32_t want, struct store **out)
{
    uint32_t slots = store_slots(e, key, base, want);
    int err = store_create(e, key, slots, batch_width(e, slots), out);
    while (err == GPU_ERR_NOMEM && slots / 2 > base + EXTRA_SLOTS) {
        slots /= 2;
        err = store_create(e, key, slots, batch_width(e, slots), out);
    }
    if (err == GPU_ERR_NOMEM)
        err = store_create(e, key, base + 1, 1, out);
    return err;
}

static void attach(struct engine *e, struct session *s, struct store *st, uint32_t base,
                   uint32_t want)
{
    s->store = st;
    s->base = base;
    s->want = want;
    s->held = 0;
    s->seat++;
    s->store_wait_ns = 0;
    s->gpu_base = st->times;
    s->gpu_pictures = 0;
    st->users++;
    set_quotas(e, st);
}

int store_attach(struct engine *e, struct session *s, const struct h264_sps *sps)
{
    struct store_key key = store_key_of(sps);
    uint32_t base = store_base(s, sps);
    uint32_t want =
        arrays_for(e, window_picture_bytes(sps, (uint32_t)sps->mb_width * sps->mb_height), 1);
    /* pictures of the GPU's are between those of the workers */
    want *= entropy_gpu_works(e) ? 2 : 1;
    bool later;
    store_detach(s);
    struct store *st = store_find(e, &key, base, want, &later);
    if (!st && later) {
        if (!s->store_wait_ns)
            s->store_wait_ns = now_ns();
        if (now_ns() - s->store_wait_ns < PATIENCE_NS)
            return STORE_LATER;
    }
    if (!st) {
        store_collect(e, false);
        uv_mutex_unlock(&e->lock);
        int err = store_create_any(e, &key, base, want, &st);
        uv_mutex_lock(&e->lock);
        if (err)
            return err;
        st->next = e->stores;
        e->stores = st;
    }
    attach(e, s, st, base, want);
    return 0;
}

void store_collect(struct engine *e, bool all)
{
    for (;;) {
        struct store **oldest = NULL;
        uint32_t idle = 0;
        for (struct store **at = &e->stores; *at; at = &(*at)->next) {
            struct store *st = *at;
            if (st->users || st->live || st->in_flight)
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
