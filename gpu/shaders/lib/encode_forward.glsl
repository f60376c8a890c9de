/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Forward transforms (encode/reference/forward.c) and the quantiser (encode/reference/quantise.c).
 */
#ifndef PELTON_ENCODE_FORWARD_GLSL
#define PELTON_ENCODE_FORWARD_GLSL

#extension GL_EXT_control_flow_attributes : require

/* Coefficients, then levels; all that follow work in place. */
shared int level[640];

/* One dimension of the 4x4 transform, of level[at], level[at + step], ... */
void forward4_line(int at, int step)
{
    int v0 = level[at], v1 = level[at + step], v2 = level[at + 2 * step], v3 = level[at + 3 * step];
    int a = v0 + v3, b = v1 + v2, d = v1 - v2, e = v0 - v3;
    level[at] = a + b, level[at + step] = 2 * e + d;
    level[at + 2 * step] = a - b, level[at + 3 * step] = e - 2 * d;
}

/* One dimension of the 8x8 transform */
void forward8_line(int at, int step)
{
    int s[4], d[4], e[4];
    for (int i = 0; i < 4; i++) {
        int v = level[at + i * step], w = level[at + (7 - i) * step];
        s[i] = v + w;
        d[i] = v - w;
    }
    level[at] = s[0] + s[3] + s[1] + s[2];
    level[at + 4 * step] = s[0] + s[3] - s[1] - s[2];
    level[at + 2 * step] = (s[0] - s[3]) + ((s[1] - s[2]) >> 1);
    level[at + 6 * step] = ((s[0] - s[3]) >> 1) - (s[1] - s[2]);
    e[0] = d[1] + d[2] + (d[0] >> 1) + d[0];
    e[1] = d[0] - d[3] - (d[2] >> 1) - d[2];
    e[2] = d[0] + d[3] - (d[1] >> 1) - d[1];
    e[3] = d[1] - d[2] + (d[3] >> 1) + d[3];
    level[at + step] = e[0] + (e[3] >> 2);
    level[at + 3 * step] = e[1] + (e[2] >> 2);
    level[at + 5 * step] = e[2] - (e[1] >> 2);
    level[at + 7 * step] = (e[0] >> 2) - e[3];
}

/* Of the block that begins there */
void forward(int first, bool big)
{
    [[dont_unroll]] for (int i = 0; i < (big ? 16 : 8); i++) {
        if (big)
            forward8_line(first + (i < 8 ? 8 * i : i - 8), i < 8 ? 1 : 8);
        else
            forward4_line(first + (i < 4 ? 4 * i : i - 4), i < 4 ? 1 : 4);
    }
}

/* ---- the quantiser: costs in units of (step / 64)^2 ---- */

#define BIT_16TH      16
#define COST_ZERO     (9 * BIT_16TH)
#define COST_ONE      (55 * BIT_16TH)
#define COST_TWO      (24 * BIT_16TH)
#define COST_MORE     (12 * BIT_16TH)
#define COST_BLOCK    (40 * BIT_16TH)
#define LEVEL_WEIGHED 16
#define ERROR_MOST    (64 * 40)

int cost_of_zero(int magnitude)
{
    int error = min(magnitude, ERROR_MOST);
    return error * error;
}

int cost_of_level(int magnitude, int level)
{
    if (level > LEVEL_WEIGHED)
        return COST_ONE + COST_TWO + COST_MORE * (LEVEL_WEIGHED - 2);
    int error = magnitude - 64 * level;
    return error * error + COST_ONE + (level > 1 ? COST_TWO + COST_MORE * (level - 2) : 0);
}

int level_of(int magnitude)
{
    int level = (magnitude + 32) >> 6;
    if (level > 1 && level <= LEVEL_WEIGHED &&
        cost_of_level(magnitude, level - 1) <= cost_of_level(magnitude, level))
        level--;
    return level;
}

#endif
