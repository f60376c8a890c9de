/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cases that classify sorts blocks into, and the words of BIND_COUNTERS. Included by C and
 * GLSL.
 *
 * A list entry is picture << 24 | macroblock address << 4 | block. The entry names the place, and
 * its case names the work. The entries of a case are contiguous and start at a multiple of
 * LIST_GROUP. So all threads of a workgroup have the same case.
 */
#ifndef PELTON_CASES_H
#define PELTON_CASES_H

#define LIST_PICTURES    256 /* most pictures of a batch */
#define LIST_GROUP       64  /* threads of a workgroup that works off a list */
#define EXPAND_MBS       8u  /* macroblocks of a workgroup of expand.comp, */
#define EXPAND_THREADS   8u  /* and threads of each */
#define CLASSIFY_THREADS 256
#define CLASSIFY_BLOCKS  512   /* that a workgroup of classify looks at */
#define LIST_ROW         32768 /* workgroups in x of an indirect dispatch before y counts */

/* Fractional positions of a luma vector (8.4.2.2.1), by the filters they need. Names of samples as
 * in Figure 8-4. */
#define LUMA_FULL     0 /* G */
#define LUMA_ROW      1 /* a b c */
#define LUMA_COLUMN   2 /* d h n */
#define LUMA_DIAGONAL 3 /* e g p r */
#define LUMA_CENTRE_V 4 /* f j q: x is the half, row filter first */
#define LUMA_CENTRE_H 5 /* i k: y is the half, column filter first */
#define LUMA_CLASSES  6

/* Luma: one list: class; both lists: class of list 0, class of list 1. Each without and with
 * weights. Blocks are raster blocks.
 */
#define CASE_LUMA_ONE  0
#define CASE_LUMA_BOTH (CASE_LUMA_ONE + 2 * LUMA_CLASSES)
/* Chroma of an 8x8 quadrant: + 4 where its blocks move apart, + 2 for both lists, + 1 with weights.
 * Block is the quadrant. */
#define CASE_CHROMA (CASE_LUMA_BOTH + 2 * LUMA_CLASSES * LUMA_CLASSES)
/* Residual; block is blkIdx, of the component. Three cases, of Y, Cb and Cr, but for chroma, which
 * has two. */
#define CASE_RES_4X4      (CASE_CHROMA + 8)
#define CASE_RES_16X16    (CASE_RES_4X4 + 3)
#define CASE_RES_8X8      (CASE_RES_4X4 + 6)
#define CASE_RES_CHROMA   (CASE_RES_4X4 + 9)
#define CASE_RES_COPY     (CASE_RES_4X4 + 11) /* I_PCM and lossless */
#define CASE_RES_COPY_8X8 (CASE_RES_4X4 + 14)
#define CASE_COUNT        (CASE_RES_4X4 + 17)
#define CASE_NONE         0xffffu

#define CASE_SLOTS 128 /* at least CASE_COUNT + 1 */

/* Pipelines that work off lists: each a range of cases. */
#define WORK_LUMA_ONE   0 /* LUMA_CLASSES of them */
#define WORK_LUMA_BOTH  (WORK_LUMA_ONE + LUMA_CLASSES)
#define WORK_CHROMA     (WORK_LUMA_BOTH + 1) /* 4: split * 2 + both lists */
#define WORK_RES_4X4    (WORK_CHROMA + 4)
#define WORK_RES_16X16  (WORK_RES_4X4 + 1)
#define WORK_RES_8X8    (WORK_RES_4X4 + 2)
#define WORK_RES_CHROMA (WORK_RES_4X4 + 3)
#define WORK_RES_COPY   (WORK_RES_4X4 + 4)
#define WORK_COUNT      (WORK_RES_4X4 + 5)

/* Words of BIND_COUNTERS. */
#define COUNTER_LENGTH         0                /* entries of each case */
#define COUNTER_START          CASE_SLOTS       /* first entry of each case in BIND_LISTS */
#define COUNTER_CURSOR         (2 * CASE_SLOTS) /* next entry to be written */
#define COUNTER_ARGS           (3 * CASE_SLOTS) /* 3 words of each pipeline: an indirect dispatch */
#define COUNTER_TICKET_INTRA   (4 * CASE_SLOTS)
#define COUNTER_TICKET_DEBLOCK (4 * CASE_SLOTS + 1) /* of generic_deblock_persistent */
#define COUNTER_WORDS          (4 * CASE_SLOTS + 2)

/* BIND_PROGRESS, one macroblock: its last row once it is known, two samples a word, Y, Cb, Cr. Or
 * (lib/generic_progress.glsl) one word for each row of macroblocks and kind of wavefront. */
#define PROGRESS_WORDS 16
#define PROGRESS_VALID 0x80000000u

/* BIND_STRENGTHS, one macroblock: words 0..3 hold bS in nibbles, direction * 16 + edge * 4 +
 * segment (direction 0: vertical edges; a segment is 4 luma samples of the edge); from
 * STRENGTH_PARAMS, by place * 3 + component: alpha, beta << 8, tC0 for bS 1, 2, 3
 * << 16, 21, 26. Places are the left edge, the top edge and edges inside. */
#define STRENGTH_WORDS  16
#define STRENGTH_PARAMS 4
#define STRENGTH_LEFT   0
#define STRENGTH_TOP    1
#define STRENGTH_INSIDE 2

/* The same from generic_deblock_strength. Words 0..3 as above, but for the left edge: word 4 holds
 * its bS in 8 nibbles (two rows of luma each, or beside a pair of field macroblocks two rows of one
 * field); word 5, in 4 nibbles, a second top edge: that of a frame macroblock below a pair of field
 * macroblocks to the bottom one; word 6 GENERIC_* below. From GENERIC_PARAMS, by place * 3 +
 * component, thresholds as above, for 8 bits. */
#define GENERIC_WORDS      24
#define GENERIC_LEFT_WORD  4
#define GENERIC_TOP2_WORD  5
#define GENERIC_FLAGS_WORD 6
#define GENERIC_PARAMS     7
#define GENERIC_SIZE8      1 /* transform_size_8x8_flag */
/* frame macroblock beside field macroblocks: rows belong to them in turn */
#define GENERIC_LEFT_ROWS 2
/* field macroblock beside frame macroblocks: its upper half is beside the top one */
#define GENERIC_LEFT_HALVES  4
#define GENERIC_TOP_FIELDS   8 /* two top edges */
#define GENERIC_PLACE_LEFT   0
#define GENERIC_PLACE_LEFT2  1 /* the second, lower or bottom, macroblock of the pair */
#define GENERIC_PLACE_TOP    2
#define GENERIC_PLACE_TOP2   3
#define GENERIC_PLACE_INSIDE 4

#endif
