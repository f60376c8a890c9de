/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Harness of the tests of step 1: a stream that is fed with written headers, and its output.
 * Included after cmocka.h.
 */
#ifndef PELTON_TESTS_STREAMCTX_H
#define PELTON_TESTS_STREAMCTX_H

#include "headerwriter.h"
#include "codec/h264.h"
#include "codec/h264_error.h"
#include "codec/h264_stream.h"

#include <stdio.h>

struct ctx {
    struct sps_fields sps;
    struct pps_fields pps;
    struct h264_stream *s;
    struct h264_diag diag;
    int64_t tag;
    /* What came out so far. */
    struct h264_picture *decoded[64];
    unsigned decoded_count;
    uint32_t output[64];
    int32_t output_poc[64];
    unsigned output_count;
};

static inline int feed(struct ctx *c, const struct bw *w)
{
    uint8_t nal[16384];
    return h264_stream_feed(c->s, nal, bw_nal(w, nal), c->tag, &c->diag);
}

static inline void send_sets(struct ctx *c)
{
    struct bw w = {.bits = 0}, p = {.bits = 0};
    write_sps(&w, &c->sps);
    write_pps(&p, &c->pps);
    assert_int_equal(feed(c, &w), H264_OK);
    assert_int_equal(feed(c, &p), H264_OK);
}

static inline void open_with(struct ctx *c, const struct h264_stream_params *params)
{
    assert_int_equal(h264_stream_create(params, &c->s), H264_OK);
    send_sets(c);
}

static inline void open_stream(struct ctx *c)
{
    open_with(c, &(struct h264_stream_params){0});
}

static inline void drain(struct ctx *c)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_decode(c->s))) {
        assert_true(c->decoded_count < 64);
        c->decoded[c->decoded_count++] = pic;
    }
    while ((pic = h264_stream_next_output(c->s))) {
        assert_true(c->output_count < 64);
        c->output_poc[c->output_count] = pic->output_poc;
        c->output[c->output_count++] = pic->id;
        h264_picture_unref(pic);
    }
}

static inline int slice(struct ctx *c, struct slice_fields f)
{
    struct bw w = {.bits = 0};
    int error;
    write_slice(&w, &f, &c->sps, &c->pps);
    error = feed(c, &w);
    drain(c);
    return error;
}

static inline void flush(struct ctx *c)
{
    assert_int_equal(h264_stream_flush(c->s), H264_OK);
    drain(c);
}

static inline void close_stream(struct ctx *c)
{
    for (unsigned i = 0; i < c->decoded_count; i++)
        h264_picture_unref(c->decoded[i]);
    h264_stream_free(c->s);
}

static inline void expect_output(const struct ctx *c, const char *expected)
{
    char text[256] = "";
    for (unsigned i = 0; i < c->output_count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i ? " " : "",
                 c->output[i]);
    assert_string_equal(text, expected);
}

#define IDR(...)      ((struct slice_fields){.idr = 1, .ref_idc = 1, .type = H264_I, __VA_ARGS__})
#define REF_P(...)    ((struct slice_fields){.ref_idc = 1, .type = H264_P, __VA_ARGS__})
#define NONREF_B(...) ((struct slice_fields){.ref_idc = 0, .type = H264_B, __VA_ARGS__})

static inline struct ctx plain_ctx(unsigned max_num_ref_frames, unsigned entries)
{
    struct ctx c = {.sps = plain_sps(), .pps = {.refs = {entries, entries}}};
    c.sps.max_num_ref_frames = max_num_ref_frames;
    return c;
}

/* Ids of a list of the picture's first slice, e.g. "3 1 0L -". */
static inline void expect_list(const struct ctx *c, unsigned picture, unsigned list,
                               const char *expected)
{
    char text[256] = "";
    const struct h264_slice *sl;
    assert_true(picture < c->decoded_count);
    sl = &c->decoded[picture]->slices[0];
    assert_int_equal(c->decoded[picture]->id, picture);
    for (unsigned i = 0; i < sl->num_ref[list]; i++) {
        size_t n = strlen(text);
        if (sl->ref[list][i].pic) {
            snprintf(text + n, sizeof(text) - n, "%s%u%s", i ? " " : "", sl->ref[list][i].id >> 2,
                     sl->ref[list][i].long_term ? "L" : "");
            assert_int_equal(sl->ref[list][i].structure, REC_FRAME);
            assert_ptr_equal(sl->ref[list][i].pic, c->decoded[sl->ref[list][i].id >> 2]);
        } else {
            snprintf(text + n, sizeof(text) - n, "%s-", i ? " " : "");
        }
    }
    assert_string_equal(text, expected);
}

/* References before which picture count as doubtful for picture i; 0: none do. */
static inline uint32_t doubted_before(const struct ctx *c, unsigned i)
{
    assert_true(i < c->decoded_count);
    assert_int_equal(c->decoded[i]->damage.doubt != 0, c->decoded[i]->damage.doubt_id != 0);
    return c->decoded[i]->damage.doubt_id;
}

/* n pictures: an IDR and P pictures, frame_num 0 .. n - 1, POC 2 * frame_num, up to 8 entries in a
 * list. */
static inline void low_delay_run(struct ctx *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(
            slice(c, i ? REF_P(.frame_num = i & 15, .poc_lsb = 2 * i & 15) : IDR(.idr_pic_id = 0)),
            H264_OK);
}

#endif
