/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The first field of a P picture: the vector that the search found for the whole macroblock in the
 * newest reference. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"

void main()
{
    if (!search_begin())
        return;
    enc_found found = search[search_at(mb)].part[0];
    own_set(ivec4(0, 0, 2, 2), 0, ivec2(found.mv[0], found.mv[1]));
    own_store(FIELD, gl_LocalInvocationIndex);
}
