/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Development of camera frames in batches: raw Bayer (or grey) samples in host memory become
 * pictures in host memory, with statistics for exposure and white balance. docs/design/isp.md says
 * what each stage computes.
 *
 *   raw -> unpack, black level, defect clamp, white balance, demosaic            (pass "develop",
 * statistics beside it)
 *       -> region, size and lens by one map, colour matrix, tone curve, format   (pass "finish")
 *       -> copy into the reader's memory
 *
 * A `struct isp` owns the buffers of a batch. A `struct isp_camera` owns the map, curve and matrix
 * of one camera and one output of it. Frames of many cameras go into one batch.
 *
 * Thread: one at a time for each isp and its cameras; other threads may use the struct gpu beside
 * it. Functions that are called pure or take no isp: any thread.
 */
#ifndef PELTON_ISP_H
#define PELTON_ISP_H

#include "gpu/engine/gpu.h"
#include "gpu/isp/isp_lens.h"

/* The colours of the upper left 2x2 samples, row by row; samples that are grey; or pictures that
 * the camera has developed itself, in Y, Cb, Cr. */
enum isp_order { ISP_RGGB, ISP_GRBG, ISP_GBRG, ISP_BGGR, ISP_MONO, ISP_YUV };

enum isp_packing {
    ISP_UNPACKED, /* depth 8: bytes; more: 16-bit little endian words, the value in the low bits */
    ISP_MIPI,     /* CSI-2, V4L2's "P" formats. 10: 4 samples in 5 bytes; 12: 2 in 3; 14: 4 in 7 */
    /* ISP_YUV, depth 8. Rows of one stride: first those of Y, then */
    ISP_YUYV,
    ISP_UYVY, /* none: they hold all, Y0 Cb Y1 Cr or Cb Y0 Cr Y1 */
    ISP_PAIRS_CBCR,
    ISP_PAIRS_CRCB, /* height / 2 of pairs (V4L2's NV12, NV21) */
    ISP_PLANES_420, /* height / 2 of Cb, as many of Cr, width / 2 samples each */
    ISP_PLANES_422, /* height of Cb, as many of Cr, width / 2 samples each */
    ISP_PLANES_444  /* the same, width samples each */
};

enum isp_demosaic {
    ISP_BILINEAR,
    ISP_MALVAR, /* Malvar, He, Cutler 2004 */
    ISP_EDGE,   /* edge directed, higher quality, slower; docs/design/isp.md */
    ISP_DEMOSAICS
};

enum isp_interpolation { ISP_INTERPOLATE_BILINEAR, ISP_INTERPOLATE_BICUBIC /* Keys, a = -0.75 */ };
enum isp_tone { ISP_TONE_LINEAR, ISP_TONE_SRGB, ISP_TONE_BT709, ISP_TONE_TABLE };
enum isp_matrix { ISP_MATRIX_BT709, ISP_MATRIX_BT601 };

enum isp_format {
    ISP_I420,  /* planes Y, Cb, Cr */
    ISP_NV12,  /* planes Y, CbCr */
    ISP_P010,  /* as NV12 in 16-bit words, 10 bits at the top */
    ISP_GRAY8, /* luma, always of full range */
    ISP_RGB24,
    ISP_RGBA,  /* alpha 255 */
    ISP_RGB48, /* 16-bit words R, G, B; never toned: 16-bit linear */
    ISP_BGR24,
    ISP_BGRA, /* alpha 255 */
    ISP_FORMATS
};

/* Samples of a pixel that stand side by side in the first plane: 1 luma, 3 or 4 colours. */
uint32_t isp_components(enum isp_format format);

struct isp_rect {
    uint32_t x, y, width, height;
};

#define ISP_BLURS 16

/* ISP_YUV: matrix and full_range describe the camera's Y, Cb, Cr. Without resampling they are
 * copied unchanged, else they go through R, G, B with the camera's tone. Black, white, defect,
 * demosaic and gains have no effect; tone must be linear and the colour matrix zero. Statistics are
 * those of Y.
 *
 * Zero means: no defect clamp, no matrix (all nine zero: identity), no lens, the whole picture, at
 * its own size. */
struct isp_params {
    uint32_t width, height; /* of the sensor's picture: even, 16..8192 */
    enum isp_order order;
    enum isp_packing packing;
    uint32_t depth; /* bits a sample: 8, 10, 12, 14 or 16; ISP_MIPI: 10, 12, 14 */
    /* black level of the upper left 2x2 samples, row by row, in raw units; less than white */
    uint16_t black[4];
    uint16_t white; /* raw value that becomes full scale; 0: the largest of depth */
    /* a sample may exceed its eight like neighbours' range by so many raw units; 0: no clamp */
    uint16_t defect;
    enum isp_demosaic demosaic;
    /* of luma, before everything that follows: 0 none, up to 1, which expects the noise of 1000
     * electrons at full scale; noise falls with the square. Not for ISP_YUV */
    float denoise;
    float colour[9]; /* camera RGB to output RGB, row by row, linear */
    struct isp_lens lens;
    struct isp_pinhole camera; /* the straight camera; fx 0: that of the lens */
    enum isp_interpolation interpolation;
    struct isp_rect region; /* of the straight picture, which has the sensor's size; width 0: all */
    uint32_t out_width, out_height; /* 0: the region's; at most 8192; even for I420, NV12, P010 */
    enum isp_tone tone;
    /* ISP_TONE_TABLE: 2..65536 values 0..65535 over equal steps of linear light, kept until the
     * call returns */
    const uint16_t *tone_table;
    uint32_t tone_count;
    enum isp_format format;
    enum isp_matrix matrix;
    bool full_range; /* of Y, Cb, Cr */
    /* rectangles of the output that leave unreadable; each touches it and is cut off at its edges
     */
    uint32_t blur_count;
    struct isp_rect blur[ISP_BLURS];
};

#define ISP_WHY 160 /* bytes that hold any reason */

/* GPU_OK, or GPU_ERR_INVALID and one line that names the member and its value. Pure. */
int isp_params_check(const struct isp_params *params, char why[ISP_WHY]);
/* The output's size, with the region's origin. Pure. */
void isp_output_size(const struct isp_params *params, struct isp_rect *out);
/* Bytes of a row of raw samples without padding. */
uint32_t isp_row_bytes(const struct isp_params *params);
/* Rows of the raw picture: height, more for ISP_YUV with planes of chroma. */
uint32_t isp_raw_rows(const struct isp_params *params);
/* The output's planes: their number; bytes of a row without padding and rows of each. */
uint32_t isp_planes(const struct isp_params *params, uint32_t row_bytes[3], uint32_t rows[3]);

/* Statistics of a frame's 2x2 cells (ISP_MONO: too), after black level and white balance, on a
 * scale where white is 65535. Zones are whole tiles of 64x32 samples, so there may be fewer than 16
 * a side: zone (i, j) holds the tiles t with t * columns / tiles == i. All sums are exact and the
 * same on every device. */
#define ISP_ZONES 16
struct isp_zone {
    uint32_t cells;
    uint32_t luma;     /* sum of (54 R + 183 G + 19 B) / 256, rounded down */
    uint32_t log_luma; /* sum of 4096 log2(luma), to within 0.01 of a stop; luma 0 counts as 1 */
    uint32_t red, green, blue; /* sums over the cells that are not clipped */
    uint32_t clipped;          /* cells of which a sample has reached 65535 */
    uint32_t dark;             /* cells of a luma under 1/256 */
};

struct isp_statistics {
    uint32_t columns, rows;
    float gain[3];                                /* of the frame */
    uint32_t histogram[256];                      /* of luma / 256 */
    struct isp_zone zones[ISP_ZONES * ISP_ZONES]; /* [row * columns + column] */
};

/* Measures for exposure control. weights [row * columns + column], NULL: equal. */
struct isp_measures {
    double mean, log_mean; /* weighted, 0..1; log_mean is the geometric mean */
    double clipped, dark;  /* weighted shares */
    /* white balance of the grey world: gains relative to green's, from cells that are not clipped;
     * 1 without light */
    double grey_red, grey_blue;
};
void isp_measure(const struct isp_statistics *statistics, const uint8_t *weights,
                 struct isp_measures *out);

enum isp_metering { ISP_METER_MATRIX, ISP_METER_CENTRE, ISP_METER_SPOT };
/* Weights for isp_measure. Matrix: equal. Centre: falling towards the edges. Spot: the zones that
 * `region` touches (in the sensor's samples, width x height); never all zero. */
void isp_metering_weights(enum isp_metering metering, const struct isp_statistics *shape,
                          const struct isp_rect *region, uint32_t width, uint32_t height,
                          uint8_t weights[ISP_ZONES * ISP_ZONES]);

struct isp;
struct isp_camera;

enum isp_passes { ISP_PASSES_CHOSEN /* two on software devices */, ISP_ONE_PASS, ISP_TWO_PASSES };

struct isp_options {
    uint32_t width;  /* most frames of one batch, 1..64; 0: chosen */
    uint32_t group;  /* frames between whose passes there is a barrier, 1..width; 0: chosen */
    uint32_t flight; /* batches in flight, 1..4; 0: 3 */
    /* from raw samples to the picture: one only where it can be (docs/design/isp.md) */
    enum isp_passes passes;
};

int isp_create(struct gpu *g, const struct isp_options *options, struct isp **out);
void isp_free(struct isp *isp); /* waits; after all its cameras. NULL allowed */

/* why: filled where GPU_ERR_INVALID comes back. */
int isp_camera_create(struct isp *isp, const struct isp_params *params, struct isp_camera **out,
                      char why[ISP_WHY]);
void isp_camera_free(struct isp_camera *camera); /* waits until no batch uses it; NULL allowed */

/* planes whose stride is row_bytes rounded up to it are copied in one piece, others row by row: a
 * microsecond a row */
#define ISP_STRIDE 64u

struct isp_frame {
    struct isp_camera *camera;
    /* isp_raw_rows rows; in a gpu_arena the device fetches them by itself, else they are copied at
     * once */
    const void *raw;
    uint32_t raw_stride; /* bytes, at least isp_row_bytes */
    /* white balance times digital gain: R, G, B (ISP_MONO: G), 0..256; all zero: 1 */
    float gain[3];
    struct gpu_host *host;
    uint64_t offset[3]; /* of each plane in host, bytes */
    uint32_t stride[3]; /* bytes, at least row_bytes of isp_planes */
    /* filled when the batch is done, by isp_done or isp_wait; NULL: not computed */
    struct isp_statistics *statistics;
};

/* Develop frames[0..n) into their hosts. raw in a gpu_arena, host and statistics must stay until
 * the batch is done; all else may be reused when the call returns. Longer calls than options.width
 * are split, *ticket is the last part's. Blocks while `flight` batches are in flight. After an
 * error no part of the call is read any more. */
int isp_submit(struct isp *isp, const struct isp_frame *frames, uint32_t n, uint64_t *ticket);
/* Highest ticket whose frames and statistics are there; never blocks. */
uint64_t isp_done(struct isp *isp);
/* Wait until ticket is done; timeout_ns ~0 = for ever. 0, 1 on timeout, or an error. */
int isp_wait(struct isp *isp, uint64_t ticket, uint64_t timeout_ns);

/* One-pass development counts as FINISH, and so do its statistics where all frames of a group are
 * developed in one pass. */
enum isp_stage {
    ISP_STAGE_UPLOAD,
    ISP_STAGE_DEVELOP,
    ISP_STAGE_FINISH,
    ISP_STAGE_DELIVER,
    ISP_STAGES
};
/* GPU seconds since creation, from timestamps; zeros without gpu_params.timestamps. */
struct isp_times {
    double seconds[ISP_STAGES];
    uint64_t frames, batches;
};
void isp_times(const struct isp *isp, struct isp_times *out);

#endif
