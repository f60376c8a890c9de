/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How fast the encoder on a GPU is, with built scenes.
 *
 *   gpuenc WIDTHxHEIGHT STREAMS PICTURES [QP [REFERENCES [-o OUT.264]]]
 *
 * Each stream has a thread, which also codes the bits. The scenes are drawn before. It prints
 * pictures a second, the time from frame to access unit, and where it went. -o writes the first
 * stream. The device is $PELTON_DEVICE, or any.
 */
#include "encode/encoder.h"
#include "gpu/encode/gpu_encoder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define assert_non_null(p)                                                                         \
    do {                                                                                           \
        if (!(p))                                                                                  \
            abort();                                                                               \
    } while (0)
#include "tests/encode/scene.h"

#define SCENES       16 /* that are drawn: a stream goes through them and back */
#define MOST_STREAMS 256

struct shared {
    struct gpu_encoder *encoder;
    struct encoder_params params;
    uint32_t width, height, pictures;
    struct scene scenes[SCENES];
    const char *out;
    uint64_t bytes;
    double *seconds; /* of each push */
    bool failed;
};

struct stream {
    struct shared *shared;
    uint32_t index;
    uint64_t bytes;
    pthread_t thread;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct scene *scene_of(const struct shared *s, uint32_t i)
{
    i %= 2 * SCENES - 2;
    return &s->scenes[i < SCENES ? i : 2 * SCENES - 2 - i];
}

static void stream_run(struct stream *t, struct encoder *e, FILE *out)
{
    struct shared *s = t->shared;
    char why[ENCODING_WHY];
    for (uint32_t i = 0; i < s->pictures && !s->failed; i++) {
        struct encoder_frame frame = {.source = scene_source(scene_of(s, i + t->index))};
        struct encoder_unit unit;
        double begun = now();
        if (encoder_push(e, &frame, &unit, why) < 0) {
            fprintf(stderr, "gpuenc: stream %u, picture %u: %s\n", t->index, i, why);
            s->failed = true;
            return;
        }
        s->seconds[t->index * s->pictures + i] = now() - begun;
        t->bytes += unit.size;
        if (out)
            fwrite(unit.data, 1, unit.size, out);
    }
}

static void *stream_thread(void *ctx)
{
    struct stream *t = ctx;
    struct shared *s = t->shared;
    FILE *out = s->out && t->index == 0 ? fopen(s->out, "wb") : NULL;
    struct encoder *e = NULL;
    char why[ENCODING_WHY];
    if (encoder_new(&s->params, gpu_decider_begin, s->encoder, &e, why) < 0) {
        fprintf(stderr, "gpuenc: stream %u: %s\n", t->index, why);
        s->failed = true;
    } else {
        stream_run(t, e, out);
    }
    encoder_free(e);
    if (out)
        fclose(out);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_result(struct shared *s, uint32_t streams, double elapsed)
{
    struct gpu_encoder_counts c;
    size_t n = (size_t)streams * s->pictures;
    gpu_encoder_count(s->encoder, &c);
    qsort(s->seconds, n, sizeof(*s->seconds), by_size);
    printf("%ux%u, %u streams, %zu pictures: %.1f pictures/s, %.0f kbit a picture\n", s->width,
           s->height, streams, n, (double)n / elapsed, 8e-3 * (double)s->bytes / (double)n);
    printf("frame to access unit: p50 %.2f ms, p99 %.2f ms\n", 1e3 * s->seconds[n / 2],
           1e3 * s->seconds[n * 99 / 100]);
    printf("batches of %.1f pictures: decisions %.2f ms a picture, references %.2f ms\n",
           (double)c.pictures / (double)c.batches, 1e3 * c.decide_s / (double)c.pictures,
           1e3 * c.accept_s / (double)c.pictures);
    for (int i = 0; c.pass[i]; i++)
        printf("  %-22s %8.1f us a picture\n", c.pass[i], 1e6 * c.pass_s[i] / (double)c.pictures);
}

static int encode_all(struct shared *s, uint32_t streams)
{
    static struct stream all[MOST_STREAMS];
    double begun = now();
    for (uint32_t i = 0; i < streams; i++) {
        all[i] = (struct stream){.shared = s, .index = i};
        if (pthread_create(&all[i].thread, NULL, stream_thread, &all[i]) != 0)
            return 1;
    }
    for (uint32_t i = 0; i < streams; i++) {
        pthread_join(all[i].thread, NULL);
        s->bytes += all[i].bytes;
    }
    if (!s->failed)
        print_result(s, streams, now() - begun);
    return s->failed;
}

static int device_run(struct shared *s, uint32_t streams)
{
    struct gpu *g = NULL;
    int err =
        gpu_open(&(struct gpu_params){.device = getenv("PELTON_DEVICE"), .timestamps = true}, &g);
    if (err == GPU_OK)
        err = gpu_encoder_create(g, &(struct gpu_encoder_params){.streams = streams}, &s->encoder);
    if (err < 0) {
        fprintf(stderr, "gpuenc: %s\n", gpu_error_text(err));
        return 1;
    }
    printf("device: %s\n", gpu_info(g)->name);
    err = encode_all(s, streams);
    gpu_encoder_free(s->encoder);
    gpu_close(g);
    return err;
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
    if (!streams || streams > MOST_STREAMS || !s.pictures || s.pictures > 100000)
        return fprintf(stderr, "gpuenc: 1 to 256 streams, 1 to 100000 pictures\n"), 2;
    encoding_default(&s.params.encoding, s.width, s.height);
    s.params.rate = (struct rate_settings){
        .mode = RATE_QP, .qp = argc > 4 ? atoi(argv[4]) : 26, .intra_less = 3};
    s.params.encoding.references = (uint8_t)(argc > 5 ? atoi(argv[5]) : 1);
    s.out = argc > 7 ? argv[7] : NULL;
    s.seconds = calloc((size_t)streams * s.pictures, sizeof(*s.seconds));
    assert_non_null(s.seconds);
    for (int i = 0; i < SCENES; i++) {
        scene_open(&s.scenes[i], s.width, s.height);
        s.scenes[i].noise = 4;
        scene_draw(&s.scenes[i], i);
    }
    rc = device_run(&s, streams);
    for (int i = 0; i < SCENES; i++)
        scene_close(&s.scenes[i]);
    free(s.seconds);
    return rc;
}
