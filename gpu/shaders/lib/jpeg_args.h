/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bindings and structures of the shaders of JPEG files, for C and GLSL. The reference of all of
 * them is jpeg/.
 */
#ifndef PELTON_JPEG_ARGS_H
#define PELTON_JPEG_ARGS_H

#ifdef VULKAN
#define JPEG_U32 uint
#define JPEG_I32 int
#define JPEG_U8  uint8_t
#else
#include <stdint.h>
#define JPEG_U32 uint32_t
#define JPEG_I32 int32_t
#define JPEG_U8  uint8_t
#endif

/* Bytes of a restart marker, and of EOI */
#define JPEG_MARKER 2

#define JPEG_BIND_JOBS   0 /* jpeg_job of each picture */
#define JPEG_BIND_TABLES 1
#define JPEG_BIND_FRAMES 2
#define JPEG_BIND_LEVELS 3 /* by block: 64 of 16 bits, in the order of the scan */
#define JPEG_BIND_MASKS  4 /* by block: a bit for each level that is not 0 */
#define JPEG_BIND_CODES  5 /* bits of rows, each in a room of its own */
#define JPEG_BIND_ROWS   6 /* jpeg_row of each row */
#define JPEG_BIND_FILES  7 /* scans */
#define JPEG_BIND_TOTALS 8 /* bytes of each scan */
#define JPEG_BINDINGS    9

#define JPEG_BLOCK_WORDS      32 /* of levels */
#define JPEG_TRANSFORM_BLOCKS 16 /* of a workgroup of jpeg_transform; a block has eight threads */
/* Words of codes of a block at most: 22 bits of DC, 26 of each of 63 levels; a row begins in a
 * word */
#define JPEG_CODE_WORDS 52

/* Huffman codes and the order of the scan. A code is in the lower 16 bits, its length above. */
struct jpeg_tables {
    JPEG_U32 dc[2][16], ac[2][256];
    JPEG_U32 place[64]; /* in the scan, by row * 8 + column */
};

/* Bytes of a row's codes, and those of them that are 0xff: each is followed by a byte 0 */
struct jpeg_row {
    JPEG_U32 bytes, stuffed;
};

/* A picture of a batch. Places are those of its first byte, block, row and word. */
struct jpeg_job {
    JPEG_U32 plane[3], stride[3];          /* bytes in FRAMES */
    JPEG_U32 width[3], height[3];          /* of planes */
    JPEG_U32 components, sampling[2];      /* of luma */
    JPEG_U32 mcus[2], mcu_blocks;          /* mcus: in x and y */
    JPEG_U32 first_block, first_row;       /* in LEVELS and MASKS; in ROWS */
    JPEG_U32 first_code;                   /* word in CODES */
    JPEG_U32 file, file_room;              /* bytes in FILES */
    JPEG_I32 luma[3], chroma[2][2], black; /* of jpeg_colours */
    JPEG_U8 step[2][64];                   /* of the quantiser, by row * 8 + column */
};

#endif
