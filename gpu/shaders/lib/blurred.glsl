/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples of a delivery as they leave under its blurred rectangles, from the means of blur_cells.
 */
#ifndef PELTON_BLURRED_GLSL
#define PELTON_BLURRED_GLSL

#include "gpu/shaders/lib/blur.glsl"

layout(set = SET_BATCH, binding = BIND_BLUR, scalar) readonly buffer blur_buffer
{
    recon_blur blurs[];
};

/* What leaves instead of a sample of rectangle i. */
uint joined(uint i, uint plane, uvec2 at, uvec2 size, uint index)
{
    ivec3 h = blur_between(at.x, blurs[index].rects[i].columns, size.x),
          v = blur_between(at.y, blurs[index].rects[i].rows, size.y);
    uint upper = BLUR_PLANE(i, plane) + uint(v.x * BLUR_SIDE),
         lower = BLUR_PLANE(i, plane) + uint(v.y * BLUR_SIDE);
    uint a = blurs[index].cells[upper + uint(h.x)], b = blurs[index].cells[upper + uint(h.y)];
    uint c = blurs[index].cells[lower + uint(h.x)], d = blurs[index].cells[lower + uint(h.y)];
    uint fx = uint(h.z), fy = uint(v.z), gx = 64u - fx, gy = 64u - fy;
    return (gx * gy * a + fx * gy * b + gx * fy * c + fx * fy * d + 2048u) >> 12;
}

/* The first rectangle that the sample lies in counts. */
uint blurred(uint value, uint plane, uint x, uint y, uint index)
{
    uint p = min(plane, 1u), result = value;
    for (uint i = blurs[index].count; i-- > 0u;) {
        /* wraps where x or y is less */
        uvec2 at = uvec2(x - blurs[index].rects[i].x[p], y - blurs[index].rects[i].y[p]);
        uvec2 size = uvec2(blurs[index].rects[i].width[p], blurs[index].rects[i].height[p]);
        if (at.x < size.x && at.y < size.y)
            result = joined(i, plane, at, size, index);
    }
    return result;
}

#endif
