/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The passes of JPEG files. The head of each shader describes its work.
 */
#include "gpu/jpeg/jpeg_passes.h"

#include "gpu/shaders/lib/jpeg_args.h"

#include "shaders/jpeg_code.spv.h"
#include "shaders/jpeg_stuff.spv.h"
#include "shaders/jpeg_transform.spv.h"

#define BIT(name)   (1u << JPEG_BIND_##name)
#define SHADER(tag) .name = #tag, .spirv = shader_##tag, .spirv_size = sizeof(shader_##tag)

const struct jpeg_pass jpeg_passes[JPEG_PASSES] = {
    {SHADER(jpeg_transform), .grid = JPEG_GRID_BLOCKS,
     .reads = BIT(JOBS) | BIT(TABLES) | BIT(FRAMES), .writes = BIT(LEVELS) | BIT(MASKS)},
    {SHADER(jpeg_code), .grid = JPEG_GRID_ROW,
     .reads = BIT(JOBS) | BIT(TABLES) | BIT(LEVELS) | BIT(MASKS), .writes = BIT(CODES) | BIT(ROWS)},
    {SHADER(jpeg_stuff), .grid = JPEG_GRID_ROW, .reads = BIT(JOBS) | BIT(CODES) | BIT(ROWS),
     .writes = BIT(FILES) | BIT(TOTALS)},
};
