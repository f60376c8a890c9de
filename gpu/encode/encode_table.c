/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The encoder's passes. The head of each shader describes its work.
 */
#include "gpu/encode/encode_table.h"

#include "shaders/encode_half_samples.spv.h"
#include "shaders/encode_load.spv.h"
#include "shaders/encode_luma.spv.h"
#include "shaders/encode_reduce.spv.h"
#include "shaders/encode_refine.spv.h"
#include "shaders/encode_search_coarse.spv.h"
#include "shaders/encode_search_half.spv.h"
#include "shaders/encode_search_whole.spv.h"

#define BIT(name)   (1u << ENC_BIND_##name)
#define SHADER(tag) .name = #tag, .spirv = shader_##tag, .spirv_size = sizeof(shader_##tag)

const struct encode_pass encode_passes[] = {
    {SHADER(encode_load), .group = ENCODE_SOURCES, .grid = ENCODE_GRID_PLANE, .reads = BIT(FRAMES),
     .writes = BIT(PLANES)},
    {SHADER(encode_reduce), .constants = {0, ENC_PLANE_HALF}, .constant_count = 2,
     .group = ENCODE_SOURCES, .grid = ENCODE_GRID_PLANE, .level = 1, .reads = BIT(PLANES),
     .writes = BIT(PLANES)},
    {SHADER(encode_reduce), .constants = {ENC_PLANE_HALF, ENC_PLANE_FOURTH}, .constant_count = 2,
     .group = ENCODE_SOURCES, .grid = ENCODE_GRID_PLANE, .level = 2, .reads = BIT(PLANES),
     .writes = BIT(PLANES)},
    {SHADER(encode_half_samples), .group = ENCODE_REFERENCES_ONLY, .grid = ENCODE_GRID_TILE,
     .reads = BIT(PLANES), .writes = BIT(PLANES)},
    {SHADER(encode_search_coarse), .group = ENCODE_SEARCH, .grid = ENCODE_GRID_SEARCH,
     .reads = BIT(PICTURES) | BIT(PLANES), .writes = BIT(SEARCH)},
    {SHADER(encode_search_half), .group = ENCODE_SEARCH, .grid = ENCODE_GRID_SEARCH,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(SEARCH), .writes = BIT(SEARCH)},
    {SHADER(encode_search_whole), .group = ENCODE_SEARCH, .grid = ENCODE_GRID_SEARCH,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(SEARCH) | BIT(LAST), .writes = BIT(SEARCH)},
    {SHADER(encode_refine), .group = ENCODE_SEARCH, .grid = ENCODE_GRID_SEARCH,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(SEARCH), .writes = BIT(SEARCH)},
    {SHADER(encode_luma), .group = ENCODE_LUMA, .grid = ENCODE_GRID_MB,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(MOTION) | BIT(QUANTISER), .writes = BIT(LUMA)},
};
const uint32_t encode_pass_count = sizeof(encode_passes) / sizeof(encode_passes[0]);

static uint32_t groups(uint32_t count, uint32_t size)
{
    return (count + size - 1) / size;
}

void encode_pass_grid(const struct encode_pass *pass, const struct gpu_encode_params *params,
                      uint32_t xyz[3])
{
    uint32_t width = 16 * params->mb_width, height = 16 * params->mb_height;
    uint32_t edges = 2 * (ENC_MARGIN - 3);
    xyz[2] = params->pictures;
    switch (pass->grid) {
    case ENCODE_GRID_PLANE:
        xyz[0] = groups(ENC_STRIDE(width, pass->level), 16);
        xyz[1] = groups(ENC_STRIDE(height, pass->level), 4);
        break;
    case ENCODE_GRID_TILE:
        xyz[0] = groups(width + edges, 16);
        xyz[1] = groups(height + edges, 16);
        break;
    case ENCODE_GRID_SEARCH:
        xyz[0] = params->mb_width * params->mb_height;
        xyz[1] = ENC_REFERENCES;
        break;
    case ENCODE_GRID_MB:
        xyz[0] = params->mb_width * params->mb_height;
        xyz[1] = 1;
        break;
    }
}
