/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Neighbours in MBAFF frames against Table 6-4, for every kind of the current macroblock and of the
 * pairs around it. Checked are the neighbouring macroblock and row of each block, availability for
 * intra prediction, and the rescaled contexts.
 */
#include "codec/macroblock.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { LOC_A, LOC_B, LOC_C, LOC_D };
enum { PAIR_A, PAIR_B, PAIR_C, PAIR_D, PAIR_CURRENT };
enum { ANY_ROW, EVEN, ODD, UPPER, LOWER };
enum { SAME, HALF, HALF_PLUS, TWICE, TWICE_MINUS, TWICE_ODD, TWICE_ODD_MINUS };

/* Table 6-4: location, currMbFrameFlag, mbIsTopMbFrame, pair, its frame flag (-1: any), rows,
 * macroblock of the pair, yM */
static const struct rule {
    int location, frame, top, pair, pair_frame, rows, mb, y;
} table_6_4[] = {
    {LOC_D, 1, 1, PAIR_D, -1, ANY_ROW, 1, SAME},
    {LOC_D, 1, 0, PAIR_A, 1, ANY_ROW, 0, SAME},
    {LOC_D, 1, 0, PAIR_A, 0, ANY_ROW, 1, HALF_PLUS},
    {LOC_D, 0, 1, PAIR_D, 1, ANY_ROW, 1, TWICE},
    {LOC_D, 0, 1, PAIR_D, 0, ANY_ROW, 0, SAME},
    {LOC_D, 0, 0, PAIR_D, -1, ANY_ROW, 1, SAME},
    {LOC_A, 1, 1, PAIR_A, 1, ANY_ROW, 0, SAME},
    {LOC_A, 1, 1, PAIR_A, 0, EVEN, 0, HALF},
    {LOC_A, 1, 1, PAIR_A, 0, ODD, 1, HALF},
    {LOC_A, 1, 0, PAIR_A, 1, ANY_ROW, 1, SAME},
    {LOC_A, 1, 0, PAIR_A, 0, EVEN, 0, HALF_PLUS},
    {LOC_A, 1, 0, PAIR_A, 0, ODD, 1, HALF_PLUS},
    {LOC_A, 0, 1, PAIR_A, 1, UPPER, 0, TWICE},
    {LOC_A, 0, 1, PAIR_A, 1, LOWER, 1, TWICE_MINUS},
    {LOC_A, 0, 1, PAIR_A, 0, ANY_ROW, 0, SAME},
    {LOC_A, 0, 0, PAIR_A, 1, UPPER, 0, TWICE_ODD},
    {LOC_A, 0, 0, PAIR_A, 1, LOWER, 1, TWICE_ODD_MINUS},
    {LOC_A, 0, 0, PAIR_A, 0, ANY_ROW, 1, SAME},
    {LOC_B, 1, 1, PAIR_B, -1, ANY_ROW, 1, SAME},
    {LOC_B, 1, 0, PAIR_CURRENT, -1, ANY_ROW, 0, SAME},
    {LOC_B, 0, 1, PAIR_B, 1, ANY_ROW, 1, TWICE},
    {LOC_B, 0, 1, PAIR_B, 0, ANY_ROW, 0, SAME},
    {LOC_B, 0, 0, PAIR_B, -1, ANY_ROW, 1, SAME},
    {LOC_C, 1, 1, PAIR_C, -1, ANY_ROW, 1, SAME},
    {LOC_C, 0, 1, PAIR_C, 1, ANY_ROW, 1, TWICE},
    {LOC_C, 0, 1, PAIR_C, 0, ANY_ROW, 0, SAME},
    {LOC_C, 0, 0, PAIR_C, -1, ANY_ROW, 1, SAME},
};

struct place {
    int pair, mb, y; /* pair -1: not available */
};

static bool row_matches(int rows, int y, int h)
{
    switch (rows) {
    case EVEN:
        return y % 2 == 0;
    case ODD:
        return y % 2 != 0;
    case UPPER:
        return y < h / 2;
    case LOWER:
        return y >= h / 2;
    default:
        return true;
    }
}

static int row_of(int op, int y, int h)
{
    const int rows[] = {[SAME] = y,
                        [HALF] = y >> 1,
                        [HALF_PLUS] = (y + h) >> 1,
                        [TWICE] = 2 * y,
                        [TWICE_MINUS] = 2 * y - h,
                        [TWICE_ODD] = 2 * y + 1,
                        [TWICE_ODD_MINUS] = 2 * y + 1 - h};
    return rows[op];
}

static struct place look_up(int location, bool frame, bool top, const bool pair_frame[4], int y,
                            int h)
{
    for (size_t i = 0; i < sizeof(table_6_4) / sizeof(table_6_4[0]); i++) {
        const struct rule *r = &table_6_4[i];
        if (r->location == location && r->frame == frame && r->top == top &&
            row_matches(r->rows, y, h) &&
            (r->pair_frame < 0 || r->pair == PAIR_CURRENT || r->pair_frame == pair_frame[r->pair]))
            return (struct place){r->pair, r->mb, row_of(r->y, y, h)};
    }
    return (struct place){-1, 0, 0};
}

/* A frame of three columns; the current pair is the middle one of the second row: pair 4 of D 0, B
 * 1, C 2, A 3. */
struct frame {
    struct mb_parser p;
    struct mb_pair line[3];
    struct h264_slice slice;
    struct h264_pps pps;
};

static const int line_place[4] = {[PAIR_A] = 0, [PAIR_B] = 1, [PAIR_C] = 2, [PAIR_D] = -1};

/* Values that tell pair, macroblock and row. */
static uint8_t mark(int pair, int mb, int row)
{
    return (uint8_t)(pair * 8 + mb * 4 + row);
}

static void fill_edge(struct mb_edge *edge, int pair, int mb, bool cabac)
{
    memset(edge, 0, sizeof(*edge));
    edge->flags = EDGE_AVAILABLE;
    for (int i = 0; i < 4; i++) {
        edge->mode_right[i] = (int8_t)mark(pair, mb, i);
        edge->mode_bottom[i] = (int8_t)mark(pair, mb, 3);
        for (int c = 0; c < 3 && !cabac; c++)
            edge->u.total.right[c][i] = mark(pair, mb, i);
        for (int list = 0; list < 2 && cabac; list++) {
            edge->u.mvd.right[list][i][0] = edge->u.mvd.right[list][i][1] = mark(pair, mb, i);
            edge->u.mvd.bottom[list][i][0] = edge->u.mvd.bottom[list][i][1] = mark(pair, mb, 3);
        }
    }
}

static void setup(struct frame *f, bool cabac, const bool pair_frame[4])
{
    struct mb_parser *p = &f->p;
    memset(f, 0, sizeof(*f));
    p->slice = &f->slice;
    p->pps = &f->pps;
    p->mb_width = 3;
    p->mb_x = 1;
    p->addr = 8;
    p->format.mbaff_frame = 1;
    p->format.cabac_mode = cabac;
    p->format.chroma_blocks = 4;
    p->format.avail_mask = p->format.avail_need = EDGE_INTRA;
    p->mbaff.line = f->line;
    for (int pair = PAIR_A; pair <= PAIR_C; pair++) {
        struct mb_pair *at = &f->line[line_place[pair]];
        for (int mb = 0; mb < 2; mb++)
            fill_edge(&at->mb[mb], pair, mb, cabac);
        at->field = !pair_frame[pair];
        at->pair = pair == PAIR_A ? 3 : pair == PAIR_B ? 1 : 2;
    }
    for (int mb = 0; mb < 2; mb++)
        fill_edge(&p->mbaff.cur.mb[mb], PAIR_CURRENT, mb, cabac);
    p->mbaff.replaced.pair = 0;
    p->mbaff.replaced.field = !pair_frame[PAIR_D];
    p->mbaff.replaced.flags[0] = p->mbaff.replaced.flags[1] = EDGE_AVAILABLE;
}

static uint16_t *flags_of(struct frame *f, int pair, int mb)
{
    if (pair == PAIR_CURRENT)
        return &f->p.mbaff.cur.mb[mb].flags;
    return pair == PAIR_D ? &f->p.mbaff.replaced.flags[mb]
                          : &f->line[line_place[pair]].mb[mb].flags;
}

static void find(struct frame *f, bool frame, bool top)
{
    h264_mbaff_begin(&f->p);
    h264_mbaff_select(&f->p, !top, !frame);
    h264_mbaff_find(&f->p);
}

static void check_blocks(bool frame, bool top, const bool pair_frame[4])
{
    struct frame f;
    struct place at;
    setup(&f, false, pair_frame);
    find(&f, frame, top);
    for (int y = 0; y < 4; y++) {
        at = look_up(LOC_A, frame, top, pair_frame, 4 * y, 16);
        assert_int_equal(f.p.near.a->mode_right[y], mark(at.pair, at.mb, at.y / 4));
        assert_int_equal(f.p.near.a->u.total.right[0][y], mark(at.pair, at.mb, at.y / 4));
    }
    for (int y = 0; y < 2; y++) {
        at = look_up(LOC_A, frame, top, pair_frame, 4 * y, 8);
        assert_int_equal(f.p.near.a->u.total.right[1][y], mark(at.pair, at.mb, at.y / 4));
    }
    at = look_up(LOC_B, frame, top, pair_frame, -1, 16);
    for (int x = 0; x < 4; x++)
        assert_int_equal(f.p.near.b->mode_bottom[x], mark(at.pair, at.mb, 3));
    assert_int_equal(f.p.index, (top ? 2 : 3) * 3 + 1);
}

/* 9.3.3.1.1.7: the vertical difference of a neighbour of the other kind is halved or doubled. */
static void check_mvd(bool frame, bool top, const bool pair_frame[4])
{
    struct frame f;
    struct place at;
    setup(&f, true, pair_frame);
    find(&f, frame, top);
    for (int y = 0; y < 4; y++) {
        unsigned v;
        at = look_up(LOC_A, frame, top, pair_frame, 4 * y, 16);
        v = mark(at.pair, at.mb, at.y / 4);
        assert_int_equal(f.p.near.a->u.mvd.right[1][y][0], v);
        assert_int_equal(f.p.near.a->u.mvd.right[1][y][1], pair_frame[PAIR_A] == frame ? v
                                                           : frame                     ? v * 2
                                                                                       : v / 2);
    }
    at = look_up(LOC_B, frame, top, pair_frame, -1, 16);
    if (at.pair == PAIR_B) {
        unsigned v = mark(at.pair, at.mb, 3);
        assert_int_equal(f.p.near.b->u.mvd.bottom[0][2][1], pair_frame[PAIR_B] == frame ? v
                                                            : frame                     ? v * 2
                                                                                        : v / 2);
    }
}

/* Exactly the macroblocks that a location names decide whether it is available, where only intra
 * ones are. any: one of the bits is enough. */
static void check_available(bool frame, bool top, const bool pair_frame[4], int location,
                            unsigned any, int from, int to)
{
    for (int intra = 0; intra < 1 << 10; intra++) {
        bool expected = true;
        struct frame f;
        setup(&f, true, pair_frame);
        for (int i = 0; i < 10; i++)
            if (intra >> i & 1)
                *flags_of(&f, i / 2, i & 1) |= EDGE_INTRA;
        find(&f, frame, top);
        for (int y = from; y < to; y++) {
            struct place at = look_up(location, frame, top, pair_frame, y, 16);
            expected = expected && at.pair >= 0 && (intra >> (at.pair * 2 + at.mb) & 1);
        }
        assert_int_equal((f.p.intra_avail & any) != 0, expected);
    }
}

static void for_all(void (*check)(bool frame, bool top, const bool pair_frame[4]))
{
    for (int i = 0; i < 64; i++) {
        const bool pair_frame[4] = {i >> 2 & 1, i >> 3 & 1, i >> 4 & 1, i >> 5 & 1};
        check(i & 1, i >> 1 & 1, pair_frame);
    }
}

static void check_intra(bool frame, bool top, const bool pair_frame[4])
{
    check_available(frame, top, pair_frame, LOC_A, REC_AVAIL_A_UPPER, 0, 8);
    check_available(frame, top, pair_frame, LOC_A, REC_AVAIL_A_LOWER, 8, 16);
    check_available(frame, top, pair_frame, LOC_A, REC_AVAIL_A_UPPER | REC_AVAIL_D8, 7, 8);
    check_available(frame, top, pair_frame, LOC_B, REC_AVAIL_B, -1, 0);
    check_available(frame, top, pair_frame, LOC_C, REC_AVAIL_C, -1, 0);
    check_available(frame, top, pair_frame, LOC_D, REC_AVAIL_D, -1, 0);
}

static void test_blocks(void **state)
{
    for_all(check_blocks);
}

static void test_mvd(void **state)
{
    for_all(check_mvd);
}

static void test_intra(void **state)
{
    for_all(check_intra);
}

/* 9.3.3.1.1.6: a frame macroblock counts a field neighbour's ref_idx as greater than 0 only
 * above 1. */
static void test_ref_idx(void **state)
{
    for (int frame = 0; frame < 2; frame++) {
        const bool other[4] = {!frame, !frame, !frame, !frame};
        struct frame f;
        setup(&f, true, other);
        for (int mb = 0; mb < 2; mb++) {
            f.line[0].mb[mb].ref_gt0 = f.line[1].mb[mb].ref_gt0 = 0xff;
            f.line[0].ref_gt1[mb] = f.line[1].ref_gt1[mb] = 0;
        }
        find(&f, frame, true);
        assert_int_equal(f.p.near.a->ref_gt0 & 0xaa, frame ? 0 : 0xaa);
        assert_int_equal(f.p.near.b->ref_gt0 & 0xcc, frame ? 0 : 0xcc);
        assert_int_equal(f.p.mbaff.inferred, frame);
    }
}

/* 7.4.4: from the pair to the left, else above, of the same slice; else frame macroblocks. */
static void test_inferred(void **state)
{
    const bool kinds[4] = {[PAIR_A] = true, [PAIR_B] = false, [PAIR_C] = true, [PAIR_D] = true};
    struct frame f;
    setup(&f, true, kinds);
    h264_mbaff_begin(&f.p);
    assert_int_equal(f.p.mbaff.inferred, 0);
    f.line[0].pair = ADDR_NONE;
    h264_mbaff_begin(&f.p);
    assert_int_equal(f.p.mbaff.inferred, 1);
    f.line[1].pair = ADDR_NONE;
    h264_mbaff_begin(&f.p);
    assert_int_equal(f.p.mbaff.inferred, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),   cmocka_unit_test(test_mvd),
        cmocka_unit_test(test_intra),    cmocka_unit_test(test_ref_idx),
        cmocka_unit_test(test_inferred),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
