/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packed levels (codec/pack_levels.h): what is packed comes back, of any number of blocks, with
 * narrow and with wide levels. Words that lie beyond the end read as 0.
 */
#include "codec/pack_levels.h"
#include "reference/recon_ref.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MBS  32
#define MOST 48 /* blocks of a macroblock */

struct packed_world {
    unsigned n[MBS];
    int16_t blocks[MBS][MOST * 16];
    uint32_t words[MBS * (1 + REC_PACKED_WORDS(MOST)) + H264_PACKED_SLACK];
    struct rec_view view;
};

static struct packed_world *world(unsigned seed)
{
    struct packed_world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    srand(seed);
    for (unsigned i = 0; i < MBS; i++) {
        int most = i % 3 ? 128 : 32768, share = rand() % 101;
        w->n[i] = (unsigned)(rand() % (MOST + 1));
        for (unsigned k = 0; k < 16 * w->n[i]; k++)
            if (rand() % 100 < share)
                w->blocks[i][k] = (int16_t)(rand() % (2 * most) - most);
    }
    w->view.packed = w->words;
    return w;
}

/* Backwards, as macroblocks need not come in order. */
static void pack(struct packed_world *w)
{
    uint32_t next = MBS;
    for (unsigned i = MBS; i-- > 0;) {
        uint32_t end = h264_pack_levels(w->words, next, i, w->blocks[i], w->n[i]);
        assert_true(end - next <= REC_PACKED_WORDS(w->n[i]));
        next = end;
    }
    w->view.packed_words = next;
}

static void test_round_trip(void **state)
{
    for (unsigned seed = 1; seed <= 50; seed++) {
        struct packed_world *w = world(seed);
        pack(w);
        for (unsigned i = 0; i < MBS; i++)
            for (unsigned k = 0; k < 16 * w->n[i]; k++)
                assert_int_equal(ref_packed_level(&w->view, i, w->n[i], k / 16, k % 16),
                                 w->blocks[i][k]);
        free(w);
    }
}

/* -128 is narrow, 128 and -129 are not. */
static void test_widths(void **state)
{
    static const int16_t levels[] = {-128, 127, 128, -129, 32767, -32768, 1, 0};
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        struct packed_world *w = world(1);
        int16_t block[16] = {[5] = levels[i]};
        bool wide = levels[i] != (int8_t)levels[i];
        uint32_t end = h264_pack_levels(w->words, MBS, 3, block, 1);
        w->view.packed_words = end;
        assert_int_equal(w->words[3], 2 * MBS + wide);
        assert_int_equal(end, MBS + 1);
        assert_int_equal(ref_packed_level(&w->view, 3, 1, 0, 5), levels[i]);
        assert_int_equal(ref_packed_level(&w->view, 3, 1, 0, 4), 0);
        free(w);
    }
}

static void test_beyond(void **state)
{
    struct packed_world *w = world(2);
    pack(w);
    w->words[0] = UINT32_MAX;
    assert_int_equal(ref_packed_level(&w->view, 0, MOST, MOST - 1, 15), 0);
    w->words[0] = 2 * (w->view.packed_words - 1) + 1;
    w->words[w->view.packed_words - 1] = UINT32_MAX;
    assert_int_equal(ref_packed_level(&w->view, 0, 2, 1, 15), 0);
    w->view.packed_words = 0;
    assert_int_equal(ref_packed_level(&w->view, 0, 1, 0, 0), 0);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
