/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Seen by every reconstruction shader: one descriptor set, bound once per batch, and one push
 * constant block. Included by C and GLSL.
 */
#ifndef PELTON_BINDINGS_H
#define PELTON_BINDINGS_H

#define BIND_PICTURES 0 /* rec_picture[], one per picture of the batch */
#define BIND_MBS      1 /* rec_mb[] of all pictures, picture after picture (rec_picture.mb_base) */
#define BIND_MOTION   2 /* rec_motion[], same index */
#define BIND_SLICES   3 /* rec_slice[] */
#define BIND_COEFFS   4 /* int16_t or int32_t [coefficient block][16] */
#define BIND_WEIGHTS  5 /* int16_t[] */
#define BIND_SCALING  6 /* rec_scaling[] */
#define BIND_RESIDUAL                                                                              \
    7                /* residual samples, written by the residual pass, indexed as BIND_COEFFS     \
                      */
#define BIND_LISTS 8 /* case lists of blocks, written by classify */
/* zeroed at the start of a batch: list lengths, indirect dispatch arguments, tickets */
#define BIND_COUNTERS  9
#define BIND_STRENGTHS 10 /* deblocking strengths and thresholds */
#define BIND_PROGRESS                                                                              \
    11                 /* zeroed at the start of a batch: progress of the persistent wavefronts    \
                        */
#define BIND_PACKED 12 /* words of packed levels (codec/abi/records.h), rec_picture.packed */
/* recon_deliver_args[] of the batch's deliveries, and the tables of their conversions */
#define BIND_DELIVER 13
/* the destination of one delivery group (gpu_host); bound by a second descriptor set in the deliver
 * pass */
#define BIND_HOST 14
/* image arrays, four samples a texel, lowest leftmost: r32ui, or rg32ui of 16 bits */
#define BIND_WORK_Y   15
#define BIND_WORK_CB  16
#define BIND_WORK_CR  17
#define BIND_FRAME_Y  18
#define BIND_FRAME_CB 19
#define BIND_FRAME_CR 20
/* recon_blur[], one per delivery of the batch; bound once a delivery asked for it */
#define BIND_BLUR 21

/* Descriptor sets: 0 holds every binding but BIND_HOST, which is alone in set 1, as binding 0. */
#define SET_BATCH    0
#define SET_HOST     1
#define HOST_BINDING 0

/* Specialisation constants that all pipelines of a frame store share (lib/format.glsl); a pass has
 * those before them. */
#define CONSTANT_CHROMA_FORMAT 4
#define CONSTANT_INTERLACED    5
#define CONSTANT_COUNT         6

/* FORMAT of deliver; the values of enum recon_format */
#define DELIVER_I420 0
#define DELIVER_NV12 1
#define DELIVER_GRAY 2
#define DELIVER_I422 3
#define DELIVER_I444 4

/* Rectangles that leave unreadable, lib/blur.glsl: a rectangle is at most BLUR_SIDE x BLUR_SIDE
 * cells, none of them smaller than BLUR_CELL x BLUR_CELL luma samples but where the rectangle is.
 */
#define BLUR_RECTS 16 /* of a delivery */
#define BLUR_SIDE  8
#define BLUR_CELL  16
/* samples of a row or a column of a cell that count: larger cells are sampled at equal steps */
#define BLUR_MOST 256

/* recon_push.param of copy_frame: this, or the source slot */
#define COPY_FILL 0xffffffffu
/* recon_push.step of copy_frame: rows that are written and that are read (REC_TOP, REC_BOTTOM,
 * REC_FRAME), and planes */
#define COPY_WHAT(rows, rows_from, planes) ((rows) | (rows_from) << 2 | (planes) << 4)
#define COPY_ROWS(what)                    ((what)&3u)
#define COPY_ROWS_FROM(what)               ((what) >> 2 & 3u)
#define COPY_PLANES(what)                  ((what) >> 4)

/* One delivery. 56 bytes. Offsets and strides in 32-bit words; crop, width and height in luma
 * samples. Row y is row y * row_step + row_first of the frame: of a field every other one.
 * convert: word of its conversion (lib/conversion_abi.h) in BIND_DELIVER; 0: there is none. */
struct recon_deliver_args {
#ifdef VULKAN
    uint slot;
    uint crop_x, crop_y, width, height;
    uint offset[3];
    uint stride[3];
    uint row_step, row_first;
    uint convert;
#else
    uint32_t slot;
    uint32_t crop_x, crop_y, width, height;
    uint32_t offset[3];
    uint32_t stride[3];
    uint32_t row_step, row_first;
    uint32_t convert;
#endif
};

/* One rectangle in the planes of the delivered picture: [0] luma, [1] chroma. */
struct recon_blur_rect {
#ifdef VULKAN
    uint x[2], y[2], width[2], height[2];
    uint columns, rows; /* of cells */
#else
    uint32_t x[2], y[2], width[2], height[2];
    uint32_t columns, rows;
#endif
};

struct recon_blur {
#ifdef VULKAN
    uint count;
    recon_blur_rect rects[BLUR_RECTS];
    /* means: of rectangle, plane, row, column */
    uint cells[BLUR_RECTS * 3 * BLUR_SIDE * BLUR_SIDE];
#else
    uint32_t count;
    struct recon_blur_rect rects[BLUR_RECTS];
    uint32_t cells[BLUR_RECTS * 3 * BLUR_SIDE * BLUR_SIDE];
#endif
};

/* Push constants, 32 bytes. */
struct recon_push {
#ifdef VULKAN
    uint first_picture, picture_count, step, param;
    uint mb_width, mb_height, mb_total, coeff_block_total;
    uint depth_luma, depth_chroma; /* bits of a sample; shaders of 8-bit stores do not look */
#else
    uint32_t first_picture, picture_count, step, param;
    uint32_t mb_width, mb_height, mb_total, coeff_block_total;
    uint32_t depth_luma, depth_chroma;
#endif
};

#endif
