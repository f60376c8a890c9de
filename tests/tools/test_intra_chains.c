/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Chains of intra macroblocks on small built pictures.
 */
#include "tests/tools/intra_chains.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define WIDTH  7
#define HEIGHT 3
#define RUNS   0 /* a workgroup for each run */

struct built {
    struct rec_mb mbs[WIDTH * HEIGHT];
};

/* I: Intra16x16, R: Intra4x4 that uses the samples above and to the right, else inter. All
 * neighbours are there, as for a picture of one slice. */
static struct built built(const char *text)
{
    struct built b = {0};
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        uint32_t x = i % WIDTH, y = i / WIDTH;
        struct rec_mb *mb = &b.mbs[i];
        mb->kind = text[i] == 'I'   ? REC_MB_INTRA_16X16
                   : text[i] == 'R' ? REC_MB_INTRA_4X4
                                    : REC_MB_INTER;
        mb->intra_mode[0] = text[i] == 'R' ? 3u << 20 : 0;
        mb->intra_avail =
            (uint8_t)((x ? REC_AVAIL_A : 0) | (y ? REC_AVAIL_B : 0) | (x && y ? REC_AVAIL_D : 0) |
                      (y && x + 1 < WIDTH ? REC_AVAIL_C : 0));
    }
    return b;
}

static uint32_t chain(const char *text, uint32_t parts)
{
    struct built b = built(text);
    return intra_chain(b.mbs, WIDTH, HEIGHT, parts);
}

static void test_none(void **state)
{
    assert_int_equal(chain(".....................", 1), 0);
    assert_int_equal(chain(".....................", RUNS), 0);
}

/* Neighbours wait for each other, whoever takes them. */
static void test_all(void **state)
{
    assert_int_equal(chain("IIIIIIIIIIIIIIIIIIIII", 1), WIDTH + HEIGHT - 1);
    assert_int_equal(chain("IIIIIIIIIIIIIIIIIIIII", RUNS), WIDTH + HEIGHT - 1);
    assert_int_equal(chain("RRRRRRRRRRRRRRRRRRRRR", 1), WIDTH + 2 * (HEIGHT - 1));
    assert_int_equal(chain("RRRRRRRRRRRRRRRRRRRRR", RUNS), WIDTH + 2 * (HEIGHT - 1));
}

/* A row of four runs, the last one of which is long. */
static void test_parts(void **state)
{
    static const char text[] = "I.I.I.I"
                               "......."
                               ".......";
    assert_int_equal(chain(text, 1), 4);
    assert_int_equal(chain(text, 2), 2);
    assert_int_equal(chain(text, 3), 2);
    assert_int_equal(chain(text, 4), 1);
    assert_int_equal(chain(text, RUNS), 1);
}

/* What a workgroup waits for keeps its later runs, too. */
static void test_above(void **state)
{
    static const char text[] = "III...."
                               "..I..I."
                               "......I";
    assert_int_equal(chain(text, 1), 6);
    assert_int_equal(chain(text, 2), 4);
    assert_int_equal(chain(text, RUNS), 4);
    /* above and to the right, where modes ask for it */
    assert_int_equal(chain("III....I.....I.......", RUNS), 3);
    assert_int_equal(chain("III....R.............", RUNS), 3);
    assert_int_equal(chain(".III...R.............", RUNS), 3);
    assert_int_equal(chain("..II...R.............", RUNS), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
