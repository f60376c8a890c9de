/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Conversions by the CPU against the slow reference: sizes, crops, formats, filters and types at
 * random, byte for byte. PELTON_SEED makes them.
 */
#include "tests/convert/conversion_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define ROUNDS 400

static void at_random(void **state)
{
    const char *text = getenv("PELTON_SEED");
    struct conversion_case k = {.random = text ? strtoull(text, NULL, 10) : 1};
    print_message("PELTON_SEED=%s\n", text ? text : "1");
    for (int i = 0; i < ROUNDS; i++) {
        conversion_case_picture(&k, 1 + conversion_case_below(&k, 40),
                                1 + conversion_case_below(&k, 30));
        conversion_case_wish(&k, 48);
        char why[160];
        struct conversion *c = conversion_create(&k.source, &k.wish, why);
        if (!c)
            fail_msg("round %d: %s", i, why);
        struct conversion_case_output out;
        conversion_case_room(c, &out);
        struct conversion_input in;
        conversion_case_input(&k, &in);
        assert_true(conversion_run(c, &in, out.plane, out.stride));
        if (!conversion_case_equal(&k, c, &out, why))
            fail_msg("round %d: %s", i, why);
        free(out.memory);
        free(c);
        conversion_case_clear(&k);
    }
}

static void refused(void **state)
{
    const struct conversion_source picture = {
        .width = 64, .height = 48, .chroma = 1, .depth = {8, 8}, .matrix = 1};
    const struct conversion_source rgb = {
        .width = 64, .height = 48, .chroma = 3, .depth = {8, 8}, .matrix = 0};
    const struct {
        const struct conversion_source *source;
        struct conversion_wish wish;
        const char *word;
    } bad[] = {
        {&picture, {.crop = {60, 0, 5, 1}, .chroma = 1, .depth = 8}, "outside"},
        {&picture, {.crop = {0, 0, 64, 0}, .chroma = 1, .depth = 8}, "outside"},
        {&picture, {.crop = {UINT32_MAX, 0, 2, 2}, .chroma = 1, .depth = 8}, "outside"},
        {&picture, {.crop = {1, 1, UINT32_MAX, 2}, .chroma = 1, .depth = 8}, "outside"},
        {&picture, {.width = 16385, .chroma = 1, .depth = 8}, "a side has"},
        {&picture, {.width = 64 * 64 + 1, .chroma = 1, .depth = 8}, "64 times"},
        {&rgb, {.chroma = 1, .depth = 8}, "RGB"},
        {&rgb, {.kind = CONVERSION_PIXELS, .order = "gray"}, "RGB"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char why[160];
        assert_null(conversion_create(bad[i].source, &bad[i].wish, why));
        assert_non_null(strstr(why, bad[i].word));
    }
}

/* Nothing is lost where nothing changes. */
static void untouched(void **state)
{
    struct conversion_case k = {.random = 5};
    for (uint8_t chroma = 0; chroma < 4; chroma++) {
        conversion_case_picture(&k, 37, 23);
        k.source.chroma = chroma;
        k.source.depth[0] = k.source.depth[1] = 8;
        k.source.matrix = 1;
        conversion_case_paint(&k);
        k.wish = (struct conversion_wish){.chroma = chroma, .depth = 8, .filter = chroma % 3};
        char why[160];
        struct conversion *c = conversion_create(&k.source, &k.wish, why);
        assert_non_null(c);
        struct conversion_case_output out;
        struct conversion_input in;
        conversion_case_room(c, &out);
        conversion_case_input(&k, &in);
        assert_true(conversion_run(c, &in, out.plane, out.stride));
        for (uint32_t p = 0; p < c->shape.planes; p++)
            for (uint32_t y = 0; y < c->shape.rows[p]; y++)
                assert_memory_equal(out.plane[p] + y * out.stride[p],
                                    in.plane[p] + y * in.stride[p], c->shape.row_bytes[p]);
        free(out.memory);
        free(c);
        conversion_case_clear(&k);
    }
}

/* Padding differs; then each member does. */
static void alike(void **state)
{
    struct conversion_source source[2];
    struct conversion_wish wish[2];
    memset(source, 0, sizeof(source));
    memset(wish, 0, sizeof(wish));
    memset((uint8_t *)&source[1].full_range + 1, 0xff,
           sizeof(source[1]) - offsetof(struct conversion_source, full_range) - 1);
    memset(&wish[1].normalise + 1, 0xff,
           offsetof(struct conversion_wish, mean) - offsetof(struct conversion_wish, normalise) -
               1);
    assert_true(conversion_same_source(&source[0], &source[1]));
    assert_true(conversion_same_wish(&wish[0], &wish[1]));
#define OTHER(pair, member, same)                                                                  \
    do {                                                                                           \
        pair[1].member = 1;                                                                        \
        assert_false(same(&pair[0], &pair[1]));                                                    \
        pair[1].member = 0;                                                                        \
        assert_true(same(&pair[0], &pair[1]));                                                     \
    } while (0)
    OTHER(source, width, conversion_same_source);
    OTHER(source, height, conversion_same_source);
    OTHER(source, chroma, conversion_same_source);
    OTHER(source, depth[0], conversion_same_source);
    OTHER(source, depth[1], conversion_same_source);
    OTHER(source, matrix, conversion_same_source);
    OTHER(source, siting, conversion_same_source);
    OTHER(source, full_range, conversion_same_source);
    OTHER(wish, crop.x, conversion_same_wish);
    OTHER(wish, crop.y, conversion_same_wish);
    OTHER(wish, crop.width, conversion_same_wish);
    OTHER(wish, crop.height, conversion_same_wish);
    OTHER(wish, width, conversion_same_wish);
    OTHER(wish, height, conversion_same_wish);
    OTHER(wish, filter, conversion_same_wish);
    OTHER(wish, kind, conversion_same_wish);
    OTHER(wish, chroma, conversion_same_wish);
    OTHER(wish, depth, conversion_same_wish);
    OTHER(wish, pairs, conversion_same_wish);
    OTHER(wish, order[0], conversion_same_wish);
    OTHER(wish, packed, conversion_same_wish);
    OTHER(wish, type, conversion_same_wish);
    OTHER(wish, normalise, conversion_same_wish);
    for (int i = 0; i < 4; i++) {
        OTHER(wish, mean[i], conversion_same_wish);
        OTHER(wish, scale[i], conversion_same_wish);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_random),
        cmocka_unit_test(refused),
        cmocka_unit_test(untouched),
        cmocka_unit_test(alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
