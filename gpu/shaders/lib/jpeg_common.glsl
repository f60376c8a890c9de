/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The beginning of every shader of JPEG files.
 */
#ifndef PELTON_JPEG_COMMON_GLSL
#define PELTON_JPEG_COMMON_GLSL

#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require

#include "gpu/shaders/lib/jpeg_args.h"

layout(set = 0, binding = JPEG_BIND_JOBS, scalar) readonly buffer job_buffer
{
    jpeg_job jobs[];
};
layout(set = 0, binding = JPEG_BIND_TABLES, scalar) readonly buffer table_buffer
{
    jpeg_tables tables;
};

#define PICTURE gl_WorkGroupID.z
#define JOB     jobs[PICTURE]

#endif
