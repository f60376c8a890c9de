/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A strict judge of streams: it holds NAL units, parameter sets, pictures and macroblocks against
 * the rules of the standard. A decoder need not know most of them. A breach is a static text: the
 * clause and what is wrong.
 *
 * A frame has a breach where its own pictures have one, or pictures that they refer to. Breaches of
 * order and numbering count for all pictures up to the next IDR picture. Pictures that the decoder
 * marked as damaged bring none to those that are not marked. A unit that is no reference and cannot
 * be read counts within its access unit alone.
 *
 * Not judged: rules that need times (bit rates, MinCR, macroblocks a second), bins of CABAC per
 * byte, redundant pictures, SEI messages, and other views than the first.
 */
#ifndef PELTON_TESTS_JUDGE_H
#define PELTON_TESTS_JUDGE_H

#include "codec/h264.h"
#include "codec/h264_stream.h"

enum { JUDGE_BREACHES = 64 };

/* Different texts. */
struct breaches {
    const char *at[JUDGE_BREACHES];
    unsigned count;
};

/* What real encoders and recorders write always, so that a decoder does not tell it: streams that
 * begin in between, junk or elements behind a PPS of Baseline, Main and Extended, broken VUIs, and
 * levels that do not fit. */
#define JUDGE_TEXT_BEGIN "7.4.1.2.1: the stream does not begin with an IDR picture"
#define JUDGE_TEXT_PLAIN_PPS                                                                       \
    "7.3.2.2: something follows the elements of a PPS whose profile has none"
#define JUDGE_TEXT_PLAIN_ELEMENTS                                                                  \
    "A.2: the profile has none of the elements behind redundant_pic_cnt_present_flag"
#define JUDGE_TEXT_VUI              "E.1.1: the VUI is broken"
#define JUDGE_TEXT_VUI_ORDER        "E.2.1: max_num_reorder_frames is too small"
#define JUDGE_TEXT_LEVEL_SIZE       "A.3.1: the frame is too large for the level"
#define JUDGE_TEXT_LEVEL_REFERENCES "7.4.2.1.1: max_num_ref_frames is above MaxDpbFrames"
#define JUDGE_TEXT_LEVEL_FIELDS     "A.3.3: the level has no fields"
#define JUDGE_TEXT_LEVEL_VECTOR     "A.3.1: a vector is too long vertically"
extern const struct breaches judge_habits;

struct judge;

/* allowed: breaches that do not count, borrowed, or NULL. NULL: no memory. */
struct judge *judge_create(const struct breaches *allowed);
void judge_free(struct judge *j); /* NULL is allowed */

/* A NAL unit without start code and trailing zero bytes, before the stream is fed with it. */
void judge_unit(struct judge *j, struct h264_stream *s, const uint8_t *nal, size_t size);
/* Behind that, with the result of h264_stream_feed. */
void judge_fed(struct judge *j, struct h264_stream *s, int error);
/* Each picture in decoding order: before its step 2, and behind step 3. */
void judge_before(struct judge *j, struct h264_picture *pic);
void judge_after(struct judge *j, struct h264_picture *pic);

/* Of the frame whose first picture has this id; NULL: none was seen. *alone: its pictures have none
 * of their own, and refer to no others than such ones. Units before them are missing, or out of
 * order. */
const char *judge_frame(const struct judge *j, uint32_t id, bool *alone);
/* All that were seen. */
const struct breaches *judge_breaches(const struct judge *j);
/* False: no memory for what it must remember. */
bool judge_good(const struct judge *j);

/* ---- between its files ---- */

/* judge_sets.c: values of an SPS, of a PPS with its SPS, of a slice header. */
const char *judge_sps(const struct h264_sps *sps);
const char *judge_pps(const struct h264_sps *sps, const struct h264_pps *pps);
const char *judge_header(const struct h264_slice_header *h, const struct h264_sps *sps,
                         const struct h264_pps *pps);
/* Slices of one picture. */
const char *judge_siblings(const struct h264_slice_header *a, const struct h264_slice_header *b);
/* Table A-1: the largest vertical vector component in quarter samples; and MaxDpbFrames. */
int judge_vertical_limit(const struct h264_sps *sps);
unsigned judge_dpb_frames(const struct h264_sps *sps);

/* judge_numbers.c: POC of a frame or of single fields since an IDR picture or operation 5. */
struct numbered {
    int32_t poc[2]; /* top, bottom; equal for a single field */
};

/* Of pictures before; zeros at first. */
struct judge_numbers {
    struct numbered *at;
    unsigned count, capacity;
    const struct h264_sps *sps; /* a reference */
    uint32_t prev_ref_frame_num, idr_pic_id;
    int alone; /* structure of the last picture if that is a first field and a reference */
    bool begun, after_idr, after_nonref;
};

enum { JUDGE_NUMBERS = 5 };
extern const char judge_text_gap[]; /* frames are missing before the picture */
/* Of a picture that opens a frame or is a second field: NULL where it keeps a rule. False: no
 * memory. */
bool judge_numbers(struct judge_numbers *n, const struct h264_picture *pic,
                   const char *breaches[JUDGE_NUMBERS]);
void judge_numbers_free(struct judge_numbers *n);

/* judge_macroblocks.c: behind step 2 of a slice whose parser is in scratch; all macroblocks behind
 * step 3. */
const char *judge_slice_end(const struct h264_slice *slice, const struct h264_scratch *scratch);
const char *judge_macroblocks(const struct h264_picture *pic, const struct rec_view *view);

#endif
