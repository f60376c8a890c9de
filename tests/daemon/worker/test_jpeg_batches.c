/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker's JPEG streams: several threads push frames of one size and of others at the same
 * time, out of memory of this process. Each gets the bytes of jpeg_encode. Also frames that change
 * their size, and frames that there is no way from.
 */
#include "tests/gpu/gpuworld.h"

#include "daemon/worker/encoding/jpeg_batches.h"
#include "tests/jpeg/jpeg_frames.h"

#include <pthread.h>

enum { THREADS = 5, PUSHES = 12, MOST = 64 };

static const char *const names[JPEG_SAMPLINGS] = {"gray", "yuv420p", "yuv422p", "yuv444p"};

struct pusher {
    struct jpeg_batches *all;
    uint32_t number;
    bool good;
};

static void format_of(const struct built_frame *f, struct feed_format *out)
{
    *out = (struct feed_format){.width = f->settings.width,
                                .height = f->settings.height,
                                .slot_size = 3 * MOST * MOST,
                                .planes = f->settings.sampling == JPEG_GREY ? 1 : 3,
                                .colour = {.matrix = 1, .range = PELTON_RANGE_LIMITED}};
    strcpy(out->pix_fmt, names[f->settings.sampling]);
    for (uint32_t c = 0; c < out->planes; c++) {
        out->plane_offset[c] = f->offset[c];
        out->stride[c] = f->stride[c];
    }
}

static bool push_one(struct jpeg_stream *s, struct built_frame *f, uint8_t *memory)
{
    uint8_t *want = malloc(jpeg_most_bytes(&f->settings));
    struct feed_format format;
    struct jpeg_planes planes;
    const uint8_t *file;
    size_t size, wanted;
    frame_layout(f, 0, 0);
    for (uint32_t i = 0; i < f->size; i++) /* frame_draw's numbers are of one thread */
        memory[i] = (uint8_t)(i * i / 7 + f->settings.width * i);
    f->data = memory;
    format_of(f, &format);
    planes = frame_planes(f);
    wanted = jpeg_encode(&f->settings, &planes, want, jpeg_most_bytes(&f->settings));
    bool good = jpeg_stream_push(s, &format, 0, memory, &file, &size) == GPU_OK && size == wanted &&
                !memcmp(file, want, size);
    free(want);
    return good;
}

/* Most are of one size; some turn to another one. */
static void *pusher_run(void *ctx)
{
    struct pusher *p = ctx;
    uint8_t *memory = calloc(1, 3 * MOST * MOST);
    struct jpeg_stream *s = jpeg_stream_new(p->all, 50 + p->number, 3);
    p->good = memory && s;
    for (uint32_t i = 0; i < PUSHES && p->good; i++) {
        bool other = p->number == 0 && i % 5 == 4;
        struct built_frame f = {
            .settings = {.width = other ? 17 : 40,
                         .height = other ? 63 : 24,
                         .sampling = other ? (enum jpeg_sampling)(i % JPEG_SAMPLINGS) : JPEG_420,
                         .quality = 50 + p->number}};
        jpeg_colours_of(1, false, f.settings.height, &f.settings.colours);
        p->good = push_one(s, &f, memory);
    }
    jpeg_stream_free(s);
    free(memory);
    return NULL;
}

static void test_threads(void **state)
{
    struct pusher pushers[THREADS];
    pthread_t threads[THREADS];
    struct jpeg_batches *all = jpeg_batches_new(gpu);
    assert_non_null(all);
    for (uint32_t i = 0; i < THREADS; i++) {
        pushers[i] = (struct pusher){.all = all, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, pusher_run, &pushers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_true(pushers[i].good);
    jpeg_batches_free(all);
}

static void test_refused(void **state)
{
    struct jpeg_batches *all = jpeg_batches_new(gpu);
    struct jpeg_stream *s = jpeg_stream_new(all, 75, 1);
    struct feed_format format = {.width = 16,
                                 .height = 16,
                                 .slot_size = 4096,
                                 .planes = 3,
                                 .pix_fmt = "yuv420p10le",
                                 .colour = {.matrix = 1}};
    uint8_t frame[4096] = {0};
    const uint8_t *file = NULL;
    size_t size;
    assert_int_equal(jpeg_stream_push(s, &format, 0, frame, &file, &size), GPU_ERR_INVALID);
    strcpy(format.pix_fmt, "yuv420p");
    format.colour.matrix = 8; /* YCgCo */
    assert_int_equal(jpeg_stream_push(s, &format, 0, frame, &file, &size), GPU_ERR_INVALID);
    format.colour.matrix = 1; /* and its strides are none */
    format.stride[0] = format.stride[1] = format.stride[2] = 4096;
    assert_int_equal(jpeg_stream_push(s, &format, 0, frame, &file, &size), GPU_ERR_INVALID);
    assert_null(file);
    jpeg_stream_free(s);
    jpeg_batches_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(no_validation_messages)};
    return run_on_device(tests, NULL, NULL);
}
