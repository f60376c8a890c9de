/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The figures of the event `frames`: see event_frames.h. Rates are those of the source: they follow
 * from the numbers of its frames, so a reader that takes fewer changes nothing.
 */
#include "web/event_frames.h"

#include "proto/exposure_json.h"
#include "web/web.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 256 };
#define FRESH_NS INT64_C(2500000000)

/* A frame of the last look. */
struct event_mark {
    char name[128];
    uint64_t speaker, sequence;
    int64_t seen_ns;
    double fps; /* not a number: not known yet */
};

static struct event_mark *mark_of(struct event_frames *e, const char *name)
{
    for (size_t i = 0; i < e->n_marks; i++)
        if (strcmp(e->marks[i].name, name) == 0)
            return &e->marks[i];
    if (e->n_marks == SOURCES)
        return NULL;
    struct event_mark *m = &e->marks[e->n_marks++];
    *m = (struct event_mark){.speaker = 0};
    memcpy(m->name, name, strlen(name) + 1);
    return m;
}

/* Frames a second between two looks; a source that began anew has no rate yet. */
static void mark_move(struct event_mark *m, const struct feed_figures *f)
{
    double seconds = (double)(f->seen_ns - m->seen_ns) * 1e-9;
    bool follows = m->speaker == f->speaker && f->last.sequence >= m->sequence && seconds > 0;
    m->fps = follows ? (double)(f->last.sequence - m->sequence) / seconds : NAN;
    m->speaker = f->speaker;
    m->sequence = f->last.sequence;
    m->seen_ns = f->seen_ns;
}

size_t event_frames_look(struct event_frames *e, struct web *web, int64_t now_ns)
{
    e->figures = e->figures ? e->figures : malloc(SOURCES * sizeof(*e->figures));
    e->marks = e->marks ? e->marks : malloc(SOURCES * sizeof(*e->marks));
    if (!e->figures || !e->marks)
        return 0;
    free(e->streams);
    e->streams = NULL;
    e->n_streams = 0;
    e->now_ns = now_ns;
    if (daemon_watch_streams(web->watch, &e->streams, &e->n_streams) < 0)
        return 0;
    size_t n = 0, all = feed_count(web->feed, e->figures, SOURCES);
    for (size_t i = 0; i < all; i++) {
        struct event_mark *m = mark_of(e, e->figures[i].name);
        if (!m || !e->figures[i].seen_ns || now_ns - e->figures[i].seen_ns > FRESH_NS)
            continue;
        if (e->figures[i].seen_ns != m->seen_ns)
            mark_move(m, &e->figures[i]);
        e->figures[n++] = e->figures[i];
    }
    return n;
}

/* A time is told where both its ends are known. */
static void stage_write(struct json *j, const char *name, int64_t from_ns, int64_t to_ns)
{
    if (from_ns > 0 && to_ns >= from_ns)
        json_number(j, name, (double)(to_ns - from_ns) * 1e-6);
}

static void stages_write(struct json *j, const struct feed_figures *f)
{
    const struct pelton_frame *frame = &f->last;
    const int64_t *at = frame->trace_ns;
    json_open(j, "stages", '{');
    if (frame->camera.present) {
        stage_write(j, "develop", frame->received_ns, frame->decoded_ns);
    } else if (f->encoded) {
        stage_write(j, "read", frame->received_ns, frame->decoded_ns);
    } else {
        stage_write(j, "parse", frame->received_ns, at[PELTON_TRACE_PARSED]);
        stage_write(j, "entropy", at[PELTON_TRACE_ENTROPY_BEGIN], at[PELTON_TRACE_ENTROPY_END]);
        stage_write(j, "motion", at[PELTON_TRACE_MOTION_BEGIN], at[PELTON_TRACE_MOTION_END]);
        stage_write(j, "submit", at[PELTON_TRACE_SUBMIT_BEGIN], at[PELTON_TRACE_SUBMIT_END]);
        if (at[PELTON_TRACE_GPU] > 0)
            json_number(j, "GPU", (double)at[PELTON_TRACE_GPU] * 1e-6);
        stage_write(j, "decode, with waiting", frame->received_ns, frame->decoded_ns);
    }
    stage_write(j, "deliver", frame->decoded_ns, frame->received_ns + (int64_t)(f->age_ms * 1e6));
    json_close(j, '}');
}

static void drops_write(struct json *j, uint64_t source, uint64_t decoder, uint64_t client)
{
    json_open(j, "drops", '{');
    json_int(j, "source", (int64_t)source);
    json_int(j, "decoder", (int64_t)decoder);
    json_int(j, "client", (int64_t)client);
    json_close(j, '}');
}

static void reader_write(struct json *j, const struct pelton_stream_status *s)
{
    static const char *const policies[] = {"lossless", "latest", "fifo"};
    json_open(j, NULL, '{');
    json_text(j, "client", s->client);
    json_int(j, "pid", s->pid);
    json_text(j, "policy", s->policy <= PELTON_FIFO ? policies[s->policy] : "unknown");
    json_int(j, "frames", (int64_t)s->frames);
    json_int(j, "waiting", s->waiting);
    json_int(j, "held", s->held);
    json_int(j, "slots", s->slots);
    json_number(j, "age_ms", (double)s->age_ns * 1e-6);
    drops_write(j, s->dropped_source, s->dropped_decoder, s->dropped_client);
    json_close(j, '}');
}

void event_frames_write(struct event_frames *e, size_t i, struct json *j)
{
    const struct feed_figures *f = &e->figures[i];
    const struct event_mark *m = mark_of(e, f->name);
    json_text(j, "name", f->name);
    json_number(j, "fps", m ? m->fps : NAN);
    json_number(j, "age_ms", f->age_ms);
    stages_write(j, f);
    drops_write(j, f->dropped_source, f->dropped_decoder, f->dropped_client);
    json_open(j, "readers", '[');
    for (size_t k = 0; k < e->n_streams; k++)
        if (strcmp(e->streams[k].source, f->name) == 0)
            reader_write(j, &e->streams[k]);
    json_close(j, ']');
    if (f->last.camera.present)
        exposure_json(j, &f->last);
}

void event_frames_free(struct event_frames *e)
{
    free(e->figures);
    free(e->marks);
    free(e->streams);
}
