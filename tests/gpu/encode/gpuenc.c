/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How fast the encoder on a GPU is, with built scenes or a clip.
 *
 *   gpuenc WIDTHxHEIGHT STREAMS PICTURES [QP [REFERENCES [-o OUT.264]]]
 *
 * Each stream has a thread, which also codes the bits. The scenes are drawn before. It prints
 * pictures a second, the time from frame to access unit, and where it went. All of it is of what
 * follows the first picture of each stream, which makes pipelines and memory. Then come the slowest
 * pictures, and where their time went. -o writes the first stream. $GPUENC_SETTINGS: a, c and s
 * look at pictures for an adaptive quantiser, constant quality and scene cuts; v codes by CAVLC, r
 * brings records to the host; d reads pictures from memory of the device, as decoded frames lie
 * there; 2, 3 or 4 is the number of slices. $GPUENC_SOURCE is a clip in yuv4mpegpipe (4:2:0)
 * instead of the scenes. $GPUENC_TIMES=no leaves out the times of passes, whose stamps keep passes
 * apart. The device is $PELTON_DEVICE, or any.
 */
#include "tests/gpu/encode/gpuenc.h"

#include "gpu/engine/host_buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct spent spent_by(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (struct spent){.passed = now(), .ran = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec};
}

static struct spent spent_now(void)
{
    return spent_by(CLOCK_THREAD_CPUTIME_ID);
}

static struct spent spent_of_all(void)
{
    return spent_by(CLOCK_PROCESS_CPUTIME_ID);
}

static void spent_add(struct spent *sum, struct spent begun)
{
    struct spent end = spent_now();
    sum->passed += end.passed - begun.passed;
    sum->ran += end.ran - begun.ran;
    sum->last = end.passed - begun.passed;
}

/* ---- a decider that counts the time in another one ---- */

static int timed_analyse(void *ctx, const struct decider_source *source,
                         struct analysis_costs *costs, int8_t *qp_offsets)
{
    struct stream *t = ctx;
    struct spent begun = spent_now();
    int rc = t->calls.analyse(t->calls.ctx, source, costs, qp_offsets);
    spent_add(&t->analyse, begun);
    return rc;
}

static int timed_decide(void *ctx, const struct decider_source *source,
                        const struct decider_wish *wish, struct rec_view *view)
{
    struct stream *t = ctx;
    struct spent begun = spent_now();
    int rc = t->calls.decide(t->calls.ctx, source, wish, view);
    spent_add(&t->decide, begun);
    return rc;
}

static const struct slice_data *timed_data(void *ctx)
{
    struct stream *t = ctx;
    return t->calls.data(t->calls.ctx);
}

static void timed_accept(void *ctx)
{
    struct stream *t = ctx;
    struct spent begun = spent_now();
    t->calls.accept(t->calls.ctx);
    spent_add(&t->accept, begun);
}

static void timed_end(void *ctx)
{
    struct stream *t = ctx;
    t->calls.end(t->calls.ctx);
}

static int timed_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                       struct decider_calls *out, char *why)
{
    struct stream *t = ctx;
    if (gpu_decider_begin(t->shared->encoder, e, limits, &t->calls, why) < 0)
        return -1;
    *out = (struct decider_calls){.ctx = t,
                                  .analyse = timed_analyse,
                                  .decide = timed_decide,
                                  .data = timed_data,
                                  .accept = timed_accept,
                                  .end = timed_end};
    return 0;
}

/* ---- streams ---- */

static struct decider_source source_of(const struct shared *s, uint32_t i)
{
    uint32_t n = s->scene_count, turn = 2 * n - 2;
    i %= turn;
    i = i < n ? i : turn - i;
    return s->pool ? (struct decider_source){.device = &s->in_pool[i]}
                   : scene_source(&s->scenes[i]);
}

static struct rusage usage_now(void)
{
    struct rusage u = {0};
    getrusage(RUSAGE_THREAD, &u);
    return u;
}

static void pushed_note(const struct stream *t, uint32_t i, double seconds, uint64_t bytes,
                        const struct rusage *before)
{
    struct shared *s = t->shared;
    struct rusage after = usage_now();
    s->pushed[t->index * (s->pictures - 1) + i - 1] =
        (struct pushed){.seconds = seconds,
                        .analysed = t->analyse.last,
                        .decided = t->decide.last,
                        .stream = t->index,
                        .picture = i,
                        .bytes = bytes,
                        .spent = *gpu_decider_spent(t->calls.ctx),
                        .faults = after.ru_minflt - before->ru_minflt,
                        .switches = after.ru_nivcsw - before->ru_nivcsw};
}

static void stream_push(struct stream *t, struct encoder *e, uint32_t i, FILE *out)
{
    struct shared *s = t->shared;
    const struct decider_source next = source_of(s, i + t->index + 1);
    struct encoder_frame frame = {.source = source_of(s, i + t->index)};
    struct encoder_unit unit;
    const struct rusage before = usage_now();
    struct spent begun = spent_now(), *push = &t->push;
    char why[ENCODING_WHY];
    frame.source.next = i + 1 < s->pictures ? &next : NULL;
    if (encoder_push(e, &frame, &unit, why) < 0) {
        fprintf(stderr, "gpuenc: stream %u, picture %u: %s\n", t->index, i, why);
        s->failed = true;
        return;
    }
    if (i)
        pushed_note(t, i, now() - begun.passed, unit.size, &before);
    spent_add(push, begun);
    t->bytes += i ? unit.size : 0;
    if (out)
        fwrite(unit.data, 1, unit.size, out);
}

/* All streams have their first picture: from here on it counts. */
static void stream_ready(struct stream *t)
{
    struct shared *s = t->shared;
    t->push = t->analyse = t->decide = t->accept = (struct spent){0};
    if (pthread_barrier_wait(&s->ready) == PTHREAD_BARRIER_SERIAL_THREAD) {
        gpu_encoder_count(s->encoder, &s->first);
        s->begun = spent_of_all();
    }
    pthread_barrier_wait(&s->ready);
}

static void *stream_thread(void *ctx)
{
    struct stream *t = ctx;
    struct shared *s = t->shared;
    FILE *out = s->out && t->index == 0 ? fopen(s->out, "wb") : NULL;
    struct encoder *e = NULL;
    char why[ENCODING_WHY];
    if (encoder_new(&s->params, timed_begin, t, &e, why) < 0) {
        fprintf(stderr, "gpuenc: stream %u: %s\n", t->index, why);
        s->failed = true;
    } else {
        stream_push(t, e, 0, out);
    }
    stream_ready(t);
    for (uint32_t i = 1; i < s->pictures && !s->failed; i++)
        stream_push(t, e, i, out);
    encoder_free(e);
    if (out)
        fclose(out);
    return NULL;
}

static int encode_all(struct shared *s, uint32_t streams)
{
    static struct stream all[MOST_STREAMS];
    pthread_barrier_init(&s->ready, NULL, streams);
    for (uint32_t i = 0; i < streams; i++) {
        all[i] = (struct stream){.shared = s, .index = i};
        if (pthread_create(&all[i].thread, NULL, stream_thread, &all[i]) != 0)
            abort(); /* the others would wait for it */
    }
    for (uint32_t i = 0; i < streams; i++) {
        pthread_join(all[i].thread, NULL);
        s->bytes += all[i].bytes;
    }
    if (!s->failed)
        print_result(s, all, streams, spent_of_all());
    pthread_barrier_destroy(&s->ready);
    return s->failed;
}

static int device_run(struct shared *s, uint32_t streams)
{
    struct gpu *g = NULL;
    int err = gpu_open(
        &(struct gpu_params){.device = getenv("PELTON_DEVICE"), .timestamps = times_wanted()}, &g);
    if (err == GPU_OK)
        err = gpu_encoder_create(
            g, &(struct gpu_encoder_params){.streams = streams, .records = s->records},
            &s->encoder);
    if (err < 0) {
        fprintf(stderr, "gpuenc: %s\n", gpu_error_text(err));
        return 1;
    }
    printf("device: %s\n", gpu_info(g)->name);
    err = s->on_device ? pool_open(s, g) : GPU_OK;
    if (err < 0)
        fprintf(stderr, "gpuenc: no frames on the device: %s\n", gpu_error_text(err));
    else
        err = encode_all(s, streams);
    gpu_encoder_free(s->encoder);
    gpu_host_free(s->pool);
    gpu_close(g);
    return err;
}

static void settings_take(struct encoder_params *p, const char *letters)
{
    if (!letters)
        return;
    p->adaptive = strchr(letters, 'a') != NULL;
    p->scene_cuts = strchr(letters, 's') != NULL;
    if (strchr(letters, 'c'))
        p->rate = (struct rate_settings){.mode = RATE_CRF, .qp = 23, .intra_less = 3};
    p->encoding.cabac = !strchr(letters, 'v');
    if (strpbrk(letters, "234"))
        p->encoding.slices = (uint8_t)(*strpbrk(letters, "234") - '0');
}

int main(int argc, char **argv)
{
    struct shared s = {0};
    uint32_t streams;
    int rc;
    if (argc < 4 || sscanf(argv[1], "%ux%u", &s.width, &s.height) != 2)
        return fprintf(stderr, "usage: gpuenc WIDTHxHEIGHT STREAMS PICTURES [QP [REFERENCES]]\n"),
               2;
    streams = (uint32_t)strtoul(argv[2], NULL, 10);
    s.pictures = (uint32_t)strtoul(argv[3], NULL, 10);
    if (!streams || streams > MOST_STREAMS || s.pictures < 2 || s.pictures > 100000)
        return fprintf(stderr, "gpuenc: 1 to 256 streams, 2 to 100000 pictures\n"), 2;
    encoding_default(&s.params.encoding, s.width, s.height);
    s.params.rate = (struct rate_settings){
        .mode = RATE_QP, .qp = argc > 4 ? atoi(argv[4]) : 26, .intra_less = 3};
    settings_take(&s.params, getenv("GPUENC_SETTINGS"));
    s.records = getenv("GPUENC_SETTINGS") && strchr(getenv("GPUENC_SETTINGS"), 'r');
    s.on_device = getenv("GPUENC_SETTINGS") && strchr(getenv("GPUENC_SETTINGS"), 'd');
    s.params.encoding.references = (uint8_t)(argc > 5 ? atoi(argv[5]) : 1);
    s.out = argc > 7 ? argv[7] : NULL;
    s.pushed = calloc((size_t)streams * s.pictures, sizeof(*s.pushed));
    assert_non_null(s.pushed);
    if (!getenv("GPUENC_SOURCE"))
        scenes_draw(&s);
    else if (!scenes_read(&s, getenv("GPUENC_SOURCE")))
        return fprintf(stderr, "gpuenc: no clip of this size\n"), 2;
    rc = device_run(&s, streams);
    for (uint32_t i = 0; i < s.scene_count; i++)
        scene_close(&s.scenes[i]);
    free(s.pushed);
    return rc;
}
