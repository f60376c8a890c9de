/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Texels of the unfiltered images and of the frames, by component. c is the same for a whole loop
 * turn; in unrolled loops it is mostly a constant.
 */
#ifndef PELTON_IMAGES_GLSL
#define PELTON_IMAGES_GLSL

#include "gpu/shaders/lib/sample.glsl"

layout(set = SET_BATCH, binding = BIND_WORK_Y, SAMPLE_FORMAT) coherent uniform uimage2DArray work_y;
layout(set = SET_BATCH, binding = BIND_WORK_CB,
       SAMPLE_FORMAT) coherent uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR,
       SAMPLE_FORMAT) coherent uniform uimage2DArray work_cr;
layout(set = SET_BATCH, binding = BIND_FRAME_Y,
       SAMPLE_FORMAT) coherent uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB,
       SAMPLE_FORMAT) coherent uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR,
       SAMPLE_FORMAT) coherent uniform uimage2DArray frame_cr;

uvec4 load_work(int c, ivec3 at)
{
    return c == 0   ? imageLoad(work_y, at)
           : c == 1 ? imageLoad(work_cb, at)
                    : imageLoad(work_cr, at);
}

void store_work(int c, ivec3 at, uvec4 texel)
{
    if (c == 0)
        imageStore(work_y, at, texel);
    else if (c == 1)
        imageStore(work_cb, at, texel);
    else
        imageStore(work_cr, at, texel);
}

uvec4 load_frame(int c, ivec3 at)
{
    return c == 0   ? imageLoad(frame_y, at)
           : c == 1 ? imageLoad(frame_cb, at)
                    : imageLoad(frame_cr, at);
}

void store_frame(int c, ivec3 at, uvec4 texel)
{
    if (c == 0)
        imageStore(frame_y, at, texel);
    else if (c == 1)
        imageStore(frame_cb, at, texel);
    else
        imageStore(frame_cr, at, texel);
}

#endif
