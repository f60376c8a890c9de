/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Decisions of the encoder on built pictures of random sizes and settings: the records are valid,
 * and the reference reconstructs from them what the passes reconstructed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "encode/reference/decide.h"
#include "encode/reference/picture_work.h"
#include "tests/encode/scene.h"

static struct encoding random_encoding(void)
{
    struct encoding e;
    encoding_default(&e, (uint32_t)(1 + scene_random(110)), (uint32_t)(1 + scene_random(90)));
    e.chroma_format_idc = scene_random(5) > 0;
    e.cabac = scene_random(2);
    e.transform_8x8 = scene_random(3) > 0;
    e.references = (uint8_t)(1 + scene_random(4));
    e.slices = (uint8_t)(1 + scene_random(4));
    e.chroma_qp_offset = scene_random(25) - 12;
    e.deblocking = (uint8_t)scene_random(3);
    if (e.deblocking != 1) {
        e.filter_offset_a = scene_random(13) - 6;
        e.filter_offset_b = scene_random(13) - 6;
    }
    return e;
}

static void check_equal(const struct ref_frame *a, const struct ref_frame *b)
{
    for (int c = 0; c < 3; c++) {
        size_t rows = c ? a->height / 2 : a->height;
        if (a->plane[c])
            assert_memory_equal(a->plane[c], b->plane[c],
                                rows * a->stride[c] * sizeof(a->plane[c][0]));
    }
}

/* Mean squared error of shown luma, in hundredths */
static uint32_t luma_error(const struct scene *s, const struct ref_frame *frame)
{
    uint64_t sum = 0;
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++) {
            int d = s->plane[0][y * s->width + x] - frame->plane[0][y * frame->stride[0] + x];
            sum += (uint64_t)(d * d);
        }
    return (uint32_t)(100 * sum / ((uint64_t)s->width * s->height));
}

static unsigned seen_kinds, seen_skips;

static void note_kinds(const struct picture_work *w)
{
    for (uint32_t i = 0; i < w->mb_count; i++) {
        seen_kinds |= 1u << w->mbs[i].kind;
        seen_skips += w->mbs[i].flags & REC_MB_SKIP ? 1 : 0;
    }
}

static void check_encoding(const struct encoding *e, const struct encoding_limits *limits)
{
    struct decider *d = decider_create(e, limits);
    struct scene scene;
    int8_t offsets[64];
    assert_non_null(d);
    scene_open(&scene, e->width, e->height);
    for (int i = 0; i < 5; i++) {
        struct decider_source source = scene_source(&scene);
        struct decider_wish wish = {.idr = i == 0 || scene_random(6) == 0,
                                    .qp = scene_random(52),
                                    .qp_offsets = i % 2 ? offsets : NULL};
        struct rec_view view;
        uint32_t step = 1u << (wish.qp + 4) / 3; /* a step's square at least */
        scene_draw(&scene, i);
        for (uint32_t mb = 0; mb < limits->mb_width * limits->mb_height; mb++)
            offsets[mb] = (int8_t)(scene_random(9) - 4);
        if (scene_random(3) == 0) { /* once in vain */
            struct decider_wish vain = {.idr = scene_random(2), .qp = scene_random(52)};
            assert_int_equal(decider_decide(d, &source, &vain, &view), 0);
        }
        assert_int_equal(decider_decide(d, &source, &wish, &view), 0);
        decider_accept(d);
        check_equal(decider_work(d)->unfiltered, decider_work(d)->rebuilt);
        assert_in_range(luma_error(&scene, decider_frame(d)), 0, 100 + 30 * step);
        note_kinds(decider_work(d));
    }
    scene_close(&scene);
    decider_free(d);
}

static void test_random(void **state)
{
    unsigned done = 0;
    (void)state;
    while (done < 60) {
        struct encoding e = random_encoding();
        struct encoding_limits limits;
        char why[ENCODING_WHY];
        if (encoding_check(&e, &limits, why) < 0)
            continue;
        check_encoding(&e, &limits);
        done++;
    }
    /* the scenes reach all that can be chosen */
    assert_int_equal(seen_kinds, 1u << REC_MB_INTRA_4X4 | 1u << REC_MB_INTRA_8X8 |
                                     1u << REC_MB_INTRA_16X16 | 1u << REC_MB_INTER);
    assert_true(seen_skips > 100);
}

static void decide(struct decider *d, const struct scene *s, const struct decider_wish *wish)
{
    struct decider_source source = scene_source(s);
    struct rec_view view;
    assert_int_equal(decider_decide(d, &source, wish, &view), 0);
}

/* Where an IDR picture is too long, the picture before is repeated. The IDR picture in vain leaves
 * it as it was, whichever slot it is in. */
static void test_idr_in_vain(void **state)
{
    struct encoding e;
    struct encoding_limits limits;
    struct decider *d;
    struct scene s;
    char why[ENCODING_WHY];
    static uint16_t before[64 * 48];
    encoding_default(&e, 64, 48);
    e.references = 2;
    assert_int_equal(encoding_check(&e, &limits, why), 0);
    assert_non_null(d = decider_create(&e, &limits));
    scene_open(&s, 64, 48);
    for (int i = 0; i < 6; i++) {
        scene_draw(&s, i);
        decide(d, &s, &(struct decider_wish){.idr = i == 0, .qp = 20});
        decider_accept(d);
        for (size_t y = 0; y < 48; y++)
            memcpy(before + 64 * y, decider_frame(d)->plane[0] + y * decider_frame(d)->stride[0],
                   64 * sizeof(before[0]));
        scene_draw(&s, i + 20);
        decide(d, &s, &(struct decider_wish){.idr = true, .qp = 51});
        decide(d, &s, &(struct decider_wish){.skip = true, .qp = 51});
        decider_accept(d);
        for (size_t y = 0; y < 48; y++)
            assert_memory_equal(before + 64 * y,
                                decider_frame(d)->plane[0] + y * decider_frame(d)->stride[0],
                                64 * sizeof(before[0]));
    }
    scene_close(&s);
    decider_free(d);
}

/* Grey, and noise of each picture's own */
static void draw_noise(struct scene *s)
{
    for (int c = 0; c < 3; c++) {
        size_t size = c ? (size_t)s->width * s->height / 4 : (size_t)s->width * s->height;
        for (size_t i = 0; i < size; i++)
            s->plane[c][i] = (uint8_t)(116 + scene_random(25));
    }
}

/* Intra16x16 macroblocks in the second picture of noise, of 48 */
static unsigned count_in_noise(int qp)
{
    struct encoding e;
    struct encoding_limits limits;
    struct decider *d;
    struct scene s;
    char why[ENCODING_WHY];
    unsigned count = 0;
    encoding_default(&e, 128, 96);
    assert_int_equal(encoding_check(&e, &limits, why), 0);
    assert_non_null(d = decider_create(&e, &limits));
    scene_open(&s, 128, 96);
    for (int i = 0; i < 2; i++) {
        draw_noise(&s);
        decide(d, &s, &(struct decider_wish){.idr = i == 0, .qp = qp});
        decider_accept(d);
    }
    for (uint32_t i = 0; i < limits.mb_width * limits.mb_height; i++)
        count += decider_work(d)->mbs[i].kind == REC_MB_INTRA_16X16;
    scene_close(&s);
    decider_free(d);
    return count;
}

/* The noise of the picture before says nothing of this one's. Macroblocks are predicted from the
 * mean of their borders, while QP lets noise through. */
static void test_noise(void **state)
{
    (void)state;
    assert_in_range(count_in_noise(28), 44, 48);
    assert_in_range(count_in_noise(31), 24, 48);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_idr_in_vain),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
