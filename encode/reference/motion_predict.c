/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prediction of vectors in P frames.
 */
#include "encode/reference/motion_predict.h"

#include <stddef.h>
#include <string.h>

/* The prediction of a neighbouring partition (8.4.1.3.2) */
struct neighbour {
    bool available;
    int ref_idx; /* -1: not available, or intra */
    const int16_t *mv;
};

static const int16_t zero_mv[2];

static struct neighbour neighbour_of(const struct rec_motion *motion, int x, int y)
{
    struct neighbour n = {.available = true,
                          .ref_idx = motion->ref_idx[0][2 * (y >> 1) + (x >> 1)]};
    n.mv = n.ref_idx < 0 ? zero_mv : motion->mv[0][4 * y + x];
    return n;
}

/* Whether the macroblock at a distance is in the picture, decoded before, and of the same slice */
static bool mb_is_near(const struct motion_field *field, uint32_t mb, int dx, int dy)
{
    int64_t x = (int64_t)(mb % field->mb_width) + dx;
    int64_t other = (int64_t)mb + dx + (int64_t)dy * field->mb_width;
    return x >= 0 && x < field->mb_width && other >= 0 &&
           field->mbs[other].slice == field->mbs[mb].slice;
}

/* The block at (x, y), in units of 4 samples from the macroblock's corner: -1 <= x <= 4, y <= 3 */
static struct neighbour neighbour_at(const struct motion_field *field, uint32_t mb,
                                     const struct rec_motion *own, int x, int y)
{
    static const struct neighbour none = {.ref_idx = -1, .mv = zero_mv};
    int dx = x < 0 ? -1 : x > 3, dy = y < 0 ? -1 : 0;
    if (!dx && !dy)
        return neighbour_of(own, x, y);
    if ((dx > 0 && !dy) || !mb_is_near(field, mb, dx, dy))
        return none;
    return neighbour_of(&field->motion[(int64_t)mb + dx + (int64_t)dy * field->mb_width], x & 3,
                        y & 3);
}

static int median(int a, int b, int c)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* C, or D where C is not available (8.4.1.3.2). Inside the macroblock only the lower left quadrant
 * has its C decoded before it. */
static struct neighbour neighbour_c(const struct motion_field *field, uint32_t mb,
                                    const struct rec_motion *own, struct motion_part part)
{
    int x = 2 * part.x, y = 2 * part.y, right = x + 2 * part.width;
    struct neighbour c = {.ref_idx = -1, .mv = zero_mv};
    if (y == 0 || (part.width == 1 && part.x == 0 && part.height == 1))
        c = neighbour_at(field, mb, own, right, y - 1);
    return c.available ? c : neighbour_at(field, mb, own, x - 1, y - 1);
}

/* 8.4.1.3.1 */
static void predict_median(const struct neighbour n[3], int ref_idx, int16_t mv[2])
{
    const struct neighbour *only = NULL;
    int same = 0;
    for (int i = 0; i < 3; i++)
        if (n[i].ref_idx == ref_idx) {
            only = &n[i];
            same++;
        }
    if (!n[1].available && !n[2].available && n[0].available)
        only = &n[0];
    else if (same != 1)
        only = NULL;
    for (int i = 0; i < 2; i++)
        mv[i] = only ? only->mv[i] : (int16_t)median(n[0].mv[i], n[1].mv[i], n[2].mv[i]);
}

/* The neighbour whose vector a half macroblock takes where it has the same reference: A, B or C;
 * -1: none */
static int preferred(struct motion_part part)
{
    if (part.width == 2 && part.height == 1)
        return part.y == 0 ? 1 : 0;
    if (part.width == 1 && part.height == 2)
        return part.x == 0 ? 0 : 2;
    return -1;
}

void motion_predict(const struct motion_field *field, uint32_t mb, const struct rec_motion *own,
                    struct motion_part part, int ref_idx, int16_t mv[2])
{
    int x = 2 * part.x, y = 2 * part.y, first = preferred(part);
    struct neighbour n[3] = {
        neighbour_at(field, mb, own, x - 1, y),
        neighbour_at(field, mb, own, x, y - 1),
        neighbour_c(field, mb, own, part),
    };
    if (first >= 0 && n[first].ref_idx == ref_idx)
        memcpy(mv, n[first].mv, sizeof(zero_mv));
    else
        predict_median(n, ref_idx, mv);
}

static bool holds_still(struct neighbour n)
{
    return !n.available || (n.ref_idx == 0 && n.mv[0] == 0 && n.mv[1] == 0);
}

void motion_predict_skip(const struct motion_field *field, uint32_t mb, int16_t mv[2])
{
    static const struct motion_part whole = {0, 0, 2, 2};
    const struct rec_motion *own = &field->motion[mb];
    if (holds_still(neighbour_at(field, mb, own, -1, 0)) ||
        holds_still(neighbour_at(field, mb, own, 0, -1)))
        memcpy(mv, zero_mv, sizeof(zero_mv));
    else
        motion_predict(field, mb, own, whole, 0, mv);
}

void motion_set(struct rec_motion *motion, struct motion_part part, int ref_idx,
                const int16_t mv[2])
{
    for (int y = 2 * part.y; y < 2 * (part.y + part.height); y++)
        for (int x = 2 * part.x; x < 2 * (part.x + part.width); x++) {
            memcpy(motion->mv[0][4 * y + x], mv, sizeof(motion->mv[0][0]));
            motion->ref_idx[0][2 * (y >> 1) + (x >> 1)] = (int8_t)ref_idx;
        }
}

void motion_clear(struct rec_motion *motion)
{
    memset(motion->mv, 0, sizeof(motion->mv));
    memset(motion->ref_idx, -1, sizeof(motion->ref_idx));
}

bool motion_is_one(const struct rec_motion *motion, struct motion_part part)
{
    const int16_t *mv = motion->mv[0][8 * part.y + 2 * part.x];
    int ref_idx = motion->ref_idx[0][2 * part.y + part.x];
    for (int y = part.y; y < part.y + part.height; y++)
        for (int x = part.x; x < part.x + part.width; x++)
            if (motion->ref_idx[0][2 * y + x] != ref_idx ||
                memcmp(motion->mv[0][8 * y + 2 * x], mv, sizeof(zero_mv)) != 0)
                return false;
    return true;
}
