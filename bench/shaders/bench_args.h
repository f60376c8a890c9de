/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Constants and push constants that the kernels of bench/ share with their shaders. Included by C
 * and GLSL.
 */
#ifndef PELTON_BENCH_ARGS_H
#define PELTON_BENCH_ARGS_H

#define BENCH_BIND_INPUT     0
#define BENCH_BIND_OUTPUT    1
#define BENCH_BIND_SCRATCH   2
#define BENCH_BIND_PARAMS    3
#define BENCH_BIND_IMAGE     4 /* the input as a storage image of 32-bit texels */
#define BENCH_BIND_TEXTURE   5 /* the same, through a sampler */
#define BENCH_BIND_IMAGE_2   6
#define BENCH_BIND_TEXTURE_2 7

#define BENCH_RGBA8   0 /* a word a pixel, R in the low byte */
#define BENCH_RGBA32F 1 /* four floats a pixel, 0..255 */
#define BENCH_NV12    2 /* four luma samples a word; the chroma plane is not read */
#define BENCH_BAYER8  3 /* RGGB, four samples a word */
/* RGGB, CSI-2: two samples in three bytes, the low bits of both in the last */
#define BENCH_BAYER12 4
#define BENCH_RGB16   5 /* 16-bit R, G, B, 0 */
#define BENCH_LUMA8   6 /* four samples a word */
#define BENCH_YUV420  7
#define BENCH_HALF    8 /* four halves a pixel: only between passes */

/* 0.2125, 0.7154, 0.0721 in 1/65536 */
#define BENCH_RED   13926u
#define BENCH_GREEN 46885u
#define BENCH_BLUE  4725u

#define BENCH_MAX_TAPS 19
#define BENCH_WEIGHTS  10
#define BENCH_BINS     256

#ifdef GL_core_profile
layout(push_constant) uniform Push
{
    uint width, height;
    uint items;                   /* values that are reduced */
    uint groups;                  /* workgroups of the first pass */
    float weights[BENCH_WEIGHTS]; /* of blurs, from the middle outwards; what a family says */
    uint halves[BENCH_WEIGHTS];   /* the same as halves, twice in a word */
}
push;
#endif

#endif
