/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Copies a buffer, 16 bytes a thread and turn. bandwidth.c times it. Grid: any number of workgroups
 * in x.
 */
#version 460

layout(local_size_x = 256) in;

layout(set = 0, binding = 0, std430) readonly buffer from_buffer
{
    uvec4 from[];
};
layout(set = 0, binding = 1, std430) writeonly buffer to_buffer
{
    uvec4 to[];
};
layout(push_constant) uniform push_block
{
    uint count; /* of 16 bytes */
};

void main()
{
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x)
        to[i] = from[i];
}
