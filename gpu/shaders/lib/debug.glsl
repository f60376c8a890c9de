/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values out of a shader, for --gpu-debug. Only the second compilation of a shader has the buffer;
 * there GPU_DEBUG is the number of its pass. In the first compilation DEBUG_VALUE is empty.
 */
#ifndef PELTON_DEBUG_GLSL
#define PELTON_DEBUG_GLSL

#include "gpu/shaders/lib/debug_names.h"

#ifdef GPU_DEBUG

#define SET_DEBUG 2

layout(set = SET_DEBUG, binding = 0, std430) buffer debug_buffer
{
    uint debug_count, debug_unused[3];
    uvec4 debug_values[];
};

void debug_put(uint name, uint picture, uint value)
{
    uint at = atomicAdd(debug_count, 1u);
    if (at < DEBUG_CAPACITY) {
        debug_values[2u * at] =
            uvec4(name | uint(GPU_DEBUG) << 16, picture, gl_LocalInvocationIndex, value);
        debug_values[2u * at + 1u] = uvec4(gl_WorkGroupID, 0u);
    }
}

void debug_put(uint name, uint picture, int value)
{
    debug_put(name, picture, uint(value));
}

void debug_put(uint name, uint picture, float value)
{
    debug_put(name | DEBUG_FLOAT, picture, floatBitsToUint(value));
}

#define DEBUG_VALUE(name, picture, value) debug_put(name, picture, value)
/* Of the first thread of the first workgroup of a picture: where z is the picture, and where y is.
 */
#define DEBUG_FIRST(name, picture, value)                                                          \
    if (gl_LocalInvocationIndex == 0u && gl_WorkGroupID.xy == uvec2(0u))                           \
    debug_put(name, picture, value)
#define DEBUG_FIRST_X(name, picture, value)                                                        \
    if (gl_LocalInvocationIndex == 0u && gl_WorkGroupID.x == 0u)                                   \
    debug_put(name, picture, value)
/* Of the first thread of every workgroup. */
#define DEBUG_ONE(name, picture, value)                                                            \
    if (gl_LocalInvocationIndex == 0u)                                                             \
    debug_put(name, picture, value)

#else
#define DEBUG_VALUE(name, picture, value)
#define DEBUG_ONE(name, picture, value)
#define DEBUG_FIRST(name, picture, value)
#define DEBUG_FIRST_X(name, picture, value)
#endif

#endif
