/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The camera pipeline as slow plain C, a whole frame at a time, stage after stage.
 * docs/design/isp.md describes the stages.
 */
#ifndef PELTON_TESTS_ISP_REF_H
#define PELTON_TESTS_ISP_REF_H

#include "gpu/isp/isp.h"

/* raw -> level[width * height]: unpacked, black level off, white balanced, defects clamped;
 * 0..65535. */
void ref_level(const struct isp_params *p, const float gain[3], const uint8_t *raw, uint32_t stride,
               uint16_t *level);
/* level -> rgb[width * height][3] */
void ref_demosaic(const struct isp_params *p, const uint16_t *level, uint16_t (*rgb)[3]);
/* level -> statistics, but for log_luma, which holds the true logarithms' sum, rounded down. */
void ref_statistics(const struct isp_params *p, const uint16_t *level, struct isp_statistics *out);
/* ISP_YUV: raw -> Y as level, and what the finish pass gets: R, G, B, or where ref_picture_as_is Y,
 * Cb, Cr of the output's depth. */
void ref_picture(const struct isp_params *p, const uint8_t *raw, uint32_t stride, uint16_t *level,
                 uint16_t (*rgb)[3]);
bool ref_picture_as_is(const struct isp_params *p);
/* Luma of rgb denoised, in place. */
void ref_denoise(const struct isp_params *p, uint16_t (*rgb)[3]);
/* Bytes of a sample of the output. */
uint32_t ref_sample_bytes(const struct isp_params *p);
/* rgb -> code values before they are rounded, planes without padding */
void ref_finish(const struct isp_params *p, uint16_t (*rgb)[3], double *planes[3]);
/* One raw sample, by the definition of the packing. */
uint32_t ref_unpack(const struct isp_params *p, const uint8_t *row, uint32_t x);
/* Its opposite: the row is all zero before. */
void ref_pack(const struct isp_params *p, uint8_t *row, uint32_t x, uint32_t value);

#endif
