/* SPDX-License-Identifier: BSD-2-Clause
 *
 * H.264 decoding up to flat records (codec/abi/records.h). Plain C: no threads, no globals, no I/O.
 *
 *   step 1  h264_stream_feed            headers, POC, marking, lists, output order
 *   step 2  h264_slice_decode           slice data to rec_mb, mvd and coefficients
 *   step 3  h264_picture_derive_motion  mvd to rec_motion, concealment
 *   then    h264_picture_view           slot numbers into the slices, a rec_view to submit
 *
 * Step 1 is serial in a stream. Step 2 runs on any thread, for slices in any order: it needs no
 * other picture. Step 3 of a picture comes after step 2 of all its slices and after step 3 of its
 * colocated pictures.
 *
 * Functions return 0, or a negative enum h264_error. h264_error_text and struct h264_diag give text
 * for a person. Out-parameters are untouched on failure, unless their comment says otherwise.
 */
#ifndef PELTON_H264_H
#define PELTON_H264_H

#include "codec/h264_sei.h"
#include "codec/abi/records.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum h264_error {
    H264_OK = 0,
    /* The bitstream breaks a rule. The damage is concealed or skipped, and decoding goes on. */
    H264_ERR_DATA = -1,
    /* The bitstream is valid but uses a tool that is refused. diag names the syntax element. */
    H264_ERR_UNSUPPORTED = -2,
    H264_ERR_NOMEM = -3,
    H264_ERR_NO_PARAMS = -4, /* refers to a parameter set that was never received */
    H264_ERR_TRUNCATED = -5  /* data ends inside a syntax structure */
};
const char *h264_error_text(int error);

/* Place and reason of an error. The function that returns a negative value fills it. */
struct h264_diag {
    const char *element; /* syntax element or rule, static string: "frame_mbs_only_flag" */
    int64_t value;       /* its value in the stream */
    const char *what; /* one clause of English, static: "interlaced coding is not supported yet" */
};

/* ---- parameter sets (7.3.2.1, 7.3.2.2); immutable and refcounted once parsed ---- */

#define H264_MAX_SPS 32
#define H264_MAX_PPS 256

struct h264_vui {
    uint8_t aspect_ratio_idc;
    uint16_t sar_width, sar_height; /* 0:0 unknown */
    uint8_t overscan_info_present, overscan_appropriate;
    uint8_t video_signal_type_present, video_format, full_range;
    /* H.273 code points, 2 = unspecified */
    uint8_t colour_description_present, colour_primaries, transfer, matrix;
    uint8_t chroma_loc_present, chroma_loc_top, chroma_loc_bottom;
    uint8_t timing_info_present, fixed_frame_rate;
    uint32_t num_units_in_tick, time_scale;
    uint8_t nal_hrd_present, vcl_hrd_present, pic_struct_present;
    uint8_t cpb_count[2]; /* cpb_cnt_minus1 + 1 of the NAL and the VCL HRD, where present */
    uint8_t cpb_removal_delay_length, dpb_output_delay_length, time_offset_length,
        initial_cpb_removal_delay_length;
    uint8_t bitstream_restriction_flag;
    uint8_t max_num_reorder_frames, max_dec_frame_buffering;
};

struct h264_sps {
    atomic_int refs;
    uint32_t serial; /* from 1: counts the different sets of a stream, or of its second view */
    uint8_t profile_idc, constraint_flags /* constraint_set0_flag is bit 7 */, level_idc, id;
    uint8_t chroma_format_idc, separate_colour_plane_flag, bit_depth[2] /* luma, chroma */;
    uint8_t qpprime_y_zero_transform_bypass_flag;
    uint8_t seq_scaling_matrix_present_flag;
    struct rec_scaling scaling; /* after fall-back rule set A; Flat_16 when absent */
    uint8_t log2_max_frame_num, poc_type, log2_max_poc_lsb, delta_pic_order_always_zero_flag;
    int32_t offset_for_non_ref_pic, offset_for_top_to_bottom_field;
    uint8_t num_ref_frames_in_poc_cycle;
    int32_t offset_for_ref_frame[255];
    uint8_t max_num_ref_frames, gaps_in_frame_num_allowed;
    uint16_t mb_width, map_height; /* PicWidthInMbs, PicHeightInMapUnits */
    uint16_t mb_height;            /* FrameHeightInMbs */
    uint8_t frame_mbs_only_flag, mb_adaptive_frame_field_flag, direct_8x8_inference_flag;
    uint16_t crop_left, crop_right, crop_top, crop_bottom; /* in luma samples of the frame */
    uint8_t vui_present;
    struct h264_vui vui;
    /* MaxDpbFrames, or max_dec_frame_buffering where given (A.3.1, E.2.1) */
    uint8_t max_dpb_frames;
    uint8_t reorder_frames; /* max_num_reorder_frames, given or inferred */
    /* Subset sequence parameter sets of multiview streams (H.7.3.2.1.4), else 0. */
    uint16_t num_views, view_id[2]; /* of the first two views */
    /* [anchor_pic_flag]: bit X: the second view refers to the first in list X */
    uint8_t view_refs[2];
};

struct h264_pps {
    atomic_int refs;
    uint8_t id, sps_id;
    uint8_t entropy_coding_mode_flag, bottom_field_pic_order_in_frame_present_flag;
    uint8_t num_slice_groups; /* 1: no FMO */
    uint8_t slice_group_map_type, slice_group_change_direction_flag;
    uint32_t slice_group_change_rate;
    uint32_t run_length[8];                /* type 0: run_length_minus1 + 1 */
    uint32_t top_left[8], bottom_right[8]; /* type 2, map units */
    uint32_t pic_size_in_map_units;        /* type 6: entries of slice_group_id */
    uint8_t *slice_group_id;               /* type 6, else NULL */
    uint8_t num_ref_default[2];
    uint8_t weighted_pred_flag, weighted_bipred_idc;
    int8_t pic_init_qp; /* 26 + pic_init_qp_minus26 */
    int8_t pic_init_qs;
    int8_t chroma_qp_offset[2]; /* Cb, Cr */
    uint8_t deblocking_filter_control_present_flag, constrained_intra_pred_flag,
        redundant_pic_cnt_present_flag;
    uint8_t transform_8x8_mode_flag;
    uint8_t pic_scaling_matrix_present_flag;
    /* Scaling lists as parsed; the effective lists depend on the SPS that is active:
     * h264_pps_scaling. A list not present (bit of list_present clear) falls back; use_default
     * likewise per list. 4x4 lists 0..5, 8x8 lists 6..11. */
    uint16_t list_present, list_default;
    struct rec_scaling lists; /* raster order */
};

/* The effective weight scale of (sps, pps), fall-back rule sets A and B applied (Table 7-2). */
void h264_pps_scaling(const struct h264_sps *sps, const struct h264_pps *pps,
                      struct rec_scaling *out);

/* ---- slice header (7.3.3) ---- */

enum h264_slice_type { H264_P = 0, H264_B = 1, H264_I = 2, H264_SP = 3, H264_SI = 4 };

/* modification_of_pic_nums_idc (4, 5: other views) and its operand */
struct h264_list_mod {
    uint8_t op;
    uint32_t value;
};
struct h264_mmco {
    uint8_t op;
    uint32_t a, b;
}; /* operands in the order of 7.3.3.3 */

struct h264_slice_header {
    uint8_t nal_unit_type, nal_ref_idc, idr;
    uint8_t anchor_pic_flag; /* nal_unit_type 20 (H.7.3.1.1): with view_id; else 0 */
    uint16_t view_id;
    uint8_t inter_view_flag; /* of the base view: the second one may refer to it (H.7.4.1.1) */
    uint32_t first_mb;       /* address: first_mb_in_slice * (1 + MbaffFrameFlag) */
    uint8_t type;            /* enum h264_slice_type, slice_type % 5 */
    uint8_t pps_id;
    uint8_t colour_plane_id, field_pic_flag, bottom_field_flag;
    uint32_t frame_num, idr_pic_id, poc_lsb;
    int32_t delta_poc_bottom, delta_poc[2];
    uint32_t redundant_pic_cnt;
    uint8_t direct_spatial_mv_pred_flag;
    uint8_t num_ref[2]; /* num_ref_idx_lX_active, inferred values filled in */
    uint8_t list_mod_count[2];
    struct h264_list_mod list_mod[2][33 + 33];
    uint8_t luma_log2_denom, chroma_log2_denom;
    /* [list][ref][Y Cb Cr][weight, offset]; inferred values filled in */
    int16_t weight[2][32][3][2];
    uint8_t no_output_of_prior_pics_flag, long_term_reference_flag, adaptive_marking_flag;
    uint8_t mmco_count;
    struct h264_mmco mmco[66];
    uint8_t cabac_init_idc;
    int8_t qp; /* SliceQPY */
    int8_t qs;
    uint8_t sp_for_switch_flag;
    uint8_t disable_deblocking_filter_idc;
    int8_t filter_offset_a, filter_offset_b; /* doubled */
    uint32_t slice_group_change_cycle;
    uint32_t slice_id; /* of a data partition A */
};

/* ---- pictures ---- */

struct h264_picture;

/* Partition shapes, from step 2 for step 3. 8 bytes per macroblock. */
enum h264_part {
    H264_PART_16X16 = REC_PART_16X16,
    H264_PART_16X8 = REC_PART_16X8,
    H264_PART_8X16 = REC_PART_8X16,
    H264_PART_8X8 = REC_PART_8X8,
    H264_PART_SKIP = REC_PART_SKIP,     /* P_Skip */
    H264_PART_DIRECT = REC_PART_DIRECT, /* B_Skip or B_Direct_16x16 */
    H264_PART_INTRA = REC_PART_INTRA
};
enum h264_sub {
    H264_SUB_8X8 = REC_SUB_8X8,
    H264_SUB_8X4 = REC_SUB_8X4,
    H264_SUB_4X8 = REC_SUB_4X8,
    H264_SUB_4X4 = REC_SUB_4X4,
    H264_SUB_DIRECT = REC_SUB_DIRECT
};
struct h264_mb_syntax {
    uint8_t part;    /* enum h264_part */
    uint8_t sub[4];  /* enum h264_sub of each quadrant where part is H264_PART_8X8 */
    uint8_t decoded; /* 1: a slice covered it */
    uint8_t reserved[2];
};
/* rec_motion of an inter macroblock between steps 2 and 3:
 * ref_idx  as parsed, 0 where it is inferred, -1 where the list is unused
 * mv       the mvd of each partition, at the raster block of its upper left corner, else 0
 * Quadrants in direct mode have unspecified values. Step 3 replaces all of them. */

#define H264_SLICE_ENDED 0x80000000u

/* Records that only a device can read. They lie in one block of an allocator of their own, which
 * outlives the picture. */
struct h264_device_records {
    void *memory; /* NULL: there are none */
    size_t size;
    const struct h264_allocator *from;
    const struct rec_mb *mbs; /* [mb_count], in the block */
    const struct rec_motion *motion;
};

struct h264_group_map {
    struct h264_group_map *next;
    const struct h264_pps *pps; /* whose it is; borrowed from a slice */
    size_t size;
    uint8_t groups[]; /* [mb_count] */
};

/* One entry of a slice's reference list. */
struct h264_list_entry {
    /* NULL: "no reference picture". Of a frame decoded as two fields it is the picture of the first
     * field, for each structure (h264_picture_of_parity). Of separate planes it is that of plane
     * 0. */
    struct h264_picture *pic;
    uint8_t structure;    /* REC_TOP, REC_BOTTOM, REC_FRAME */
    uint8_t long_term;    /* marking when this picture is decoded */
    int32_t poc;          /* PicOrderCnt of that frame or field at that time */
    int32_t field_poc[2]; /* of the frame's fields, for field macroblocks of MBAFF frames */
    /* pic->id * 4 + structure. It outlives refs_held, for colocated motion. */
    uint32_t id;
};

/* One slice, with all that its decode needs. */
struct h264_slice {
    struct h264_picture *pic;
    uint32_t index;
    /* redundant_pic_cnt > 0: h264_slice_decode does nothing. h264_picture_derive_motion decodes the
     * slice where the primary one is lost. */
    struct h264_slice_header hdr;
    const struct h264_sps *sps; /* owned references */
    const struct h264_pps *pps;
    /* NAL unit with emulation prevention bytes, from the header byte on; inside pic->bytes */
    uint8_t *nal;
    size_t nal_size;
    /* first bit of slice_data() in the RBSP: header byte included, emulation bytes removed */
    size_t data_bit_offset;
    /* Data partitions B and C of a slice whose nal is partition A (nal_unit_type 2). NULL: the
     * partition is lost, or there was none. */
    uint8_t *nal_b, *nal_c;
    size_t nal_b_size, nal_c_size, data_bit_offset_b, data_bit_offset_c;
    size_t nal_at[3]; /* step 1's own: offsets of nal, nal_b, nal_c in pic->bytes */
    /* slice group by macroblock address (8.2.2.8), inside pic; NULL: one group */
    const uint8_t *slice_group_map;
    uint8_t num_ref[2]; /* entries of RefPicList0 and RefPicList1 in use */
    struct h264_list_entry ref[2][REC_MAX_REFS];
    /* Decode stops before this address: the first macroblock of the next slice of this picture and
     * slice group by address, or mb_count. */
    uint32_t end_mb;
    /* Step 2 has decoded the macroblocks before this address. With H264_SLICE_ENDED none will
     * follow. It is released row by row to the thread that derives their motion. */
    atomic_uint ready;
    uint32_t motion_mb;   /* step 3 has finished those before this address; 0: not begun */
    uint8_t motion_lost;  /* step 3 met a colocated reference that is not in list 0 any more */
    int status;           /* result of step 2 */
    uint32_t mbs_decoded; /* by step 2 */
    /* step 2: macroblocks lack the residual of a lost or damaged data partition */
    uint8_t lost_partition;
};

/* The arrays that steps 2 and 3 write and reconstruction reads. Host arrays are 64-byte aligned.
 * mbs, motion and syntax are NULL where only the device has them. */
struct h264_arrays {
    struct rec_mb *mbs;        /* [mb_count] */
    struct rec_motion *motion; /* [mb_count] */
    /* [mb_count] colZeroFlag of each block (8.4.1.2.2, codec/abi/motion_abi.h), valid after step 3.
     * NULL unless h264_picture_has_map. */
    uint16_t *col_zero;
    struct h264_mb_syntax *syntax; /* [mb_count] */
    /* Coefficient blocks of 16 values, int16_t or int32_t. In device memory the host must not read
     * through this address. */
    void *coeffs;
    const struct h264_allocator *coeffs_from; /* NULL: the allocator of the holder */
    /* Reconstruction reads these in place of mbs and motion, where memory is not NULL. */
    struct h264_device_records device_records;
    uint32_t coeff_block_capacity;
    atomic_uint coeff_block_count; /* slices take chunks from here */
    struct rec_slice *rec_slices;  /* [slice_count + 1]: the last is free for concealment */
    int16_t *weights;
    uint32_t weight_count;
    struct rec_scaling *scaling;
    uint32_t scaling_count;
    uint8_t has_intra, has_inter, has_deblock; /* of rec_picture; set by step 3 */
};

/* An entry of a slice's list, as the source of concealed macroblocks. */
struct h264_conceal_ref {
    uint32_t slice; /* REC_NO_SLICE: the previous picture */
    uint8_t list, index;
};

/* Losses of a picture. Damage is the number of the picture in which it happened: they count up, and
 * 0 is none. */
struct h264_damage {
    /* Reference, or NULL. Concealment of a picture without references copies it: it was decoded
     * just before. */
    struct h264_picture *previous;
    struct h264_conceal_ref conceal_refs[REC_MAX_REFS];
    uint8_t conceal_ref_count;
    atomic_uint missing_mbs;
    uint32_t latest;     /* the latest damage that reaches the samples */
    uint32_t clean;      /* damage before this one is over */
    uint32_t missing;    /* damage that a missing reference brings */
    uint8_t corrupt;     /* latest is not 0 */
    uint8_t unrecovered; /* not for output: decoding started after its references */
};

/* The caller's part of a picture. */
struct h264_holder {
    /* Frame slot, -1 until the caller chooses one. h264_picture_view of this picture and of those
     * that refer to it needs it. */
    int32_t slot;
    /* 0 unless the caller sets it before there are arrays. 1: step 3 fills col_zero. */
    uint8_t wants_map;
    void *user;
    void (*on_free)(struct h264_picture *pic); /* called once before the memory goes; may be NULL */
    const struct h264_allocator *allocator;
};

/* h264_stream_feed creates a picture with three references: the caller's decode list, the DPB and
 * the output queue. The caller takes it through steps 2 and 3, submits its records, and calls
 * h264_picture_done when its samples exist. That drops the references on the pictures it read. The
 * last h264_picture_unref frees it, on any thread. */
struct h264_picture {
    atomic_int refs;
    uint32_t id; /* counts up in decoding order; never reused within a stream */
    const struct h264_sps *sps;
    uint8_t structure; /* REC_FRAME, or REC_TOP or REC_BOTTOM: a field is a picture of its own */
    /* The two fields of a frame share the frame slot, which the first one owns. The caller gives
     * the second one the slot of the first. */
    struct h264_picture *first_field; /* of a second field: the other one, a reference; else NULL */
    /* of a first field: borrowed, for those who hold the second too; else NULL */
    struct h264_picture *second_field;
    uint8_t paired; /* a first field that has a second one: set before next_output gives it */
    uint8_t view;   /* 1: of the second view (h264_stream_params.views) */
    /* separate_colour_plane_flag: each plane is a picture of its own with the records of 4:0:0. It
     * shares the slot of plane 0. */
    uint8_t colour_plane;           /* colour_plane_id */
    struct h264_picture *plane0;    /* of planes 1 and 2: that of plane 0, a reference; else NULL */
    struct h264_picture *planes[2]; /* of plane 0: planes 1 and 2, borrowed */
    uint8_t mbaff, idr, nal_ref_idc, has_b_slices;
    struct h264_recovery_point recovery; /* of the SEI before it */
    /* All messages before it, owned; NULL: none. A paired first field has those of the second
     * too. */
    struct h264_sei *sei;
    uint8_t non_existing; /* inferred by a frame_num gap: no slices, a copy source only */
    int32_t poc[2]; /* TopFieldOrderCnt, BottomFieldOrderCnt; of a field only its own is valid */
    /* PicOrderCnt: min of both, or a field's own; before an MMCO 5 resets them */
    int32_t output_poc;
    int64_t tag;                  /* the caller's number of the access unit (h264_stream_feed) */
    uint32_t mb_width, mb_height; /* PicWidthInMbs, FrameHeightInMbs */
    uint32_t mb_count;            /* PicSizeInMbs */

    struct h264_slice *slices;
    uint32_t slice_count, slice_capacity;
    struct h264_group_map *group_maps; /* slice group maps of the slices */
    uint8_t *bytes;                    /* NAL units of the slices */
    size_t bytes_size;
    /* distinct pictures that slices of this one name, with their second fields and other planes */
    struct h264_picture *refs_held[6 * (REC_MAX_REFS + 2)];
    uint32_t refs_held_count;

    struct h264_arrays arrays;
    struct h264_damage damage;
    struct h264_holder holder;
    uint8_t follows;                /* h264_slice_follow may be used */
    uint8_t motion_done;            /* step 3 has finished */
    struct h264_picture *next_free; /* h264_picture.c's own */
};

/* The picture that decoded this parity of the frame in pic's slot. A frame picture is it itself. A
 * first field gives itself or its second field; NULL: there was none. */
static inline struct h264_picture *h264_picture_of_parity(struct h264_picture *pic,
                                                          unsigned structure)
{
    return structure == REC_FRAME || (pic->structure & structure) ? pic : pic->second_field;
}

/* ChromaArrayType of a picture's records: 0 for separate planes. */
static inline unsigned h264_chroma_array_type(const struct h264_sps *sps)
{
    return sps->separate_colour_plane_flag ? 0 : sps->chroma_format_idc;
}

/* Memory for picture arrays. Both functions are called on any thread. */
struct h264_allocator {
    /* 64-byte-aligned memory of undefined content, or NULL */
    void *(*get)(void *ctx, size_t size);
    void (*put)(void *ctx, void *memory, size_t size);
    void *ctx;
    /* Allocator of NAL units, which only step 2 reads and whose sizes vary. NULL: this one. */
    const struct h264_allocator *bytes;
};

/* References are counted. Any thread. */
struct h264_picture *h264_picture_ref(struct h264_picture *pic);
void h264_picture_unref(struct h264_picture *pic); /* NULL is allowed */

/* ---- step 1: one thread at a time per stream ---- */

struct h264_stream;

/* Tools that the consumer of the records can reconstruct. A slice that needs more is refused with
 * H264_ERR_UNSUPPORTED, and diag names the syntax element. */
struct h264_capabilities {
    uint8_t chroma_formats;   /* bit n: chroma_format_idc n */
    uint8_t max_bit_depth[2]; /* luma, chroma */
    bool interlaced;          /* fields and MBAFF frames */
    bool separate_planes;     /* separate_colour_plane_flag */
    bool switching;           /* SP and SI slices */
};

struct h264_stream_params {
    /* NULL: all of the standard; else outlives the stream */
    const struct h264_capabilities *capabilities;
    const struct h264_allocator *allocator; /* NULL: malloc; else outlives every picture */
    /* A picture is output as soon as max_num_reorder_frames allows. Else it may wait for a full
     * DPB. */
    bool low_delay_output;
    /* 2: the second view of multiview streams too; its pictures come in the same queues */
    unsigned views;
    /* Decoding starts at the first slice. Else it starts at an IDR picture or recovery point. */
    bool any_start;
    int strict; /* 1: refuses frame_num gaps that the SPS forbids. 0: conceals them. */
    /* The caller calls h264_picture_alloc before step 2 of each picture with slices. */
    bool late_arrays;
};

/* *out is the caller's, to free with h264_stream_free. params may go after the call. Returns
 * H264_ERR_NOMEM. */
int h264_stream_create(const struct h264_stream_params *params, struct h264_stream **out);
/* Pictures that were handed out stay valid. NULL is allowed. */
void h264_stream_free(struct h264_stream *s);

/* Parameter sets out of band: an avcC box, whose first byte is 1, or Annex B bytes. An avcC box
 * also sets the length size of NAL units. data may go after the call. */
int h264_stream_extradata(struct h264_stream *s, const uint8_t *data, size_t size,
                          struct h264_diag *diag);

/* Feeds bytes of the access unit `tag`: Annex B, or length-prefixed after an avcC box. The bytes
 * may hold several pictures, and a picture may span calls. A picture is complete when the next one
 * starts or when the tag changes. Drain both queues after each call. data may go after the call.
 * Returns the first error; everything usable was taken nevertheless. */
int h264_stream_feed(struct h264_stream *s, const uint8_t *data, size_t size, int64_t tag,
                     struct h264_diag *diag);
/* The access unit has no further bytes: its picture is complete now, not when the next one begins.
 * Two fields of a frame are two access units; their frame is complete with both, or when the next
 * picture begins. Drain the queues again afterwards. Does nothing in profiles with arbitrary slice
 * order, whose access units are often cut inside of pictures. */
int h264_stream_end_access_unit(struct h264_stream *s, struct h264_diag *diag);
/* End of the stream: the pictures that wait become available for output. */
int h264_stream_flush(struct h264_stream *s);

/* The next complete picture in decoding order, with one reference for the caller. NULL: none waits.
 * A non_existing picture comes too: its samples are a copy of refs_held[0], where there is one. */
struct h264_picture *h264_stream_next_decode(struct h264_stream *s);
/* The next picture in output order, with one reference for the caller. It may come before it is
 * decoded. The first field stands for a frame of two fields: its slot is complete when both are
 * decoded, if it is `paired`. */
struct h264_picture *h264_stream_next_output(struct h264_stream *s);

/* The active SPS, else the last one received, or NULL. Borrowed until the next call for s. */
const struct h264_sps *h264_stream_sps(const struct h264_stream *s);
/* Counters for statistics and tests. */
struct h264_stats {
    uint64_t access_units, nal_units, pictures, slices, errors, gaps, skipped_before_idr;
};
void h264_stream_stats(const struct h264_stream *s, struct h264_stats *out);

/* ---- step 2: any thread ---- */

/* Scratch of one worker: unescaped bytes, CABAC contexts, neighbour lines. It grows as needed. One
 * thread at a time. create: NULL without memory. */
struct h264_scratch;
struct h264_scratch *h264_scratch_create(void);
void h264_scratch_free(struct h264_scratch *scratch);

/* Allocates the arrays that steps 2 and 3 write, for h264_stream_params.late_arrays. Once per
 * picture. Returns H264_ERR_NOMEM: then neither the picture nor one that h264_picture_colocated
 * relates to it goes through steps 2 and 3. */
int h264_picture_alloc(struct h264_picture *pic);
/* Frees the arrays and the results of step 3. The picture is as before it had arrays. */
void h264_picture_free_arrays(struct h264_picture *pic);

/* Step 2 of one slice (7.3.4). Slices of any pictures may run at the same time, each with its own
 * scratch. Returns slice->status. On an error the macroblocks before it stay decoded. */
int h264_slice_decode(struct h264_slice *slice, struct h264_scratch *scratch);
/* After step 2 of all slices. True: it decoded them without an error. *coeff_blocks: coefficient
 * blocks in use, never more than the macroblocks can have. */
bool h264_picture_intact(const struct h264_picture *pic, uint32_t *coeff_blocks);

/* ---- step 2 on the GPU (entropy_export.c, codec/abi/entropy_abi.h) ----
 *
 * Any thread, one at a time for each picture. */

struct ent_slice;
struct ent_tables;

/* Whether the GPU can decode all slices of pic: I, P and B slices in CABAC, 8 bits, 4:2:0 or 4:0:0,
 * within ENT_MIN_WIDTH, ENT_MAX_WIDTH and ENT_MAX_BYTES. They cover the picture in order. MBAFF,
 * slice groups, redundant slices and data partitions are excluded. */
bool h264_picture_exports_entropy(const struct h264_picture *pic);
/* Most bytes that h264_slice_export_entropy writes. */
size_t h264_slice_entropy_size(const struct h264_slice *slice);
/* Exports a slice of such a picture. bytes: its RBSP and H264_BITS_PADDING zeros, *size in all,
 * written in order. *out: all but word, mb_base, coeff_block_base, coeff_block_count and picture.
 * Returns H264_ERR_TRUNCATED where there is no slice data. */
int h264_slice_export_entropy(const struct h264_slice *slice, struct ent_slice *out, uint8_t *bytes,
                              size_t *size);
/* Tables of 9.3 for the shader. */
void h264_entropy_tables(struct ent_tables *out);

/* Instead of h264_picture_alloc. The content of all arrays is undefined: it comes from the GPU.
 * coeff_blocks: exact size of coeffs, at least one. coeffs_from: allocator of coeffs, which
 * outlives the picture; NULL: the picture's. The codec never reads these coeffs. records: mbs,
 * motion and syntax are allocated too; without them h264_picture_import_motion has to follow.
 * Returns H264_ERR_NOMEM: then call h264_picture_free_arrays. */
int h264_picture_alloc_blocks(struct h264_picture *pic, uint32_t coeff_blocks,
                              const struct h264_allocator *coeffs_from, bool records);
/* The arrays hold all macroblocks of all slices, decoded without an error. Afterwards the picture
 * is as h264_slice_decode leaves it. False: step 3 could not take the content, and the picture is
 * as before. A device's memory is not trusted more than a bitstream. */
bool h264_picture_import_entropy(struct h264_picture *pic, uint32_t coeff_blocks);
/* The same piece by piece, so that h264_slice_follow can go on with each piece. First
 * h264_picture_import_entropy_begin, then macroblocks [from, to) of each slice, from its first one
 * on. After false only h264_picture_free_arrays may follow. */
void h264_picture_import_entropy_begin(struct h264_picture *pic, uint32_t coeff_blocks);
bool h264_slice_import_entropy(struct h264_slice *slice, uint32_t from, uint32_t to);

/* ---- step 3 on the GPU (motion_export.c, codec/abi/motion_abi.h) ----
 *
 * Any thread, one at a time for each picture. Step 2 of the picture is done, by CPU or GPU. */

struct der_slice;

/* Whether the GPU can do step 3 of pic: h264_picture_exports_entropy holds, no slice uses temporal
 * direct prediction, and each colocated picture has a map and is a field where pic is one. */
bool h264_picture_exports_motion(const struct h264_picture *pic);
/* Whether pic has or gets arrays.col_zero: wants_map is set, and it is a reference picture and no
 * MBAFF frame. */
bool h264_picture_has_map(const struct h264_picture *pic);
/* Exports a slice once the motion of the colocated pictures is done. *out: all but the place of its
 * map. *map: the map of its colocated picture, valid as long as pic; NULL: no colZeroFlag is 1. */
void h264_slice_export_motion(const struct h264_slice *slice, struct der_slice *out,
                              const uint16_t **map);
/* Imports a picture whose motion the GPU derived. In: arrays.col_zero, and mbs and motion where
 * they are allocated. coeff_blocks: coefficient blocks in use. kinds: DER_* flags without DER_BAD.
 * device_records: the same records on the device, which the picture owns from now on; NULL: none.
 * host: records are kept in host memory too, for pictures that read them there. Afterwards the
 * picture is as h264_picture_derive_motion leaves it. Returns H264_ERR_NOMEM: the picture is as
 * before, and device_records are the caller's. */
int h264_picture_import_motion(struct h264_picture *pic, uint32_t coeff_blocks, unsigned kinds,
                               const struct h264_device_records *device_records, bool host);
/* After step 1. Whether an entry of a list names a picture that is not decoded, which is legal
 * while no macroblock uses it. h264_picture_view then needs mbs and motion in host memory: without
 * them it marks the picture as damaged. */
bool h264_picture_lacks_refs(const struct h264_picture *pic);

/* ---- step 3: any thread, one at a time for each picture ---- */

/* Step 3 of single slices while step 2 of the picture goes on. Not for pictures with MBAFF, slice
 * groups or redundant slices: their slices are not independent runs of addresses.
 *
 * begin comes after h264_picture_alloc and before step 2. Returns 1 where h264_slice_follow may be
 * used, 0 where not, or H264_ERR_NOMEM. The pictures of h264_picture_colocated must have finished
 * step 3 before the first h264_slice_follow.
 *
 * follow derives the macroblocks of a slice that are ready: [*from, *to), none where they are
 * equal. False: the slice has ended and all of it is derived. One thread at a time for each slice.
 * h264_picture_derive_motion does the rest. */
int h264_picture_follow_begin(struct h264_picture *pic);
bool h264_slice_follow(struct h264_slice *slice, uint32_t *from, uint32_t *to);

/* Step 3 (8.4.1). The pictures of h264_picture_colocated and h264_picture_conceal_source must have
 * finished theirs. Macroblocks that no slice covered are counted and concealed. Returns
 * H264_ERR_NOMEM. */
int h264_picture_derive_motion(struct h264_picture *pic);
/* After step 3: the records without slots, for records_validate_content. rec_slice.ref and
 * head.slot are not filled yet. Pointers are valid until h264_picture_done. */
void h264_picture_records(const struct h264_picture *pic, struct rec_view *out);
/* Writes up to 32 distinct pictures whose motion step 3 of pic reads. Borrowed. Returns their
 * number. */
uint32_t h264_picture_colocated(const struct h264_picture *pic, struct h264_picture *out[32]);
/* After step 2 of all slices. Returns 1 and the picture whose motion concealment reads, or 0.
 * Borrowed. An earlier call would make decoding wait for pictures that it does not need. */
uint32_t h264_picture_conceal_source(const struct h264_picture *pic, struct h264_picture **out);

/* Marks a loss that the codec did not see. Pictures that refer to pic are marked too. */
void h264_picture_damage(struct h264_picture *pic);

/* Fills rec_slice.ref and the view. pic and all pictures that it refers to must have slots. Missing
 * references get the slot of another reference, or of pic itself. Pointers of the view are valid
 * until h264_picture_done. Returns H264_ERR_DATA without a slot or before step 3. */
int h264_picture_view(struct h264_picture *pic, struct rec_view *out);

/* The samples exist: frees coefficients and bytes of slices, and drops refs_held. Motion and
 * reference identities stay for later pictures. Any thread. */
void h264_picture_done(struct h264_picture *pic);

#endif
