/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The quantiser of the encoder: coefficients of the forward transforms to levels. All functions are
 * pure.
 */
#ifndef PELTON_QUANTISE_H
#define PELTON_QUANTISE_H

#include <stdbool.h>
#include <stdint.h>

/* Flat_16 scaling only. */
struct quantiser {
    int32_t factor4[16], factor8[64]; /* 2^15 and 2^16 / step, at QP modulo 6 */
    int qp;
    /* DC levels of Intra16x16 and chroma: 64ths of a step that are added before the division. 32
     * rounds to nearest; less widens the dead zone around zero. */
    int rounding;
    int level_max; /* greatest magnitude that the entropy coder can write */
};

struct quantiser quantiser_at(int qp, int rounding, int level_max);

/* Levels of a block by squared error and bits; whether one is not zero. quantise4: those from first
 * on, the others are 0. c and level may be the same. */
bool quantise4(const struct quantiser *q, const int32_t c[16], int first, int32_t level[16]);
bool quantise8(const struct quantiser *q, const int32_t c[64], int32_t level[64]);
/* Transformed DC coefficients of luma (16) or chroma (4) */
bool quantise_dc(const struct quantiser *q, const int32_t *c, int count, int32_t *level);

#endif
