/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits of levels (Table A-1).
 */
#ifndef PELTON_ENCODE_LEVEL_TABLES_H
#define PELTON_ENCODE_LEVEL_TABLES_H

#include <stdint.h>

struct encode_level {
    uint8_t idc; /* 9: level 1b */
    const char *name;
    uint32_t max_mbps, max_fs; /* macroblocks a second, of a frame */
    uint32_t max_br, max_cpb;  /* in units of cpbBrVclFactor bits a second, bits */
    uint16_t vertical;         /* vectors: -vertical .. vertical - 1/4 luma samples */
    uint8_t min_cr;
    uint8_t max_mvs_per_2mb; /* 0: no limit */
};

/* From the least to the largest; the last one has idc 0. */
extern const struct encode_level encode_levels[];

#endif
