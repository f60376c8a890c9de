/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Macroblocks that are lost before an error of CABAC (conceal_doubt.c), on built pictures. The
 * picture before moves by one vector; the slice goes on with it, or does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "motionworld.h"
#include "codec/conceal.h"
#include "codec/h264_error.h"

enum { DECODED = 17, WRONG = 6 };

/* 16x16, with the vector to ref_idx 0, which is distance in POC before */
static void set_motion(struct rec_motion *m, int16_t x, int16_t y)
{
    memset(m, 0, sizeof(*m));
    memset(m->ref_idx[1], -1, 4);
    for (int k = 0; k < 16; k++) {
        m->mv[0][k][0] = x;
        m->mv[0][k][1] = y;
    }
}

/* A slice of DECODED macroblocks whose error was found: all move by 12, -4 for a distance of 8, as
 * does the picture before for its own distance of 8. */
static void build_doubted(struct world *w)
{
    build_world(w, H264_P, 1);
    set_ref(&w->cur.slices[0], 0, 0, &w->col.pic);
    w->cur.slices[0].num_ref[0] = 1;
    w->col.pic.output_poc = w->cur.slices[0].ref[0][0].poc = 0;
    w->col.slices[0].ref[0][0].poc = -8;
    w->col.pic.nal_ref_idc = 1;
    w->cur.slices[0].doubted = 1;
    w->cur.slices[0].mbs_decoded = DECODED;
    for (uint32_t i = 0; i < MBS; i++) {
        w->cur.mbs[i] = (struct rec_mb){.kind = REC_MB_INTER, .qp = {30, 30, 30}};
        w->cur.mbs[i].slice = i < DECODED ? 0 : 1;
        w->cur.syntax[i] = (struct h264_mb_syntax){.decoded = i < DECODED};
        set_motion(&w->cur.motion[i], 12, -4);
        w->col.mbs[i] = w->cur.mbs[i];
        w->col.mbs[i].slice = 0;
        set_motion(&w->col.motion[i], 12, -4);
    }
}

/* The first macroblock that is not decoded; all behind it are not, either. */
static uint32_t first_lost(const struct world *w)
{
    uint32_t first = 0;
    while (first < MBS && w->cur.syntax[first].decoded)
        first++;
    for (uint32_t i = first; i < DECODED; i++) {
        assert_int_equal(w->cur.syntax[i].decoded, 0);
        assert_int_equal(w->cur.mbs[i].slice, w->cur.pic.slice_count);
        assert_int_equal(w->cur.motion[i].ref_idx[0][0], -1);
    }
    return first;
}

static void assert_lost(struct world *w, uint32_t lost)
{
    assert_int_equal(h264_conceal_doubt(&w->cur.pic), lost);
    assert_int_equal(first_lost(w), DECODED - lost);
    assert_int_equal(w->cur.slices[0].mbs_decoded, DECODED - lost);
    assert_int_equal(atomic_load(&w->cur.pic.damage.missing_mbs), lost);
    free_world(w);
}

static void test_sound(void **state)
{
    static struct world w;
    build_doubted(&w);
    assert_lost(&w, 0);

    build_doubted(&w); /* fast, but all move so */
    for (uint32_t i = 0; i < MBS; i++)
        set_motion(&w.cur.motion[i], 400, 80);
    assert_lost(&w, 0);

    build_doubted(&w); /* one that differs is followed by others that do not */
    set_motion(&w.cur.motion[6], -90, 70);
    w.cur.mbs[6].qp[0] = 20;
    assert_lost(&w, 0);
}

/* Vectors that follow nothing, and QP far from that of the picture before */
static void build_wrong(struct world *w)
{
    build_doubted(w);
    for (uint32_t i = DECODED - WRONG; i < DECODED; i++) {
        set_motion(&w->cur.motion[i], (int16_t)(i % 2 ? 40 : -30), (int16_t)(i % 3 ? -20 : 60));
        w->cur.mbs[i].qp[0] = 37;
    }
}

static void test_wrong(void **state)
{
    static struct world w;
    build_wrong(&w);
    assert_lost(&w, WRONG);

    build_wrong(&w); /* the error was no such */
    w.cur.slices[0].doubted = 0;
    assert_lost(&w, 0);

    build_wrong(&w); /* intra macroblocks among them tell nothing but their QP */
    w.cur.mbs[DECODED - 2].kind = REC_MB_INTRA_4X4;
    memset(w.cur.motion[DECODED - 2].ref_idx, -1, 8);
    assert_lost(&w, WRONG);
}

/* Macroblocks of the picture before that were concealed are no evidence, nor is one whose records
 * are gone. */
static void test_without_colocated(void **state)
{
    static struct world w;
    build_doubted(&w);
    for (uint32_t i = 0; i < MBS; i++) {
        w.col.mbs[i].slice = 1;
        w.col.mbs[i].qp[0] = 0;
    }
    assert_lost(&w, 0);

    build_wrong(&w);
    w.col.pic.nal_ref_idc = 0;
    for (uint32_t i = DECODED - WRONG; i < DECODED; i++)
        set_motion(&w.cur.motion[i], 0, 0);
    assert_lost(&w, 0);

    build_wrong(&w); /* another slice begins before: it is left alone */
    w.cur.pic.slice_count = 2;
    w.cur.slices[1] = w.cur.slices[0];
    w.cur.slices[1].index = 1;
    w.cur.slices[1].hdr.first_mb = DECODED - WRONG + 2;
    w.cur.slices[1].mbs_decoded = WRONG - 2;
    w.cur.slices[0].mbs_decoded = DECODED - WRONG + 2;
    w.cur.slices[0].doubted = 0;
    for (uint32_t i = 0; i < MBS; i++)
        w.cur.mbs[i].slice = i < DECODED - WRONG + 2 ? 0 : i < DECODED ? 1 : 2;
    assert_int_equal(h264_conceal_doubt(&w.cur.pic), WRONG - 2);
    assert_int_equal(first_lost(&w), DECODED - WRONG + 2);
    free_world(&w);
}

/* Step 3 conceals them, and the validator takes the records. */
static void test_concealed(void **state)
{
    static struct world w;
    struct rec_view view;
    const char *reason = NULL;
    build_wrong(&w);
    for (uint32_t i = 0; i < DECODED;
         i++) { /* vectors are differences: of the first, and the wrong */
        bool wrong = i >= DECODED - WRONG;
        w.cur.syntax[i].part = H264_PART_16X16;
        memset(w.cur.motion[i].mv, 0, sizeof(w.cur.motion[i].mv));
        w.cur.motion[i].mv[0][0][0] = (int16_t)(wrong ? i % 2 ? 90 : -90 : i ? 0 : 12);
        w.cur.motion[i].mv[0][0][1] = (int16_t)(wrong ? 60 : i ? 0 : -4);
    }
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(h264_picture_view(&w.cur.pic, &view), H264_OK);
    assert_int_equal(atomic_load(&w.cur.pic.damage.missing_mbs), MBS - DECODED + WRONG);
    assert_int_equal(w.cur.pic.damage.corrupt, 1);
    for (uint32_t i = DECODED - WRONG; i < MBS; i++) {
        assert_int_equal(view.mbs[i].slice, 1);
        assert_int_equal(view.motion[i].mv[0][5][0], 12);
        assert_int_equal(view.motion[i].mv[0][5][1], -4);
    }
    if (records_validate(&view, 8, &reason) < 0)
        fail_msg("%s", reason);
    free_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_without_colocated),
        cmocka_unit_test(test_concealed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
