/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The passes of the encoder's decisions in their order.
 */
#ifndef PELTON_ENCODE_TABLE_H
#define PELTON_ENCODE_TABLE_H

#include "gpu/encode/gpu_encode.h"

#include <stddef.h>

/* What a workgroup of a pass has. All have pictures in z. */
enum encode_grid {
    ENCODE_GRID_PLANE,        /* ENC_PLANE_WORDS words of a row of a plane with margins */
    ENCODE_GRID_HALF_SAMPLES, /* the same, of ENC_HALF_SAMPLE_ROWS rows */
    ENCODE_GRID_SEARCH,       /* a macroblock and a reference */
    ENCODE_GRID_SEARCH_TILE,  /* a tile of macroblocks and a reference */
    ENCODE_GRID_MB,           /* a macroblock */
    ENCODE_GRID_DIAGONAL,     /* luma or chroma of a macroblock: a dispatch for each diagonal */
    ENCODE_GRID_MBS,          /* encode_pass.mbs macroblocks */
    ENCODE_GRID_COLUMN,       /* a part of a column of macroblocks */
    ENCODE_GRID_TICKETS,      /* luma or chroma of macroblocks, one after the other */
    ENCODE_GRID_SLICE,        /* a slice */
};

/* When a pass runs. Planes of sources; their analysis, if it is wanted; the decisions; coefficient
 * blocks without gaps, where records come to the host; then those that make a reference of the
 * result: deblocking, and its planes */
enum encode_group {
    ENCODE_PLANES,
    ENCODE_ANALYSIS,
    ENCODE_DECISIONS,
    ENCODE_PACK,
    ENCODE_DEBLOCK,
    ENCODE_REFERENCES
};

struct encode_shader {
    const uint32_t *spirv; /* NULL: there is none */
    size_t size;
};

struct encode_pass {
    const char *name;
    struct encode_shader plain; /* for any device */
    struct encode_shader half;  /* for those with half floats */
    struct encode_shader lanes; /* for those with subgroups of 32 and shuffles */
    uint32_t constants[2], constant_count;
    enum encode_group group;
    enum encode_grid grid;
    enum encode_wavefront wavefront; /* that it is for, if not 0 */
    bool of_i, of_p;                 /* only I pictures, or P pictures, need it */
    uint32_t coding;                 /* only pictures with one of these ENC_* flags need it */
    uint32_t step;                   /* the first one: ENC_STEP_* */
    uint32_t mbs;                    /* macroblocks of a workgroup */
    uint32_t level;                  /* of the plane that is written */
    uint32_t reads, writes;          /* masks of bindings */
};

extern const struct encode_pass encode_passes[];
extern const uint32_t encode_pass_count;

/* Workgroups of a pass, and its dispatches; references: the most that a picture has */
void encode_pass_grid(const struct encode_pass *pass, uint32_t mb_width, uint32_t mb_height,
                      uint32_t pictures, uint32_t references, uint32_t xyz[3]);
uint32_t encode_pass_steps(const struct encode_pass *pass, uint32_t mb_width, uint32_t mb_height);

#endif
