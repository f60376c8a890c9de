/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stream object of step 1, shared by stream*.c.
 *
 * A picture is built in `cur`. Its first slice begins it (activation, frame_num gaps, POC), and the
 * others extend it. The first sign of its end finishes it (marking, storage, output). Marking
 * happens at the end, so all slices of a picture see the same DPB.
 */
#ifndef PELTON_CODEC_STREAM_H
#define PELTON_CODEC_STREAM_H

#include "codec/damage.h"
#include "codec/h264_stream.h"
#include "codec/nal.h"
#include "codec/output_order.h"
#include "codec/poc.h"
#include "codec/sei.h"

struct h264_stored_sps {
    uint8_t *bytes; /* RBSP as received */
    size_t size;
    const struct h264_sps *sps;
    bool refused; /* a later one of this id was broken */
};

struct h264_stored_pps {
    uint8_t *bytes;
    size_t size;
    const struct h264_pps *pps;
    uint8_t chroma_format_idc; /* with which it was parsed */
    bool refused;              /* as that of an SPS */
};

/* Rules of the standard that an encoder may break always (stream_breach.c). */
enum h264_rule {
    H264_RULE_POC,
    H264_RULE_IDR_FRAME_NUM,
    H264_RULE_IDR_POC,
    H264_RULE_IDR_ID,
    H264_RULE_FRAME_NUM,
    H264_RULE_ALIGNMENT,
    H264_RULE_SIBLINGS,
    H264_RULE_UNIT,
    H264_RULE_END,
    H264_RULE_ORDER,
    H264_RULE_REFERENCES,
    H264_RULE_SETS,
    H264_RULES
};

/* Rules that an encoder may break always, but only in some pictures of each sequence. */
enum h264_sequence_rule { H264_SEQUENCE_FORMAT, H264_SEQUENCE_TOOLS, H264_SEQUENCE_RULES };

/* Breaches of such a rule. */
struct h264_sequence_habit {
    uint8_t times; /* since a sequence without one */
    bool met;      /* in this sequence */
};

/* What was before the next picture. */
struct h264_habits {
    uint8_t in_a_row[H264_RULES]; /* breaches of a rule, up to 255 */
    struct h264_sequence_habit by_sequence[H264_SEQUENCE_RULES];
    uint8_t misfits[32];  /* units in a row whose nal_ref_idc no unit of that type may have */
    bool counted;         /* since the IDR picture a reference had the next frame_num */
    bool over;            /* a sequence ended behind the last slice */
    bool after_idr;       /* the picture before is an IDR picture */
    bool lost;            /* behind the last picture's begin a unit was lost */
    bool doubt_pairs;     /* a unit was lost before a first field, and no right pair came since */
    uint8_t first_parity; /* REC_TOP, REC_BOTTOM: of the last right pair; 0: none was */
    bool over_before;     /* a sequence ended before this picture */
    bool clean_pps;       /* a PPS came with nothing behind its elements */
    bool lost_set;        /* it may have been a parameter set, and no SPS came since */
    bool misfit;          /* the last slice is of an IDR picture, and its nal_ref_idc is 0 */
    bool misaligned;      /* the last slice has a cabac_alignment_one_bit of 0 */
    uint32_t idr_pic_id;  /* of the last one */
    bool several;         /* the caller has cut the stream: pictures had different tags */
    int64_t tag;          /* of the last picture */
};

struct h264_stream {
    const struct h264_allocator *allocator;
    const struct h264_capabilities *capabilities; /* NULL: all */
    bool low_delay_output, late_arrays;
    struct h264_stream_params params;

    struct h264_stored_sps sps[H264_MAX_SPS];
    struct h264_stored_pps pps[H264_MAX_PPS];
    const struct h264_sps *active, *last_sps; /* references, or NULL */
    uint32_t sps_count;                       /* different sets that came */
    unsigned nal_length_size;                 /* 0: Annex B */

    struct h264_dpb dpb;
    struct h264_poc_state poc;
    uint32_t prev_ref_frame_num;
    bool started; /* a random access point was met */
    struct h264_recovery_state recovering;
    struct h264_habits habits;
    struct h264_sei_inbox sei;           /* messages for the next picture */
    struct h264_recovery_point recovery; /* that of them, if any */
    uint32_t next_id;

    /* a reference: field whose second one may come next, or NULL; its entry is in the DPB */
    struct h264_picture *first;
    struct h264_dpb_entry pending; /* or here with references, where pic is not NULL: both fields of
                                      a non-reference frame enter at once */
    /* a reference: what was last in output order before the IDR picture that begins, or NULL */
    struct h264_picture *before;
    struct h264_picture *cur;
    /* [mb_count of cur] bit colour_plane_id: a primary slice starts at this address */
    uint8_t *starts;
    size_t starts_capacity;
    /* so did one that can only stand between access units: a delimiter, the end of a sequence */
    bool cur_ended;
    bool cur_boundary; /* a NAL unit that starts an access unit came after cur's last slice */
    uint8_t *bytes;    /* NAL units of cur's slices */
    size_t bytes_size, bytes_capacity;
    struct h264_rbsp rbsp; /* scratch */

    bool inter_view_flag;     /* of the next slice, if the NAL unit before it tells (H.7.4.1.1) */
    struct h264_stream *view; /* of the second view, or NULL */
    uint8_t view_index;       /* 1: this is that stream */
    bool have_tag;
    int64_t tag;
    struct h264_queue decode, output;
    struct h264_stats stats;
};

/* stream_params.c */
int h264_stream_store_sps(struct h264_stream *s, const uint8_t *nal, size_t size,
                          struct h264_diag *diag);
int h264_stream_store_pps(struct h264_stream *s, const uint8_t *nal, size_t size,
                          struct h264_diag *diag);
/* The sets that a pic_parameter_set_id leads to; borrowed. */
int h264_stream_find_params(struct h264_stream *s, uint32_t pps_id, const struct h264_sps **sps,
                            const struct h264_pps **pps, struct h264_diag *diag);
void h264_stream_free_params(struct h264_stream *s);

/* stream_slice.c */
int h264_stream_slice(struct h264_stream *s, const uint8_t *nal, size_t size,
                      struct h264_diag *diag);
/* Its two halves: the header with the sets that it names, and where it goes. */
int h264_stream_parse_slice(struct h264_stream *s, const uint8_t *nal, size_t size,
                            const struct h264_sps **sps, const struct h264_pps **pps,
                            struct h264_slice_header *h, size_t *data_bit, struct h264_diag *diag);
int h264_stream_place_slice(struct h264_stream *s, const struct h264_sps *sps,
                            const struct h264_pps *pps, const struct h264_slice_header *h,
                            size_t data_bit, const uint8_t *nal, size_t size,
                            struct h264_diag *diag);
/* slice_data_partition_b_layer_rbsp() or ..._c_... (7.3.2.9.2, 7.3.2.9.3): joins the slice of its
 * partition A. */
int h264_stream_partition(struct h264_stream *s, const uint8_t *nal, size_t size,
                          struct h264_diag *diag);

/* stream_picture.c */
/* Activation, random access, gaps, POC: s->cur becomes the picture that h opens, or stays NULL
 * (H264_OK) where it is skipped.
 */
int h264_stream_begin_picture(struct h264_stream *s, const struct h264_sps *sps,
                              const struct h264_slice_header *h, struct h264_diag *diag);

/* stream_breach.c */
/* Whether a breach tells of damage: not where the encoder always breaks that rule. */
bool h264_stream_breach_counts(struct h264_stream *s, enum h264_rule rule, bool breach);
/* s->cur begins a frame. Whether it is a reference with the frame_num of the one before, or with
 * the next one. */
void h264_stream_judge_frame_num(struct h264_stream *s, bool repeats, bool counts);
/* The slice that has begun s->cur: breaches of the standard in its numbers and sets mark the
 * picture, or those that refer to it. */
void h264_stream_judge_picture(struct h264_stream *s, const struct h264_slice_header *h,
                               const struct h264_pps *pps, const uint8_t *nal, size_t size);
/* A first field, before the next frame begins, and whether it has a second one is known: whether a
 * unit of its frame may be lost. */
bool h264_stream_field_is_odd(struct h264_stream *s, const struct h264_picture *first);
/* False: the header of this message tells of damage. A message may say that damage ends. */
bool h264_stream_trusts_sei(const struct h264_stream *s, uint8_t header);
/* A slice that has joined s->cur. */
void h264_stream_judge_slice(struct h264_stream *s, const struct h264_slice *slice);
/* cabac_alignment_one_bit (7.3.4) of the slice whose RBSP is in s->rbsp. */
void h264_stream_judge_alignment(struct h264_stream *s, const struct h264_pps *pps,
                                 size_t data_bit);
/* Before any unit is fed: what its first byte tells. */
void h264_stream_judge_unit(struct h264_stream *s, uint8_t header);
/* What came as a parameter set. refused: it cannot be read, and nobody has one of its id: it may
 * have been a slice. */
void h264_stream_judge_set(struct h264_stream *s, uint8_t header, bool refused);
/* A slice that cannot be read. */
void h264_stream_lose_slice(struct h264_stream *s, uint8_t header);

/* stream_gap.c */
/* Pushes to either queue must not fail half-way: a DPB full of pictures, the current one and a
 * gap's. */
int h264_stream_reserve(struct h264_stream *s);
/* 7.4.3: only the other field of the reference picture before it has its frame_num. Whether h,
 * which begins a frame or a first field, has it too: it comes twice, or after pictures that it
 * belongs before; or it is a field with operation 5, which begins a frame behind such a field. */
bool h264_stream_frame_num_repeats(const struct h264_stream *s, const struct h264_slice_header *h);
/* Whether h has the frame_num of the reference before it and one more. */
bool h264_stream_frame_num_counts(const struct h264_stream *s, const struct h264_slice_header *h);
/* Whether so many frames are missing before h that it stands behind pictures that it belongs
 * before. */
bool h264_stream_frame_num_falls(const struct h264_stream *s, const struct h264_sps *sps,
                                 const struct h264_slice_header *h);
/* Frames between PrevRefFrameNum and frame_num. Of a wide gap only the last max_refs
 * survive the sliding window; the others are not made, but FrameNumOffset counts them. */
int h264_stream_fill_gap(struct h264_stream *s, const struct h264_sps *sps,
                         const struct h264_slice_header *h, struct h264_diag *diag);
/* No second field of the last first field comes: it is complete as it is. */
void h264_stream_close_field(struct h264_stream *s);
/* No further slice of s->cur comes: it is marked, stored and handed out. *stored: false where the
 * picture is given up. Does nothing without a picture. */
int h264_stream_store_picture(struct h264_stream *s, bool *stored, struct h264_diag *diag);

/* stream_end.c */
/* No further slice of s->cur comes, nor of the picture of the second view that follows it. */
int h264_stream_finish_picture(struct h264_stream *s, struct h264_diag *diag);
/* Pictures that the second view has ready join the queues of the stream. */
void h264_stream_collect_view(struct h264_stream *s);

/* stream_mvc.c. Both do nothing without s->view. */
int h264_stream_view_slice(struct h264_stream *s, const uint8_t *nal, size_t size,
                           struct h264_diag *diag);
int h264_stream_view_params(struct h264_stream *s, const uint8_t *nal, size_t size);

#endif
