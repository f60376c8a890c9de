/* SPDX-License-Identifier: BSD-2-Clause
 *
 * State of step 1 between pictures: decoded picture buffer, picture order count, output queue.
 *
 * An entry of the DPB is a frame (or, with field coding, its two fields) that is marked as used for
 * reference, waits for output, or both; it goes when it is neither. It holds its own POC and
 * frame_num, because memory_management_control_operation 5 changes them after the picture was
 * handed out.
 */
#ifndef PELTON_CODEC_DPB_H
#define PELTON_CODEC_DPB_H

#include "codec/internal.h"

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

/* ---- marking (dpb.c) ---- */

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

/* ---- reference lists (ref_lists.c) ---- */

/* RefPicList0 and RefPicList1 of a slice (8.2.4): fills num_ref and ref. Returns H264_ERR_DATA when
 * a modification names a picture that is not there; the lists are usable all the same. */
int h264_ref_lists(struct h264_dpb *dpb, int32_t current_poc, struct h264_slice *slice);

/* ---- picture order count (poc.c) ---- */

struct h264_poc_state {
    int32_t prev_msb, prev_lsb;     /* type 0: prevPicOrderCntMsb, prevPicOrderCntLsb */
    uint32_t prev_frame_num;        /* types 1, 2 */
    uint32_t prev_frame_num_offset; /* modulo 2^32, like all sums here */
};

/* 8.2.1 for a frame or a field; a field leaves the other member of poc untouched. */
void h264_poc_derive(struct h264_poc_state *state, const struct h264_sps *sps,
                     const struct h264_slice_header *h, int32_t poc[2]);
/* Afterwards, when the picture is complete; poc as after the effect of operation 5. */
void h264_poc_after(struct h264_poc_state *state, const struct h264_sps *sps,
                    const struct h264_slice_header *h, bool reset, const int32_t poc[2]);

/* ---- output (output.c) ---- */

/* Pictures in order, each with one reference. */
struct h264_queue {
    struct h264_picture **items;
    size_t head, count, capacity;
};

/* Room for n more pushes. */
int h264_queue_reserve(struct h264_queue *q, size_t n);
/* Takes a new reference. Room must be reserved. */
void h264_queue_push(struct h264_queue *q, struct h264_picture *pic);
struct h264_picture *h264_queue_pop(struct h264_queue *q);
void h264_queue_free(struct h264_queue *q);

/* All waiting pictures leave in order of POC (C.4.4, C.4.5.3). */
void h264_output_flush(struct h264_dpb *dpb, struct h264_queue *out);
/* A frame or a first field enters the DPB, or goes out at once (C.4.5.1, C.4.5.2): e, whose
 * references it takes. Bumps while no buffer is free. */
void h264_output_store(struct h264_dpb *dpb, struct h264_dpb_entry *e, struct h264_queue *out);
/* Pictures beyond `reorder` waiting ones leave. */
void h264_output_trim(struct h264_dpb *dpb, unsigned reorder, struct h264_queue *out);

/* ---- slice groups (slice_groups.c) ---- */

/* mbToSliceGroupMap (8.2.2) of a picture with more than one slice group: map[PicSizeInMbs], by
 * macroblock address. */
void h264_slice_group_map(const struct h264_sps *sps, const struct h264_pps *pps,
                          const struct h264_slice_header *h, uint8_t *map);

/* ---- picture construction (picture.c) ---- */

/* structure: REC_FRAME, or a field */
struct h264_picture *h264_picture_create(const struct h264_allocator *allocator,
                                         const struct h264_sps *sps, unsigned structure);
/* A new slice at the end of pic->slices, zeroed but for pic and index; NULL without memory. */
struct h264_slice *h264_picture_add_slice(struct h264_picture *pic);
/* pic->refs_held gains other, once. */
void h264_picture_hold(struct h264_picture *pic, struct h264_picture *other);
/* And its second field, and the colour planes of both. */
void h264_picture_hold_frame(struct h264_picture *pic, struct h264_picture *other);
/* The slices of a colour plane become a picture of their own that holds pic; NULL without memory.
 */
struct h264_picture *h264_picture_take_plane(struct h264_picture *pic, unsigned plane);
/* All slices are there: makes slice group maps and copies the slices' bytes out of `bytes`, where
 * nal_at says where a NAL unit starts. */
int h264_picture_complete(struct h264_picture *pic, const uint8_t *bytes, size_t size);

#endif
