/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules of the reference reconstruction for fields, MBAFF, SP slices and colour planes:
 * - places of neighbours (Table 6-4);
 * - edge strengths between frame and field macroblocks, and the split top edge;
 * - references to single fields.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "reference/ref_internal.h"

#include <string.h>

/* 2 x 4 macroblocks: pairs D (0, 2) and B (1, 3) above A (4, 6) and the current one (5, 7) */
struct fixture {
    struct rec_view view;
    struct rec_mb mbs[8];
    struct rec_motion motion[8];
    struct rec_slice slice;
    struct rec_scaling scaling;
    int16_t coeffs[64][16];
    struct ref_frame *frames[2], *unfiltered;
};

static void build(struct fixture *f, uint8_t chroma_format_idc)
{
    memset(f, 0, sizeof(*f));
    memset(&f->scaling, 16, sizeof(f->scaling));
    f->slice = (struct rec_slice){.num_ref = {1, 0}, .ref = {{REC_REF(1, REC_FRAME)}}};
    for (int i = 0; i < 8; i++) {
        f->mbs[i] = (struct rec_mb){.kind = REC_MB_INTER, .qp = {40, 36, 36}};
        memset(f->motion[i].ref_idx[1], -1, 4);
    }
    f->view = (struct rec_view){
        .head = {.mb_width = 2,
                 .mb_height = 4,
                 .mb_count = 8,
                 .structure = REC_FRAME,
                 .mbaff = 1,
                 .chroma_format_idc = chroma_format_idc,
                 .bit_depth = {8, 8},
                 .coeff_bytes = 2,
                 .has_inter = 1},
        .mbs = f->mbs,
        .motion = f->motion,
        .slices = &f->slice,
        .coeffs = f->coeffs,
        .scaling = &f->scaling,
        .slice_count = 1,
        .coeff_block_count = 64,
        .scaling_count = 1,
    };
    for (int i = 0; i < 2; i++)
        f->frames[i] = ref_frame_create(2, 4, chroma_format_idc);
    f->unfiltered = ref_frame_create(2, 4, chroma_format_idc);
    assert_non_null(f->unfiltered);
}

static void destroy(struct fixture *f)
{
    for (int i = 0; i < 2; i++)
        ref_frame_free(f->frames[i]);
    ref_frame_free(f->unfiltered);
}

static void set_field(struct fixture *f, int top, bool field)
{
    uint8_t flags = field ? REC_MB_FIELD : 0;
    f->mbs[top].flags = f->mbs[top + 2].flags = flags;
}

static void expect_neighbour(const struct fixture *f, uint32_t mb, int x, int y, uint32_t want,
                             int want_row)
{
    int row;
    assert_int_equal(ref_neighbour_mb(&f->view, mb, x, y, 16, 16, &row), want);
    assert_int_equal(row, want_row);
}

/* Table 6-4; pairs are named by their top macroblock: D 0, B 1, A 4, current 5 */
static void test_neighbour_table(void **state)
{
    struct fixture f;
    build(&f, 0);
    for (int other = 0; other < 2; other++) { /* current frame macroblocks */
        for (int i = 0; i < 5; i += i == 1 ? 3 : 1)
            set_field(&f, i, other);
        expect_neighbour(&f, 5, -1, -1, 2, 15);
        expect_neighbour(&f, 5, 0, -1, 3, 15);
        expect_neighbour(&f, 7, 0, -1, 5, 15);
        expect_neighbour(&f, 7, -1, -1, other ? 6 : 4, other ? 7 : 15);
        expect_neighbour(&f, 5, -1, 6, 4, other ? 3 : 6);
        expect_neighbour(&f, 5, -1, 7, other ? 6 : 4, other ? 3 : 7);
        expect_neighbour(&f, 7, -1, 6, other ? 4 : 6, other ? 11 : 6);
        expect_neighbour(&f, 7, -1, 7, 6, other ? 11 : 7);
    }
    set_field(&f, 5, true);
    for (int other = 0; other < 2; other++) { /* current field macroblocks */
        for (int i = 0; i < 5; i += i == 1 ? 3 : 1)
            set_field(&f, i, other);
        expect_neighbour(&f, 5, -1, -1, other ? 0 : 2, other ? 15 : 14);
        expect_neighbour(&f, 5, 3, -1, other ? 1 : 3, other ? 15 : 14);
        expect_neighbour(&f, 7, -1, -1, 2, 15);
        expect_neighbour(&f, 7, 3, -1, 3, 15);
        expect_neighbour(&f, 5, -1, 5, 4, other ? 5 : 10);
        expect_neighbour(&f, 5, -1, 9, other ? 4 : 6, other ? 9 : 2);
        expect_neighbour(&f, 7, -1, 5, other ? 6 : 4, other ? 5 : 11);
        expect_neighbour(&f, 7, -1, 9, 6, other ? 9 : 3);
    }
    destroy(&f);
}

static void test_strengths(void **state)
{
    struct fixture f;
    build(&f, 0);
    /* left of a frame macroblock pair: row 32 is of macroblock 4, row 33 of 6 */
    set_field(&f, 4, true);
    assert_int_equal(ref_deblock_strength(&f.view, 15, 32, 16, 32), 1);
    f.mbs[6].nonzero = 1 << 3;
    assert_int_equal(ref_deblock_strength(&f.view, 15, 32, 16, 32), 1);
    assert_int_equal(ref_deblock_strength(&f.view, 15, 33, 16, 33), 2);
    f.mbs[6].kind = REC_MB_INTRA_16X16;
    assert_int_equal(ref_deblock_strength(&f.view, 15, 33, 16, 33), 4);
    set_field(&f, 0, true);
    f.mbs[2].kind = REC_MB_INTRA_16X16; /* a horizontal edge of a field macroblock is never 4 */
    assert_int_equal(ref_deblock_strength(&f.view, 0, 31, 0, 33), 3);
    assert_int_equal(ref_deblock_strength(&f.view, 0, 30, 0, 32), 0);
    f.motion[4].mv[0][0][1] = 2; /* in field rows half as many quarter samples count */
    assert_int_equal(ref_deblock_strength(&f.view, 0, 30, 0, 32), 1);
    f.motion[4].mv[0][0][1] = 1;
    assert_int_equal(ref_deblock_strength(&f.view, 0, 30, 0, 32), 0);
    f.motion[4].ref_idx[0][0] = 1; /* the other field of the same frame is another picture */
    assert_int_equal(ref_deblock_strength(&f.view, 0, 30, 0, 32), 1);
    destroy(&f);
}

static void fill(struct ref_frame *frame, uint16_t even, uint16_t odd)
{
    for (uint32_t y = 0; y < frame->height; y++)
        for (uint32_t x = 0; x < frame->width; x++)
            frame->plane[0][y * frame->stride[0] + x] = y & 1 ? odd : even;
}

/* A frame macroblock below a field pair: each parity of its first rows is filtered against the
 * field of that parity. */
static void test_split_top_edge(void **state)
{
    struct fixture f;
    const uint16_t *s;
    build(&f, 0);
    set_field(&f, 1, true);
    f.mbs[3].kind = REC_MB_INTRA_16X16; /* only the bottom field */
    f.mbs[5].deblock = REC_DEBLOCK_TOP;
    fill(f.frames[0], 100, 60);
    for (uint32_t y = 32; y < 64; y++)
        for (uint32_t x = 0; x < 32; x++)
            f.frames[0]->plane[0][y * 32 + x] = y & 1 ? 66 : 100;
    ref_deblock_mb(&f.view, 5, f.frames[0]);
    s = f.frames[0]->plane[0] + 16;
    assert_int_equal(s[30 * 32], 100);
    assert_int_equal(s[32 * 32], 100);
    assert_in_range(s[31 * 32], 61, 65);
    assert_in_range(s[33 * 32], 61, 65);
    assert_int_equal(s[31 * 32] + s[33 * 32], 126);
    assert_int_equal(f.frames[0]->plane[0][31 * 32], 60); /* another macroblock */
    destroy(&f);
}

static void test_field_references(void **state)
{
    struct fixture f;
    build(&f, 0);
    fill(f.frames[1], 10, 90);
    set_field(&f, 0, true);
    for (int q = 0; q < 4; q++)
        f.motion[2].ref_idx[0][q] = 1; /* of the bottom field macroblock: the top field */
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.frames[0]->plane[0][0], 10);
    assert_int_equal(f.frames[0]->plane[0][32], 10);
    assert_int_equal(f.frames[0]->plane[0][16 + 32], 90); /* beside it a frame macroblock */
    /* a field picture writes its own rows only */
    fill(f.frames[0], 1, 2);
    f.view.head.structure = REC_BOTTOM;
    f.view.head.mbaff = 0;
    f.view.head.mb_count = 4;
    f.slice.ref[0][0] = REC_REF(1, REC_TOP);
    memset(f.motion[2].ref_idx[0], 0, 4);
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    for (int y = 0; y < 64; y++)
        assert_int_equal(f.frames[0]->plane[0][y * 32], y & 1 ? 10 : 1);
    destroy(&f);
}

/* Table 8-9: chroma vectors between fields of different parity */
static void test_chroma_offset(void **state)
{
    struct fixture f;
    build(&f, 1);
    for (uint32_t y = 0; y < 32; y++)
        for (uint32_t x = 0; x < 16; x++)
            f.frames[1]->plane[1][y * 16 + x] = (uint16_t)(y / 2 * 8);
    f.view.head.structure = REC_BOTTOM;
    f.view.head.mbaff = 0;
    f.view.head.mb_count = 4;
    f.slice.ref[0][0] = REC_REF(1, REC_TOP);
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.frames[0]->plane[1][5 * 16], 2 * 8 + 2); /* a quarter sample further down */
    f.slice.ref[0][0] = REC_REF(1, REC_BOTTOM);
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.frames[0]->plane[1][5 * 16], 2 * 8);
    f.view.head.structure = REC_TOP;
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.frames[0]->plane[1][4 * 16], 2 * 8 - 2);
    destroy(&f);
}

/* 8.6: without levels a flat prediction survives its quantisation at QS 0; at a coarse one it moves
 * to a step of it. */
static void test_switching(void **state)
{
    struct fixture f;
    build(&f, 1);
    f.view.head.mbaff = 0;
    f.slice.slice_type = 3;
    fill(f.frames[1], 100, 100);
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.unfiltered->plane[0][0], 100);
    f.slice.qs[0] = 51; /* level (1600 * 9362 + 2^22) >> 23 = 2, times 14 * 2^8 / 16 .. = 448 / 4 */
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.unfiltered->plane[0][0], 112);
    /* the level of the stream counts at QP 40 before, for a switching slice at QS after */
    f.mbs[0].coded[0] = 1;
    f.coeffs[0][0] = -1;
    f.slice.sp_for_switch = 1;
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.unfiltered->plane[0][0], 56);
    f.slice.sp_for_switch = 0;
    f.mbs[0].qp[0] = 0;
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.unfiltered->plane[0][0], 112);
    destroy(&f);
}

/* A colour plane reads and writes its own plane. */
static void test_colour_plane(void **state)
{
    struct fixture f;
    build(&f, 3);
    f.view.head.mbaff = 0;
    f.view.head.chroma_format_idc = 0;
    f.view.head.colour_plane = 2;
    for (int i = 0; i < 32 * 64; i++)
        f.frames[1]->plane[2][i] = 77;
    assert_int_equal(ref_reconstruct(&f.view, f.frames, 2, f.unfiltered), 0);
    assert_int_equal(f.frames[0]->plane[2][5], 77);
    assert_int_equal(f.frames[0]->plane[0][5], 0);
    destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbour_table), cmocka_unit_test(test_strengths),
        cmocka_unit_test(test_split_top_edge),  cmocka_unit_test(test_field_references),
        cmocka_unit_test(test_chroma_offset),   cmocka_unit_test(test_switching),
        cmocka_unit_test(test_colour_plane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
