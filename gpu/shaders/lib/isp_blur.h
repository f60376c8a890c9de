/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Privacy blur of developed pictures: bindings and push constants of its two passes. Included by C
 * and GLSL. The cells are those of lib/blur.glsl.
 */
#ifndef PELTON_ISP_BLUR_H
#define PELTON_ISP_BLUR_H

#include "gpu/shaders/lib/bindings.h"

#define ISP_BLUR_OUTPUT     0  /* planes of all frames */
#define ISP_BLUR_FRAMES     1  /* isp_blur[], one per frame of the batch */
#define ISP_BLUR_COMPONENTS 4u /* of all planes of a picture */

/* A plane: offset and stride in words; samples are interleaved `components` to a pixel, the first
 * of which is number `first` of the picture's. kind: of the rectangle's two places. */
struct isp_blur_plane {
#ifdef VULKAN
    uint offset, stride, width, rows, components, first, kind;
#else
    uint32_t offset, stride, width, rows, components, first, kind;
#endif
};

struct isp_blur {
#ifdef VULKAN
    uint count, planes;
    uint bits, shift; /* of a stored sample: 8 or 16; how many of them below are always 0 */
    isp_blur_plane plane[3];
    recon_blur_rect rects[BLUR_RECTS];
    uint cells[BLUR_RECTS * ISP_BLUR_COMPONENTS * BLUR_SIDE * BLUR_SIDE];
#else
    uint32_t count, planes;
    uint32_t bits, shift;
    struct isp_blur_plane plane[3];
    struct recon_blur_rect rects[BLUR_RECTS];
    uint32_t cells[BLUR_RECTS * ISP_BLUR_COMPONENTS * BLUR_SIDE * BLUR_SIDE];
#endif
};

#endif
