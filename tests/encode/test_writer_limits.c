/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parameter sets that are written and parsed again, and records that no slice can hold.
 */
#include "random_records.h"
#include "codec/nal.h"
#include "codec/parameter_sets.h"

/* ---- parameter sets ---- */

static const uint8_t *rbsp_of(struct world *w, size_t *at, uint8_t *rbsp, size_t *size)
{
    size_t begin = *at + 4, end = begin;
    while (end + 4 < w->out.bits / 8 && memcmp(w->out.data + end, "\0\0\0\1", 4) != 0)
        end++;
    if (end + 4 >= w->out.bits / 8)
        end = w->out.bits / 8;
    *size = h264_unescape(w->out.data + begin, end - begin, rbsp, NULL);
    *at = end;
    return rbsp;
}

/* All that the settings say comes back. */
static void parameter_sets(void **state)
{
    struct world *w = world_create(seed_of_day() + 2);
    uint8_t rbsp[1024];
    size_t size, at;
    for (unsigned i = 0; i < 300; i++) {
        struct h264_sps *sps = NULL;
        struct h264_pps *pps = NULL;
        struct h264_diag diag;
        begin_world(w, 1 + below(w, 40), 1 + below(w, 30));
        w->e.width -= 2 * below(w, 8);
        w->e.height -= 2 * below(w, 8);
        w->e.rate = below(w, 3) ? 1 + below(w, 60) : 0;
        w->e.rate_scale = w->e.rate ? 1 + below(w, 1001) : 0;
        w->e.fixed_rate = w->e.rate && one_in(w, 2);
        w->e.sar_width = w->e.sar_height = (uint16_t)below(w, 3);
        w->e.sar_height *= 2;
        w->e.colour =
            (struct encoding_colour){(uint8_t)(4 + below(w, 5)), (uint8_t)(4 + below(w, 14)), 6,
                                     one_in(w, 2), (uint8_t)below(w, 7)};
        w->e.level_idc = 62;
        assert_int_equal(encoding_check(&w->e, &w->limits, (char[ENCODING_WHY]){0}), 0);
        encoding_sets(&w->e, &w->limits, &w->sps, &w->pps);
        w->out.bits = at = 0;
        write_parameter_sets(&w->sps, &w->pps, NULL, &w->out);
        rbsp_of(w, &at, rbsp, &size);
        assert_int_equal(h264_sps_parse(rbsp, size, &sps, &diag), 0);
        rbsp_of(w, &at, rbsp, &size);
        assert_int_equal(h264_pps_parse(rbsp, size, 1, &pps, &diag), 0);
        atomic_store(&w->sps.refs, 1);
        memset(w->sps.vui.log2_max_mv_length, 15, 2); /* the writer's own */
        atomic_store(&w->pps.refs, 1);
        assert_memory_equal(sps, &w->sps, sizeof(*sps));
        memset(&w->pps.lists, 0, sizeof(w->pps.lists)); /* it has none */
        memset(&pps->lists, 0, sizeof(pps->lists));
        assert_memory_equal(pps, &w->pps, sizeof(*pps));
        h264_sps_unref(sps);
        h264_pps_unref(pps);
    }
    bit_writer_free(&w->out);
    free(w);
}

/* ---- refusals ---- */

/* One P slice of 2 x 1 macroblocks without levels, the second one skipped, at QP 26 */
static struct world *still_picture(void)
{
    struct world *w = world_create(5);
    begin_world(w, 2, 1);
    w->e = (struct encoding){0};
    encoding_default(&w->e, 32, 16);
    assert_int_equal(encoding_check(&w->e, &w->limits, (char[ENCODING_WHY]){0}), 0);
    encoding_sets(&w->e, &w->limits, &w->sps, &w->pps);
    w->style = ALL_SKIP;
    w->p = true;
    w->num_ref = 1;
    do {
        make_picture(w);
    } while (w->made.slices[0].slice_type != H264_P);
    fill_qp(w, &w->made.mbs[0], 26);
    fill_qp(w, &w->made.mbs[1], 26);
    w->made.mbs[0].flags = 0;
    return w;
}

static void expect_refusal(struct world *w, const char *begins)
{
    struct slice_stream stream = {&w->sps, &w->pps, &w->limits};
    struct h264_slice_header h = {.nal_unit_type = 1, .nal_ref_idc = 1};
    struct slice_scratch *scratch = slice_scratch_create();
    struct slice_sums sums = {0};
    char why[ENCODING_WHY] = "";
    assert_int_equal(slice_header_of(&stream, &w->made.view, 0, &h, why), 0);
    assert_int_equal(slice_write(scratch, &stream, &w->made.view, &h, &w->out, &sums, why),
                     begins ? -1 : 0);
    if (begins && strcmp(why, begins) != 0)
        fail_msg("\"%s\" is not \"%s\"", why, begins);
    slice_scratch_free(scratch);
    bit_writer_free(&w->out);
    free(w);
}

#define REFUSED(text, ...)                                                                         \
    do {                                                                                           \
        struct world *w = still_picture();                                                         \
        struct rec_mb *mb = w->made.mbs;                                                           \
        struct rec_motion *motion = w->made.motion;                                                \
        (void)mb;                                                                                  \
        (void)motion;                                                                              \
        __VA_ARGS__;                                                                               \
        expect_refusal(w, text);                                                                   \
    } while (0)

static void refusals(void **state)
{
    REFUSED(NULL, motion[0].mv[0][0][0] = 0);
    REFUSED("macroblock 1: QP changes in a skipped macroblock", fill_qp(w, &mb[1], 27));
    REFUSED("macroblock 1: skipped, with another vector than the predicted one",
            motion[1].mv[0][15][1] = 4);
    REFUSED("macroblock 0: a coded block without levels", more_blocks(w, 1), mb[0].coded[0] = 1,
            mb[0].nonzero = 1);
    REFUSED("macroblock 0: nonzero does not agree with coded", more_blocks(w, 1)[3] = 1,
            mb[0].coded[0] = 4, mb[0].nonzero = 4);
    REFUSED("macroblock 0: a DC level, and blocks that are not coded", more_blocks(w, 1)[0] = 1,
            mb[0].coded[1] = 1);
    REFUSED("macroblock 0: 8x8 transform without levels", mb[0].flags = REC_MB_TRANSFORM_8X8);
    REFUSED("macroblock 0: QP of chroma is not that of luma and the offset", mb[0].qp[1]++);
    REFUSED("macroblock 1: deblock is not that of the slice", mb[1].deblock = 0);
    REFUSED("macroblock 0: a vector beyond the range of the level",
            motion[0].mv[0][5][1] = (int16_t)(w->limits.mv_y + 1));
    REFUSED("macroblock 0: a reference of list 1", motion[0].ref_idx[1][0] = 0);
    REFUSED("macroblock 0: flags that the parameter sets do not allow", mb[0].flags = REC_MB_FIELD);
    REFUSED("the picture is larger than its limit, or no memory is left", w->out.limit = 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parameter_sets),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
