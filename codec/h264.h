/* SPDX-License-Identifier: BSD-2-Clause
 *
 * H.264 decoding up to flat records (codec/abi/records.h). Plain C: no threads, no globals, no I/O.
 * This header has pictures, and steps 2 and 3 on the CPU.
 *
 *   step 1  h264_stream_feed            headers, POC, marking, lists, output order (h264_stream.h)
 *   step 2  h264_slice_decode           slice data to rec_mb, mvd and coefficients
 *   step 3  h264_picture_derive_motion  mvd to rec_motion, concealment
 *   then    h264_picture_view           slot numbers into the slices, a rec_view to submit
 *
 * Step 1 is serial in a stream. Step 2 runs on any thread, for slices in any order: it needs no
 * other picture. Step 3 of a picture comes after step 2 of all its slices and after step 3 of its
 * colocated pictures. The GPU may do steps 2 and 3 (h264_export.h).
 *
 * Functions return 0, or a negative enum h264_error (h264_error.h). Out-parameters are untouched on
 * failure, unless their comment says otherwise.
 */
#ifndef PELTON_H264_H
#define PELTON_H264_H

#include "codec/h264_allocator.h"
#include "codec/h264_params.h"
#include "codec/h264_sei.h"
#include "codec/abi/records.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    /* Where the GPU derived motion: entries of the lists that macroblocks refer to, bit i for
     * entry i. */
    uint32_t used[2];
    uint8_t out_of_range; /* step 2: values of inverse transforms are (8.5.10 to 8.5.13) */
    /* step 2 ended at an error of CABAC in a P or B slice, and data follow: the last macroblocks
     * may be wrong */
    uint8_t doubted;
    /* [mb_count] in kept.maps of a picture, for step 3 of its copy, whose lists name no pictures;
     * NULL: no colZeroFlag is 1, or nothing is kept */
    const uint16_t *kept_map;
};

/* The arrays that steps 2 and 3 write and reconstruction reads. Host arrays are 64-byte aligned.
 * mbs, motion and syntax are NULL where only the device has them; h264_picture_restore_motion may
 * bring mbs and motion back. */
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
    const struct h264_allocator *coeffs_from; /* and of packed; NULL: the holder's allocator */
    /* In place of coeffs: packed levels (codec/abi/records.h). Capacity and use in words. */
    uint32_t *packed;
    uint32_t packed_capacity;
    atomic_uint packed_words; /* slices take chunks from here */
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
    uint8_t used_known;                        /* h264_slice.used holds */
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
    uint32_t latest;  /* the latest damage that reaches the samples */
    uint32_t clean;   /* damage before this one is over */
    uint32_t missing; /* damage that a missing reference brings */
    uint32_t anew;    /* of a recovery point: the damage that any earlier one counts as; else 0 */
    /* damage that references before picture doubt_id bring: they may not be those that are meant */
    uint32_t doubt, doubt_id;
    uint8_t corrupt;     /* latest is not 0 */
    uint8_t unrecovered; /* not for output: decoding started after its references */
    /* The frame of a first field that stays alone is damaged: a unit behind it was lost. Set before
     * next_output gives it. */
    uint8_t second_lost;
};

/* What h264_picture_restore_motion needs, as long as the picture lives. */
struct h264_kept {
    uint8_t bytes;  /* h264_picture.bytes stay */
    uint16_t *maps; /* arrays.col_zero of the colocated pictures as they were: map_count copies */
    uint32_t map_count;
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
    struct h264_kept kept;
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

/* References are counted. Any thread. */
struct h264_picture *h264_picture_ref(struct h264_picture *pic);
void h264_picture_unref(struct h264_picture *pic); /* NULL is allowed */
/* Before step 2: ref has no samples and will have none. pic's lists lose it, as if it had not come.
 */
void h264_picture_forget(struct h264_picture *pic, const struct h264_picture *ref);

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
/* The same with room for so many coefficient blocks at first, where one slice is the picture. Step
 * 2 makes more room as it goes on, which moves the coefficients: nobody may read them meanwhile. */
int h264_picture_alloc_growing(struct h264_picture *pic, uint32_t coeff_blocks);
/* The same with packed levels instead of coefficient blocks (codec/abi/records.h): `words` are for
 * levels at first. Pictures of more than 8 bits have coefficient blocks all the same. */
int h264_picture_alloc_packed(struct h264_picture *pic, uint32_t words);
/* Words that it allocates; 0: the picture has more than 8 bits. */
uint32_t h264_picture_packed_room(const struct h264_picture *pic, uint32_t words);
/* Frees the arrays and the results of step 3. The picture is as before it had arrays. */
void h264_picture_free_arrays(struct h264_picture *pic);

/* Step 2 of one slice (7.3.4). Slices of any pictures may run at the same time, each with its own
 * scratch. Returns slice->status. On an error the macroblocks before it stay decoded, but for the
 * last ten where data follow. */
int h264_slice_decode(struct h264_slice *slice, struct h264_scratch *scratch);
/* After step 2 of all slices. True: it decoded them without an error. *coeff_blocks: coefficient
 * blocks in use, never more than the macroblocks can have. */
bool h264_picture_intact(const struct h264_picture *pic, uint32_t *coeff_blocks);

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
 * finished theirs. Where their records are read, they must be in host memory (h264_export.h).
 * Macroblocks that no slice covered are counted and concealed. Returns H264_ERR_NOMEM. */
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

/* While step 2 of the picture goes on, and not beside step 3: the same for its first rows of
 * macroblocks, which h264_slice_follow has derived. seen: what these have. For pictures of one
 * slice. Returns H264_ERR_DATA where damage is known. */
int h264_picture_view_rows(struct h264_picture *pic, const struct rec_seen *seen,
                           struct rec_view *out);
/* Coefficient blocks up to the last one of the first so many macroblocks. */
uint32_t h264_view_blocks_until(const struct rec_view *view, uint32_t mbs);

/* The samples exist: frees coefficients and bytes of slices, and drops refs_held. Motion, or what
 * h264_picture_restore_motion needs, and reference identities stay for later pictures. Any thread.
 */
void h264_picture_done(struct h264_picture *pic);

#endif
