/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of debug shaders. The build makes one include and one row for each name in
 * PELTON_DEBUG_SHADERS.
 */
#include "gpu/engine/debug_shaders.h"

#include "shaders/debug_includes.h"

#define DEBUG_SHADER(name) extern const uint32_t shader_##name[];
#include "shaders/debug_table.h"
#undef DEBUG_SHADER

static const struct gpu_debug_shader rows[] = {
#define DEBUG_SHADER(name)                                                                         \
    {#name, shader_##name, shader_##name##_debug, sizeof(shader_##name##_debug)},
#include "shaders/debug_table.h"
};

const struct gpu_debug_shaders gpu_debug_shaders = {rows, sizeof(rows) / sizeof(rows[0])};
