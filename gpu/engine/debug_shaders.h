/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The second compilation of shaders that write values for --gpu-debug. It is a library of its own
 * (pelton_shader_debug). Programs link it only in builds with PELTON_SHADER_DEBUG; tests always do.
 */
#ifndef PELTON_DEBUG_SHADERS_H
#define PELTON_DEBUG_SHADERS_H

#include <stddef.h>
#include <stdint.h>

struct gpu_debug_shader {
    const char *name;
    const uint32_t *plain, *debug;
    size_t size; /* of debug, in bytes */
};

/* Row i is the shader that was compiled with GPU_DEBUG=i. */
struct gpu_debug_shaders {
    const struct gpu_debug_shader *rows;
    size_t count;
};

extern const struct gpu_debug_shaders gpu_debug_shaders;

#ifdef PELTON_SHADER_DEBUG
#define GPU_DEBUG_SHADERS (&gpu_debug_shaders)
#else
#define GPU_DEBUG_SHADERS NULL
#endif

#endif
