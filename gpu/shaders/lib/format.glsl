/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The contents of a frame store, as specialisation constants of every pipeline. The defaults are
 * those of progressive 8-bit 4:2:0. PELTON_WIDE, a second compilation, has samples of 16 bits. A
 * push constant tells how many of these bits count, so one set of pipelines serves all depths.
 * Above 8 bits there are 48 pairs of depths, and compiling a set takes seconds.
 */
#ifndef PELTON_FORMAT_GLSL
#define PELTON_FORMAT_GLSL

#include "gpu/shaders/lib/bindings.h"

layout(constant_id = CONSTANT_CHROMA_FORMAT) const uint CHROMA_FORMAT = 1u; /* ChromaArrayType */
/* field pictures and MBAFF frames may come */
layout(constant_id = CONSTANT_INTERLACED) const uint INTERLACED = 0u;

layout(push_constant, scalar) uniform push_block
{
    recon_push push;
};

#ifdef PELTON_WIDE
#define DEPTH_LUMA   push.depth_luma
#define DEPTH_CHROMA push.depth_chroma
#else
#define DEPTH_LUMA   8u
#define DEPTH_CHROMA 8u
#endif

/* Of components Y, Cb, Cr. */
#define COMPONENTS (CHROMA_FORMAT == 0u ? 1 : 3)

int depth_of(int c)
{
    return int(c == 0 ? DEPTH_LUMA : DEPTH_CHROMA);
}

/* Largest sample. */
int top_of(int c)
{
    return (1 << depth_of(c)) - 1;
}

/* MbHeightC, texels of a macroblock's row. */
int mb_height_of(int c)
{
    return c == 0 || CHROMA_FORMAT != 1u ? 16 : 8;
}

int mb_texels_of(int c)
{
    return c == 0 || CHROMA_FORMAT == 3u ? 4 : 2;
}

/* Is the component predicted and filtered as luma is? */
bool as_luma(int c)
{
    return c == 0 || CHROMA_FORMAT == 3u;
}

#endif
