/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Macroblock types (7.4.5), and the small index tables of macroblock parsing.
 */
#include "codec/macroblock.h"

/* Table 7-13: partition shape and the lists (bit 0 list 0, bit 1 list 1) of both partitions. */
const struct mb_inter_type h264_mb_type_p[5] = {
    {H264_PART_16X16, {1, 0}}, /* P_L0_16x16 */
    {H264_PART_16X8, {1, 1}},  /* P_L0_L0_16x8 */
    {H264_PART_8X16, {1, 1}},  /* P_L0_L0_8x16 */
    {H264_PART_8X8, {0, 0}},   /* P_8x8 */
    {H264_PART_8X8, {0, 0}},   /* P_8x8ref0 */
};

/* Table 7-14 */
const struct mb_inter_type h264_mb_type_b[23] = {
    {H264_PART_DIRECT, {0, 0}}, /* B_Direct_16x16 */
    {H264_PART_16X16, {1, 0}},  /* B_L0_16x16 */
    {H264_PART_16X16, {2, 0}},  /* B_L1_16x16 */
    {H264_PART_16X16, {3, 0}},  /* B_Bi_16x16 */
    {H264_PART_16X8, {1, 1}},   /* B_L0_L0_16x8 */
    {H264_PART_8X16, {1, 1}},   /* B_L0_L0_8x16 */
    {H264_PART_16X8, {2, 2}},   /* B_L1_L1_16x8 */
    {H264_PART_8X16, {2, 2}},   /* B_L1_L1_8x16 */
    {H264_PART_16X8, {1, 2}},   /* B_L0_L1_16x8 */
    {H264_PART_8X16, {1, 2}},   /* B_L0_L1_8x16 */
    {H264_PART_16X8, {2, 1}},   /* B_L1_L0_16x8 */
    {H264_PART_8X16, {2, 1}},   /* B_L1_L0_8x16 */
    {H264_PART_16X8, {1, 3}},   /* B_L0_Bi_16x8 */
    {H264_PART_8X16, {1, 3}},   /* B_L0_Bi_8x16 */
    {H264_PART_16X8, {2, 3}},   /* B_L1_Bi_16x8 */
    {H264_PART_8X16, {2, 3}},   /* B_L1_Bi_8x16 */
    {H264_PART_16X8, {3, 1}},   /* B_Bi_L0_16x8 */
    {H264_PART_8X16, {3, 1}},   /* B_Bi_L0_8x16 */
    {H264_PART_16X8, {3, 2}},   /* B_Bi_L1_16x8 */
    {H264_PART_8X16, {3, 2}},   /* B_Bi_L1_8x16 */
    {H264_PART_16X8, {3, 3}},   /* B_Bi_Bi_16x8 */
    {H264_PART_8X16, {3, 3}},   /* B_Bi_Bi_8x16 */
    {H264_PART_8X8, {0, 0}},    /* B_8x8 */
};

/* Table 7-17: shape and lists. */
const struct mb_sub_type h264_sub_mb_type_p[4] = {
    {H264_SUB_8X8, 1}, /* P_L0_8x8 */
    {H264_SUB_8X4, 1}, /* P_L0_8x4 */
    {H264_SUB_4X8, 1}, /* P_L0_4x8 */
    {H264_SUB_4X4, 1}, /* P_L0_4x4 */
};

/* Table 7-18: shape and lists. */
const struct mb_sub_type h264_sub_mb_type_b[13] = {
    {H264_SUB_DIRECT, 0}, /* B_Direct_8x8 */
    {H264_SUB_8X8, 1},    /* B_L0_8x8 */
    {H264_SUB_8X8, 2},    /* B_L1_8x8 */
    {H264_SUB_8X8, 3},    /* B_Bi_8x8 */
    {H264_SUB_8X4, 1},    /* B_L0_8x4 */
    {H264_SUB_4X8, 1},    /* B_L0_4x8 */
    {H264_SUB_8X4, 2},    /* B_L1_8x4 */
    {H264_SUB_4X8, 2},    /* B_L1_4x8 */
    {H264_SUB_8X4, 3},    /* B_Bi_8x4 */
    {H264_SUB_4X8, 3},    /* B_Bi_4x8 */
    {H264_SUB_4X4, 1},    /* B_L0_4x4 */
    {H264_SUB_4X4, 2},    /* B_L1_4x4 */
    {H264_SUB_4X4, 3},    /* B_Bi_4x4 */
};

/* Table 8-15: QPC by qPI >= 0. */
const uint8_t h264_chroma_qpc[52] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 29, 30, 31, 32, 32, 33,
    34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39,
};

/* 8.5.11.1: chroma DC idx -> blkIdx in 4:2:2 (raster of 2-wide blocks). */
const uint8_t h264_scan_chroma_dc_422[8] = {0, 2, 1, 4, 6, 3, 5, 7};

/* 8.5.6: Intra16x16 DC idx -> luma4x4BlkIdx, [frame, field]. */
const uint8_t h264_scan_luma_dc[2][16] = {
    {0, 1, 2, 8, 3, 4, 5, 6, 9, 10, 11, 12, 7, 13, 14, 15},
    {0, 2, 1, 8, 10, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15},
};
