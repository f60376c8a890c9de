/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The passes of the encoder's decisions in their order.
 */
#ifndef PELTON_ENCODE_TABLE_H
#define PELTON_ENCODE_TABLE_H

#include "gpu/encode/gpu_encode.h"

#include <stddef.h>

/* What a workgroup of a pass has */
enum encode_grid {
    ENCODE_GRID_PLANE,  /* 16 x 4 samples of a plane with margins */
    ENCODE_GRID_TILE,   /* 16 x 16 samples of a plane with the margin that has half samples */
    ENCODE_GRID_SEARCH, /* a macroblock and a reference */
    ENCODE_GRID_MB,     /* a macroblock */
};

/* When a pass runs */
enum encode_group { ENCODE_SOURCES, ENCODE_REFERENCES_ONLY, ENCODE_SEARCH, ENCODE_LUMA };

struct encode_pass {
    const char *name;
    const uint32_t *spirv;
    size_t spirv_size;
    uint32_t constants[2], constant_count;
    enum encode_group group;
    enum encode_grid grid;
    uint32_t level;         /* of the plane that is written */
    uint32_t reads, writes; /* masks of bindings */
};

extern const struct encode_pass encode_passes[];
extern const uint32_t encode_pass_count;

/* Workgroups of a pass */
void encode_pass_grid(const struct encode_pass *pass, const struct gpu_encode_params *params,
                      uint32_t xyz[3]);

#endif
