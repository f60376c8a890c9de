/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packed levels (codec/pack_levels.h): what is packed comes back, of any number of blocks, with
 * narrow and with wide levels. Words that lie beyond the end read as 0.
 */
#include "codec/arrays.h"
#include "codec/macroblock.h"
#include "codec/pack_levels.h"
#include "reference/recon_ref.h"

#include <pthread.h>
#include <sched.h>
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

enum { SIDES = 2, SIDE_MBS = 4000, SIDE_BLOCKS = 2, SIDE_CHUNK = 256 };

struct side {
    struct mb_parser p;
    pthread_barrier_t *begin;
    unsigned first, random;
};

/* Two of each block, so four of a macroblock: packing writes into the word behind them, where
 * another slice may be next. */
static int16_t side_level(unsigned mb, unsigned k)
{
    return (int16_t)(k % 16 == mb % 10 || k % 16 == mb % 10 + 3 ? 1 + mb % 127 : 0);
}

/* Slices of some macroblocks each. */
static void *side_main(void *side)
{
    struct side *s = side;
    struct mb_parser *p = &s->p;
    int16_t blocks[SIDE_BLOCKS * 16];
    struct rec_mb mb = {.coded = {(1 << SIDE_BLOCKS) - 1, 0, 0}};
    p->to.coeffs = blocks;
    p->mb = &mb;
    pthread_barrier_wait(s->begin);
    for (unsigned i = 0; i < SIDE_MBS; i++) {
        p->index = s->first + i;
        for (unsigned k = 0; k < SIDE_BLOCKS * 16; k++)
            blocks[k] = side_level(p->index, k);
        assert_true(h264_coeff_blocks_reserve(p));
        h264_coeff_blocks_done(p);
        s->random = s->random * 1103515245u + 12345;
        if (s->random >> 30)
            continue;
        h264_coeff_blocks_return(p);
        p->chunk = (struct mb_coeff_chunk){.per_mb = SIDE_BLOCKS};
        sched_yield();
    }
    h264_coeff_blocks_return(p);
    return NULL;
}

/* Slices of one picture that are decoded at the same time. What one gives back another takes. */
static void test_side_by_side(void **state)
{
    static uint8_t groups[1];
    uint32_t words = SIDES * SIDE_MBS * (1 + SIDE_CHUNK);
    struct h264_picture *pic = calloc(1, sizeof(*pic));
    struct side *sides = calloc(SIDES, sizeof(*sides));
    struct rec_view view = {.packed = calloc(words, sizeof(uint32_t))};
    pthread_t threads[SIDES];
    pthread_barrier_t begin;
    assert_int_equal(pthread_barrier_init(&begin, NULL, SIDES), 0);
    assert_true(pic && sides && view.packed);
    pic->slice_count = SIDES;
    pic->arrays.packed = (uint32_t *)(uintptr_t)view.packed;
    pic->arrays.packed_capacity = words;
    pic->arrays.coeff_block_capacity = UINT32_MAX / 2;
    atomic_init(&pic->arrays.packed_words, SIDES * SIDE_MBS);
    atomic_init(&pic->arrays.coeff_block_count, 0);
    for (unsigned i = 0; i < SIDES; i++) {
        sides[i] = (struct side){.begin = &begin, .first = i * SIDE_MBS, .random = i};
        sides[i].p.pic = pic;
        sides[i].p.to.packed = pic->arrays.packed;
        sides[i].p.groups = groups;
        sides[i].p.chunk.per_mb = SIDE_BLOCKS;
        assert_int_equal(pthread_create(&threads[i], NULL, side_main, &sides[i]), 0);
    }
    for (unsigned i = 0; i < SIDES; i++)
        pthread_join(threads[i], NULL);
    view.packed_words = atomic_load(&pic->arrays.packed_words);
    for (unsigned mb = 0; mb < SIDES * SIDE_MBS; mb++)
        for (unsigned k = 0; k < SIDE_BLOCKS * 16; k++)
            assert_int_equal(ref_packed_level(&view, mb, SIDE_BLOCKS, k / 16, k % 16),
                             side_level(mb, k));
    pthread_barrier_destroy(&begin);
    free(pic->arrays.packed);
    free(sides);
    free(pic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
