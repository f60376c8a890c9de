/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams of the encoder on a GPU against those of encode/reference: the same bytes and the same
 * reconstruction, alone and beside other streams, in batches of any width.
 */
#include "tests/gpu/gpuworld.h"

#include "encode/encoder.h"
#include "encode/reference/decide.h"
#include "encode/reference/ref_decider.h"
#include "gpu/encode/gpu_encoder.h"
#include "tests/encode/scene.h"

#include <pthread.h>

#define PICTURES 5
#define MOST     8 /* streams at once */

/* What a stream is like, and what the reference made of it */
struct wanted {
    struct encoder_params params;
    int first; /* time of its first picture */
    uint8_t *unit[PICTURES], *frame[PICTURES];
    size_t unit_size[PICTURES], frame_size;
    unsigned tries, repeated;
};

static uint8_t *copy_of(const void *from, size_t size)
{
    uint8_t *to = malloc(size + 1);
    assert_non_null(to);
    memcpy(to, from, size);
    return to;
}

static uint8_t *frame_of(const struct ref_frame *frame, size_t *size)
{
    size_t luma = (size_t)frame->width * frame->height, at = 0;
    uint8_t *out = malloc(luma * 3 / 2);
    assert_non_null(out);
    *size = frame->plane[1] ? luma * 3 / 2 : luma;
    for (int c = 0; c < (frame->plane[1] ? 3 : 1); c++)
        for (size_t i = 0; i < luma / (c ? 4 : 1); i++)
            out[at++] = (uint8_t)frame->plane[c][i];
    return out;
}

static void scene_at(struct scene *s, const struct wanted *w, int picture)
{
    scene_seed = (uint32_t)(w->first + picture); /* noise that repeats */
    scene_draw(s, w->first + picture);
}

static void scene_begin(struct scene *s, const struct wanted *w)
{
    scene_open(s, w->params.encoding.width, w->params.encoding.height);
    s->noise = 4 + w->first % 9;
}

/* The last but one picture is a key picture by wish. */
static bool is_forced(int picture)
{
    return picture == PICTURES - 2;
}

static void wanted_make(struct wanted *w)
{
    struct encoder *e = NULL;
    struct scene scene;
    char why[ENCODING_WHY];
    assert_int_equal(encoder_new(&w->params, ref_decider_begin, NULL, &e, why), 0);
    scene_begin(&scene, w);
    for (int i = 0; i < PICTURES; i++) {
        struct encoder_frame frame = {.source = scene_source(&scene), .force_idr = is_forced(i)};
        struct encoder_unit unit;
        scene_at(&scene, w, i);
        assert_int_equal(encoder_push(e, &frame, &unit, why), 0);
        w->unit[i] = copy_of(unit.data, w->unit_size[i] = unit.size);
        w->frame[i] = frame_of(decider_frame(encoder_decider(e)), &w->frame_size);
        w->tries += unit.tries;
        w->repeated += unit.repeated;
    }
    scene_close(&scene);
    encoder_free(e);
}

static void wanted_free(struct wanted *w)
{
    for (int i = 0; i < PICTURES; i++) {
        free(w->unit[i]);
        free(w->frame[i]);
    }
}

/* ---- a stream on the GPU, in a thread of its own ---- */

struct run {
    const struct wanted *wanted;
    struct gpu_encoder *encoder;
    pthread_barrier_t *together;
    struct scene scene;
    int wrong; /* picture whose bytes or samples differ; -1: none; -2: it failed */
    char why[ENCODING_WHY];
};

static int run_pictures(struct run *r, struct encoder *e)
{
    const struct wanted *w = r->wanted;
    for (int i = 0; i < PICTURES; i++) {
        struct encoder_frame frame = {.source = scene_source(&r->scene), .force_idr = is_forced(i)};
        struct encoder_unit unit;
        /* scenes take numbers from one place */
        static pthread_mutex_t draw = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&draw);
        scene_at(&r->scene, w, i);
        pthread_mutex_unlock(&draw);
        pthread_barrier_wait(r->together);
        if (encoder_push(e, &frame, &unit, r->why) < 0)
            return -2;
        if (unit.size != w->unit_size[i] || memcmp(unit.data, w->unit[i], unit.size) != 0 ||
            memcmp(gpu_decider_frame(encoder_decider(e)), w->frame[i], w->frame_size) != 0)
            return i;
    }
    return -1;
}

static void *run_thread(void *ctx)
{
    struct run *r = ctx;
    struct encoder *e = NULL;
    r->wrong = -2;
    if (encoder_new(&r->wanted->params, gpu_decider_begin, r->encoder, &e, r->why) == 0)
        r->wrong = run_pictures(r, e);
    if (r->wrong != -1) { /* the others do not wait for it */
        fprintf(stderr, "picture %d: %s\n", r->wrong, r->why);
        abort();
    }
    encoder_free(e);
    return NULL;
}

static void check_streams(struct wanted *const *wanted, uint32_t count, uint32_t width,
                          struct gpu_encoder_counts *counts)
{
    /* Few streams share buffers, so there are several; or all of a size do, so that batches are
     * wide whoever comes first: a second one waits for a quarter of them. */
    struct gpu_encoder_params params = {
        .streams = width < 3 ? 3 : MOST, .pictures = width, .frames = true};
    struct run runs[MOST];
    pthread_t threads[MOST];
    pthread_barrier_t together;
    struct gpu_encoder *encoder = NULL;
    assert_int_equal(gpu_encoder_create(gpu, &params, &encoder), GPU_OK);
    pthread_barrier_init(&together, NULL, count);
    for (uint32_t i = 0; i < count; i++) {
        runs[i] = (struct run){.wanted = wanted[i], .encoder = encoder, .together = &together};
        scene_begin(&runs[i].scene, wanted[i]);
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, &runs[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        scene_close(&runs[i].scene);
    }
    gpu_encoder_count(encoder, counts);
    pthread_barrier_destroy(&together);
    gpu_encoder_free(encoder);
}

static struct encoder_params params_of(uint32_t width, uint32_t height, int qp)
{
    struct encoder_params p = {.rate = {.mode = RATE_QP, .qp = qp}};
    encoding_default(&p.encoding, width, height);
    p.encoding.qp = qp;
    return p;
}

/* One size, so that all are one batch, and one that is not; CABAC and CAVLC, one to four
 * references, all of the tools */
static void make_all(struct wanted all[MOST])
{
    memset(all, 0, MOST * sizeof(*all));
    for (int i = 0; i < MOST; i++) {
        all[i].params = params_of(90, 50, 20 + 5 * i);
        all[i].first = 10 * i;
    }
    all[1].params.encoding.slices = 3;
    all[2].params.encoding.profile = ENCODING_BASELINE;
    all[2].params.encoding.cabac = all[2].params.encoding.transform_8x8 = false;
    all[3].params.encoding.references = 4;
    all[3].params.encoding.chroma_qp_offset = 4;
    all[4].params.rate = (struct rate_settings){.mode = RATE_BITS, .qp = 10, .bit_rate = 40000};
    all[4].params.encoding.bit_rate = 40000;
    all[0].params.adaptive = all[0].params.scene_cuts = true;
    all[3].params.adaptive = true;
    all[3].params.rate = (struct rate_settings){.mode = RATE_CRF, .qp = 23, .intra_less = 3};
    all[5].params = params_of(40, 70, 28);
    all[5].params.encoding.chroma_format_idc = 0;
    all[5].params.adaptive = true;
    all[6].params = params_of(90, 50, 24);
    all[6].params.encoding.cabac = false;
    all[6].params.encoding.slices = 4;
    all[7].params = params_of(40, 70, 0); /* whose bins find no room */
    all[7].params.encoding.slices = 2;
    for (int i = 0; i < MOST; i++) {
        all[i].params.encoding.rate = 10;
        all[i].params.encoding.rate_scale = 1;
        wanted_make(&all[i]);
    }
}

static void test_streams(void **state)
{
    static const uint32_t widths[] = {1, 2, 3};
    struct wanted all[MOST], *each[MOST];
    struct gpu_encoder_counts counts;
    (void)state;
    make_all(all);
    assert_true(all[4].tries > PICTURES); /* some was coded again */
    for (int i = 0; i < MOST; i++)
        each[i] = &all[i];
    for (uint32_t i = 0; i < 3; i++)
        check_streams(each, MOST, widths[i], &counts);
    assert_true(counts.batches < counts.pictures); /* some were in one batch */
    assert_true(counts.records >= PICTURES && 2 * counts.records < counts.pictures);
    for (int i = 0; i < MOST; i += 3)
        check_streams(&each[i], 1, 3, &counts);
    assert_int_equal(counts.batches, PICTURES);
    for (int i = 0; i < MOST; i++)
        wanted_free(&all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
