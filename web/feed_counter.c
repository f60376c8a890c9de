/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the gateway has seen of each source: see web_feed.h. Taps and readers of access units count
 * here. Drops and bytes are those of all; the last frame is that of one, the speaker.
 */
#include "daemon/monotonic.h"
#include "web/feed_tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_NS INT64_C(2000000000) /* another one speaks after this */

struct feed_counter {
    struct feed *feed;
    struct feed_source *source;
    struct feed_share share;
};

static void drops_count(struct feed_figures *figures, struct feed_share *share,
                        const struct pelton_frame *f)
{
    const uint64_t now[3] = {f->dropped_source, f->dropped_decoder, f->dropped_client};
    uint64_t *const sums[3] = {&figures->dropped_source, &figures->dropped_decoder,
                               &figures->dropped_client};
    for (int i = 0; i < 3; i++) {
        *sums[i] += now[i] > share->dropped[i] ? now[i] - share->dropped[i] : 0;
        share->dropped[i] = now[i];
    }
}

void figures_count(struct feed_figures *figures, struct feed_share *share,
                   const struct pelton_frame *frame, size_t size)
{
    int64_t now = monotonic_ns();
    figures->frames++;
    figures->bytes += size;
    drops_count(figures, share, frame);
    if (figures->speaker != share->number && now - figures->seen_ns < SILENT_NS)
        return;
    figures->speaker = share->number;
    figures->last = *frame;
    figures->encoded = share->encoded;
    figures->seen_ns = now;
    figures->age_ms = (double)(now - frame->received_ns) * 1e-6;
}

struct feed_source *feed_source_find(struct feed *f, const char *name)
{
    for (struct feed_source *s = f->sources; s; s = s->next)
        if (strcmp(s->figures.name, name) == 0)
            return s;
    struct feed_source *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    snprintf(s->figures.name, sizeof(s->figures.name), "%s", name);
    s->next = f->sources;
    f->sources = s;
    return s;
}

struct feed_counter *feed_counter_new(struct feed *f, const char *source)
{
    struct feed_counter *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    pthread_mutex_lock(&f->lock);
    c->feed = f;
    c->source = feed_source_find(f, source);
    c->share = (struct feed_share){.number = ++f->shares, .encoded = true};
    if (c->source)
        c->source->figures.readers++;
    pthread_mutex_unlock(&f->lock);
    if (c->source)
        return c;
    free(c);
    return NULL;
}

void feed_counter_add(struct feed_counter *c, const struct pelton_frame *unit, const char *mime)
{
    struct feed_figures *figures = &c->source->figures;
    pthread_mutex_lock(&c->feed->lock);
    figures_count(figures, &c->share, unit, unit->plane_width[0]);
    if (mime) {
        snprintf(figures->mime, sizeof(figures->mime), "%s", mime);
        figures->mime_ns = monotonic_ns();
    }
    pthread_mutex_unlock(&c->feed->lock);
}

void feed_counter_free(struct feed_counter *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->feed->lock);
    c->source->figures.readers--;
    pthread_mutex_unlock(&c->feed->lock);
    free(c);
}

bool feed_figures_of(struct feed *f, const char *source, struct feed_figures *out)
{
    pthread_mutex_lock(&f->lock);
    const struct feed_source *s = f->sources;
    while (s && strcmp(s->figures.name, source) != 0)
        s = s->next;
    if (s)
        *out = s->figures;
    pthread_mutex_unlock(&f->lock);
    return s != NULL;
}
