/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The slow reference: H.264 sample reconstruction (8.3, 8.4.2, 8.5, 8.7) written plainly from the
 * standard, from a struct rec_view. It is the oracle of the shader tests and the back half of the
 * CPU decoder of tests/tools. It shares no code with the shaders.
 *
 * Frames, fields and MBAFF frames, any chroma format, 8 to 14 bits. Records must have passed
 * records_validate. All functions are pure but for their outputs. Samples are 16 bits wide at every
 * depth.
 */
#ifndef PELTON_RECON_REF_H
#define PELTON_RECON_REF_H

#include "codec/abi/records.h"

#include <stdbool.h>
#include <stdint.h>

struct ref_frame {
    uint32_t width, height; /* luma samples, multiples of 16 */
    uint16_t *plane[3];     /* chroma planes are NULL in 4:0:0 */
    uint32_t stride[3];     /* in samples */
    uint8_t chroma_format_idc;
};

/* Zeroed planes; NULL without memory. */
struct ref_frame *ref_frame_create(uint32_t mb_width, uint32_t mb_height,
                                   uint8_t chroma_format_idc);
void ref_frame_free(struct ref_frame *frame); /* NULL is allowed */

/* Size of one macroblock in samples of a component (0 Y, 1 Cb, 2 Cr). MbWidthC, MbHeightC; 0 in
 * 4:0:0. */
uint32_t ref_mb_width(uint8_t chroma_format_idc, int component);
uint32_t ref_mb_height(uint8_t chroma_format_idc, int component);

/* frames[slot] are the filtered frames that inter prediction reads, frames[head.slot] is written: a
 * field picture writes its own rows, a colour plane its own plane. unfiltered receives the picture
 * before deblocking. 0, or -1 for records that refer to a frame that is not there. */
int ref_reconstruct(const struct rec_view *view, struct ref_frame *const *frames,
                    uint32_t slot_count, struct ref_frame *unfiltered);

/* ---- residual (8.5): ref_residual.c ---- */

/* 8.5.12.2: scaled coefficients d (raster, row * 4 + column) -> residual r, rounded and shifted
 * by 6. d and r may be the same.
 */
void ref_idct4(const int32_t d[16], int32_t r[16]);
/* 8.5.13: the same for 8x8. */
void ref_idct8(const int32_t d[64], int32_t r[64]);
/* LevelScale4x4(m, i, j) and LevelScale8x8 (8.5.9): weight scale times norm adjust, raster order.
 */
void ref_level_scale4(const uint8_t weight[16], int m, int32_t scale[16]);
void ref_level_scale8(const uint8_t weight[64], int m, int32_t scale[64]);
/* 8.5.12.1: levels c -> d at qP (with QpBdOffset). dc_ready: c[0] is already scaled (Intra16x16,
 * chroma) and is copied. */
void ref_scale4(const int32_t c[16], const uint8_t weight[16], int qp, bool dc_ready,
                int32_t d[16]);
void ref_scale8(const int32_t c[64], const uint8_t weight[64], int qp, int32_t d[64]);
/* 8.5.10: Intra16x16 DC levels c (raster of 4x4 blocks) -> scaled DC of each block, raster of
 * blocks. */
void ref_luma_dc(const int32_t c[16], const uint8_t weight[16], int qp, int32_t dc[16]);
/* 8.5.11: chroma DC levels (raster of blocks, 2 wide) -> scaled DC; count is 4 (4:2:0) or 8
 * (4:2:2). qp is QP'c. */
void ref_chroma_dc(const int32_t *c, int count, const uint8_t weight[16], int qp, int32_t *dc);

/* Level i of coefficient block `block` of the macroblock at `addr`, which has n of them; 0 where
 * the words are not all within view->packed_words. */
int ref_packed_level(const struct rec_view *view, uint32_t addr, unsigned n, unsigned block,
                     unsigned i);
/* Residual samples of macroblock mb; for I_PCM the samples themselves. [component][row * width of
 * the component + column]. */
void ref_residual_mb(const struct rec_view *view, uint32_t mb, int32_t residual[3][256]);

/* ---- inter prediction (8.4.2): ref_inter.c ---- */

/* 8.4.2.2.1: a block of luma samples (or of any component in 4:4:4), w x h at most 16 x 16, whose
 * upper left corner is at (x, y) of the plane; mv in quarter samples. pred: stride w. */
void ref_inter_luma(const uint16_t *plane, uint32_t stride, int width, int height, int x, int y,
                    int w, int h, int mv_x, int mv_y, int bit_depth, uint16_t *pred);
/* 8.4.2.2.2: a block of chroma samples; mv in units of 1 / (1 << frac_bits) sample in each
 * direction: 3 bits where the chroma is subsampled in that direction, else 2. */
void ref_inter_chroma(const uint16_t *plane, uint32_t stride, int width, int height, int x, int y,
                      int w, int h, int mv_x, int mv_y, int frac_bits_x, int frac_bits_y,
                      uint16_t *pred);

/* 8.4.2.3: weights of one prediction. mode is REC_WEIGHT_*; w and o by list; log2_denom is logWD.
 */
struct ref_weights {
    int mode, log2_denom, w[2], o[2];
};
/* Combine n predicted samples. pred0 or pred1 NULL: that list is unused. */
void ref_weight(const struct ref_weights *weights, const uint16_t *pred0, const uint16_t *pred1,
                int n, int bit_depth, uint16_t *out);
/* The weights of a macroblock's quadrant for a component, looked up in the slice's tables
 * (8.4.2.3). */
struct ref_weights ref_weights_of(const struct rec_view *view, const struct rec_slice *slice,
                                  int ref_idx_l0, int ref_idx_l1, int component);

/* The same for a macroblock: in MBAFF frames a field macroblock's indices name fields
 * (8.4.2.1, 8.4.2.3). */
struct ref_weights ref_weights_of_mb(const struct rec_view *view, uint32_t mb, int ref_idx_l0,
                                     int ref_idx_l1, int component);

/* One raster block (4x4 luma samples and the chroma samples that belong to it) of component c of
 * macroblock mb: prediction, weighted, before the residual. pred: stride is the block's width. 0,
 * or -1 where a reference frame is missing. */
int ref_inter_block(const struct rec_view *view, struct ref_frame *const *frames,
                    uint32_t slot_count, uint32_t mb, int block, int component, uint16_t pred[16]);
/* The whole macroblock: [component][row * width of the component + column]. */
int ref_predict_inter_mb(const struct rec_view *view, struct ref_frame *const *frames,
                         uint32_t slot_count, uint32_t mb, uint16_t pred[3][256]);

/* ---- intra prediction (8.3): ref_intra.c ---- */

/* Neighbouring samples of a block of w x h. Entries whose group is unavailable are not read. */
struct ref_neighbours {
    bool left, top, top_right, corner; /* available */
    int left_samples[16];              /* p[-1, y] */
    int top_samples[32];               /* p[x, -1], top right following at w */
    int corner_sample;                 /* p[-1, -1] */
};
/* 8.3.1.2: mode is Intra4x4PredMode. Substitution of top right is done here. pred: stride 4. */
void ref_intra_4x4(int mode, const struct ref_neighbours *n, int bit_depth, uint16_t pred[16]);
/* 8.3.2.2: with the filtering of neighbours (8.3.2.2.1). pred: stride 8. */
void ref_intra_8x8(int mode, const struct ref_neighbours *n, int bit_depth, uint16_t pred[64]);
/* 8.3.3. pred: stride 16. */
void ref_intra_16x16(int mode, const struct ref_neighbours *n, int bit_depth, uint16_t pred[256]);
/* 8.3.4: 4:2:0 (8x8) and 4:2:2 (8x16). pred: stride 8. */
void ref_intra_chroma(int mode, const struct ref_neighbours *n, int height, int bit_depth,
                      uint16_t *pred);
/* Availability of the neighbours of a 4x4 block (blkIdx) or an 8x8 block inside a macroblock with
 * intra_avail: fills the flags.
 */
void ref_intra_avail(uint8_t intra_avail, int blk_x, int blk_y, int size, struct ref_neighbours *n);
/* Predict and add the residual for one component of intra macroblock mb, in unfiltered. */
void ref_intra_mb(const struct rec_view *view, uint32_t mb, const int32_t residual[3][256],
                  struct ref_frame *unfiltered);

/* 6.4.12 (Table 6-4): the macroblock that covers the location (x, y) relative to macroblock mb of
 * max_w x max_h samples, where -1 <= x <= max_w and y >= -1, and the row in it. The location must
 * be inside the picture and not below or right of what is decoded. */
uint32_t ref_neighbour_mb(const struct rec_view *view, uint32_t mb, int x, int y, int max_w,
                          int max_h, int *inner_y);

/* ---- deblocking (8.7): ref_deblock.c ---- */

/* 8.7.2.1: strength between luma samples p0 and q0 given as coordinates of the frame or field; they
 * are in one row where the edge is vertical, and in neighbouring 4x4 blocks. */
int ref_deblock_strength(const struct rec_view *view, int px, int py, int qx, int qy);
/* 8.7.2.2 to 8.7.2.4: one line of samples across an edge: s points to q0, step leads from p0 to q0
 * (p_i = s[-(i+1) * step]). chroma: chromaStyleFilteringFlag. qp_av is qPav. */
void ref_deblock_line(uint16_t *s, int step, int bs, int qp_av, int offset_a, int offset_b,
                      bool chroma, int bit_depth);
/* alpha' and beta' (Table 8-16), tC0' (Table 8-17). */
int ref_alpha(int index_a);
int ref_beta(int index_b);
int ref_tc0(int index_a, int bs);
/* One macroblock's edges, in place; macroblocks are filtered in decoding order. */
void ref_deblock_mb(const struct rec_view *view, uint32_t mb, struct ref_frame *frame);

#endif
