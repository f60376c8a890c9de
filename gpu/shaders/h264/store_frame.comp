/* SPDX-License-Identifier: BSD-2-Clause
 *
 * For batches without deblocking: copies unfiltered samples into the frame. One thread copies one
 * texel of luma, and one of each chroma plane if it lies inside it. Grid: x texels of a row, y
 * rows, z pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/images.glsl"
#include "gpu/shaders/lib/place.glsl"

layout(local_size_x = 32, local_size_y = 4) in;

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    uint index = push.first_picture + gl_GlobalInvocationID.z;
    if (gl_GlobalInvocationID.z >= push.picture_count)
        return;
    bool whole = INTERLACED == 0u || uint(pictures[index].structure) == REC_FRAME;
    int rows = int(push.mb_height) >> (whole ? 0 : 1), row = frame_row(pictures[index], at.y);
    ivec3 from = ivec3(at, pictures[index].work), to = ivec3(at.x, row, pictures[index].slot);
    for (int c = 0; c < COMPONENTS; c++)
        if (at.x < int(push.mb_width) * mb_texels_of(c) && at.y < rows * mb_height_of(c))
            store_frame(frame_plane(pictures[index], c), to, load_work(c, from));
}
