/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stretches of a file between IDR pictures, shared by several sessions.
 */
#include "codec/h264.h"
#include "daemon/worker/source/stretch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* 'I' an IDR picture, 'f' its second field, 'p' another picture, '-' an inferred frame. Says 'x'
 * for each that is left out, else '.'. */
static void run(struct stretch *s, const char *pictures, char *out)
{
    for (; *pictures; pictures++) {
        struct h264_picture pic = {.idr = *pictures == 'I' || *pictures == 'f',
                                   .first_field = *pictures == 'f' ? &pic : NULL,
                                   .non_existing = *pictures == '-'};
        bool left_out = stretch_leaves_out(s, &pic);
        assert_int_equal(stretch_left_out(&pic), left_out);
        *out++ = left_out ? 'x' : '.';
    }
    *out = 0;
}

static void test_alone(void **state)
{
    char out[32];
    struct stretch s = {.count = 1};
    run(&s, "IppIp-If", out);
    assert_string_equal(out, "........");
    s = (struct stretch){0};
    run(&s, "IppIp-If", out);
    assert_string_equal(out, "........");
}

/* Each picture is decoded by one session and left out by all others. */
static void test_shared(void **state)
{
    const char *file = "IfppIpp-pIpIIfppp";
    for (uint32_t count = 2; count <= 4; count++) {
        unsigned taken[32] = {0};
        for (uint32_t index = 0; index < count; index++) {
            char out[32];
            struct stretch s = {.index = index, .count = count};
            run(&s, file, out);
            for (size_t i = 0; file[i]; i++) {
                taken[i] += out[i] == '.';
                if (file[i] != 'I' && i) /* the same as the picture before */
                    assert_int_equal(out[i], out[i - 1]);
            }
        }
        for (size_t i = 0; file[i]; i++)
            assert_int_equal(taken[i], 1);
    }
}

/* The source begins again in the midst of a stretch: the next picture begins a new one. */
static void test_restart(void **state)
{
    char before[8], after[8];
    struct stretch s = {.count = 2};
    run(&s, "Ipp", before);
    stretch_restart(&s);
    run(&s, "pp", after);
    assert_int_not_equal(before[2], after[0]);
    assert_int_equal(after[0], after[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone), cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_restart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
