/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names of the values that shaders write for --gpu-debug. To print a value, add a row here. Then
 * put DEBUG_VALUE(DEBUG_NAME, picture, value) into a shader of PELTON_DEBUG_SHADERS
 * (gpu/CMakeLists.txt). Included by C, with DEBUG_TEXT defined, and by GLSL.
 */
#ifndef PELTON_DEBUG_NAMES_H
#define PELTON_DEBUG_NAMES_H

#define DEBUG_COPY_FROM   0u
#define DEBUG_MB_COUNT    1u
#define DEBUG_MB_KIND     2u
#define DEBUG_RESIDUAL_MB 3u
#define DEBUG_REF_IDX     4u
#define DEBUG_ROWS        5u
#define DEBUG_GAIN        6u
#define DEBUG_RED         7u
#define DEBUG_INTRA_MBS   8u
#define DEBUG_NAMES       9u

#ifdef DEBUG_TEXT
static const char *const debug_names[DEBUG_NAMES] = {
    [DEBUG_COPY_FROM] = "copy_from",     /* slot, or COPY_FILL */
    [DEBUG_MB_COUNT] = "mb_count",       /* of the picture */
    [DEBUG_MB_KIND] = "mb_kind",         /* REC_MB_* of an intra macroblock */
    [DEBUG_RESIDUAL_MB] = "residual_mb", /* address of a macroblock with residual */
    [DEBUG_REF_IDX] = "ref_idx_l0",
    [DEBUG_ROWS] = "rows",           /* macroblock rows of the picture */
    [DEBUG_GAIN] = "gain",           /* of the first Bayer place, raw units to 65535 */
    [DEBUG_RED] = "red",             /* of the first pixel, after the tone curve */
    [DEBUG_INTRA_MBS] = "intra_mbs", /* of a row */
};
#endif

/* One value, two uvec4: name and type and pass, picture, thread, value; workgroup. */
#define DEBUG_CAPACITY 4096u
#define DEBUG_FLOAT    0x8000u
#define DEBUG_HEAD     16 /* bytes in front: how many were written, also those that found no room */

#endif
