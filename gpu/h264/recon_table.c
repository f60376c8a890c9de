/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The passes of H.264 reconstruction in their order, and the scratch memory between them. The head
 * of each shader describes its work.
 */
#include "gpu/h264/recon_table.h"

#include "gpu/shaders/lib/cases.h"

#include "shaders/generic_deblock_diagonal.spv.h"
#include "shaders/generic_deblock_diagonal_wide.spv.h"
#include "shaders/generic_deblock_persistent.spv.h"
#include "shaders/generic_deblock_persistent_wide.spv.h"
#include "shaders/generic_deblock_strength.spv.h"
#include "shaders/generic_intra_diagonal.spv.h"
#include "shaders/generic_intra_diagonal_wide.spv.h"
#include "shaders/generic_intra_persistent.spv.h"
#include "shaders/generic_intra_persistent_wide.spv.h"
#include "shaders/classify.spv.h"
#include "shaders/classify_starts.spv.h"
#include "shaders/deblock.spv.h"
#include "shaders/deblock_strength.spv.h"
#include "shaders/deblock_wide.spv.h"
#include "shaders/expand.spv.h"
#include "shaders/inter_chroma.spv.h"
#include "shaders/inter_chroma_wide.spv.h"
#include "shaders/inter_luma.spv.h"
#include "shaders/inter_luma_wide.spv.h"
#include "shaders/intra_diagonal.spv.h"
#include "shaders/intra_persistent.spv.h"
#include "shaders/residual.spv.h"
#include "shaders/residual_wide.spv.h"
#include "shaders/store_frame.spv.h"
#include "shaders/store_frame_wide.spv.h"
#include "shaders/switching_inter.spv.h"
#include "shaders/switching_residual.spv.h"

/* ---- scratch ---- */

static uint64_t lists_size(const struct recon_shape *worst)
{
    /* of a macroblock: 16 luma blocks, 4 chroma quadrants, residual blocks; the last workgroup of a
     * case may be nearly empty */
    static const uint32_t coeff_blocks[4] = {16, 24, 32, 48};
    return ((uint64_t)worst->mb_total * (16 + 4 + coeff_blocks[worst->chroma_format_idc]) +
            CASE_COUNT * LIST_GROUP) *
           4;
}

static uint64_t counters_size(const struct recon_shape *worst)
{
    return COUNTER_WORDS * 4;
}

static uint64_t residual_size(const struct recon_shape *worst)
{
    return ((uint64_t)worst->coeff_block_total + 1) * 16 * sizeof(int16_t);
}

static uint64_t strengths_size(const struct recon_shape *worst)
{
    return (uint64_t)worst->mb_total * GENERIC_WORDS *
           4; /* SP and SI slices may come in any store */
}

static uint64_t progress_size(const struct recon_shape *worst)
{
    return (uint64_t)worst->mb_total * PROGRESS_WORDS * 4;
}

const struct recon_buffer recon_buffers[] = {
    {.binding = BIND_RESIDUAL, .size = residual_size},
    {.binding = BIND_LISTS, .size = lists_size},
    {.binding = BIND_COUNTERS, .size = counters_size, .zero = true},
    {.binding = BIND_STRENGTHS, .size = strengths_size},
    {.binding = BIND_PROGRESS, .size = progress_size, .zero = true},
};
const uint32_t recon_buffer_count = sizeof(recon_buffers) / sizeof(recon_buffers[0]);

/* ---- grids ---- */

static uint32_t divide_up(uint32_t n, uint32_t by)
{
    return (n + by - 1) / by;
}

static void classify_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    xyz[0] = divide_up(shape->mb_width * shape->mb_height * 16, CLASSIFY_BLOCKS);
    xyz[1] = shape->pictures;
}

static void mb_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    xyz[0] = shape->mb_width * shape->mb_height;
    xyz[1] = shape->pictures;
}

static void strength_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    xyz[0] = divide_up(shape->mb_width * shape->mb_height, 4);
    xyz[1] = shape->pictures;
}

static uint32_t diagonal_steps(const struct recon_shape *shape)
{
    return shape->mb_width + 2 * (shape->mb_height - 1);
}

static void expand_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    xyz[0] = divide_up(shape->mb_width * shape->mb_height, EXPAND_MBS);
    xyz[1] = shape->pictures;
}

/* Macroblocks with x + 2 y = step. */
static void diagonal_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    uint32_t first = step < shape->mb_width ? 0 : divide_up(step - (shape->mb_width - 1), 2);
    uint32_t last = step / 2 < shape->mb_height ? step / 2 : shape->mb_height - 1;
    xyz[0] = first <= last ? last - first + 1 : 0;
    xyz[1] = shape->pictures;
}

static void row_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    xyz[0] = shape->mb_height * shape->pictures;
}

static bool intra_in_roles(const struct recon_shape *shape)
{
    return shape->has_intra && shape->wavefront == 2 && shape->whole_warps && !shape->software &&
           !shape->generic_format;
}

#define INTRA_PARTS  8   /* of a row, at most */
#define INTRA_GROUPS 600 /* workgroups that a device has room for, more or less */

/* Rows in parts, which share the row's runs of intra macroblocks. They shorten the longest chain,
 * so there are as many as the device has room for at once. In roles a row is one part: no device
 * has timed more. */
static void intra_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    uint32_t rows = shape->mb_height * shape->pictures, parts = INTRA_GROUPS / rows;
    parts = intra_in_roles(shape) ? 1 : parts;
    xyz[0] = rows * (parts < 1 ? 1 : parts > INTRA_PARTS ? INTRA_PARTS : parts);
}

/* Columns of macroblocks, in parts: each does two rows more than it writes, so it is no shorter
 * than the device needs to be full. Whole columns fill the cores of a software device, but where
 * tests ask it for what others do. */
static void column_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    /* about 1920 workgroups, from 8 pictures of 1080p on more; see docs/design/reconstruction.md */
    uint32_t rows = shape->mb_total / 1920;
    rows = shape->software && shape->wavefront != 2 ? shape->mb_height
           : rows < 2                               ? 2
           : rows > 34                              ? 34
                                                    : rows;
    xyz[0] = shape->mb_width;
    xyz[1] = divide_up(shape->mb_height, rows);
    xyz[2] = shape->pictures;
}

static void store_groups(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3])
{
    xyz[0] = divide_up(shape->mb_width * 4, 32);
    xyz[1] = shape->mb_height * 4;
    xyz[2] = shape->pictures;
}

/* ---- which passes a batch needs ---- */

static bool any_residual(const struct recon_shape *shape)
{
    return shape->coeff_block_total > 0;
}

static bool any_packed(const struct recon_shape *shape)
{
    return shape->has_packed;
}

static bool any_inter(const struct recon_shape *shape)
{
    return shape->has_inter;
}

static bool intra_by_diagonals(const struct recon_shape *shape)
{
    return shape->has_intra && shape->wavefront != 2 && !shape->generic_format;
}

static bool intra_persistent(const struct recon_shape *shape)
{
    return shape->has_intra && shape->wavefront == 2 && !shape->whole_warps && !shape->software &&
           !shape->generic_format;
}

static bool intra_patient(const struct recon_shape *shape)
{
    return shape->has_intra && shape->wavefront == 2 && shape->software && !shape->generic_format;
}

static bool plain_deblock(const struct recon_shape *shape)
{
    return shape->has_deblock && !shape->generic_format;
}

static bool plain_columns(const struct recon_shape *shape)
{
    return plain_deblock(shape) && !shape->unfinished;
}

/* Frames of any format: by diagonals, persistent, persistent on a software device. */
static bool by_diagonals(const struct recon_shape *shape)
{
    return shape->generic_format && shape->wavefront != 2;
}

static bool persistent(const struct recon_shape *shape)
{
    return shape->generic_format && shape->wavefront == 2 && !shape->software;
}

static bool patient(const struct recon_shape *shape)
{
    return shape->generic_format && shape->wavefront == 2 && shape->software;
}

#define BOTH_CONDITIONS(name, has, how)                                                            \
    static bool name(const struct recon_shape *shape)                                              \
    {                                                                                              \
        return shape->has && how(shape);                                                           \
    }
BOTH_CONDITIONS(generic_intra_by_diagonals, has_intra && !shape->has_switching, by_diagonals)
BOTH_CONDITIONS(generic_intra_persistent, has_intra && !shape->has_switching, persistent)
BOTH_CONDITIONS(generic_intra_patient, has_intra && !shape->has_switching, patient)
BOTH_CONDITIONS(si_intra_by_diagonals, has_intra && shape->has_switching, by_diagonals)
BOTH_CONDITIONS(si_intra_persistent, has_intra && shape->has_switching, persistent)
BOTH_CONDITIONS(si_intra_patient, has_intra && shape->has_switching, patient)

static bool switching_residual(const struct recon_shape *shape)
{
    return shape->has_switching && shape->coeff_block_total > 0;
}

static bool switching_inter(const struct recon_shape *shape)
{
    return shape->has_switching && shape->has_inter;
}

static bool generic_deblock(const struct recon_shape *shape)
{
    return shape->has_deblock && shape->generic_format;
}

/* In MBAFF frames edges depend on more than columns allow for; a batch with one takes the
 * wavefront. */
static bool columns_32(const struct recon_shape *shape)
{
    return generic_deblock(shape) && !shape->has_mbaff && shape->chroma_format_idc < 2;
}

static bool columns_48(const struct recon_shape *shape)
{
    return generic_deblock(shape) && !shape->has_mbaff && shape->chroma_format_idc >= 2;
}
BOTH_CONDITIONS(generic_deblock_by_diagonals, has_deblock && shape->has_mbaff, by_diagonals)
BOTH_CONDITIONS(generic_deblock_persistent, has_deblock && shape->has_mbaff, persistent)
BOTH_CONDITIONS(generic_deblock_patient, has_deblock && shape->has_mbaff, patient)

static bool no_deblock(const struct recon_shape *shape)
{
    return !shape->has_deblock;
}

/* ---- passes ---- */

#define SHADER(name) .spirv = shader_##name, .spirv_size = sizeof(shader_##name)
#define SHADERS(name)                                                                              \
    SHADER(name), .spirv_wide = shader_##name##_wide,                                              \
                  .spirv_wide_size = sizeof(shader_##name##_wide)
#define CONSTANTS(...)                                                                             \
    .constants = {__VA_ARGS__},                                                                    \
    .constant_count = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define WORK(work) .indirect = true, .indirect_offset = 4 * (COUNTER_ARGS + 3 * (work))

#define RECORDS      (RECON_B(BIND_PICTURES) | RECON_B(BIND_MBS) | RECON_B(BIND_SLICES))
#define LISTED       (RECORDS | RECON_B(BIND_LISTS) | RECON_B(BIND_COUNTERS))
#define WORK_IMAGES  (RECON_B(BIND_WORK_Y) | RECON_B(BIND_WORK_CB) | RECON_B(BIND_WORK_CR))
#define FRAME_IMAGES (RECON_B(BIND_FRAME_Y) | RECON_B(BIND_FRAME_CB) | RECON_B(BIND_FRAME_CR))
#define TICKETS      (RECON_B(BIND_COUNTERS) | RECON_B(BIND_PROGRESS))

#define RESIDUAL_PASS(label, work, first, last)                                                    \
    {                                                                                              \
        .name = label, .stage = RECON_RESIDUAL, SHADERS(residual), CONSTANTS(work, first, last),   \
        WORK(work), .reads = LISTED | RECON_B(BIND_COEFFS) | RECON_B(BIND_SCALING),                \
        .writes = RECON_B(BIND_RESIDUAL), .wanted = any_residual, .run = RECON_RUN_RESIDUAL        \
    }

#define PREDICTED (LISTED | RECON_B(BIND_MOTION) | RECON_B(BIND_WEIGHTS) | RECON_B(BIND_RESIDUAL))

#define LUMA_PASS(label, both, position_class, work)                                               \
    {                                                                                              \
        .name = label, .stage = RECON_INTER, SHADERS(inter_luma), CONSTANTS(both, position_class), \
        WORK(work), .reads = PREDICTED | RECON_B(BIND_FRAME_Y), .writes = RECON_B(BIND_WORK_Y),    \
        .wanted = any_inter, .reads_more = FRAME_IMAGES, .writes_more = WORK_IMAGES,               \
        .run = RECON_RUN_INTER                                                                     \
    }

#define CHROMA_PASS(label, split, both)                                                            \
    {                                                                                              \
        .name = label, .stage = RECON_INTER, SHADERS(inter_chroma), CONSTANTS(split, both),        \
        WORK(WORK_CHROMA + 2 * (split) + (both)),                                                  \
        .reads = PREDICTED | RECON_B(BIND_FRAME_CB) | RECON_B(BIND_FRAME_CR),                      \
        .writes = RECON_B(BIND_WORK_CB) | RECON_B(BIND_WORK_CR), .wanted = any_inter,              \
        .run = RECON_RUN_INTER                                                                     \
    }

/* The persistent wavefront; patient: see lib/tickets.glsl; serial: one role after the other. */
#define INTRA_PASS(label, patient, serial, condition)                                              \
    {                                                                                              \
        .name = label, .stage = RECON_INTRA, SHADER(intra_persistent),                             \
        CONSTANTS(patient, serial, (serial) ? 32 : 128), .whole_subgroups = !(serial),             \
        .groups = intra_groups, .reads = RECORDS | RECON_B(BIND_RESIDUAL) | WORK_IMAGES | TICKETS, \
        .writes = WORK_IMAGES | TICKETS, .wanted = condition                                       \
    }

/* The wavefronts of any format. switching: there are SP or SI slices. */
#define GENERIC_INTRA_DIAGONALS(label, switching, condition)                                       \
    {                                                                                              \
        .name = label, .stage = RECON_INTRA, SHADERS(generic_intra_diagonal),                      \
        CONSTANTS(0, switching), .steps = diagonal_steps, .groups = diagonal_groups,               \
        .reads = RECORDS | RECON_B(BIND_COEFFS) | RECON_B(BIND_RESIDUAL) | WORK_IMAGES,            \
        .writes = WORK_IMAGES, .wanted = condition                                                 \
    }

#define GENERIC_INTRA_PASS(label, patient, switching, condition)                                   \
    {                                                                                              \
        .name = label, .stage = RECON_INTRA, SHADERS(generic_intra_persistent),                    \
        CONSTANTS(patient, switching), .groups = row_groups,                                       \
        .reads = RECORDS | RECON_B(BIND_COEFFS) | RECON_B(BIND_RESIDUAL) | WORK_IMAGES | TICKETS,  \
        .writes = WORK_IMAGES | TICKETS, .wanted = condition                                       \
    }

/* By columns of macroblocks: a thread for each line of one; any: layout of the strengths. */
#define DEBLOCK_PASS(label, threads, any, condition)                                               \
    {                                                                                              \
        .name = label, .stage = RECON_DEBLOCK, SHADERS(deblock), CONSTANTS(threads, any),          \
        .groups = column_groups, .reads = RECORDS | RECON_B(BIND_STRENGTHS) | WORK_IMAGES,         \
        .writes = FRAME_IMAGES, .wanted = condition                                                \
    }

#define GENERIC_DEBLOCK_PASS(label, patient, condition)                                            \
    {                                                                                              \
        .name = label, .stage = RECON_DEBLOCK, SHADERS(generic_deblock_persistent),                \
        CONSTANTS(patient), .groups = row_groups,                                                  \
        .reads = RECORDS | RECON_B(BIND_STRENGTHS) | WORK_IMAGES | FRAME_IMAGES | TICKETS,         \
        .writes = FRAME_IMAGES | TICKETS, .wanted = condition                                      \
    }

const struct recon_pass recon_passes[] = {
    {.name = "classify: count",
     .stage = RECON_CLASSIFY,
     SHADER(classify),
     CONSTANTS(0),
     .groups = classify_groups,
     .reads = RECORDS | RECON_B(BIND_MOTION),
     .writes = RECON_B(BIND_COUNTERS)},
    {.name = "classify: starts",
     .stage = RECON_CLASSIFY,
     SHADER(classify_starts),
     .reads = RECON_B(BIND_COUNTERS),
     .writes = RECON_B(BIND_COUNTERS)},
    {.name = "classify: write",
     .stage = RECON_CLASSIFY,
     SHADER(classify),
     CONSTANTS(1),
     .groups = classify_groups,
     .reads = RECORDS | RECON_B(BIND_MOTION) | RECON_B(BIND_COUNTERS),
     .writes = RECON_B(BIND_COUNTERS) | RECON_B(BIND_LISTS)},

    {.name = "residual: packed levels",
     .stage = RECON_RESIDUAL,
     SHADER(expand),
     .groups = expand_groups,
     .reads = RECORDS | RECON_B(BIND_PACKED),
     .writes = RECON_B(BIND_COEFFS),
     .wanted = any_packed},
    RESIDUAL_PASS("residual: 4x4", WORK_RES_4X4, CASE_RES_4X4, CASE_RES_4X4 + 2),
    RESIDUAL_PASS("residual: 16x16", WORK_RES_16X16, CASE_RES_16X16, CASE_RES_16X16 + 2),
    RESIDUAL_PASS("residual: 8x8", WORK_RES_8X8, CASE_RES_8X8, CASE_RES_8X8 + 2),
    RESIDUAL_PASS("residual: chroma", WORK_RES_CHROMA, CASE_RES_CHROMA, CASE_RES_CHROMA + 1),
    RESIDUAL_PASS("residual: samples", WORK_RES_COPY, CASE_RES_COPY, CASE_RES_COPY_8X8 + 2),
    {.name = "residual: SP and SI",
     .stage = RECON_RESIDUAL,
     SHADER(switching_residual),
     .groups = mb_groups,
     .reads = RECORDS,
     .writes = RECON_B(BIND_RESIDUAL),
     .wanted = switching_residual},

    LUMA_PASS("inter luma: G", 0, LUMA_FULL, WORK_LUMA_ONE + LUMA_FULL),
    LUMA_PASS("inter luma: a b c", 0, LUMA_ROW, WORK_LUMA_ONE + LUMA_ROW),
    LUMA_PASS("inter luma: d h n", 0, LUMA_COLUMN, WORK_LUMA_ONE + LUMA_COLUMN),
    LUMA_PASS("inter luma: e g p r", 0, LUMA_DIAGONAL, WORK_LUMA_ONE + LUMA_DIAGONAL),
    LUMA_PASS("inter luma: f j q", 0, LUMA_CENTRE_V, WORK_LUMA_ONE + LUMA_CENTRE_V),
    LUMA_PASS("inter luma: i k", 0, LUMA_CENTRE_H, WORK_LUMA_ONE + LUMA_CENTRE_H),
    LUMA_PASS("inter luma: both lists", 1, 0, WORK_LUMA_BOTH),
    CHROMA_PASS("inter chroma: one list", 0, 0),
    CHROMA_PASS("inter chroma: both lists", 0, 1),
    CHROMA_PASS("inter chroma: split, one list", 1, 0),
    CHROMA_PASS("inter chroma: split, both lists", 1, 1),
    {.name = "inter: SP",
     .stage = RECON_INTER,
     SHADER(switching_inter),
     .groups = mb_groups,
     .reads = RECORDS | RECON_B(BIND_COEFFS) | WORK_IMAGES,
     .writes = WORK_IMAGES,
     .wanted = switching_inter},

    {.name = "intra: diagonals",
     .stage = RECON_INTRA,
     SHADER(intra_diagonal),
     .steps = diagonal_steps,
     .groups = diagonal_groups,
     .reads = RECORDS | RECON_B(BIND_RESIDUAL) | WORK_IMAGES,
     .writes = WORK_IMAGES,
     .wanted = intra_by_diagonals},
    INTRA_PASS("intra: persistent, in roles", 0, 0, intra_in_roles),
    INTRA_PASS("intra: persistent", 0, 1, intra_persistent),
    INTRA_PASS("intra: persistent, software", 1, 1, intra_patient),
    GENERIC_INTRA_DIAGONALS("intra, any format: diagonals", 0, generic_intra_by_diagonals),
    GENERIC_INTRA_PASS("intra, any format: persistent", 0, 0, generic_intra_persistent),
    GENERIC_INTRA_PASS("intra, any format: persistent, software", 1, 0, generic_intra_patient),
    GENERIC_INTRA_DIAGONALS("intra, SI: diagonals", 1, si_intra_by_diagonals),
    GENERIC_INTRA_PASS("intra, SI: persistent", 0, 1, si_intra_persistent),
    GENERIC_INTRA_PASS("intra, SI: persistent, software", 1, 1, si_intra_patient),

    {.name = "deblock: strengths",
     .stage = RECON_DEBLOCK,
     SHADER(deblock_strength),
     .groups = strength_groups,
     .reads = RECORDS | RECON_B(BIND_MOTION),
     .writes = RECON_B(BIND_STRENGTHS),
     .wanted = plain_deblock},
    DEBLOCK_PASS("deblock", 32, 0, plain_columns),
    {.name = "deblock, any format: strengths",
     .stage = RECON_DEBLOCK,
     SHADER(generic_deblock_strength),
     .groups = strength_groups,
     .reads = RECORDS | RECON_B(BIND_MOTION),
     .writes = RECON_B(BIND_STRENGTHS),
     .wanted = generic_deblock},
    DEBLOCK_PASS("deblock, any format", 32, 1, columns_32),
    DEBLOCK_PASS("deblock, any format: 4:2:2, 4:4:4", 48, 1, columns_48),
    {.name = "deblock, MBAFF: diagonals",
     .stage = RECON_DEBLOCK,
     SHADERS(generic_deblock_diagonal),
     .steps = diagonal_steps,
     .groups = diagonal_groups,
     .reads = RECORDS | RECON_B(BIND_STRENGTHS) | WORK_IMAGES | FRAME_IMAGES,
     .writes = FRAME_IMAGES,
     .wanted = generic_deblock_by_diagonals},
    GENERIC_DEBLOCK_PASS("deblock, MBAFF: persistent", 0, generic_deblock_persistent),
    GENERIC_DEBLOCK_PASS("deblock, MBAFF: persistent, software", 1, generic_deblock_patient),
    {.name = "store",
     .stage = RECON_DEBLOCK,
     SHADERS(store_frame),
     .groups = store_groups,
     .reads = RECON_B(BIND_PICTURES) | WORK_IMAGES,
     .writes = FRAME_IMAGES,
     .wanted = no_deblock},
};
const uint32_t recon_pass_count = sizeof(recon_passes) / sizeof(recon_passes[0]);
