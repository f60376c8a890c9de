/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The timed run of pelton bench --encode: a thread a stream, which hands pictures to the device and
 * codes their bits. All begin to count when each has encoded a picture. The failure modes: settings
 * that do not fit the pictures, no memory, a device that is lost. Then all streams end.
 */
#include "client/bench_encode.h"
#include "client/ui.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INTRA_LESS = 3, PRESET_QP = 26 };

struct encode_stream {
    struct encode_rounds *rounds;
    const struct encode_clip *clip;
    unsigned index;
    pthread_t thread;
    double *ms; /* of each picture but the first one */
    size_t count, room;
    uint64_t bytes;
    char why[ENCODING_WHY];
};

struct encode_rounds {
    struct bench_encode *b;
    struct encode_stream *all;
    pthread_barrier_t ready;
    atomic_bool failed;
    int64_t begun_ns;
    double cpu_begun;
    struct gpu_encoder_counts before;
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct encoder_params params_of(const struct bench_encode *b, const struct encode_clip *clip)
{
    const struct encode_options *o = &b->o->encode;
    struct encoder_params p = {.key_interval = o->key_interval};
    encoding_default(&p.encoding, clip->width, clip->height);
    p.encoding.profile = o->profile;
    p.encoding.cabac =
        o->coder == CODER_CABAC || (o->coder == CODER_AUTO && o->profile != ENCODING_BASELINE);
    p.encoding.transform_8x8 = o->profile == ENCODING_HIGH;
    p.encoding.references = (uint8_t)o->references;
    p.encoding.slices = (uint8_t)o->slices;
    p.rate = (struct rate_settings){.mode = o->crf_given ? RATE_CRF : RATE_QP,
                                    .qp = (int)(o->crf_given  ? o->crf
                                                : o->qp_given ? o->qp
                                                              : PRESET_QP),
                                    .intra_less = INTRA_LESS};
    p.scene_cuts = o->crf_given && !o->no_scene_cuts;
    p.adaptive = o->crf_given && o->adaptive;
    return p;
}

static bool stream_note(struct encode_stream *s, double ms)
{
    if (s->count == s->room) {
        size_t room = 2 * s->room + 256;
        double *grown = realloc(s->ms, room * sizeof(*grown));
        if (!grown)
            return false;
        s->ms = grown;
        s->room = room;
    }
    s->ms[s->count++] = ms;
    return true;
}

/* False: it has failed, and why[] tells. */
static bool stream_push(struct encode_stream *s, struct encoder *e, uint64_t turn, bool timed)
{
    struct encoder_frame frame = {.source = encode_clip_source(s->clip, turn + s->index)};
    struct encoder_unit unit;
    int64_t begun = now_ns();
    if (encoder_push(e, &frame, &unit, s->why) < 0)
        return false;
    if (!timed)
        return true;
    s->bytes += unit.size;
    snprintf(s->why, sizeof(s->why), "out of memory");
    return stream_note(s, (double)(now_ns() - begun) * 1e-6);
}

static bool stream_goes_on(const struct encode_stream *s)
{
    const struct encode_rounds *r = s->rounds;
    const struct client_options *o = r->b->o;
    if (atomic_load(&r->failed) || interrupted())
        return false;
    if (o->read.duration_us > 0)
        return now_ns() - r->begun_ns < o->read.duration_us * 1000;
    return s->count < (size_t)o->bench.loops * s->clip->count;
}

static void stream_ready(struct encode_stream *s)
{
    struct encode_rounds *r = s->rounds;
    int role = pthread_barrier_wait(&r->ready);
    if (role == PTHREAD_BARRIER_SERIAL_THREAD) {
        gpu_encoder_count(r->b->encoder, &r->before);
        r->cpu_begun = cpu_seconds();
        r->begun_ns = now_ns();
    }
    pthread_barrier_wait(&r->ready);
}

static void *stream_thread(void *ctx)
{
    struct encode_stream *s = ctx;
    struct encode_rounds *r = s->rounds;
    struct encoder_params params = params_of(r->b, s->clip);
    struct encoder *e = NULL;
    bool good = encoder_new(&params, gpu_decider_begin, r->b->encoder, &e, s->why) == 0 &&
                stream_push(s, e, 0, false);
    if (!good)
        atomic_store(&r->failed, true);
    stream_ready(s);
    for (uint64_t turn = 1; good && stream_goes_on(s); turn++)
        good = stream_push(s, e, turn, true);
    if (!good)
        atomic_store(&r->failed, true);
    else
        s->why[0] = 0;
    encoder_free(e);
    return NULL;
}

static int rounds_failure(const struct encode_rounds *r)
{
    const struct bench_encode *b = r->b;
    for (unsigned i = 0; i < b->streams; i++) {
        const char *why = r->all[i].why, *hint = strstr(why, "; ");
        if (why[0])
            return fail_with(b->f, X_OTHER, hint ? hint + 2 : "pelton help encode tells the limits",
                             "%.*s", hint ? (int)(hint - why) : (int)strlen(why), why);
    }
    return interrupted();
}

static void counts_subtract(struct gpu_encoder_counts *c, const struct gpu_encoder_counts *before)
{
    c->batches -= before->batches;
    c->pictures -= before->pictures;
    c->decide_s -= before->decide_s;
    c->analyse_s -= before->analyse_s;
    for (int i = 0; i < GPU_ENCODER_PASSES; i++)
        c->pass_s[i] -= before->pass_s[i];
}

static int rounds_collect(struct encode_rounds *r)
{
    struct bench_encode *b = r->b;
    struct encode_figures *figures = &b->figures;
    size_t n = 0;
    double *ms;
    figures->seconds = (double)(now_ns() - r->begun_ns) * 1e-9;
    figures->cpu_seconds = cpu_seconds() - r->cpu_begun;
    gpu_encoder_count(b->encoder, &figures->counts);
    counts_subtract(&figures->counts, &r->before);
    for (unsigned i = 0; i < b->streams; i++)
        n += r->all[i].count;
    ms = malloc((n + 1) * sizeof(*ms));
    if (!ms)
        return fail_with(b->f, X_OTHER, "close other programs", "out of memory");
    for (unsigned i = 0; i < b->streams; i++) {
        memcpy(ms + figures->pictures, r->all[i].ms, r->all[i].count * sizeof(*ms));
        figures->pictures += r->all[i].count;
        figures->bytes += r->all[i].bytes;
    }
    bench_percentiles(ms, n, &figures->push);
    free(ms);
    return 0;
}

int encode_streams_run(struct bench_encode *b)
{
    struct encode_rounds r = {.b = b, .all = calloc(b->streams, sizeof(*r.all))};
    int rc;
    if (!r.all || pthread_barrier_init(&r.ready, NULL, b->streams) != 0) {
        free(r.all);
        return fail_with(b->f, X_OTHER, "close other programs", "out of memory");
    }
    for (unsigned i = 0; i < b->streams; i++) {
        r.all[i] =
            (struct encode_stream){.rounds = &r, .clip = &b->clips[i % b->o->n_inputs], .index = i};
        if (pthread_create(&r.all[i].thread, NULL, stream_thread, &r.all[i]) != 0)
            abort(); /* the others would wait for it */
    }
    for (unsigned i = 0; i < b->streams; i++)
        pthread_join(r.all[i].thread, NULL);
    rc = rounds_failure(&r);
    rc = rc ? rc : rounds_collect(&r);
    for (unsigned i = 0; i < b->streams; i++)
        free(r.all[i].ms);
    pthread_barrier_destroy(&r.ready);
    free(r.all);
    return rc;
}

double encode_picture_bits(const struct bench_encode *b)
{
    return b->figures.pictures ? 8.0 * (double)b->figures.bytes / (double)b->figures.pictures : 0;
}
