/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Additions and exclusive ors, in four chains a thread that do not wait for each other.
 * operations.c times it. Grid: any number of workgroups in x.
 */
#version 460
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) buffer value_buffer
{
    uvec4 values[];
};
layout(push_constant) uniform push_block
{
    uint steps; /* of eight operations of each chain */
};

void main()
{
    uvec4 x = values[gl_GlobalInvocationID.x], a = x ^ 0x9e3779b9u, b = x + 0x7f4a7c15u;
    for (uint step = 0u; step < steps; step++) [[unroll]]
        for (uint i = 0u; i < 4u; i++)
            x = x + a ^ b;
    values[gl_GlobalInvocationID.x] = x;
}
