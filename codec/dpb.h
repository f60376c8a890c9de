/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The decoded picture buffer and its marking (8.2.5).
 *
 * An entry is a frame, or with field coding its two fields. It is marked as used for reference,
 * waits for output, or both; it goes when it is neither. It has its own POC and frame_num, because
 * memory_management_control_operation 5 changes them after the picture was handed out.
 */
#ifndef PELTON_CODEC_DPB_H
#define PELTON_CODEC_DPB_H

#include "codec/h264.h"

#define H264_DPB_MAX      16
#define H264_NO_LONG_TERM UINT32_MAX

struct h264_dpb_entry {
    /* one reference: a frame, or the field of one that was decoded first */
    struct h264_picture *pic;
    /* references: the second field, the other colour planes of both */
    struct h264_picture *others[5];
    unsigned other_count;
    uint8_t short_term; /* fields marked as used for short-term reference: REC_TOP | REC_BOTTOM */
    uint8_t long_term;  /* fields marked as used for long-term reference */
    uint8_t waiting;    /* needed for output */
    uint32_t frame_num;
    uint32_t long_term_frame_idx;
    int32_t poc[2]; /* of a field alone, twice its own */
};

struct h264_dpb {
    struct h264_dpb_entry entries[H264_DPB_MAX + 1];
    unsigned count;
    unsigned size;          /* frame buffers, at least 1 */
    unsigned max_refs;      /* Max(max_num_ref_frames, 1) */
    uint32_t max_long_term; /* MaxLongTermFrameIdx + 1; 0: "no long-term frame indices" */
    uint32_t max_frame_num;
    /* Second view: the base view's picture of the same access unit, where it is a reference;
     * borrowed. */
    struct h264_dpb_entry inter_view;
    unsigned inter_view_lists; /* bit X: it is appended to the initial list X (H.8.2.1) */
};

static inline unsigned h264_entry_marked(const struct h264_dpb_entry *e)
{
    return e->short_term | e->long_term;
}

/* PicOrderCnt(frame) (8.2.1) */
static inline int32_t h264_frame_poc(const int32_t poc[2])
{
    return poc[0] < poc[1] ? poc[0] : poc[1];
}

/* FrameNumWrap (8.2.4.1), also PicNum of a frame */
static inline int32_t h264_frame_num_wrap(const struct h264_dpb *dpb,
                                          const struct h264_dpb_entry *e, uint32_t frame_num)
{
    return (int32_t)e->frame_num - (e->frame_num > frame_num ? (int32_t)dpb->max_frame_num : 0);
}

/* Another picture of e's frame, with its colour planes. */
void h264_entry_add(struct h264_dpb_entry *e, struct h264_picture *pic);
/* e->pic, with its colour planes; and the end of all. */
void h264_entry_hold(struct h264_dpb_entry *e);
void h264_entry_drop(struct h264_dpb_entry *e);

/* A picture that a PicNum or LongTermPicNum names: an entry, NULL where there is none, and its
 * fields. */
struct h264_dpb_named {
    struct h264_dpb_entry *entry;
    unsigned fields;
};
/* The picture of a picNumLX or a LongTermPicNum (8.2.4.1), for the current picture of h. */
struct h264_dpb_named h264_dpb_short_term(struct h264_dpb *dpb, const struct h264_slice_header *h,
                                          int64_t pic_num);
struct h264_dpb_named h264_dpb_long_term(struct h264_dpb *dpb, const struct h264_slice_header *h,
                                         uint32_t long_term_pic_num);

/* Sliding window (8.2.5.3) before a picture of this frame_num is marked. own: the entry of its
 * first field, else NULL. */
void h264_dpb_slide(struct h264_dpb *dpb, uint32_t frame_num, const struct h264_dpb_entry *own);
/* Adaptive marking (8.2.5.4) but for operation 6 of the current picture itself; own as above.
 * *long_term_idx: LongTermFrameIdx of the current picture or H264_NO_LONG_TERM; *reset: operation 5
 * was among them. Returns H264_ERR_DATA where an operation names a picture that is not there; the
 * others are carried out. */
int h264_dpb_adapt(struct h264_dpb *dpb, const struct h264_slice_header *h,
                   const struct h264_dpb_entry *own, uint32_t *long_term_idx, bool *reset);
/* Removes entries that are neither marked nor waiting. */
void h264_dpb_sweep(struct h264_dpb *dpb);
void h264_dpb_unmark_all(struct h264_dpb *dpb);
void h264_dpb_clear(struct h264_dpb *dpb);

#endif
