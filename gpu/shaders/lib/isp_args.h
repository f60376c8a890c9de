/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Constants, bindings and structures of the camera pipeline's shaders. Included by C and GLSL.
 */
#ifndef PELTON_ISP_ARGS_H
#define PELTON_ISP_ARGS_H

#define ISP_BIND_RAW    0 /* uint[]: raw samples of all frames, rows padded to 16 bytes */
#define ISP_BIND_ARGS   1 /* uniform isp_args[ISP_MOST_FRAMES], one per frame of the batch */
#define ISP_BIND_OUTPUT 2 /* planes of all frames */
/* uint[ISP_STATISTICS_WORDS] per frame, zeroed at the start of a batch */
#define ISP_BIND_STATISTICS 3
#define ISP_BIND_RGB        4 /* uvec2[]: developed frames of a group: 16-bit red, green; blue */
#define ISP_BIND_COUNT      5

#define ISP_SET_BATCH  0
#define ISP_SET_CAMERA 1 /* binding 0: uint[]: map bases, map, tone curve (isp_table.c) */

/* Tiles that statistics zones are made of, a whole number of workgroups each; blocks of the finish
 * pass, whose map entries share a base. */
#define ISP_TILE_X  64u
#define ISP_TILE_Y  32u
#define ISP_BLOCK_X 64u
#define ISP_BLOCK_Y 16u

/* The fused pass: frames that a workgroup makes one after the other, tiles of the picture, and the
 * largest rectangle of the sensor that one may look at: its pixels are addresses of 11 bits; a
 * thread makes 2 x 4 of them from samples that threads load 8 at a time. */
#define ISP_FUSED_FRAMES  8u
#define ISP_FUSED_X       32u
#define ISP_FUSED_Y       32u
#define ISP_FUSED_THREADS (ISP_FUSED_X * ISP_FUSED_Y / 4u)
#define ISP_RECT_TEXELS   2048u
#define ISP_RECT_LOADS    (2u * ISP_FUSED_THREADS)

/* The fused pass samples in 1024ths, less so many, which is a little less than half a piece of the
 * tone curve: so that the piece is found by rounding. */
#define ISP_FUSED_BELOW 32767

/* The map: 1/32 pixel, as in OpenCV; x in the low half, relative to the block's base. This entry:
 * no light from there. */
#define ISP_MAP_BITS 5
#define ISP_MAP_NONE 0xffffffffu

/* The tone curve, first in the camera's table: lines (offset, slope) over equal parts of linear
 * light 0..1, and one for 1. */
#define ISP_TONE_STEPS 1024
#define ISP_TONE_WORDS 2052

/* Statistics of a frame: copies of the histogram, which spread the atomics, then zones. */
#define ISP_HISTOGRAMS       4u
#define ISP_HISTOGRAM_BINS   256u
#define ISP_ZONE_WORDS       8u /* luma, log, red, green, blue, clipped, dark, 0 */
#define ISP_ZONE_COUNT       256u
#define ISP_ZONE_SHIFT       8
#define ISP_STATISTICS_WORDS (ISP_HISTOGRAMS * ISP_HISTOGRAM_BINS + ISP_ZONE_COUNT * ISP_ZONE_WORDS)

/* Sampling of the finish pass (specialisation constant) */
#define ISP_SAMPLE_NONE     0 /* a region at its own size, no lens */
#define ISP_SAMPLE_BILINEAR 1
#define ISP_SAMPLE_BICUBIC  2

#ifdef VULKAN
#define ISP_UINT  uint
#define ISP_INT   int
#define ISP_FLOAT float
#else
#define ISP_UINT  uint32_t
#define ISP_INT   int32_t
#define ISP_FLOAT float
#endif

/* One frame. Offsets and strides in 32-bit words. */
struct isp_args {
    ISP_UINT raw, raw_stride;
    ISP_UINT width, height;
    ISP_UINT black[4];
    ISP_UINT defect;
    ISP_FLOAT gain[4]; /* of the four places of black: (raw - black) * gain is 0..65535 */
    ISP_UINT rgb;      /* first pixel in ISP_BIND_RGB */
    ISP_UINT statistics;
    /* and, << ISP_ZONE_SHIFT, 2^20 over the number of tiles, rounded up */
    ISP_UINT zone_columns, zone_rows;
    ISP_UINT out_width, out_height;
    ISP_INT region_x, region_y; /* ISP_SAMPLE_NONE */
    ISP_UINT map_stride;    /* words; the map starts behind the bases, or the fused pass's tiles */
    ISP_UINT map_base, map; /* words in the camera's table */
    ISP_UINT plane[3], plane_stride[3];
    ISP_FLOAT colour[9];            /* of 16-bit samples to 0..1 */
    ISP_FLOAT luma[3], luma_offset; /* of toned samples 0..1 to code values */
    ISP_FLOAT cb[3], cr[3], chroma_offset;
    ISP_FLOAT picture[12]; /* ISP_YUV: of Y, Cb, Cr, 1 to three samples of 16 bits */
};

#define ISP_ARGS_WORDS  62
#define ISP_MOST_FRAMES 64 /* of a batch */

#endif
