/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The quantiser: levels by their squared error and an estimate of their bits. A bit weighs the same
 * share of a step's square at each QP, so all costs are constants, in units of (step / 64)^2.
 */
#include "encode/reference/quantise.h"

#include "codec/scan.h"
#include "reference/recon_ref.h"

#include <stdlib.h>
#include <string.h>

/* 16ths of a bit in these units, and the bits of a level's syntax in CABAC, about */
#define BIT_16TH   16u
#define COST_ZERO  (9 * BIT_16TH)  /* before the last level */
#define COST_ONE   (68 * BIT_16TH) /* with its place and sign */
#define COST_TWO   (24 * BIT_16TH) /* what a level above 1 has more */
#define COST_MORE  (12 * BIT_16TH) /* and one above 2, each */
#define COST_BLOCK (40 * BIT_16TH) /* a block with a level, and its last one */

/* Errors of greater levels do not count, and greater errors count as this one does. */
#define LEVEL_WEIGHED 16
#define ERROR_MOST    (64 * 40)

/* Products of the forward and the inverse basis in one dimension: of the 4x4 transform, and 32
 * times those of the 8x8 transform */
static const int product4[4] = {4, 5, 4, 5};
static const int product8[8] = {256, 289, 160, 289, 256, 289, 160, 289};

/* A coefficient of level 1 has the value v / 64 after the inverse transform. v is scale * product /
 * 16 in 4x4, and scale * product / 64 in 8x8. The factors are 64 / v, in fixed point. */
struct quantiser quantiser_at(int qp, int rounding, int level_max)
{
    struct quantiser q = {.qp = qp, .rounding = rounding, .level_max = level_max};
    uint8_t flat[64];
    int32_t scale[64];
    memset(flat, 16, sizeof(flat));
    ref_level_scale4(flat, qp % 6, scale);
    for (int i = 0; i < 16; i++) {
        int32_t v = scale[i] * product4[i >> 2] * product4[i & 3];
        q.factor4[i] = ((1 << 25) + v / 2) / v;
    }
    ref_level_scale8(flat, qp % 6, scale);
    for (int i = 0; i < 64; i++) {
        int64_t v = (int64_t)scale[i] * product8[i >> 3] * product8[i & 7];
        q.factor8[i] = (int32_t)(((INT64_C(1) << 38) + v / 2) / v);
    }
    return q;
}

/* A magnitude in 64ths of a step */
static int32_t magnitude_of(int32_t c, int32_t factor, int shift)
{
    return (int32_t)(((int64_t)abs(c) * factor) >> (shift - 6));
}

static uint32_t cost_of_zero(int32_t magnitude)
{
    uint32_t error = (uint32_t)(magnitude < ERROR_MOST ? magnitude : ERROR_MOST);
    return error * error;
}

static uint32_t cost_of_level(int32_t magnitude, int32_t level)
{
    int32_t error = magnitude - 64 * level;
    if (level > LEVEL_WEIGHED)
        return COST_ONE + COST_TWO + COST_MORE * (LEVEL_WEIGHED - 2);
    return (uint32_t)(error * error) + COST_ONE +
           (level > 1 ? COST_TWO + COST_MORE * (uint32_t)(level - 2) : 0);
}

/* The better of the level that is nearest and the one below it; 0: the nearest is 0 */
static int32_t level_of(int32_t magnitude)
{
    int32_t level = (magnitude + 32) >> 6;
    if (level > 1 && level <= LEVEL_WEIGHED &&
        cost_of_level(magnitude, level - 1) <= cost_of_level(magnitude, level))
        level--;
    return level;
}

/* What is decided of a block: magnitudes along the scan */
struct quantised {
    int32_t level[64]; /* of coefficients before the last one */
    int last;          /* in scan order; -1: all are 0 */
    int32_t last_level;
};

/* Each coefficient takes 0 or its level, and the last level stands where the sum is least. */
static void block_decide(const int32_t *magnitude, int first, int count, struct quantised *out)
{
    uint64_t before = 0, after = 0, least;
    for (int i = first; i < count; i++)
        after += cost_of_zero(magnitude[i]);
    least = after;
    out->last = -1;
    out->last_level = 0;
    for (int i = first; i < count; i++) {
        int32_t level = level_of(magnitude[i]);
        uint32_t zero = cost_of_zero(magnitude[i]), cost = cost_of_level(magnitude[i], level);
        after -= zero;
        if (level && before + cost + COST_BLOCK + after < least) {
            least = before + cost + COST_BLOCK + after;
            out->last = i;
            out->last_level = level;
        }
        out->level[i] = level && cost <= zero + COST_ZERO ? level : 0;
        before += out->level[i] ? cost : zero + COST_ZERO;
    }
}

static bool quantise_block(const struct quantiser *q, const int32_t *c, const int32_t *factor,
                           int shift, const uint8_t *scan, int first, int count, int32_t *level)
{
    int32_t magnitude[64], from[64];
    struct quantised out;
    memcpy(from, c, (size_t)count * sizeof(*c));
    for (int i = first; i < count; i++)
        magnitude[i] = magnitude_of(from[scan[i]], factor[scan[i]], shift);
    block_decide(magnitude, first, count, &out);
    for (int i = 0; i < count; i++) {
        int32_t v = i < first || i > out.last ? 0 : i == out.last ? out.last_level : out.level[i];
        v = v > q->level_max ? q->level_max : v;
        level[scan[i]] = from[scan[i]] < 0 ? -v : v;
    }
    return out.last >= 0;
}

bool quantise4(const struct quantiser *q, const int32_t c[16], int first, int32_t level[16])
{
    return quantise_block(q, c, q->factor4, 15 + q->qp / 6, h264_scan_4x4[0], first, 16, level);
}

bool quantise8(const struct quantiser *q, const int32_t c[64], int32_t level[64])
{
    return quantise_block(q, c, q->factor8, 16 + q->qp / 6, h264_scan_8x8[0], 0, 64, level);
}

bool quantise_dc(const struct quantiser *q, const int32_t *c, int count, int32_t *level)
{
    int32_t any = 0;
    for (int i = 0; i < count; i++) {
        int32_t v = (magnitude_of(c[i], q->factor4[0], 16 + q->qp / 6) + q->rounding) >> 6;
        v = v > q->level_max ? q->level_max : v;
        level[i] = c[i] < 0 ? -v : v;
        any |= v;
    }
    return any != 0;
}
