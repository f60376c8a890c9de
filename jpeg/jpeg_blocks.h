/* SPDX-License-Identifier: BSD-2-Clause
 *
 * MCUs, blocks, tables and the transform of JPEG files, for jpeg_encode and for the GPU.
 */
#ifndef PELTON_JPEG_BLOCKS_H
#define PELTON_JPEG_BLOCKS_H

#include "jpeg/jpeg.h"

#define JPEG_MCU_BLOCKS 6 /* at most */

/* MCUs: each row of them is a restart interval. Blocks of an MCU stand in the order of the scan.
 * A.2 */
struct jpeg_shape {
    uint32_t components;
    uint32_t sampling[2];      /* of luma: blocks of an MCU in x and y */
    uint32_t mcu_size[2];      /* samples */
    uint32_t mcus[2];          /* of the picture */
    uint32_t mcu_blocks;       /* blocks of an MCU */
    uint32_t plane_size[3][2]; /* samples of the source's planes */
};
void jpeg_shape_of(const struct jpeg_settings *s, struct jpeg_shape *out);

/* A block of the scan: its component, and its first sample there */
struct jpeg_place {
    uint32_t component, x, y;
};
struct jpeg_place jpeg_place_of(const struct jpeg_shape *shape, uint32_t mcu_x, uint32_t mcu_y,
                                uint32_t block);

/* Annex K. A code stands in the lower 16 bits of a word, its length above. Index: [luma, chroma] */
struct jpeg_huffman {
    uint32_t dc[2][16];  /* by category */
    uint32_t ac[2][256]; /* by run << 4 | category */
};
extern const struct jpeg_huffman_spec {
    uint8_t counts[16]; /* of codes by length - 1 */
    uint8_t count;
    const uint8_t *symbols;
} jpeg_huffman_specs[2 /* DC, AC */][2];
extern const uint8_t jpeg_zigzag[64]; /* row * 8 + column, by place of the scan */
extern const int32_t jpeg_cosines[8 /* u */][8 /* x */];

void jpeg_huffman_fill(struct jpeg_huffman *out);
/* Steps of the quantiser by place of the scan: K.1 and K.2 times the quality's factor */
void jpeg_quantiser_fill(uint32_t quality, uint16_t out[2][64]);

/* Levels of a block by place of the scan */
void jpeg_block_levels(const struct jpeg_settings *s, const struct jpeg_shape *shape,
                       const struct jpeg_planes *planes, const uint16_t quantiser[2][64],
                       struct jpeg_place place, int16_t levels[64]);

#endif
