/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See live_source.h. One lock for all; the thread of a source holds it only to hand units out.
 *
 * The failure modes are those of the source, no memory, and readers that are too slow. Those that
 * need not have each unit go on at the next key picture, once it is there and they are LATE units
 * behind. A lossless one may be behind by as many bytes as are kept. A source that it has for
 * itself then waits for it, where it is no camera. Else it, too, goes on at a key picture.
 */
#include "daemon/worker/source/live_source.h"

#include "daemon/worker/clock.h"
#include "daemon/worker/engine/engine.h"
#include "daemon/worker/source/unit_sets.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LATE = 64 };
#define LOOK_NS (NS_PER_S / 10)

struct live_source;

struct live_reader {
    struct live_reader *next;
    struct live_source *source;
    struct unit_cursor cursor;
    bool lossless, open_told, turned_away;
    bool wants_key; /* it has lost a unit */
    unsigned state_told;
    uint64_t lost; /* by the source, since it joined */
};

struct live_source {
    struct live_source *next;
    struct live_sources *all;
    char *uri;
    uint32_t video;
    bool encodes;                     /* a camera's frames, with these rectangles: */
    struct pelton_open_params params; /* nothing else of it is used */
    struct live_input input;          /* its thread's */
    pthread_t thread;
    pthread_cond_t news, room;
    int stop_fd; /* an eventfd */
    atomic_bool stop;
    bool alone;                    /* for one reader: its input has an end */
    bool ended, skips;             /* skips: units up to the next key picture */
    struct pelton_failure failure; /* ended */
    struct live_shape shape;       /* format NULL: not open yet */
    unsigned states;               /* changes so far; the last one: */
    bool running;
    char cause[256];
    struct unit_log log;
    struct live_reader *readers;
};

struct live_sources {
    pthread_mutex_t lock;
    struct live_source *first;
    uint64_t kept, most, behind; /* limits: of a source, of all; how far a reader may be behind */
    uint64_t refused;
};

struct live_sources *live_sources_create(uint64_t kept, uint64_t most)
{
    struct live_sources *all = calloc(1, sizeof(*all));
    if (!all)
        return NULL;
    pthread_mutex_init(&all->lock, NULL);
    all->kept = kept;
    all->behind = 2 * (kept > LIVE_KEPT ? kept : LIVE_KEPT);
    all->most = most;
    return all;
}

void live_sources_free(struct live_sources *all)
{
    if (!all)
        return;
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* With the lock. */
static uint64_t sources_held(const struct live_sources *all)
{
    uint64_t bytes = 0;
    for (const struct live_source *s = all->first; s; s = s->next)
        bytes += s->log.held;
    return bytes;
}

void live_sources_usage(struct live_sources *all, struct live_usage *out)
{
    pthread_mutex_lock(&all->lock);
    *out = (struct live_usage){.held = sources_held(all), .refused = all->refused};
    for (const struct live_source *s = all->first; s; s = s->next)
        if (unit_log_kept(&s->log) > out->most)
            out->most = unit_log_kept(&s->log);
    pthread_mutex_unlock(&all->lock);
}

/* ---- units ---- */

/* A reader that is too far behind goes on at a key picture. */
static void reader_follow(struct live_source *s, struct live_reader *r, bool key)
{
    bool waited_for =
        s->alone || (r->lossless && !live_input_is_device(&s->input) && !s->readers->next);
    unit_cursor_follow(&s->log, &r->cursor, key);
    if (!waited_for && !r->lossless && unit_cursor_units(&s->log, &r->cursor) > LATE)
        unit_cursor_jump(&s->log, &r->cursor);
    if (!waited_for && unit_cursor_bytes(&s->log, &r->cursor) > s->all->behind &&
        !unit_cursor_jump(&s->log, &r->cursor))
        unit_cursor_drop(&s->log, &r->cursor);
}

/* The units from the last key picture on are too many to be kept for readers to come. */
static void source_limit(struct live_source *s)
{
    uint64_t kept = unit_log_kept(&s->log);
    if (kept <= s->all->kept && (!kept || sources_held(s->all) <= s->all->most))
        return;
    unit_log_give_up(&s->log);
    s->all->refused++;
}

/* With the lock. */
static void source_publish(struct live_source *s, AVPacket *unit, const struct live_news *news)
{
    bool key = unit_log_look(&s->log, unit);
    s->skips &= !key;
    live_shape_update(&s->shape, unit);
    bool logged = !s->skips && unit_log_append(&s->log, unit, key, news->received_ns);
    if (logged)
        source_limit(s);
    else
        unit_log_skip(&s->log);
    for (struct live_reader *r = s->readers; r; r = r->next) {
        r->wants_key &= !key;
        r->lost += r->open_told ? news->lost + !logged : 0;
        if (logged)
            reader_follow(s, r, key);
    }
}

/* With the lock: its one reader needs each unit, and has enough of them. */
static bool source_is_ahead(const struct live_source *s)
{
    const struct live_reader *r = s->readers;
    return r && !r->next && !live_input_is_device(&s->input) && (s->alone || r->lossless) &&
           unit_cursor_bytes(&s->log, &r->cursor) > s->all->behind / 2;
}

static void source_open_told(struct live_source *s, const struct live_news *news)
{
    s->shape = news->shape;
    const AVCodecParameters *par = s->shape.format->streams[s->shape.chosen]->codecpar;
    s->log.nal_length = unit_nal_length(par->extradata, (size_t)par->extradata_size);
    s->alone = live_input_ends(&s->input);
    /* the one that came first stays */
    for (struct live_reader *r = s->readers; r && s->alone; r = r->next)
        r->turned_away = r->next != NULL;
}

/* That it opens at once is no news. */
static void source_state(struct live_source *s, const struct live_news *news)
{
    if (news->running != s->running || strcmp(s->cause, news->cause) != 0) {
        s->states++;
        snprintf(s->cause, sizeof(s->cause), "%s", news->cause);
    }
    s->running = news->running;
    s->skips = true;
    unit_log_break(&s->log);
    for (struct live_reader *r = s->readers; r; r = r->next)
        r->cursor.awaits_key |= !r->cursor.at;
}

/* ---- the thread of a source ---- */

/* With the lock: a moment, at most. */
static void source_wait(struct live_source *s, pthread_cond_t *cond)
{
    int64_t until = now_ns() + LOOK_NS;
    struct timespec t = {until / NS_PER_S, until % NS_PER_S};
    pthread_cond_timedwait(cond, &s->all->lock, &t);
}

/* False: a camera that has sent its key picture, or nobody waits for one. */
static bool source_wants_key(const struct live_source *s)
{
    bool wants = s->skips;
    for (const struct live_reader *r = s->readers; r; r = r->next)
        wants |= r->cursor.awaits_key || r->wants_key;
    return wants;
}

/* One event. False: the last one. */
static bool source_step(struct live_source *s, AVPacket *unit)
{
    struct live_news news;
    struct pelton_failure failure = {0};
    int rc = live_input_next(&s->input, s->uri, s->video, &s->stop, unit, &news, &failure);
    pthread_mutex_lock(&s->all->lock);
    if (rc == LIVE_OPEN)
        source_open_told(s, &news);
    else if (rc == LIVE_STATE)
        source_state(s, &news);
    else if (rc == LIVE_UNIT)
        source_publish(s, unit, &news);
    s->ended = rc < 0 || rc == LIVE_END || (rc == LIVE_OPEN && failure.code);
    if (s->ended)
        s->failure = failure;
    pthread_cond_broadcast(&s->news);
    while (source_is_ahead(s) && !s->ended && !atomic_load(&s->stop))
        source_wait(s, &s->room);
    bool asks = live_input_is_device(&s->input) && source_wants_key(s), ended = s->ended;
    pthread_mutex_unlock(&s->all->lock);
    av_packet_unref(unit);
    if (asks)
        live_input_ask_for_key(&s->input);
    return !ended;
}

static void *source_thread(void *ctx)
{
    struct live_source *s = ctx;
    AVPacket *unit = av_packet_alloc();
    pthread_setname_np(pthread_self(), "pelton-live");
    while (unit && !atomic_load(&s->stop) && source_step(s, unit))
        ;
    pthread_mutex_lock(&s->all->lock);
    if (!s->ended && !unit)
        s->failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = ": out of memory"};
    s->ended = true;
    pthread_cond_broadcast(&s->news);
    pthread_mutex_unlock(&s->all->lock);
    av_packet_free(&unit);
    live_input_close(&s->input);
    return NULL;
}

/* ---- life ---- */

static void source_free(struct live_source *s)
{
    unit_log_clear(&s->log);
    live_shape_free(&s->shape);
    pthread_cond_destroy(&s->news);
    pthread_cond_destroy(&s->room);
    if (s->stop_fd >= 0)
        close(s->stop_fd);
    free(s->uri);
    free(s);
}

static struct live_source *source_new(struct live_sources *all, const struct live_wish *wish)
{
    struct live_source *s = calloc(1, sizeof(*s));
    pthread_condattr_t monotonic;
    if (!s)
        return NULL;
    s->all = all;
    s->video = wish->video;
    s->encodes = wish->encodings != NULL;
    if (s->encodes) { /* its strings are not used */
        s->params = *wish->params;
        s->params.uri = s->params.name = s->params.pix_fmt = NULL;
    }
    s->uri = strdup(wish->uri);
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->news, &monotonic);
    pthread_cond_init(&s->room, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (s->uri && s->stop_fd >= 0)
        return s;
    source_free(s);
    return NULL;
}

/* With the lock. */
static int source_start(struct live_sources *all, const struct live_wish *wish,
                        struct live_source **out, struct pelton_failure *failure)
{
    struct live_source *s = source_new(all, wish);
    if (!s)
        return PELTON_ERR_NOMEM;
    int rc =
        live_input_create(&s->input, wish->uri, s->stop_fd, wish->encodings, wish->params, failure);
    s->log.key_by_sets = rc == 0 && s->input.camera;
    s->skips = s->running = rc == 0 && live_input_is_device(&s->input);
    if (rc == 0 && pthread_create(&s->thread, NULL, source_thread, s)) {
        live_input_close(&s->input);
        rc = PELTON_ERR_NOMEM;
    }
    if (rc < 0) {
        source_free(s);
        return rc;
    }
    s->next = all->first;
    *out = all->first = s;
    return 0;
}

/* Frames that are encoded here have their rectangles in them. */
static bool same_encoding(const struct live_source *s, const struct live_wish *wish)
{
    const struct pelton_open_params *a = &s->params, *b = wish->params;
    if (!s->encodes || !wish->encodings)
        return s->encodes == (wish->encodings != NULL);
    return a->n_blur == b->n_blur && a->blur_width == b->blur_width &&
           a->blur_height == b->blur_height &&
           !memcmp(a->blur, b->blur, a->n_blur * sizeof(a->blur[0]));
}

/* With the lock. */
static int source_find(struct live_sources *all, const struct live_wish *wish,
                       struct live_source **out, struct pelton_failure *failure)
{
    for (*out = all->first; *out; *out = (*out)->next)
        if (!(*out)->ended && !(*out)->alone && (*out)->video == wish->video &&
            !strcmp((*out)->uri, wish->uri) && same_encoding(*out, wish))
            return 0;
    return source_start(all, wish, out, failure);
}

/* With the lock: nobody reads it any more. */
static void source_stop(struct live_source *s)
{
    struct live_source **link = &s->all->first;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    atomic_store(&s->stop, true);
    eventfd_write(s->stop_fd, 1);
    pthread_cond_broadcast(&s->room);
}

/* ---- readers ---- */

int live_join(struct live_sources *all, const struct live_wish *wish, struct live_reader **out,
              struct pelton_failure *failure)
{
    struct live_reader *r = calloc(1, sizeof(*r));
    *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = ": out of memory"};
    if (!r)
        return PELTON_ERR_NOMEM;
    r->lossless = wish->lossless;
    pthread_mutex_lock(&all->lock);
    int rc = source_find(all, wish, &r->source, failure);
    if (rc == 0) {
        struct live_source *s = r->source;
        r->next = s->readers;
        s->readers = r;
        unit_cursor_join(&s->log, &r->cursor);
        /* one that is absent is news */
        r->state_told = s->running || !s->states ? s->states : s->states - 1;
    }
    pthread_mutex_unlock(&all->lock);
    if (rc < 0)
        free(r);
    else
        *out = r;
    return rc;
}

static int reader_open(struct live_reader *r, struct live_event *event,
                       struct pelton_failure *failure)
{
    const struct live_source *s = r->source;
    if (!live_shape_copy(&s->shape, &event->shape)) {
        *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = ": out of memory"};
        return failure->code;
    }
    AVFormatContext *f = event->shape.format;
    int64_t first = unit_cursor_begin(&r->cursor, !r->lossless);
    r->open_told = true;
    *failure = s->log.numbers ? (struct pelton_failure){0} : s->failure;
    if (s->log.numbers && f->start_time != AV_NOPTS_VALUE)
        f->start_time =
            first == AV_NOPTS_VALUE
                ? first
                : av_rescale_q(first, f->streams[event->shape.chosen]->time_base, AV_TIME_BASE_Q);
    return LIVE_OPEN;
}

/* With the lock: what there is to tell; -1: nothing yet. */
static int reader_take(struct live_reader *r, AVPacket *unit, struct live_event *event,
                       struct pelton_failure *failure, bool *told)
{
    struct live_source *s = r->source;
    *told = true;
    if (r->turned_away)
        return LIVE_NONE;
    if (r->state_told != s->states) {
        r->state_told = s->states;
        event->running = s->running;
        snprintf(event->cause, sizeof(event->cause), "%s", s->cause);
        return LIVE_STATE;
    }
    if (s->shape.format && !r->open_told)
        return reader_open(r, event, failure);
    if (r->open_told && unit_cursor_take(&s->log, &r->cursor, unit, &event->taken)) {
        event->dropped = r->cursor.missed + r->lost;
        pthread_cond_signal(&s->room);
        return LIVE_UNIT;
    }
    *told = s->ended;
    *failure = s->failure;
    return failure->code < 0 ? failure->code : LIVE_END;
}

int live_next(struct live_reader *r, const atomic_bool *stop, AVPacket *unit,
              struct live_event *event, struct pelton_failure *failure)
{
    struct live_sources *all = r->source->all;
    int rc = LIVE_END;
    bool told = false;
    pthread_mutex_lock(&all->lock);
    while (!atomic_load(stop)) {
        rc = reader_take(r, unit, event, failure, &told);
        if (told)
            break;
        source_wait(r->source, &r->source->news);
    }
    pthread_mutex_unlock(&all->lock);
    return told ? rc : LIVE_END;
}

void live_ask_for_key(struct live_reader *r)
{
    pthread_mutex_lock(&r->source->all->lock);
    r->wants_key = true;
    pthread_mutex_unlock(&r->source->all->lock);
}

void live_leave(struct live_reader *r)
{
    if (!r)
        return;
    struct live_source *s = r->source;
    struct live_sources *all = s->all;
    pthread_mutex_lock(&all->lock);
    struct live_reader **at = &s->readers;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    unit_cursor_leave(&s->log, &r->cursor);
    bool last = !s->readers;
    if (last)
        source_stop(s);
    pthread_cond_signal(&s->room);
    pthread_mutex_unlock(&all->lock);
    free(r);
    if (last) {
        pthread_join(s->thread, NULL);
        source_free(s);
    }
}
