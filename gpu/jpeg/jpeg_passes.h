/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The passes of JPEG files in their order.
 */
#ifndef PELTON_JPEG_PASSES_H
#define PELTON_JPEG_PASSES_H

#include <stddef.h>
#include <stdint.h>

/* A workgroup has JPEG_TRANSFORM_BLOCKS blocks, or a row of MCUs. All have pictures in z. */
enum jpeg_grid { JPEG_GRID_BLOCKS, JPEG_GRID_ROW };

struct jpeg_pass {
    const char *name;
    const uint32_t *spirv;
    size_t spirv_size;
    enum jpeg_grid grid;
    uint32_t reads, writes; /* masks of bindings */
};

#define JPEG_PASSES 3
extern const struct jpeg_pass jpeg_passes[JPEG_PASSES];

#endif
