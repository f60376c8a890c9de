/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Taps and readers: see feed_tap.h.
 */
#include "web/feed_tap.h"

#include "daemon/monotonic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING_BYTES = 48 * 1024 * 1024, RING_LEAST = 4 };

struct feed_reader {
    struct feed_tap *tap;
    uint64_t next; /* number of the frame that it wants */
};

void feed_drop(struct web_frame *frame)
{
    if (frame && atomic_fetch_sub(&frame->uses, 1) == 1)
        free(frame);
}

/* ---- a tap's frames ---- */

/* A reader of the newest frames needs one; others may be behind by so many as fit. */
static unsigned depth_for(const struct feed_tap *t, size_t frame_size)
{
    size_t fit = frame_size ? RING_BYTES / frame_size : TAP_RING;
    if (!t->key.lossless)
        return 1;
    return (unsigned)(fit < RING_LEAST ? RING_LEAST : fit > TAP_RING ? TAP_RING : fit);
}

void tap_publish(struct feed_tap *t, struct web_frame *frame)
{
    t->depth = depth_for(t, frame->size);
    for (uint64_t n = t->made > TAP_RING ? t->made - TAP_RING : 0; n + t->depth <= t->made; n++) {
        feed_drop(t->ring[n % TAP_RING]);
        t->ring[n % TAP_RING] = NULL;
    }
    t->ring[t->made % TAP_RING] = frame;
    t->made++;
    t->waits[0] = 0;
    figures_count(&t->source->figures, &t->share, &frame->info, frame->size);
    pthread_cond_broadcast(&t->news);
}

void tap_finish(struct feed_tap *t, enum feed_news state, const struct pelton_failure *why)
{
    t->state = state;
    if (why)
        t->failure = *why;
    pthread_cond_broadcast(&t->news);
}

/* ---- finding and making ---- */

static bool keys_equal(const struct feed_key *a, const struct feed_key *b)
{
    return a->kind == b->kind && a->width == b->width && a->height == b->height &&
           a->quality == b->quality && !(a->fps < b->fps || a->fps > b->fps) &&
           a->lossless == b->lossless && !a->file && !b->file &&
           strcmp(a->source, b->source) == 0 && strcmp(a->pix_fmt, b->pix_fmt) == 0;
}

static struct feed_tap *tap_find(struct feed *f, const struct feed_key *key)
{
    for (struct feed_tap *t = f->first; t; t = t->next)
        if (t->state == FEED_FRAME && keys_equal(&t->key, key))
            return t;
    return NULL;
}

static struct feed_tap *tap_make(struct feed *f, const struct feed_key *key)
{
    struct feed_tap *t = calloc(1, sizeof(*t));
    pthread_t thread;
    if (!t)
        return NULL;
    t->feed = f;
    t->key = *key;
    t->state = FEED_FRAME;
    t->source = feed_source_find(f, key->source);
    t->share.number = ++f->shares;
    pthread_cond_init(&t->news, NULL);
    if (!t->source || pthread_create(&thread, NULL, feed_loop_run, t) != 0) {
        free(t);
        return NULL;
    }
    pthread_detach(thread);
    t->source->figures.taps++;
    t->next = f->first;
    t->link = &f->first;
    if (t->next)
        t->next->link = &t->next;
    f->first = t;
    return t;
}

/* ---- readers ---- */

struct feed_reader *feed_open(struct feed *f, const struct feed_key *key)
{
    struct feed_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    pthread_mutex_lock(&f->lock);
    struct feed_tap *t = tap_find(f, key);
    r->tap = t ? t : tap_make(f, key);
    if (r->tap) {
        r->tap->readers++;
        r->tap->source->figures.readers++;
        /* the newest frame is at hand, unless nobody has read for a while */
        r->next = r->tap->made && r->tap->readers > 1 ? r->tap->made - 1 : r->tap->made;
    }
    pthread_mutex_unlock(&f->lock);
    if (r->tap)
        return r;
    free(r);
    return NULL;
}

static struct timespec time_after(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t ns = t.tv_nsec + (int64_t)ms * 1000000;
    return (struct timespec){.tv_sec = t.tv_sec + ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* What the reader finds; FEED_NOTHING: it may wait. */
static enum feed_news reader_look(struct feed_reader *r)
{
    struct feed_tap *t = r->tap;
    if (t->key.lossless && t->made > r->next + t->depth)
        return FEED_OVERRUN;
    if (!t->key.lossless && t->made > r->next + 1) {
        t->source->figures.skipped += t->made - r->next - 1;
        r->next = t->made - 1;
    }
    return t->made > r->next ? FEED_FRAME : t->state == FEED_FRAME ? FEED_NOTHING : t->state;
}

enum feed_news feed_next(struct feed_reader *r, int timeout_ms, struct web_frame **out,
                         struct pelton_failure *why)
{
    struct feed_tap *t = r->tap;
    const struct timespec until = time_after(timeout_ms);
    enum feed_news news;
    pthread_mutex_lock(&t->feed->lock);
    while ((news = reader_look(r)) == FEED_NOTHING)
        if (pthread_cond_timedwait(&t->news, &t->feed->lock, &until) == ETIMEDOUT)
            break;
    if (news == FEED_FRAME) {
        *out = t->ring[r->next++ % TAP_RING];
        atomic_fetch_add(&(*out)->uses, 1);
        t->taken = r->next;
        if (t->key.file)
            pthread_cond_broadcast(&t->news);
    }
    t->source->figures.overrun += news == FEED_OVERRUN;
    if (news == FEED_FAILED)
        *why = t->failure;
    pthread_mutex_unlock(&t->feed->lock);
    return news;
}

void feed_waits(struct feed_reader *r, char cause[256])
{
    pthread_mutex_lock(&r->tap->feed->lock);
    memcpy(cause, r->tap->waits, sizeof(r->tap->waits));
    pthread_mutex_unlock(&r->tap->feed->lock);
}

void feed_close(struct feed_reader *r)
{
    if (!r)
        return;
    struct feed *f = r->tap->feed;
    pthread_mutex_lock(&f->lock);
    r->tap->source->figures.readers--;
    if (--r->tap->readers == 0)
        r->tap->idle_ns = monotonic_ns();
    pthread_cond_broadcast(&r->tap->news);
    pthread_mutex_unlock(&f->lock);
    free(r);
}

/* ---- all of them ---- */

struct feed *feed_new(const char *socket)
{
    struct feed *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->empty, NULL);
    f->socket = socket ? strdup(socket) : NULL;
    if (f->socket || !socket)
        return f;
    free(f);
    return NULL;
}

void feed_free(struct feed *f)
{
    if (!f)
        return;
    atomic_store(&f->ending, true);
    pthread_mutex_lock(&f->lock);
    while (f->first)
        pthread_cond_wait(&f->empty, &f->lock);
    pthread_mutex_unlock(&f->lock);
    while (f->sources) {
        struct feed_source *s = f->sources;
        f->sources = s->next;
        free(s);
    }
    free(f->socket);
    free(f);
}

size_t feed_count(struct feed *f, struct feed_figures *out, size_t most)
{
    size_t n = 0;
    pthread_mutex_lock(&f->lock);
    for (struct feed_source *s = f->sources; s && n < most; s = s->next)
        out[n++] = s->figures;
    pthread_mutex_unlock(&f->lock);
    return n;
}
