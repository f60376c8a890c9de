/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The encoder's passes. The head of each shader describes its work.
 */
#include "gpu/encode/encode_table.h"

#include "shaders/encode_analyse.spv.h"
#include "shaders/encode_analyse_half.spv.h"
#include "shaders/encode_begin.spv.h"
#include "shaders/encode_bins.spv.h"
#include "shaders/encode_cavlc.spv.h"
#include "shaders/encode_choose.spv.h"
#include "shaders/encode_choose_half.spv.h"
#include "shaders/encode_deblock.spv.h"
#include "shaders/encode_half_samples.spv.h"
#include "shaders/encode_inter.spv.h"
#include "shaders/encode_intra.spv.h"
#include "shaders/encode_intra_lanes.spv.h"
#include "shaders/encode_intra_choose.spv.h"
#include "shaders/encode_intra_choose_half.spv.h"
#include "shaders/encode_intra_first.spv.h"
#include "shaders/encode_intra_first_half.spv.h"
#include "shaders/encode_load.spv.h"
#include "shaders/encode_mark.spv.h"
#include "shaders/encode_pack.spv.h"
#include "shaders/encode_places.spv.h"
#include "shaders/encode_reduce.spv.h"
#include "shaders/encode_refine.spv.h"
#include "shaders/encode_refine_half.spv.h"
#include "shaders/encode_scan.spv.h"
#include "shaders/encode_search_coarse.spv.h"
#include "shaders/encode_search_coarse_half.spv.h"
#include "shaders/encode_search_half.spv.h"
#include "shaders/encode_search_half_half.spv.h"
#include "shaders/encode_search_whole.spv.h"
#include "shaders/encode_search_whole_half.spv.h"
#include "shaders/encode_strength.spv.h"
#include "shaders/encode_syntax.spv.h"

#define BIT(name) (1u << ENC_BIND_##name)
#define CODE(tag)                                                                                  \
    {                                                                                              \
        shader_##tag, sizeof(shader_##tag)                                                         \
    }
#define SHADER(tag)  .name = #tag, .plain = CODE(tag)
#define SHADERS(tag) SHADER(tag), .half = CODE(tag##_half)

/* A pass reads one field of vectors and writes the other. The last one writes field 0. */
#define ROUND(field) .constants = {field}, .constant_count = 1

#define CHOOSE_READS  (BIT(PICTURES) | BIT(PLANES) | BIT(SEARCH) | BIT(INTRA) | BIT(MBS))
#define CHOOSE_WRITES (BIT(MOTION) | BIT(MBS))
#define INTER_READS   (BIT(PICTURES) | BIT(PLANES) | BIT(MOTION) | BIT(QUANTISER) | BIT(MBS))
#define INTER_WRITES  (BIT(MOTION) | BIT(MBS) | BIT(LEVELS) | BIT(UNFILTERED))
#define INTRA_READS   (BIT(PICTURES) | BIT(PLANES) | BIT(QUANTISER) | BIT(MBS) | BIT(UNFILTERED))
#define INTRA_WRITES  (BIT(MBS) | BIT(LEVELS) | BIT(UNFILTERED))

/* The first run counts, the second one writes. */
#define SYNTAX_READS                                                                               \
    (BIT(PICTURES) | BIT(MBS) | BIT(MOTION) | BIT(SYNTAX) | BIT(LEVELS) | BIT(CODES))
#define COUNT                                                                                      \
    ROUND(0), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MB,                                   \
              .reads = SYNTAX_READS | BIT(TOTALS), .writes = BIT(PLACES)
#define WRITE                                                                                      \
    ROUND(1), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MB,                                   \
              .reads = SYNTAX_READS | BIT(TOTALS) | BIT(PLACES) | BIT(COEFFS),                     \
              .writes = BIT(COEFFS)

/* Planes of a source, or of a reference */
#define PLANE_PASSES(of, first_step)                                                               \
    {SHADER(encode_load),                                                                          \
     .group = of,                                                                                  \
     .grid = ENCODE_GRID_PLANE,                                                                    \
     .step = first_step,                                                                           \
     .reads = BIT(PICTURES) | BIT(FRAMES),                                                         \
     .writes = BIT(PLANES)},                                                                       \
        {SHADER(encode_reduce),     .constants = {0, ENC_PLANE_HALF},                              \
         .constant_count = 2,       .group = of,                                                   \
         .grid = ENCODE_GRID_PLANE, .level = 1,                                                    \
         .step = first_step,        .reads = BIT(PICTURES) | BIT(PLANES),                          \
         .writes = BIT(PLANES)},                                                                   \
    {                                                                                              \
        SHADER(encode_reduce), .constants = {ENC_PLANE_HALF, ENC_PLANE_FOURTH},                    \
                               .constant_count = 2, .group = of, .grid = ENCODE_GRID_PLANE,        \
                               .level = 2, .step = first_step,                                     \
                               .reads = BIT(PICTURES) | BIT(PLANES), .writes = BIT(PLANES)         \
    }

const struct encode_pass encode_passes[] = {
    PLANE_PASSES(ENCODE_PLANES, ENC_STEP_SOURCE),
    {SHADERS(encode_analyse), .group = ENCODE_ANALYSIS, .grid = ENCODE_GRID_MB,
     .reads = BIT(PICTURES) | BIT(PLANES), .writes = BIT(ANALYSIS)},
    {SHADER(encode_begin), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MBS, .mbs = ENC_BEGIN_MBS,
     .reads = BIT(PICTURES) | BIT(OFFSETS) | BIT(PLANES),
     .writes = BIT(MBS) | BIT(MOTION) | BIT(UNFILTERED)},
    {SHADERS(encode_search_coarse), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_SEARCH_TILE,
     .reads = BIT(PICTURES) | BIT(PLANES), .writes = BIT(SEARCH), .of_p = true},
    {SHADERS(encode_search_half), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_SEARCH,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(SEARCH), .writes = BIT(SEARCH), .of_p = true},
    {SHADERS(encode_search_whole), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_SEARCH,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(SEARCH) | BIT(LAST), .writes = BIT(SEARCH),
     .of_p = true},
    {SHADERS(encode_refine), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_SEARCH,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(SEARCH), .writes = BIT(SEARCH), .of_p = true},
    {SHADERS(encode_intra_first), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MB,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(MBS), .writes = BIT(INTRA) | BIT(LEVELS),
     .of_i = true},
    {SHADERS(encode_intra_choose), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MB,
     .reads = BIT(PICTURES) | BIT(PLANES) | BIT(MBS) | BIT(SEARCH) | BIT(INTRA) | BIT(LEVELS),
     .writes = BIT(INTRA)},
    {SHADERS(encode_choose), ROUND(0), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MB,
     .reads = CHOOSE_READS, .writes = CHOOSE_WRITES, .of_p = true},
    {SHADER(encode_inter), ROUND(1), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MB,
     .reads = INTER_READS, .writes = INTER_WRITES, .of_p = true},
    {SHADER(encode_mark), ROUND(0), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MBS,
     .mbs = ENC_MARK_MBS,
     .reads = BIT(PICTURES) | BIT(MOTION) | BIT(INTRA) | BIT(MBS) | BIT(TICKETS),
     .writes = BIT(MBS) | BIT(TICKETS)},
    {SHADER(encode_intra), .constants = {0, 0}, .constant_count = 2, .group = ENCODE_DECISIONS,
     .grid = ENCODE_GRID_DIAGONAL, .wavefront = ENCODE_DIAGONALS, .reads = INTRA_READS,
     .writes = INTRA_WRITES},
    {SHADER(encode_intra), .constants = {0, 1}, .constant_count = 2, .group = ENCODE_DECISIONS,
     .lanes = CODE(encode_intra_lanes), .grid = ENCODE_GRID_TICKETS, .wavefront = ENCODE_AT_ONCE,
     .reads = INTRA_READS | BIT(TICKETS), .writes = INTRA_WRITES | BIT(TICKETS)},
    {SHADER(encode_scan), ROUND(0), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MBS,
     .mbs = ENC_RUN_MBS, .reads = BIT(MBS), .writes = BIT(RUNS)},
    {SHADER(encode_scan), ROUND(1), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MBS,
     .mbs = ENC_RUN_MBS, .reads = BIT(MBS) | BIT(RUNS), .writes = BIT(MBS) | BIT(TOTALS)},
    {SHADER(encode_syntax), ROUND(0), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_MBS,
     .mbs = ENC_SYNTAX_MBS, .coding = ENC_CAVLC | ENC_BINS,
     .reads = BIT(PICTURES) | BIT(MBS) | BIT(MOTION) | BIT(LEVELS) | BIT(CODES),
     .writes = BIT(SYNTAX)},
    {SHADER(encode_cavlc), COUNT, .coding = ENC_CAVLC},
    {SHADER(encode_bins), COUNT, .coding = ENC_BINS},
    {SHADER(encode_places), .group = ENCODE_DECISIONS, .grid = ENCODE_GRID_SLICE,
     .coding = ENC_CAVLC | ENC_BINS, .reads = BIT(PICTURES) | BIT(MBS) | BIT(PLACES),
     .writes = BIT(PLACES) | BIT(TOTALS) | BIT(COEFFS)},
    {SHADER(encode_pack), .group = ENCODE_PACK, .grid = ENCODE_GRID_MB,
     .reads = BIT(PICTURES) | BIT(MBS) | BIT(LEVELS) | BIT(TOTALS), .writes = BIT(COEFFS)},
    {SHADER(encode_cavlc), WRITE, .coding = ENC_CAVLC},
    {SHADER(encode_bins), WRITE, .coding = ENC_BINS},
    {SHADER(encode_strength), .group = ENCODE_DEBLOCK, .grid = ENCODE_GRID_MBS,
     .mbs = ENC_STRENGTH_MBS, .reads = BIT(PICTURES) | BIT(MBS) | BIT(MOTION),
     .writes = BIT(STRENGTHS) | BIT(LAST)},
    {SHADER(encode_deblock), .constants = {32, 0}, .constant_count = 2, .group = ENCODE_DEBLOCK,
     .grid = ENCODE_GRID_COLUMN, .reads = BIT(PICTURES) | BIT(UNFILTERED) | BIT(STRENGTHS),
     .writes = BIT(FRAMES) | BIT(PLANES)},
    PLANE_PASSES(ENCODE_REFERENCES, ENC_STEP_REFERENCE),
    {SHADER(encode_half_samples), .group = ENCODE_REFERENCES, .grid = ENCODE_GRID_HALF_SAMPLES,
     .step = ENC_STEP_REFERENCE, .reads = BIT(PICTURES) | BIT(PLANES), .writes = BIT(PLANES)},
};
const uint32_t encode_pass_count = sizeof(encode_passes) / sizeof(encode_passes[0]);

static uint32_t groups(uint32_t count, uint32_t size)
{
    return (count + size - 1) / size;
}

uint32_t encode_pass_steps(const struct encode_pass *pass, uint32_t mb_width, uint32_t mb_height)
{
    return pass->grid == ENCODE_GRID_DIAGONAL ? ENC_DIAGONALS(mb_width, mb_height) : 1;
}

/* Parts of columns: each does two rows more than it writes, so it is no shorter than the device
 * needs to be full (column_groups of gpu/h264/recon_table.c). */
static uint32_t column_parts(uint32_t mbs, uint32_t mb_height)
{
    uint32_t rows = mbs / 1920;
    return groups(mb_height, rows < 2 ? 2 : rows > 34 ? 34 : rows);
}

void encode_pass_grid(const struct encode_pass *pass, uint32_t mb_width, uint32_t mb_height,
                      uint32_t pictures, uint32_t references, uint32_t xyz[3])
{
    uint32_t width = 16 * mb_width, height = 16 * mb_height;
    xyz[0] = mb_width * mb_height;
    xyz[1] = 1;
    xyz[2] = pictures;
    switch (pass->grid) {
    case ENCODE_GRID_PLANE:
        xyz[0] = groups(ENC_STRIDE(width, pass->level), 4 * ENC_PLANE_WORDS);
        xyz[1] = groups(ENC_STRIDE(height, pass->level), ENC_PLANE_ROWS);
        break;
    case ENCODE_GRID_HALF_SAMPLES:
        xyz[0] = groups(ENC_STRIDE(width, 0), 4 * ENC_PLANE_WORDS);
        xyz[1] = ENC_STRIDE(height, 0) / ENC_HALF_SAMPLE_ROWS;
        break;
    case ENCODE_GRID_SEARCH_TILE:
        xyz[0] = groups(mb_width, ENC_SEARCH_TILE) * groups(mb_height, ENC_SEARCH_TILE);
        xyz[1] = references;
        break;
    case ENCODE_GRID_SEARCH:
        xyz[1] = references;
        break;
    case ENCODE_GRID_MB:
        break;
    case ENCODE_GRID_DIAGONAL:
        xyz[0] = ENC_DIAGONAL_LENGTH(mb_width, mb_height);
        xyz[1] = 2;
        break;
    case ENCODE_GRID_MBS:
        xyz[0] = groups(mb_width * mb_height, pass->mbs);
        break;
    case ENCODE_GRID_COLUMN:
        xyz[0] = mb_width;
        xyz[1] = column_parts(mb_width * mb_height * pictures, mb_height);
        break;
    case ENCODE_GRID_TICKETS: /* as many as those of two diagonals */
        xyz[0] = 2 * ENC_DIAGONAL_LENGTH(mb_width, mb_height);
        xyz[1] = 2;
        break;
    case ENCODE_GRID_SLICE:
        xyz[0] = 1;
        xyz[1] = ENC_SLICES;
        break;
    }
}
