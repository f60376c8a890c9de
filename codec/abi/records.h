/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ABI between the CPU and the GPU: the records of an entropy-decoded picture.
 *
 * Included by C and by GLSL (glslang predefines VULKAN). Plain structs of fixed-width integers in
 * scalar layout, without implicit padding; sizes are asserted below, and the build compiles this
 * header alone with -Wpadded -Werror.
 *
 * Records are indexed by macroblock address, so slices write disjoint parts of the same arrays.
 * Only coefficients are appended; rec_mb.coeff says where those of a macroblock start. Records
 * speak slot numbers, never pointers. Everything here has passed records_validate() before a shader
 * sees it.
 *
 * Words: a "coefficient block" is 16 coefficients (or 16 residual samples) of one 4x4 block.
 * "blkIdx" is the standard's luma4x4BlkIdx (6.4.3, zig-zag of 8x8 quadrants); "raster block" is
 * 4*y4 + x4 inside the macroblock.
 */
#ifndef PELTON_RECORDS_H
#define PELTON_RECORDS_H

#ifdef VULKAN
#define REC_U8  uint8_t
#define REC_I8  int8_t
#define REC_U16 uint16_t
#define REC_I16 int16_t
#define REC_U32 uint
#define REC_I32 int
#else
#include <stdint.h>
#define REC_U8  uint8_t
#define REC_I8  int8_t
#define REC_U16 uint16_t
#define REC_I16 int16_t
#define REC_U32 uint32_t
#define REC_I32 int32_t
#endif

/* rec_mb.kind */
#define REC_MB_INTRA_4X4   0
#define REC_MB_INTRA_8X8   1
#define REC_MB_INTRA_16X16 2
#define REC_MB_INTRA_PCM   3
#define REC_MB_INTER       4
/* no slice covered it; concealment turns it into one of the above before submission */
#define REC_MB_MISSING 5

/* rec_mb.flags */
#define REC_MB_TRANSFORM_8X8 1  /* transform_size_8x8_flag */
#define REC_MB_FIELD         2  /* field macroblock: of an MBAFF frame, or of a field picture */
#define REC_MB_BYPASS        4  /* TransformBypassModeFlag: lossless */
#define REC_MB_SKIP          8  /* P_Skip or B_Skip; only for statistics */
#define REC_MB_SI            16 /* mb_type SI: kind INTRA_4X4 whose residual is decoded by 8.6.2 */

/* rec_mb.intra_avail: neighbours that intra prediction may use, constrained_intra_pred_flag and
 * slices applied (8.3.1.2). The halves of A differ only in MBAFF frames. */
#define REC_AVAIL_A_UPPER 1
#define REC_AVAIL_A_LOWER 2
#define REC_AVAIL_A       3
#define REC_AVAIL_B       4
#define REC_AVAIL_C       8
#define REC_AVAIL_D       16
/* Only where it is not what A_UPPER says: a frame macroblock of an MBAFF frame whose left pair is
 * of field macroblocks, one of them unavailable. The sample p[-1, 7], corner of the lower left
 * Intra_8x8 block, is there though its column is not. */
#define REC_AVAIL_D8 32

/* rec_mb.deblock: which edges the deblocking filter visits (8.7), disable_deblocking_filter_idc and
 * slices applied. 0 = the macroblock is not filtered. LEFT and TOP are never set at the picture's
 * own border. */
#define REC_DEBLOCK_INTERNAL 1
#define REC_DEBLOCK_LEFT     2
#define REC_DEBLOCK_TOP      4

/* rec_slice.ref and rec_picture.structure: bit 0 top field, bit 1 bottom field, both: frame */
#define REC_TOP                  1
#define REC_BOTTOM               2
#define REC_FRAME                3
#define REC_REF(slot, structure) ((slot)*4 + (structure))
#define REC_REF_SLOT(ref)        ((ref) >> 2)
#define REC_REF_STRUCTURE(ref)   ((ref)&3)
#define REC_REF_NONE             0 /* "no reference picture": never named by a valid ref_idx */

/* rec_slice.weight_mode */
#define REC_WEIGHT_DEFAULT  0
#define REC_WEIGHT_EXPLICIT 1
#define REC_WEIGHT_IMPLICIT 2

/* of a frame, each way: planes are images, and devices need not have any wider than 16384 */
#define REC_MAX_SIDE_MBS 1024
#define REC_MAX_REFS     32 /* entries of a reference list (field decoding: 32) */
#define REC_NO_SLICE     0xffffffffu

/* Ranges, for all that check records: records_validate.c and the shaders. */
#define REC_MAX_QP            51 /* of QPY, QPC, QSY; the least is -QpBdOffset */
#define REC_MAX_FILTER_OFFSET 12 /* the least is -12 */
#define REC_MAX_LOG2_DENOM    7
#define REC_MAX_MODE_NXN      8 /* Intra4x4PredMode, Intra8x8PredMode */
#define REC_MAX_MODE_16X16    3
#define REC_MAX_MODE_CHROMA   3
#define REC_MB_FLAGS          31 /* all of rec_mb.flags */
#define REC_DEBLOCK_EDGES     7  /* all of rec_mb.deblock */

/* Samples that an intra mode reads beside its block: an octal digit for each mode, mode 0 last
 * (Tables 8-2 to 8-5). Samples above right are substituted where they are missing. */
#define REC_NEED_LEFT          1u
#define REC_NEED_TOP           2u
#define REC_NEED_CORNER        4u
#define REC_NEEDS_NXN          0127772012u
#define REC_NEEDS_16X16        07012u
#define REC_NEEDS_CHROMA       07210u
#define REC_NEEDS(table, mode) ((table) >> 3 * (mode)&7u)

/* h264_mb_syntax.part and .sub: shapes, which step 2 leaves for step 3 */
#define REC_PART_16X16  0
#define REC_PART_16X8   1
#define REC_PART_8X16   2
#define REC_PART_8X8    3
#define REC_PART_SKIP   4 /* P_Skip */
#define REC_PART_DIRECT 5 /* B_Skip or B_Direct_16x16 */
#define REC_PART_INTRA  6
#define REC_SUB_8X8     0
#define REC_SUB_8X4     1
#define REC_SUB_4X8     2
#define REC_SUB_4X4     3
#define REC_SUB_DIRECT  4

/* One macroblock. 32 bytes. */
struct rec_mb {
    REC_U32 slice; /* index into the picture's rec_slice array */
    REC_U32 coeff; /* its first coefficient block in those of the picture */
    /* Which 4x4 blocks have a coefficient block, by component (Y, Cb, Cr), bit = blkIdx.
     * Coefficient blocks are stored in order of component, then bit, without gaps: block b of
     * component c is coefficient block coeff + popcounts of the components before + popcount of the
     * bits below b. Luma (and in 4:4:4 all components): with TRANSFORM_8X8 the four bits of a
     * quadrant are all set or all clear, and its four coefficient blocks hold 64 coefficients as
     * 8x8 raster (row * 8 + column). Otherwise a coefficient block is a 4x4 raster (row
     * * 4 + column). Coefficients are levels, not yet scaled. Intra16x16 and chroma: the DC level
     * of a block stands, untransformed, at position 0 of its own coefficient block; where any DC
     * level is nonzero every block of the component has its bit set. Chroma 4:2:0 uses bits 0..3,
     * 4:2:2 bits 0..7 (raster of 2-wide blocks). I_PCM: all bits set, coefficient blocks hold
     * samples. */
    REC_U16 coded[3];
    REC_U8 kind;
    REC_U8 flags;
    /* QPY, and QPC of Cb and Cr, without QpBdOffset (I_PCM: QPY 0 and the QPC that follow from it)
     */
    REC_I8 qp[3];
    REC_U8 intra_chroma_mode; /* intra_chroma_pred_mode */
    REC_U8 intra_avail;
    REC_U8 deblock;
    /* luma blocks with nonzero coefficients, for bS 2 (8.7.2.1); bit = raster block, 8x8: all four
     */
    REC_U16 nonzero;
    /* Intra4x4PredMode[blkIdx] in nibble blkIdx (low nibble first); Intra8x8PredMode[i] in nibble
     * 4*i; Intra16x16PredMode in nibble 0. */
    REC_U32 intra_mode[2];
};

/* Motion of one macroblock; meaningful where kind is REC_MB_INTER, else ref_idx is -1 throughout.
 * 136 bytes. */
struct rec_motion {
    /* [list][raster block][x, y], quarter luma samples, any value; 0 where the list is unused */
    REC_I16 mv[2][16][2];
    /* [list][8x8 quadrant]; -1: list unused. MBAFF field macroblocks: field indices */
    REC_I8 ref_idx[2][4];
};

/* One slice. 160 bytes. */
struct rec_slice {
    REC_U16 ref[2][REC_MAX_REFS]; /* REC_REF(slot, structure) of RefPicList0/1 */
    REC_U32 weights;              /* first entry in the picture's weight array */
    REC_U32 scaling;              /* index into the picture's rec_scaling array */
    REC_U8 num_ref[2];            /* entries in use of each list */
    REC_U8 weight_mode;
    REC_U8 log2_denom[2];   /* luma_log2_weight_denom, chroma_log2_weight_denom */
    REC_I8 filter_offset_a; /* FilterOffsetA, FilterOffsetB: already doubled, -12..12 */
    REC_I8 filter_offset_b;
    REC_U8 slice_type;    /* 0 P, 1 B, 2 I, 3 SP, 4 SI */
    REC_I8 qs[3];         /* SP, SI: QSY, QSC of Cb and Cr (8.6) */
    REC_U8 sp_for_switch; /* SP: sp_for_switch_flag */
    REC_U8 reserved[12];
};
/* Weights, int16. Explicit: for list 0 then list 1 (B only), for each ref_idx: w_Y, o_Y, w_Cb,
 * o_Cb, w_Cr, o_Cr; offsets already scaled to the bit depth; absent flags filled with their
 * inferred values. Implicit: w1 of [refIdxL0][refIdxL1], row length num_ref[1], w0 = 64 - w1;
 * MBAFF: three such tables, frame, then top and bottom field macroblocks with doubled indices. */

/* Weight scale lists (8.5.9), raster order: 4x4 Intra Y Cb Cr, Inter Y Cb Cr; 8x8 Intra Y, Inter Y,
 * Intra Cb, Inter Cb, Intra Cr, Inter Cr. Flat_16 where the stream has none. 480 bytes. */
struct rec_scaling {
    REC_U8 m4[6][16];
    REC_U8 m8[6][64];
};

/* One picture of a batch. 64 bytes. The *_base fields and work are filled by the GPU code that
 * packs the batch. */
struct rec_picture {
    REC_U32 slot;     /* frame slot that it is written to */
    REC_U32 work;     /* layer of the unfiltered images */
    REC_U32 mb_width; /* PicWidthInMbs */
    /* FrameHeightInMbs, of field pictures too, whose records cover half as many rows: PicSizeInMbs.
     * MBAFF: records are in raster order too; those of a field macroblock pair lie one above the
     * other, top field macroblock first */
    REC_U32 mb_height;
    REC_U32 mb_base; /* first rec_mb and rec_motion in the batch's arrays */
    REC_U32 slice_base;
    REC_U32 coeff_base; /* in coefficient blocks */
    REC_U32 weight_base;
    REC_U32 scaling_base;
    REC_U8 structure; /* REC_TOP, REC_BOTTOM, REC_FRAME */
    REC_U8 mbaff;
    REC_U8 chroma_format_idc;
    REC_U8 bit_depth[2]; /* luma, chroma */
    REC_U8 coeff_bytes;  /* 2 where both depths are 8, else 4 */
    REC_U8 has_intra;    /* any macroblock is intra */
    REC_U8 has_inter;
    REC_U8 has_deblock;
    /* plane of the slot that is written and referred to; not 0 only for separate planes, where
     * chroma_format_idc is 0 and the store has that of 4:4:4 */
    REC_U8 colour_plane;
    REC_U8 reserved[2];
    REC_U32 mb_count; /* PicSizeInMbs */
    /* rows of macroblocks that the batch reconstructs: earlier ones may be done already, later ones
     * not decoded yet. Filled as the *_base fields are */
    REC_U32 row_first;
    REC_U32 row_end;
    /* of packed levels: 1 + its first word in the batch's; 0: it has coefficient blocks */
    REC_U32 packed;
};

/* Packed levels: the coefficient blocks of a picture of 8 bits without their zeros, as coders write
 * them and expand.comp reads them. 32-bit words, little-endian.
 *
 * First a word for each macroblock, by address: 2 * first + wide. `first` is the word where its
 * levels begin, counted from the first word of all. It is undefined for macroblocks without
 * coefficient blocks.
 *
 * There, 16 bits for each of its coefficient blocks, in their order: bit i is set where level i is
 * not 0. Right behind them these levels, in the order of blocks and bits: int16_t if wide, else
 * int8_t. */
#define REC_PACKED_WORDS(blocks) (((blocks)*34 + 3) / 4) /* most words of a macroblock's levels */

#ifndef VULKAN
_Static_assert(sizeof(struct rec_mb) == 32, "rec_mb");
_Static_assert(sizeof(struct rec_motion) == 136, "rec_motion");
_Static_assert(sizeof(struct rec_slice) == 160, "rec_slice");
_Static_assert(sizeof(struct rec_scaling) == 480, "rec_scaling");
_Static_assert(sizeof(struct rec_picture) == 64, "rec_picture");

/* A picture's records as the CPU holds them. Pointers are borrowed. */
struct rec_view {
    struct rec_picture head;
    const struct rec_mb *mbs;          /* [mb_count] */
    const struct rec_motion *motion;   /* [mb_count]; may be NULL when head.has_inter is 0 */
    const struct rec_slice *slices;    /* [slice_count] */
    const void *coeffs;                /* int16_t or int32_t [coeff_block_count][16] */
    const uint32_t *packed;            /* [packed_words], in place of coeffs; else NULL */
    const int16_t *weights;            /* [weight_count] */
    const struct rec_scaling *scaling; /* [scaling_count] */
    uint32_t slice_count;
    uint32_t coeff_block_count;
    uint32_t weight_count;
    uint32_t scaling_count;
    uint32_t packed_words;
    uint32_t reserved;
};

/* Check every index of a picture once, so that shaders may trust the records: kinds, slices,
 * coefficient offsets, reference indices against lists, slots against slot_count, intra modes
 * against availability, weights, scaling, QP ranges. Returns 0, or a negative number and, where
 * reason is not NULL, a static string. Thread: any. */
int records_validate(const struct rec_view *view, uint32_t slot_count, const char **reason);
/* Its two parts: everything but slots, which is most of the work, and slots, once they are chosen.
 */
int records_validate_content(const struct rec_view *view, const char **reason);
/* The content in parts: the head and the slices; then macroblocks of ranges of addresses, at the
 * same time if wanted; then the end. has_intra, has_inter, has_deblock and coeff_block_count must
 * be final only at records_validate_end; earlier, coeff_block_count is the number written so far.
 * seen: zeroed by the caller; records_seen_add joins those of several ranges. */
struct rec_seen {
    uint8_t intra, inter, deblock;
};
int records_validate_begin(const struct rec_view *view, const char **reason);
int records_validate_range(const struct rec_view *view, uint32_t from, uint32_t to,
                           struct rec_seen *seen, const char **reason);
int records_validate_end(const struct rec_view *view, const struct rec_seen *seen,
                         const char **reason);
void records_seen_add(struct rec_seen *seen, const struct rec_seen *more);
int records_validate_slots(const struct rec_view *view, uint32_t slot_count, const char **reason);
#endif

#endif
