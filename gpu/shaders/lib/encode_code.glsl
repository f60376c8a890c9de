/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the blocks of a macroblock share: prediction and residual, levels, the reconstruction, its
 * error and bits.
 */
#ifndef PELTON_ENCODE_CODE_GLSL
#define PELTON_ENCODE_CODE_GLSL

#include "gpu/shaders/lib/encode_levels.glsl"

/* Ways to code: luma with 4x4 and with 8x8 transforms, Cb, Cr */
#define WAY_LUMA4 0u
#define WAY_LUMA8 1u
#define WAY_CB    2u
#define WAYS      4

shared int pred[384], residual[384]; /* raster: 16 x 16, then twice 8 x 8 */
shared int dc[16];
shared int level[640];
/* Scaled coefficients, then the residual, then the reconstruction: laid out as level */
shared int work[640];
shared uint coded[WAYS];

/* level and work have blocks of luma by 4x4 transforms, of luma by 8x8 transforms, of Cb and Cr. */
#define LUMA8_FIRST  256
#define CHROMA_BLOCK 512

void hadamard4(inout int v[16])
{
    for (int i = 0; i < 8; i++) {
        int at = i < 4 ? 4 * i : i - 4, step = i < 4 ? 1 : 4;
        int a = v[at] + v[at + step], b = v[at] - v[at + step];
        int c = v[at + 2 * step] + v[at + 3 * step], d = v[at + 2 * step] - v[at + 3 * step];
        v[at] = a + c, v[at + step] = a - c, v[at + 2 * step] = b - d, v[at + 3 * step] = b + d;
    }
}

/* DC of Intra16x16, raster of blocks (8.5.10); one thread */
void luma_dc()
{
    int v[16], any = 0;
    for (int i = 0; i < 16; i++)
        v[i] = dc[i];
    hadamard4(v);
    for (int i = 0; i < 16; i++) {
        int blk = (i & 1) | (i >> 2 & 1) << 1 | (i & 2) << 1 | (i & 8);
        v[i] = quantise_dc((v[i] + 1) >> 1, qps.x, ROUNDING_INTRA);
        level[16 * blk] = v[i];
        any |= v[i];
    }
    if (any != 0)
        coded[WAY_LUMA4] = 0xffffu;
    hadamard4(v);
    for (int i = 0; i < 16; i++)
        dc[i] = scale_level(v[i], 16 * norm_adjust4(int(qps.x % 6u), 0), int(qps.x), 6);
}

#endif
