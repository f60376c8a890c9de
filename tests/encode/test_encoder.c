/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Key pictures of the encoder, and the figures of its analysis, on built pictures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "encode/analysis.h"
#include "encode/encoder.h"
#include "encode/reference/decide.h"
#include "encode/reference/ref_decider.h"
#include "tests/encode/scene.h"

enum { WIDTH = 96, HEIGHT = 64 };

static struct encoder *begin(uint32_t interval, bool cuts)
{
    struct encoder_params params = {
        .rate = {.qp = 30}, .key_interval = interval, .scene_cuts = cuts};
    struct encoder *e = NULL;
    char why[ENCODING_WHY];
    encoding_default(&params.encoding, WIDTH, HEIGHT);
    assert_int_equal(encoder_new(&params, ref_decider_begin, NULL, &e, why), 0);
    return e;
}

/* Whether the picture became a key picture */
static bool push(struct encoder *e, const struct scene *s, bool force, int64_t pts)
{
    struct encoder_frame frame = {.source = scene_source(s), .pts = pts, .force_idr = force};
    struct encoder_unit unit;
    char why[ENCODING_WHY];
    size_t sets;
    const uint8_t *bytes = encoder_sets(e, &sets);
    assert_int_equal(encoder_push(e, &frame, &unit, why), 0);
    assert_int_equal(unit.pts, pts);
    assert_int_equal(unit.sets, unit.key ? sets : 0);
    assert_memory_equal(unit.data, bytes, unit.sets);
    assert_int_equal(unit.data[unit.sets + 4] & 31, unit.key ? 5 : 1); /* nal_unit_type */
    return unit.key;
}

static void intervals(void **state)
{
    struct encoder *e = begin(4, false);
    struct scene s;
    scene_open(&s, WIDTH, HEIGHT);
    for (int i = 0; i < 12; i++) { /* one that is forced begins the interval again */
        scene_draw(&s, i);
        assert_int_equal(push(e, &s, i == 6, 1000 + i), i == 0 || i == 4 || i == 6 || i == 10);
    }
    scene_close(&s);
    encoder_free(e);
}

static void fill(struct scene *s, int base, int noise)
{
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            s->plane[c][i] = (uint8_t)(base + scene_random(noise));
}

static void draw_other(struct scene *s, int time)
{
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        s->plane[0][i] = (uint8_t)scene_wave((i % WIDTH + time) * (i / WIDTH) / 8);
}

/* A is a scene that moves, B another one; 0 is black, N noise. k: a key picture follows. Noise is
 * as dear as I in each picture, which is no cut. */
static void cuts(void **state)
{
    static const char pictures[] = "kAAAAkBBBBkAAA000kAAAkNNNNN";
    struct encoder *e = begin(0, true);
    struct scene s;
    scene_open(&s, WIDTH, HEIGHT);
    s.noise = 2;
    for (int i = 0; pictures[i]; i++) {
        bool key = pictures[i] == 'k';
        scene_draw(&s, i);
        if (pictures[i + key] == 'B')
            draw_other(&s, i);
        if (pictures[i + key] == 'N')
            fill(&s, 60, 120);
        if (pictures[i + key] == '0')
            fill(&s, 16, 1);
        if (push(e, &s, false, i) != key)
            fail_msg("picture %d of %s", i, pictures);
        i += key;
    }
    scene_close(&s);
    encoder_free(e);
}

/* Offsets by variance: flat, noise of 0 to 8 (variance 6.7), noise of 0 to 119 (variance 1200) */
static void figures(void **state)
{
    static int8_t offsets[WIDTH / 16 * (HEIGHT / 16)];
    struct encoding e;
    struct encoding_limits limits;
    struct analysis *a;
    struct analysis_costs costs;
    struct scene s;
    struct decider_source source;
    char why[ENCODING_WHY];
    encoding_default(&e, WIDTH, HEIGHT);
    assert_int_equal(encoding_check(&e, &limits, why), 0);
    assert_non_null(a = analysis_create(&e, &limits));
    scene_open(&s, WIDTH, HEIGHT);
    source = scene_source(&s);
    fill(&s, 100, 1);
    costs = analysis_picture(a, &source, offsets);
    assert_int_equal(costs.intra, 0);
    assert_int_equal(offsets[0], -6);
    fill(&s, 100, 9);
    analysis_picture(a, &source, offsets);
    assert_int_equal(offsets[0], -3);
    fill(&s, 60, 120);
    costs = analysis_picture(a, &source, offsets);
    assert_int_equal(offsets[0], 4);
    assert_true(costs.intra > 24 * 64 * 5);
    costs = analysis_picture(a, &source, offsets); /* the same again */
    assert_int_equal(costs.inter, 0);
    analysis_free(a);
    scene_close(&s);
}

/* ---- a device that fails ---- */

static struct failing {
    int left, err; /* pictures until it fails, and how */
    struct decider_calls real;
} failing;

static int failing_decide(void *ctx, const struct decider_source *source,
                          const struct decider_wish *wish, struct rec_view *view)
{
    return failing.left-- > 0 ? failing.real.decide(ctx, source, wish, view) : failing.err;
}

static int failing_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                         struct decider_calls *out, char *why)
{
    assert_int_equal(ref_decider_begin(NULL, e, limits, &failing.real, why), 0);
    *out = failing.real;
    out->decide = failing_decide;
    return 0;
}

static int refusing_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                          struct decider_calls *out, char *why)
{
    strcpy(why, "busy");
    return -1;
}

static void push_refused(struct encoder *e, const struct scene *s, int err, const char *cause)
{
    struct encoder_frame frame = {.source = scene_source(s)};
    struct encoder_unit unit;
    char why[ENCODING_WHY];
    assert_int_equal(encoder_push(e, &frame, &unit, why), err);
    assert_string_equal(why, cause);
}

/* The cause is told. Another decider goes on with an IDR picture of another idr_pic_id, and the
 * interval of key pictures begins there. */
static void device_fails(void **state)
{
    struct encoder_params params = {.rate = {.qp = 30}, .key_interval = 6};
    struct encoder *e = NULL;
    struct scene s;
    char why[ENCODING_WHY];
    encoding_default(&params.encoding, WIDTH, HEIGHT);
    failing = (struct failing){.left = 2, .err = DECIDER_LOST};
    assert_int_equal(encoder_new(&params, failing_begin, NULL, &e, why), 0);
    scene_open(&s, WIDTH, HEIGHT);
    for (int i = 0; i < 12; i++) {
        scene_draw(&s, i);
        if (i == 2) {
            uint32_t id = encoder_idr_pic_id(e);
            push_refused(e, &s, ENCODER_DEVICE, "the device was lost");
            assert_int_equal(encoder_restart(e, refusing_begin, NULL, why), -1);
            assert_string_equal(why, "busy");
            push_refused(e, &s, ENCODER_DEVICE, "the device was lost");
            assert_int_equal(encoder_restart(e, failing_begin, NULL, why), 0);
            failing.left = 9;
            assert_true(push(e, &s, false, i));
            assert_int_not_equal(encoder_idr_pic_id(e), id);
            continue;
        }
        if (i < 11)
            assert_int_equal(push(e, &s, false, i), i == 0 || i == 8);
    }
    failing.err = DECIDER_NOMEM;
    push_refused(e, &s, ENCODER_DEVICE, "the device has no memory left");
    failing.err = DECIDER_INVALID;
    push_refused(e, &s, -1, "the picture's records are not valid");
    encoder_free(e);
    scene_close(&s);
}

/* The sequence of another size does not begin with the idr_pic_id of the one before (7.4.3). */
static void sequences(void **state)
{
    struct encoder_params params = {.rate = {.qp = 30}};
    struct scene s;
    char why[ENCODING_WHY];
    scene_open(&s, WIDTH, HEIGHT);
    scene_draw(&s, 0);
    encoding_default(&params.encoding, WIDTH, HEIGHT);
    for (int i = 0; i < 4; i++) {
        struct encoder *e = NULL;
        assert_int_equal(encoder_new(&params, ref_decider_begin, NULL, &e, why), 0);
        assert_true(push(e, &s, false, i));
        assert_int_not_equal(encoder_idr_pic_id(e), params.idr_pic_id);
        params.idr_pic_id = encoder_idr_pic_id(e);
        encoder_free(e);
    }
    scene_close(&s);
}

static void refused(void **state)
{
    struct encoder_params params = {.rate = {.qp = 30}};
    struct encoder *e = NULL;
    char why[ENCODING_WHY];
    encoding_default(&params.encoding, WIDTH, HEIGHT);
    params.encoding.constrained_intra = true;
    assert_int_equal(encoder_new(&params, ref_decider_begin, NULL, &e, why), -1);
    assert_non_null(strstr(why, "constrained intra prediction"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(intervals), cmocka_unit_test(cuts),
                                       cmocka_unit_test(figures),   cmocka_unit_test(device_fails),
                                       cmocka_unit_test(sequences), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
