/* SPDX-License-Identifier: BSD-2-Clause
 *
 * P macroblocks of SP slices (8.6.1, 8.6.2). The interprediction passes leave the prediction in the
 * unfiltered images; this pass turns it into samples. 32 threads do a macroblock: 16 take a luma
 * block each, four a block of each chroma component. Grid: x macroblocks, y pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/images.glsl"
#include "gpu/shaders/lib/place.glsl"
#include "gpu/shaders/lib/switching.glsl"

layout(local_size_x = 32) in;

shared int predicted_dc[8];

void main()
{
    uint index = push.first_picture + gl_WorkGroupID.y, addr = gl_WorkGroupID.x,
         t = gl_LocalInvocationIndex;
    if (gl_WorkGroupID.y >= push.picture_count || addr >= pictures[index].mb_count)
        return;
    rec_picture picture = pictures[index];
    rec_mb mb = mbs[picture.mb_base + addr];
    uint slice = picture.slice_base + mb.slice;
    if (uint(mb.kind) != REC_MB_INTER || !is_switching(mb, slice))
        return;
    bool chroma = t >= 16u, idle = t >= (CHROMA_FORMAT == 0u ? 16u : 24u);
    uint c = chroma ? 1u + ((t >> 2) & 1u) : 0u, raster = chroma ? t & 3u : t,
         bits = chroma ? 1u : 2u;
    uint b = chroma ? raster : swap_blk(raster), column = raster & ((1u << bits) - 1u);
    ivec3 rows = mb_rows(pair_field(picture, uint(mb.flags), addr), addr, mb_height_of(int(c)));
    ivec3 at = ivec3(int(addr % push.mb_width) * mb_texels_of(int(c)) + int(column),
                     rows.x + int(raster >> bits) * 4 * rows.y, picture.work);
    switching s = switching_of(mb, slice, c);
    int d[16];
    for (int y = 0; y < 4; y++) {
        ivec4 v = idle ? ivec4(0) : samples_of(load_work(int(c), at + ivec3(0, y * rows.y, 0)));
        d[4 * y] = v.x, d[4 * y + 1] = v.y, d[4 * y + 2] = v.z, d[4 * y + 3] = v.w;
    }
    forward4(d);
    if (chroma && !idle)
        predicted_dc[t & 7u] = d[0];
    barrier();
    if (idle)
        return;
    int dc = 0;
    if (chroma) {
        uvec4 coeff_blocks;
        ivec4 dcs;
        for (uint k = 0u; k < 4u; k++) {
            coeff_blocks[k] = switching_block(picture.coeff_base, mb, c, k);
            dcs[k] = predicted_dc[(t & 4u) + k];
        }
        dc = switching_dc(s, dcs, coeff_blocks, b);
    }
    switching_finish(s, switching_block(picture.coeff_base, mb, c, b), chroma, dc, d);
    for (int y = 0; y < 4; y++) {
        ivec4 v = clamp(ivec4(d[4 * y], d[4 * y + 1], d[4 * y + 2], d[4 * y + 3]), 0, 255);
        store_work(int(c), at + ivec3(0, y * rows.y, 0), texel_of(v));
    }
}
