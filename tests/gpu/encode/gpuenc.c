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
#include "encode/encoder.h"
#include "gpu/encode/gpu_encode.h"
#include "gpu/encode/gpu_encoder.h"
#include "gpu/engine/arena.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/engine/work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define assert_non_null(p)                                                                         \
    do {                                                                                           \
        if (!(p))                                                                                  \
            abort();                                                                               \
    } while (0)
#include "tests/encode/scene.h"

#define SCENES       16 /* at most: a stream goes through them and back */
#define MOST_STREAMS 256
#define SLOWEST      8 /* pictures that are told of */

/* Time that passed, and that threads ran */
struct spent {
    double passed, ran, last; /* last: passed, the last time */
};

/* A picture: its push, and its last decision */
struct pushed {
    double seconds, analysed, decided;
    uint32_t stream, picture;
    uint64_t bytes;
    struct gpu_encode_spent spent;
    long faults, switches; /* pages that were touched first; another thread had the core */
};

struct shared {
    struct gpu_encoder *encoder;
    struct encoder_params params;
    uint32_t width, height, pictures;
    struct scene scenes[SCENES];
    uint32_t scene_count;
    struct gpu_host *pool; /* of the device: all scenes; NULL: they are read from memory */
    struct gpu_encode_source in_pool[SCENES];
    const char *out;
    uint64_t bytes;
    struct pushed *pushed;
    struct spent begun; /* when all streams had their first picture; of all threads */
    struct gpu_encoder_counts first;
    pthread_barrier_t ready;
    bool records; /* come to the host, which codes them */
    bool on_device;
    bool failed;
};

struct stream {
    struct shared *shared;
    uint32_t index;
    uint64_t bytes;
    pthread_t thread;
    struct decider_calls calls; /* of the encoder on the GPU */
    struct spent push, analyse, decide, accept;
};

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

static int by_time(const void *a, const void *b)
{
    double x = ((const struct pushed *)a)->seconds, y = ((const struct pushed *)b)->seconds;
    return (x > y) - (x < y);
}

/* In milliseconds. passes: of running, the device's own, where times are wanted */
static void print_slowest(const struct pushed *all, size_t count)
{
    printf("slowest  stream picture   kbit analysis waiting recording submits running passes  rest "
           "coding faults switches\n");
    for (size_t i = 0; i < SLOWEST && i < count; i++) {
        const struct pushed *p = &all[count - 1 - i];
        printf("%7.2f %7u %7u %6.0f %8.2f %7.2f %9.2f %7.2f %7.2f %6.2f %5.2f %6.2f %6ld %8ld\n",
               1e3 * p->seconds, p->stream, p->picture, 8e-3 * (double)p->bytes, 1e3 * p->analysed,
               1e3 * p->spent.waited, 1e3 * p->spent.recorded, 1e3 * p->spent.submits,
               1e3 * p->spent.ran, 1e3 * p->spent.passes, 1e3 * p->spent.rest,
               1e3 * (p->seconds - p->analysed - p->decided), p->faults, p->switches);
    }
}

static void print_thread(const char *name, struct spent t, double count)
{
    printf("  %-22s %8.1f us a picture, %8.1f us of a CPU\n", name, 1e6 * t.passed / count,
           1e6 * t.ran / count);
}

/* Where the streams' threads were */
static void print_threads(const struct stream *all, uint32_t streams, double count)
{
    struct spent push = {0}, analyse = {0}, decide = {0}, accept = {0};
    for (uint32_t i = 0; i < streams; i++) {
        push.passed += all[i].push.passed, push.ran += all[i].push.ran;
        analyse.passed += all[i].analyse.passed, analyse.ran += all[i].analyse.ran;
        decide.passed += all[i].decide.passed, decide.ran += all[i].decide.ran;
        accept.passed += all[i].accept.passed, accept.ran += all[i].accept.ran;
    }
    print_thread("analyse", analyse, count);
    print_thread("decide", decide, count);
    print_thread("accept", accept, count);
    print_thread(
        "coding",
        (struct spent){.passed = push.passed - analyse.passed - decide.passed - accept.passed,
                       .ran = push.ran - analyse.ran - decide.ran - accept.ran},
        count);
}

static bool times_wanted(void)
{
    const char *env = getenv("GPUENC_TIMES");
    return !env || strcmp(env, "no") != 0;
}

static void print_result(struct shared *s, const struct stream *all, uint32_t streams,
                         struct spent end)
{
    double elapsed = end.passed - s->begun.passed, ran = end.ran - s->begun.ran;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct gpu_encoder_counts c;
    size_t n = (size_t)streams * (s->pictures - 1);
    double sum = 0;
    gpu_encoder_count(s->encoder, &c);
    qsort(s->pushed, n, sizeof(*s->pushed), by_time);
    double count = (double)(c.pictures - s->first.pictures);
    printf("%ux%u, %u streams, %zu pictures: %.1f pictures/s, %.0f kbit a picture\n", s->width,
           s->height, streams, n, (double)n / elapsed, 8e-3 * (double)s->bytes / (double)n);
    printf("frame to access unit: p50 %.2f ms, p99 %.2f ms\n", 1e3 * s->pushed[n / 2].seconds,
           1e3 * s->pushed[n * 99 / 100].seconds);
    printf("CPU: %.2f ms a picture in all threads, so %.0f pictures/s at most with %ld cores\n",
           1e3 * ran / (double)n, (double)cores * (double)n / ran, cores);
    printf("batches of %.1f pictures: %.2f ms each\n",
           count / (double)(c.batches - s->first.batches),
           1e3 * (c.decide_s - s->first.decide_s) / (double)(c.batches - s->first.batches));
    print_threads(all, streams, (double)n);
    print_slowest(s->pushed, n);
    for (int i = 0; c.pass[i] && times_wanted(); i++) {
        double seconds = c.pass_s[i] - s->first.pass_s[i];
        printf("  %-22s %8.1f us a picture\n", c.pass[i], 1e6 * seconds / count);
        sum += seconds;
    }
    if (times_wanted())
        printf("  %-22s %8.1f us a picture\n", "all passes", 1e6 * sum / count);
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

/* ---- scenes in memory of the device ---- */

struct pool_copy {
    struct gpu_host *to;
    const void *from; /* in an arena */
    uint64_t size;
};

static void pool_record(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct pool_copy *c = ctx;
    struct gpu_place from;
    if (!gpu_arena_find(g, c->from, c->size, &from))
        abort();
    g->vk.vkCmdCopyBuffer(commands, from.buffer, gpu_host_buffer(c->to), 1,
                          &(VkBufferCopy){from.offset, 0, c->size});
}

/* Where the planes of each scene are; returns the bytes of all. */
static uint64_t pool_places(struct shared *s)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < s->scene_count; i++) {
        struct gpu_encode_source *p = &s->in_pool[i];
        *p = (struct gpu_encode_source){.width = s->width, .height = s->height};
        for (int c = 0; c < 3; c++) {
            p->offset[c] = at;
            p->stride[c] = ((c ? (s->width + 1) / 2 : s->width) + 3) / 4 * 4;
            at += (uint64_t)p->stride[c] * (c ? (s->height + 1) / 2 : s->height);
        }
    }
    return (at + 4095) / 4096 * 4096;
}

static void pool_fill(const struct shared *s, uint8_t *to)
{
    for (uint32_t i = 0; i < s->scene_count; i++) {
        struct decider_source from = scene_source(&s->scenes[i]);
        const struct gpu_encode_source *p = &s->in_pool[i];
        for (int c = 0; c < 3; c++)
            for (uint32_t y = 0; y < (c ? (s->height + 1) / 2 : s->height); y++)
                memcpy(to + p->offset[c] + (uint64_t)y * p->stride[c],
                       from.plane[c] + y * from.stride[c], c ? (s->width + 1) / 2 : s->width);
    }
}

static int pool_open(struct shared *s, struct gpu *g)
{
    struct pool_copy copy = {.size = pool_places(s)};
    struct gpu_export exported = {.fd = -1};
    struct gpu_arena *arena = NULL;
    void *memory;
    int err = gpu_host_export(g, copy.size, &s->pool, &exported);
    if (err < 0)
        return err;
    close(exported.fd);
    err = gpu_arena_create(g, copy.size, &arena, &memory);
    if (err < 0)
        return err;
    copy.to = s->pool;
    copy.from = memory;
    pool_fill(s, memory);
    for (uint32_t i = 0; i < s->scene_count; i++)
        s->in_pool[i].host = s->pool;
    err = gpu_run(g, pool_record, &copy);
    gpu_arena_free(arena);
    return err;
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

/* ---- pictures ---- */

static void scenes_draw(struct shared *s)
{
    for (s->scene_count = 0; s->scene_count < SCENES; s->scene_count++) {
        struct scene *scene = &s->scenes[s->scene_count];
        scene_open(scene, s->width, s->height);
        scene->noise = 4;
        scene_draw(scene, (int)s->scene_count);
    }
}

static bool scene_read(struct scene *scene, FILE *in)
{
    char line[256];
    for (int c = 0; c < 3; c++) {
        size_t size = c ? (size_t)((scene->width + 1) / 2) * ((scene->height + 1) / 2)
                        : (size_t)scene->width * scene->height;
        if ((c == 0 && (!fgets(line, sizeof(line), in) || strncmp(line, "FRAME", 5) != 0)) ||
            fread(scene->plane[c], 1, size, in) != size)
            return false;
    }
    return true;
}

/* The first pictures of a clip */
static bool scenes_read(struct shared *s, const char *path)
{
    FILE *in = fopen(path, "rb");
    char line[256] = "", size[64];
    snprintf(size, sizeof(size), "YUV4MPEG2 W%u H%u ", s->width, s->height);
    if (in && fgets(line, sizeof(line), in) && strncmp(line, size, strlen(size)) == 0)
        while (s->scene_count < SCENES) {
            struct scene *scene = &s->scenes[s->scene_count];
            scene_open(scene, s->width, s->height);
            if (!scene_read(scene, in)) {
                scene_close(scene);
                break;
            }
            s->scene_count++;
        }
    if (in)
        fclose(in);
    return s->scene_count >= 2;
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
