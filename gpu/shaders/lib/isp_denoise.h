/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bindings and push constants of luminance denoise. Included by C and GLSL.
 */
#ifndef PELTON_ISP_DENOISE_H
#define PELTON_ISP_DENOISE_H

#define ISP_DENOISE_RGB     0    /* as ISP_BIND_RGB */
#define ISP_DENOISE_FACTORS 1    /* float[], one for each pixel of it */
#define ISP_DENOISE_REACH   2    /* pixels to each side */
#define ISP_DENOISE_DARK    64.0 /* read noise, as so much more light; of 65535 */
/* variance per unit of light at strength 1: 65535 are 1000 electrons */
#define ISP_DENOISE_FULL 65.535

struct isp_denoise {
#ifdef VULKAN
    uint first, width, height; /* first pixel */
    float noise;               /* variance per unit of light */
#else
    uint32_t first, width, height;
    float noise;
#endif
};

#endif
