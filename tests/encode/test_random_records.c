/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Random valid records, written and parsed again: levels and vectors at their limits, every change
 * of QP, I_PCM and skips everywhere, pictures of one row and of one column, slices at every cut.
 */
#include "random_records.h"
#include "codec/h264.h"
#include "codec/h264_stream.h"
#include "encode/picture_writer.h"
#include "tests/encode/same_records.h"

/* All slices at the same time have the bytes that they have one after the other. */
static void check_together(struct world *w, struct slice_scratch *scratch)
{
    struct slice_stream stream = {&w->sps, &w->pps, &w->limits};
    struct h264_slice_header header = {.nal_unit_type = 1, .nal_ref_idc = 1, .frame_num = 1};
    struct slice_sums sums = {0};
    struct bit_writer want = {0}, got = {0};
    struct picture_writer *writer = picture_writer_create(w->slices);
    char why[ENCODING_WHY] = "";
    assert_non_null(writer);
    for (unsigned i = 0; i < w->slices; i++) {
        struct h264_slice_header h = header;
        assert_int_equal(slice_header_of(&stream, &w->made.view, i, &h, why), 0);
        assert_int_equal(slice_write(scratch, &stream, &w->made.view, &h, &want, &sums, why), 0);
    }
    picture_end(&w->made.view, &sums, &want);
    for (int time = 0; time < 2; time++) { /* the second one finds what the first one left */
        got.bits = 0;
        assert_int_equal(picture_write(writer, &stream, &w->made.view, NULL, &header, &got, why),
                         0);
        assert_int_equal(got.bits, want.bits);
        assert_memory_equal(got.data, want.data, want.bits / 8);
    }
    picture_writer_free(writer);
    bit_writer_free(&want);
    bit_writer_free(&got);
}

static void write_picture(struct world *w, struct slice_scratch *scratch, unsigned number)
{
    struct slice_stream stream = {&w->sps, &w->pps, &w->limits};
    struct slice_sums sums = {0};
    char why[ENCODING_WHY] = "";
    for (unsigned i = 0; i < w->slices; i++) {
        struct h264_slice_header h = {.nal_unit_type = number ? 1 : 5,
                                      .nal_ref_idc = 1,
                                      .idr = !number,
                                      .frame_num = number,
                                      .cabac_init_idc = (uint8_t)below(w, 3)};
        if (slice_header_of(&stream, &w->made.view, i, &h, why) ||
            slice_write(scratch, &stream, &w->made.view, &h, &w->out, &sums, why))
            fail_msg("refused: %s", why);
    }
    picture_end(&w->made.view, &sums, &w->out);
    if (w->slices > 1)
        check_together(w, scratch);
}

/* The picture as the parser sees it; its references have any slot. */
static void check_picture(struct world *w, struct h264_picture *pic, struct h264_scratch *scratch,
                          unsigned number)
{
    struct rec_view view;
    struct rec_slice slices[ENCODING_SLICES];
    uint32_t mb;
    const char *what;
    assert_non_null(pic);
    assert_int_equal(pic->slice_count, w->slices);
    pic->holder.slot = (int)number;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        assert_int_equal(h264_slice_decode(&pic->slices[i], scratch), 0);
    assert_int_equal(h264_picture_derive_motion(pic), 0);
    assert_int_equal(h264_picture_view(pic, &view), 0);
    view.head.slot = 0;
    for (unsigned i = 0; i < w->slices; i++) {
        slices[i] = view.slices[i];
        memset(slices[i].ref, 0, sizeof(slices[i].ref));
        slices[i].weights = 0;
    }
    view.slices = slices;
    view.coeff_block_count = w->made.view.coeff_block_count; /* slices take chunks */
    what = records_difference(&w->made.view, &view, &mb);
    if (what)
        fail_msg("picture %u: %s of macroblock %u differs (style %u, %s)", number, what, mb,
                 w->style, w->e.cabac ? "CABAC" : "CAVLC");
}

static void feed(struct world *w, struct h264_stream *stream)
{
    struct h264_diag diag = {0};
    assert_false(w->out.failed);
    assert_int_equal(h264_stream_feed(stream, w->out.data, w->out.bits / 8, 0, &diag), 0);
    w->out.bits = 0;
}

/* Pictures of a stream, each written, then parsed when the next one begins */
static void run_stream(struct world *w, unsigned pictures)
{
    struct h264_stream *stream = NULL;
    struct h264_scratch *scratch = h264_scratch_create();
    struct slice_scratch *writer = slice_scratch_create();
    const char *reason = "";
    assert_int_equal(h264_stream_create(&(struct h264_stream_params){.strict = 1}, &stream), 0);
    write_parameter_sets(&w->sps, &w->pps, NULL, &w->out);
    for (unsigned i = 0; i < pictures; i++) {
        struct h264_picture *pic;
        w->p = i > 0;
        w->num_ref = i < w->e.references ? i : w->e.references;
        make_picture(w);
        if (records_validate_content(&w->made.view, &reason) < 0)
            fail_msg("not valid: %s", reason);
        write_delimiter(!w->p, &w->out);
        write_picture(w, writer, i);
        feed(w, stream);
        assert_int_equal(h264_stream_end_access_unit(stream, &(struct h264_diag){0}), 0);
        pic = h264_stream_next_decode(stream);
        check_picture(w, pic, scratch, i);
        h264_picture_done(pic);
        h264_picture_unref(pic);
        while ((pic = h264_stream_next_output(stream)))
            h264_picture_unref(pic);
    }
    h264_stream_free(stream);
    h264_scratch_free(scratch);
    slice_scratch_free(writer);
    bit_writer_free(&w->out);
}

static void styles(void **state)
{
    struct world *w = world_create(seed_of_day());
    for (unsigned i = 0; i < 240; i++) {
        uint32_t width = 1 + below(w, 8), height = 1 + below(w, 8);
        if (one_in(w, 4))
            width = 1;
        if (one_in(w, 4))
            height = 1;
        begin_world(w, width, height);
        w->style = i % STYLES;
        run_stream(w, 1 + below(w, 5));
    }
    free(w);
}

/* Up to four slices, with cuts anywhere: here all of a picture of 3 x 3 */
static void cuts(void **state)
{
    struct world *w = world_create(seed_of_day() + 1);
    for (uint32_t a = 1; a < 9; a++)
        for (uint32_t b = a; b < 9; b++)
            for (uint32_t c = b; c < 9; c++) {
                begin_world(w, 3, 3);
                w->style = (a + b + c) % STYLES;
                for (unsigned k = 0; k < 3; k++) {
                    uint32_t cut = k == 0 ? a : k == 1 ? b : c;
                    if (cut > w->cuts[w->slices - 1])
                        w->cuts[w->slices++] = cut;
                }
                run_stream(w, 3);
            }
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(styles), cmocka_unit_test(cuts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
