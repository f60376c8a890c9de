/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3 on built pictures, rule by rule: scaling, weights, concealment, missing references.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "motionworld.h"
#include "codec/h264_error.h"

/* All macroblocks direct; list 1 index 0 is the colocated picture. */
static void direct_picture(struct world *w, bool spatial)
{
    build_world(w, H264_B, 1);
    w->cur.slices[0].hdr.direct_spatial_mv_pred_flag = spatial;
    w->sps.direct_8x8_inference_flag = 1;
    for (int i = 0; i < MBS; i++) {
        w->cur.mbs[i] = (struct rec_mb){.kind = REC_MB_INTER};
        w->cur.syntax[i] = (struct h264_mb_syntax){.part = H264_PART_DIRECT, .decoded = 1};
        for (int k = 0; k < 16; k++)
            w->col.motion[i].mv[0][k][0] = 40;
        memset(w->col.motion[i].ref_idx[0], 0, 4);
    }
}

static void test_temporal_special(void **state)
{
    static struct world w;
    /* colocated index 0 is other[1], which is index 1 here: tb 4, td 8 */
    direct_picture(&w, false);
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(w.cur.motion[3].ref_idx[0][2], 1);
    assert_int_equal(w.cur.motion[3].mv[0][9][0], 20);
    assert_int_equal(w.cur.motion[3].mv[1][9][0], -20);
    free_world(&w);

    direct_picture(&w, false); /* long-term: not scaled */
    w.cur.slices[0].ref[0][1].long_term = 1;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(w.cur.motion[3].mv[0][9][0], 40);
    assert_int_equal(w.cur.motion[3].mv[1][9][0], 0);
    free_world(&w);

    direct_picture(&w, false); /* not in list 0 any more: index 0, and the picture is marked */
    w.cur.slices[0].num_ref[0] = 1;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(w.cur.motion[3].ref_idx[0][2], 0);
    assert_int_equal(w.cur.pic.damage.corrupt, 1);
    free_world(&w);

    direct_picture(&w, false); /* the same where the slice was followed */
    w.cur.slices[0].num_ref[0] = 1;
    follow_slices(&w);
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(w.cur.pic.damage.corrupt, 1);
    free_world(&w);

    direct_picture(&w, false); /* the colocated picture is missing: as if it were intra */
    w.cur.slices[0].ref[1][0].pic = NULL;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(w.cur.motion[3].ref_idx[0][2], 0);
    assert_int_equal(w.cur.motion[3].mv[0][9][0], 0);
    free_world(&w);
}

static void test_colocated_list(void **state)
{
    static struct world w;
    struct h264_picture *out[32];
    build_world(&w, H264_B, 3);
    assert_int_equal(h264_picture_colocated(&w.cur.pic, out), 1);
    assert_ptr_equal(out[0], &w.col.pic);
    w.cur.slices[2].ref[1][0].pic = &w.other[1];
    w.cur.slices[1].ref[1][0].pic = NULL;
    assert_int_equal(h264_picture_colocated(&w.cur.pic, out), 2);
    assert_ptr_equal(out[1], &w.other[1]);
    build_world(&w, H264_P, 3);
    assert_int_equal(h264_picture_colocated(&w.cur.pic, out), 0);
}

static void test_weight_tables(void **state)
{
    static struct world w;
    const struct rec_slice *s = w.cur.rec_slices;
    direct_picture(&w, true);
    w.pps.weighted_bipred_idc = 2;
    w.cur.slices[0].ref[1][1].long_term = 1;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(s->weight_mode, REC_WEIGHT_IMPLICIT);
    assert_int_equal(w.cur.pic.arrays.weight_count, 4);
    assert_int_equal(w.cur.pic.arrays.weights[s->weights + 0], 171 >> 2); /* 0 .. 8 .. 12 */
    assert_int_equal(w.cur.pic.arrays.weights[s->weights + 1], 32);       /* long-term */
    assert_int_equal(w.cur.pic.arrays.weights[s->weights + 2], 32);       /* 4 .. 8 .. 12 */
    free_world(&w);

    direct_picture(&w, true);
    w.pps.weighted_bipred_idc = 2;
    w.cur.slices[0].ref[0][0].poc = 11; /* DistScaleFactor is clipped to -1024: out of range, 32 */
    w.cur.slices[0].ref[0][1].poc = 12; /* no distance */
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(w.cur.pic.arrays.weights[0], 32);
    assert_int_equal(w.cur.pic.arrays.weights[2], 32);
    free_world(&w);

    direct_picture(&w, true);
    w.pps.weighted_bipred_idc = 1;
    w.cur.slices[0].hdr.luma_log2_denom = 3;
    w.cur.slices[0].hdr.weight[1][1][2][0] = -7;
    w.cur.slices[0].hdr.weight[1][1][2][1] = 9;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(w.cur.pic.arrays.weight_count, 24);
    assert_int_equal(s->log2_denom[0], 3);
    assert_int_equal(w.cur.pic.arrays.weights[22], -7);
    assert_int_equal(w.cur.pic.arrays.weights[23], 9);
    free_world(&w);
}

static void test_concealment(void **state)
{
    static struct world w;
    struct rec_view view;
    const char *reason = NULL;
    direct_picture(&w, true); /* with a reference: copied */
    w.cur.syntax[7].decoded = 0;
    w.cur.pic.refs_held[0] = &w.other[1];
    w.cur.pic.refs_held_count = 1;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(h264_picture_view(&w.cur.pic, &view), H264_OK);
    assert_int_equal(atomic_load(&w.cur.pic.damage.missing_mbs), 1);
    assert_int_equal(w.cur.pic.damage.corrupt, 1);
    assert_int_equal(view.slice_count, 2);
    assert_int_equal(view.mbs[7].slice, 1);
    assert_int_equal(view.mbs[7].kind, REC_MB_INTER);
    assert_int_equal(view.slices[1].ref[0][0], REC_REF(4, REC_FRAME)); /* entry 0 of slice 0 */
    if (records_validate(&view, 8, &reason) < 0)
        fail_msg("%s", reason);
    free_world(&w);

    direct_picture(&w, true); /* without: from the left and above */
    w.cur.slices[0].hdr.type = H264_I;
    w.cur.slices[0].num_ref[0] = w.cur.slices[0].num_ref[1] = 0;
    for (int i = 0; i < MBS; i++)
        w.cur.syntax[i].decoded = 0;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(h264_picture_view(&w.cur.pic, &view), H264_OK);
    assert_int_equal(view.mbs[7].kind, REC_MB_INTRA_16X16);
    assert_int_equal(view.mbs[0].intra_avail, 0);
    assert_int_equal(view.mbs[MBS - 1].intra_avail, REC_AVAIL_A | REC_AVAIL_B);
    assert_int_equal(view.mbs[MBS - 1].intra_mode[0], 2); /* nothing is known: DC */
    assert_int_equal(view.head.has_inter, 0);
    if (records_validate(&view, 8, &reason) < 0)
        fail_msg("%s", reason);
    free_world(&w);

    direct_picture(&w, true); /* below a decoded row: its columns go on */
    w.cur.slices[0].hdr.type = H264_I;
    w.cur.slices[0].num_ref[0] = w.cur.slices[0].num_ref[1] = 0;
    for (uint32_t i = 0; i < MBS; i++)
        w.cur.syntax[i].decoded = i < w.cur.pic.mb_width;
    for (uint32_t i = 0; i < w.cur.pic.mb_width; i++)
        w.cur.syntax[i].part = H264_PART_INTRA;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    for (uint32_t i = w.cur.pic.mb_width; i < MBS; i++) {
        assert_int_equal(w.cur.pic.arrays.mbs[i].kind, REC_MB_INTRA_16X16);
        assert_int_equal(w.cur.pic.arrays.mbs[i].intra_mode[0],
                         i / w.cur.pic.mb_width <= 2 ? 0 : 2);
    }
    free_world(&w);
}

/* What moves all around, and at the same place in the picture before, goes on: scaled to the
 * nearest reference. */
static void test_concealed_motion(void **state)
{
    static struct world w;
    struct rec_view view;
    const char *reason = NULL;
    direct_picture(&w, true);
    for (int i = 0; i < MBS; i++) {
        w.cur.mbs[i] = (struct rec_mb){.kind = REC_MB_INTER};
        w.cur.syntax[i] = (struct h264_mb_syntax){.part = H264_PART_16X16, .decoded = i != 7};
        memset(&w.cur.motion[i], 0, sizeof(w.cur.motion[i]));
        memset(w.cur.motion[i].ref_idx[1], -1, 4);
        /* differences: all vectors are that of the first macroblock */
        w.cur.motion[i].mv[0][0][0] = i ? 0 : 16;
        w.cur.motion[i].mv[0][0][1] = i ? 0 : -8;
    }
    w.cur.pic.refs_held[0] = &w.other[1];
    w.cur.pic.refs_held_count = 1;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(h264_picture_view(&w.cur.pic, &view), H264_OK);
    for (int q = 0; q < 4; q++) {
        int ref = view.motion[7].ref_idx[0][q];
        int64_t scaled = 16 * ((int64_t)w.cur.pic.output_poc - w.cur.slices[0].ref[0][ref].poc) /
                         ((int64_t)w.cur.pic.output_poc - w.cur.slices[0].ref[0][0].poc);
        assert_in_range(ref, 0, w.cur.slices[0].num_ref[0] - 1);
        assert_int_equal(view.motion[7].mv[0][q * 2 + (q >> 1) * 4][0], scaled);
        assert_int_equal(view.motion[7].mv[0][q * 2 + (q >> 1) * 4][1], -scaled / 2);
    }
    if (records_validate(&view, 8, &reason) < 0)
        fail_msg("%s", reason);
    free_world(&w);
}

static void test_missing_reference(void **state)
{
    static struct world w;
    struct rec_view view;
    direct_picture(&w, true);
    w.cur.pic.refs_held[0] = &w.col.pic;
    w.cur.pic.refs_held_count = 1;
    w.cur.pic.damage.missing = 5;
    w.cur.slices[0].ref[0][1].pic = NULL; /* spatial direct without neighbours uses index 0 only */
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    assert_int_equal(h264_picture_view(&w.cur.pic, &view), H264_OK);
    /* the nearest that is there */
    assert_int_equal(view.slices[0].ref[0][1], view.slices[0].ref[0][0]);
    assert_int_equal(w.cur.pic.damage.corrupt, 0);
    w.cur.slices[0].ref[0][0].pic = NULL;
    assert_int_equal(h264_picture_view(&w.cur.pic, &view), H264_OK);
    assert_int_equal(view.slices[0].ref[0][1], REC_REF(6, REC_FRAME)); /* any that is held */
    assert_int_equal(w.cur.pic.damage.corrupt, 1);
    w.cur.pic.holder.slot = -1;
    assert_true(h264_picture_view(&w.cur.pic, &view) < 0);
    free_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_temporal_special), cmocka_unit_test(test_colocated_list),
        cmocka_unit_test(test_weight_tables),    cmocka_unit_test(test_concealment),
        cmocka_unit_test(test_concealed_motion), cmocka_unit_test(test_missing_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
