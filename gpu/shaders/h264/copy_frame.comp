/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Copies one frame slot to another, or fills it with mid-grey, for a lost or non-existing picture.
 * It may also copy the rows of one field, or some planes. One thread copies one texel of luma, and
 * one of each chroma plane if it lies inside it. recon_push.first_picture is the destination, param
 * the source, step the part (COPY_WHAT).
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#include "gpu/shaders/lib/format.glsl"
#include "gpu/shaders/lib/debug.glsl"
#include "gpu/shaders/lib/sample.glsl"

layout(local_size_x = 32, local_size_y = 8) in;

layout(set = SET_BATCH, binding = BIND_FRAME_Y, SAMPLE_FORMAT) uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB, SAMPLE_FORMAT) uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR, SAMPLE_FORMAT) uniform uimage2DArray frame_cr;

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    ivec3 luma = imageSize(frame_y), chroma = imageSize(frame_cb);
    if (at.x >= luma.x || at.y >= luma.y)
        return;
    uint rows = COPY_ROWS(push.step), planes = COPY_PLANES(push.step);
    if ((rows >> (at.y & 1) & 1u) == 0u)
        return;
    /* planes of frames with fields have even numbers of rows */
    int from_y = COPY_ROWS_FROM(push.step) == rows ? at.y : at.y ^ 1;
    ivec3 to = ivec3(at, push.first_picture), from = ivec3(at.x, from_y, push.param);
    DEBUG_FIRST(DEBUG_COPY_FROM, push.first_picture, push.param);
    bool fill = push.param == COPY_FILL, has_chroma = at.x < chroma.x && at.y < chroma.y;
    uvec4 y = texel_of(ivec4(1 << (DEPTH_LUMA - 1u))),
          cb = texel_of(ivec4(1 << (DEPTH_CHROMA - 1u))), cr = cb;
    if (!fill) {
        y = imageLoad(frame_y, from);
        if (has_chroma) {
            cb = imageLoad(frame_cb, from);
            cr = imageLoad(frame_cr, from);
        }
    }
    if ((planes & 1u) != 0u)
        imageStore(frame_y, to, y);
    if (has_chroma && (planes & 2u) != 0u)
        imageStore(frame_cb, to, cb);
    if (has_chroma && (planes & 4u) != 0u)
        imageStore(frame_cr, to, cr);
}
