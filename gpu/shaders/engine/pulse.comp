/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Takes time and does nothing else: each thread of a workgroup runs a chain of `steps` dependent
 * operations.
 */
#version 450
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 32) in;
layout(push_constant, scalar) uniform Push
{
    uint steps;
};
layout(set = 0, binding = 0, scalar) buffer Sink
{
    uint sink[];
};

void main()
{
    uint i = gl_GlobalInvocationID.x, x = sink[i];
    for (uint step = 0; step < steps; step++)
        x = x * 1664525u + 1013904223u;
    sink[i] = x;
}
