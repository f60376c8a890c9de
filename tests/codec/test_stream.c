/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 1 as a whole on streams made here: slices and pictures, avcC, failing allocations, noise.
 */
#include "codec/arrays.h"
#include "codec/bits.h"
#include "codec/nal.h"
#include "codec/pack_levels.h"
#include "reference/recon_ref.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

/* ---- pictures and slices ---- */

enum { SKIP_11_THEN_TYPE_60 = 0x603d }; /* 18 bits of a P slice */

static void test_slices(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    const struct h264_picture *pic;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, IDR()), H264_OK); /* sent twice */
    assert_int_equal(slice(&c, IDR(.first_mb = 5)), H264_OK);
    assert_int_equal(slice(&c, IDR(.first_mb = 5)), H264_OK);
    assert_int_equal(slice(&c, IDR(.first_mb = 5, .long_term_reference = 1)), H264_ERR_DATA);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, IDR(.first_mb = 12)), H264_ERR_DATA);
    assert_int_equal(slice(&c, IDR(.first_mb = 11)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 2);
    pic = c.decoded[0];
    assert_int_equal(pic->slice_count, 3);
    assert_int_equal(pic->slices[0].end_mb, 5);
    assert_int_equal(pic->slices[1].end_mb, 11);
    assert_int_equal(pic->slices[2].end_mb, 12);
    for (unsigned i = 0; i < 3; i++) {
        struct h264_bits b;
        uint8_t rbsp[256];
        size_t n = h264_unescape(pic->slices[i].nal, pic->slices[i].nal_size, rbsp, NULL);
        h264_bits_init(&b, rbsp, n);
        h264_bits_skip(&b, pic->slices[i].data_bit_offset);
        assert_int_equal(h264_bits_u(&b, 16), 0x5555 + pic->slices[i].hdr.first_mb);
        assert_int_equal(pic->slices[i].index, i);
    }
    assert_int_equal(pic->arrays.mbs[0].kind, REC_MB_MISSING);
    assert_int_equal(pic->arrays.syntax[11].decoded, 0);
    assert_int_equal(pic->arrays.coeff_block_capacity, 12 * 24 + 3 * H264_COEFF_BLOCK_CHUNK);
    close_stream(&c);
}

static void test_redundant_left_alone(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    c.pps.redundant = 1;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, IDR(.redundant_pic_cnt = 1)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 1);
    assert_int_equal(c.decoded[0]->slice_count, 2);
    assert_int_equal(c.decoded[0]->slices[0].end_mb, 12);
    assert_int_equal(h264_slice_decode(&c.decoded[0]->slices[1], NULL), H264_OK);
    assert_int_equal(c.decoded[0]->slices[1].mbs_decoded, 0);
    close_stream(&c);
}

/* More slices than 16 bits can count, of a macroblock each. */
static void test_many_slices(void **state)
{
    enum { INTRA_16X16_OF_NO_LEVELS = 0x27 };
    struct ctx c = plain_ctx(4, 1);
    struct h264_scratch *scratch = h264_scratch_create();
    c.sps.mb_width = 257;
    c.sps.mb_height = 256;
    c.sps.level_idc = 62;
    open_stream(&c);
    for (unsigned i = 0; i < 257 * 256; i++)
        assert_int_equal(
            slice(&c, IDR(.first_mb = i, .data = INTRA_16X16_OF_NO_LEVELS, .data_bits = 8)),
            H264_OK);
    flush(&c);
    struct h264_picture *pic = c.decoded[0];
    assert_int_equal(pic->slice_count, 257 * 256);
    for (unsigned i = 0; i < pic->slice_count; i++)
        assert_int_equal(h264_slice_decode(&pic->slices[i], scratch), H264_OK);
    assert_int_equal(h264_picture_derive_motion(pic), H264_OK);
    assert_int_equal(atomic_load(&pic->damage.missing_mbs), 0);
    assert_int_equal(pic->arrays.mbs[pic->mb_count - 1].slice, pic->mb_count - 1);
    h264_scratch_free(scratch);
    close_stream(&c);
}

/* ---- room for coefficients ---- */

enum { PCM_MBS = 12, PCM_BLOCKS = 24, I_PCM = 25 /* mb_type */, I_PCM_BITS = 9 };

/* An I slice of macroblocks I_PCM. */
static void feed_pcm(struct ctx *c)
{
    struct bw w = {.bits = 0};
    write_slice(&w, &IDR(.data = I_PCM + 1, .data_bits = I_PCM_BITS), &c->sps, &c->pps);
    do /* without the stop bit */
        w.bits--;
    while (!(w.buf[w.bits / 8] >> (7 - w.bits % 8) & 1));
    w.buf[w.bits / 8] &= (uint8_t) ~(0x80 >> w.bits % 8);
    for (unsigned i = 0; i < PCM_MBS; i++) {
        if (i)
            bw_ue(&w, I_PCM);
        w.bits = (w.bits + 7) & ~(size_t)7;
        for (unsigned k = 0; k < 384; k++)
            bw_u(&w, 8, 1 + (i * 7 + k) % 255);
    }
    bw_trailing(&w);
    assert_int_equal(feed(c, &w), H264_OK);
    flush(c);
}

static void *get_nothing(void *ctx, size_t size)
{
    return NULL;
}

static void test_coefficients_grow(void **state)
{
    enum { BYTES = PCM_MBS * PCM_BLOCKS * 32 };
    struct ctx c = plain_ctx(4, 1);
    struct h264_scratch *scratch = h264_scratch_create();
    uint8_t *want = malloc(BYTES);
    open_stream(&c);
    feed_pcm(&c);
    struct h264_picture *pic = c.decoded[0];
    struct h264_slice *only = &pic->slices[0];
    assert_int_equal(h264_slice_decode(only, scratch), H264_OK);
    memcpy(want, pic->arrays.coeffs, BYTES);
    h264_picture_free_arrays(pic);
    assert_int_equal(h264_picture_alloc_growing(pic, 5), H264_OK);
    assert_int_equal(pic->arrays.coeff_block_capacity, 5);
    assert_int_equal(h264_slice_decode(only, scratch), H264_OK);
    assert_int_equal(only->mbs_decoded, PCM_MBS);
    assert_memory_equal(pic->arrays.coeffs, want, BYTES);
    uint32_t blocks;
    assert_true(h264_picture_intact(pic, &blocks) && blocks == PCM_MBS * PCM_BLOCKS);
    assert_int_equal(pic->arrays.coeff_block_capacity, 320); /* twice as many, six times */
    h264_picture_free_arrays(pic);
    /* no memory for the second macroblock */
    const struct h264_allocator *memory = pic->holder.allocator;
    struct h264_allocator none = *memory;
    none.get = get_nothing;
    assert_int_equal(h264_picture_alloc_growing(pic, PCM_BLOCKS), H264_OK);
    pic->holder.allocator = &none;
    assert_true(h264_slice_decode(only, scratch) < 0);
    pic->holder.allocator = memory;
    assert_int_equal(pic->arrays.coeff_block_capacity, PCM_BLOCKS);
    free(want);
    h264_scratch_free(scratch);
    close_stream(&c);
}

/* Packed levels grow, too, and are those of coefficient blocks. */
static void test_packed(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    struct h264_scratch *scratch = h264_scratch_create();
    struct rec_view view;
    int16_t want[PCM_BLOCKS * 16];
    open_stream(&c);
    feed_pcm(&c);
    struct h264_picture *pic = c.decoded[0];
    struct h264_slice *only = &pic->slices[0];
    assert_int_equal(h264_slice_decode(only, scratch), H264_OK);
    memcpy(want, pic->arrays.coeffs, sizeof(want)); /* of the first macroblock */
    h264_picture_free_arrays(pic);
    assert_int_equal(h264_picture_alloc_packed(pic, 1), H264_OK);
    assert_null(pic->arrays.coeffs);
    assert_int_equal(h264_slice_decode(only, scratch), H264_OK);
    assert_int_equal(only->mbs_decoded, PCM_MBS);
    assert_int_equal(h264_picture_derive_motion(pic), 0);
    h264_picture_records(pic, &view);
    assert_int_equal(records_validate_content(&view, NULL), 0);
    for (unsigned i = 0; i < PCM_BLOCKS * 16; i++)
        assert_int_equal(ref_packed_level(&view, 0, PCM_BLOCKS, i / 16, i % 16), want[i]);
    h264_picture_free_arrays(pic);
    assert_null(pic->arrays.packed);
    /* no memory for the levels of the first macroblock */
    const struct h264_allocator *memory = pic->holder.allocator;
    struct h264_allocator none = *memory;
    none.get = get_nothing;
    assert_int_equal(h264_picture_alloc_packed(pic, 1), H264_OK);
    pic->holder.allocator = &none;
    assert_true(h264_slice_decode(only, scratch) < 0);
    pic->holder.allocator = memory;
    h264_scratch_free(scratch);
    close_stream(&c);
}

/* Data follow an error: the macroblocks before it are doubted. None follow a cut. */
static void test_doubted(void **state)
{
    struct h264_scratch *scratch = h264_scratch_create();
    for (unsigned cut = 0; cut < 2; cut++) {
        struct ctx c = plain_ctx(4, 1);
        open_stream(&c);
        assert_int_equal(slice(&c, IDR()), H264_OK);
        assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .data = SKIP_11_THEN_TYPE_60,
                                         .data_bits = 18, .words = cut ? 0 : 2)),
                         H264_OK);
        flush(&c);
        struct h264_picture *pic = c.decoded[1];
        assert_int_equal(h264_slice_decode(&pic->slices[0], scratch), H264_ERR_DATA);
        assert_int_equal(pic->slices[0].mbs_decoded, cut ? 11 : 1);
        assert_int_equal(pic->arrays.syntax[0].decoded, 1);
        assert_int_equal(pic->arrays.syntax[1].decoded, cut);
        assert_int_equal(h264_picture_derive_motion(pic), H264_OK);
        assert_int_equal(atomic_load(&pic->damage.missing_mbs), cut ? 1 : 11);
        close_stream(&c);
    }
    h264_scratch_free(scratch);
}

/* Eleven macroblocks are skipped. The data of the last one end within its second luma block. It
 * keeps its prediction and the first block, and the picture is marked. */
static void test_cut_in_residual(void **state)
{
    enum { SKIP_11_THEN_CUT = 0x19dd5 };
    struct h264_scratch *scratch = h264_scratch_create();
    struct ctx c = plain_ctx(4, 1);
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(
        slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .data = SKIP_11_THEN_CUT, .data_bits = 20)),
        H264_OK);
    flush(&c);
    struct h264_picture *pic = c.decoded[1];
    assert_int_equal(h264_slice_decode(&pic->slices[0], scratch), H264_ERR_DATA);
    assert_int_equal(pic->slices[0].mbs_decoded, 12);
    assert_int_equal(pic->arrays.syntax[11].decoded, 1);
    assert_int_equal(pic->arrays.mbs[11].kind, REC_MB_INTER);
    assert_int_equal(pic->arrays.mbs[11].coded[0], 1);
    assert_int_equal(pic->arrays.mbs[11].nonzero, 1);
    assert_int_equal(h264_picture_derive_motion(pic), H264_OK);
    assert_int_equal(atomic_load(&pic->damage.missing_mbs), 0);
    assert_int_equal(pic->damage.corrupt, 1);
    h264_scratch_free(scratch);
    close_stream(&c);
}

/* Slices of a few bytes that break off: all of them together decode the picture a few times. */
static void test_redundant_work(void **state)
{
    enum { COPIES = 20 };
    struct ctx c = plain_ctx(4, 1);
    struct h264_scratch *scratch = h264_scratch_create();
    uint32_t sum = 0;
    c.pps.redundant = 1;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    for (unsigned i = 0; i <= COPIES; i++)
        assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .redundant_pic_cnt = i,
                                         .data = SKIP_11_THEN_TYPE_60, .data_bits = 18)),
                         H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 2);
    struct h264_picture *pic = c.decoded[1];
    assert_int_equal(pic->slice_count, COPIES + 1);
    assert_true(h264_slice_decode(&pic->slices[0], scratch) < 0);
    assert_int_equal(h264_picture_derive_motion(pic), H264_OK);
    for (unsigned i = 1; i <= COPIES; i++)
        sum += pic->slices[i].mbs_decoded;
    assert_in_range(sum, 1, 3 * pic->mb_count);
    h264_scratch_free(scratch);
    close_stream(&c);
}

static void test_new_picture(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, IDR(.idr_pic_id = 1)), H264_OK);
    c.tag++; /* another access unit completes the picture, whatever the headers say */
    assert_int_equal(slice(&c, IDR(.idr_pic_id = 1)), H264_OK);
    send_sets(&c); /* so does what starts an access unit */
    assert_int_equal(slice(&c, IDR(.idr_pic_id = 1)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 1, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 1, .poc_lsb = 4)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 4)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 7);
    assert_int_equal(c.decoded[1]->tag, 0);
    assert_int_equal(c.decoded[2]->tag, 1);
    expect_output(&c, "0 1 2 3 4 5 6");
    close_stream(&c);
}

static void test_avcc(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    struct bw w = {.bits = 0}, p = {.bits = 0}, i = {.bits = 0};
    uint8_t box[512] = {1, 100, 0, 40, 0xff, 0xe1}, unit[512];
    struct slice_fields idr = IDR();
    size_t n = 6, m;
    write_sps(&w, &c.sps);
    write_pps(&p, &c.pps);
    write_slice(&i, &idr, &c.sps, &c.pps);
    m = bw_escape(&w, box + n + 2);
    box[n + 1] = (uint8_t)m;
    n += 2 + m;
    box[n++] = 1;
    m = bw_escape(&p, box + n + 2);
    box[n + 1] = (uint8_t)m;
    n += 2 + m;
    for (size_t cut = 1; cut < n; cut++) {
        assert_int_equal(h264_stream_create(&(struct h264_stream_params){0}, &c.s), H264_OK);
        assert_true(h264_stream_extradata(c.s, box, cut, &c.diag) < 0);
        h264_stream_free(c.s);
    }
    assert_int_equal(h264_stream_create(&(struct h264_stream_params){0}, &c.s), H264_OK);
    assert_int_equal(h264_stream_extradata(c.s, box, n, &c.diag), H264_OK);
    assert_int_equal(h264_stream_sps(c.s)->mb_width, 4);
    m = bw_escape(&i, unit + 4);
    unit[0] = unit[1] = unit[2] = 0;
    unit[3] = (uint8_t)m;
    assert_int_equal(h264_stream_feed(c.s, unit, 4 + m, 0, &c.diag), H264_OK);
    assert_int_equal(h264_stream_feed(c.s, unit, 3 + m, 1, &c.diag), H264_ERR_TRUNCATED);
    flush(&c);
    assert_int_equal(c.decoded_count, 2);
    close_stream(&c);
}

/* ---- life cycle ---- */

struct counting {
    size_t live, calls, fail_at;
};

static void *counting_get(void *ctx, size_t size)
{
    struct counting *k = ctx;
    if (++k->calls == k->fail_at)
        return NULL;
    k->live += size;
    return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void counting_put(void *ctx, void *memory, size_t size)
{
    struct counting *k = ctx;
    assert_true(k->live >= size);
    k->live -= size;
    free(memory);
}

static void test_failing_allocations(void **state)
{
    for (size_t fail_at = 1; fail_at < 60; fail_at++) {
        struct counting k = {.fail_at = fail_at};
        struct h264_allocator a = {.get = counting_get, .put = counting_put, .ctx = &k};
        struct ctx c = plain_ctx(2, 2);
        struct h264_stats stats;
        c.sps.gaps_allowed = 1;
        open_with(&c, &(struct h264_stream_params){.allocator = &a});
        slice(&c, IDR());
        slice(&c, REF_P(.frame_num = 1, .poc_lsb = 4));
        slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 2));
        slice(&c, REF_P(.frame_num = 5, .poc_lsb = 8));
        slice(&c, REF_P(.frame_num = 6, .poc_lsb = 10));
        h264_stream_flush(c.s);
        drain(&c);
        h264_stream_stats(c.s, &stats);
        assert_int_equal(stats.errors, k.calls >= fail_at);
        close_stream(&c);
        assert_int_equal(k.live, 0);
    }
}

static unsigned freed;

static void on_free(struct h264_picture *pic)
{
    freed++;
}

static void test_release(void **state)
{
    struct ctx c = plain_ctx(1, 1);
    struct counting k = {.fail_at = 0};
    struct h264_allocator a = {.get = counting_get, .put = counting_put, .ctx = &k};
    size_t before;
    freed = 0;
    open_with(&c, &(struct h264_stream_params){.allocator = &a});
    low_delay_run(&c, 40);
    flush(&c);
    for (unsigned i = 0; i < 40; i++)
        c.decoded[i]->holder.on_free = on_free;
    before = k.live;
    h264_picture_done(c.decoded[39]);
    assert_true(k.live < before);
    assert_null(c.decoded[39]->arrays.coeffs);
    assert_non_null(c.decoded[39]->arrays.motion);
    assert_int_equal(c.decoded[39]->refs_held_count, 0);
    /* Each of the others holds the one before: the last one's end frees the whole chain. */
    for (unsigned i = 0; i < 38; i++)
        h264_picture_unref(c.decoded[i]);
    assert_int_equal(freed, 0);
    h264_picture_unref(c.decoded[38]);
    assert_int_equal(freed, 39);
    c.decoded[0] = c.decoded[39];
    c.decoded_count = 1;
    close_stream(&c);
    assert_int_equal(freed, 40);
    assert_int_equal(k.live, 0);
}

/* Any bytes at all, in units that start like real ones. */
static void test_noise(void **state)
{
    struct ctx c = plain_ctx(4, 4);
    uint32_t seed = 3;
    open_stream(&c);
    for (unsigned i = 0; i < 20000; i++) {
        struct slice_fields f = {.idr = i % 50 == 0,
                                 .ref_idc = i % 3,
                                 .type = i % 50 ? i % 3 : 2,
                                 .frame_num = i * 7 / 5 & 15,
                                 .poc_lsb = i * 2 & 15,
                                 .mmco = {{1 + i % 6, i & 3, i & 1}},
                                 .mods = {{{1 + i % 3, i & 3}}}};
        struct bw w = {.bits = 0};
        struct h264_picture *pic;
        write_slice(&w, &f, &c.sps, &c.pps);
        for (unsigned n = i % 4; n; n--) {
            seed = seed * 1664525 + 1013904223;
            w.buf[(seed >> 8) % (w.bits / 8)] ^= (uint8_t)(1 << (seed >> 29));
        }
        feed(&c, &w);
        while ((pic = h264_stream_next_decode(c.s))) {
            h264_picture_done(pic);
            h264_picture_unref(pic);
        }
        while ((pic = h264_stream_next_output(c.s)))
            h264_picture_unref(pic);
    }
    close_stream(&c);
}

/* After memory_management_control_operation 5 the next picture can have the frame_num and the POC
 * of the one before: an access unit delimiter tells them apart where slices may come in any order.
 */
static void test_delimiter(void **state)
{
    static const uint8_t delimiter[] = {0, 0, 0, 1, 9, 0xf0};
    struct ctx c = plain_ctx(4, 1);
    (void)state;
    c.sps.profile_idc = 66;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR(.frame_num = 0)), H264_OK);
    assert_int_equal(
        slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .first_mb = 6, .mmco = {{5, 0, 0}})),
        H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .mmco = {{5, 0, 0}})), H264_OK);
    assert_int_equal(h264_stream_feed(c.s, delimiter, sizeof(delimiter), c.tag, &c.diag), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .first_mb = 8)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 3);
    assert_int_equal(c.decoded[1]->slice_count, 2);
    assert_int_equal(c.decoded[2]->slice_count, 1);
    close_stream(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_coefficients_grow),
        cmocka_unit_test(test_redundant_left_alone),
        cmocka_unit_test(test_redundant_work),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_doubted),
        cmocka_unit_test(test_cut_in_residual),
        cmocka_unit_test(test_many_slices),
        cmocka_unit_test(test_new_picture),
        cmocka_unit_test(test_avcc),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_release),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_delimiter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
