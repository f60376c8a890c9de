/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Forward transforms (encode/reference/forward.c) and the quantiser (encode/reference/quantise.c).
 */
#ifndef PELTON_ENCODE_FORWARD_GLSL
#define PELTON_ENCODE_FORWARD_GLSL

/* One dimension of the 4x4 transform, of c[at], c[at + step], ... */
void forward4_line(inout int c[64], int at, int step)
{
    int a = c[at] + c[at + 3 * step], b = c[at + step] + c[at + 2 * step];
    int d = c[at + step] - c[at + 2 * step], e = c[at] - c[at + 3 * step];
    c[at] = a + b, c[at + step] = 2 * e + d, c[at + 2 * step] = a - b, c[at + 3 * step] = e - 2 * d;
}

void forward4(inout int c[64])
{
    for (int y = 0; y < 4; y++)
        forward4_line(c, 4 * y, 1);
    for (int x = 0; x < 4; x++)
        forward4_line(c, x, 4);
}

/* One dimension of the 8x8 transform */
void forward8_line(inout int c[64], int at, int step)
{
    int s[4], d[4], e[4];
    for (int i = 0; i < 4; i++) {
        s[i] = c[at + i * step] + c[at + (7 - i) * step];
        d[i] = c[at + i * step] - c[at + (7 - i) * step];
    }
    c[at] = s[0] + s[3] + s[1] + s[2];
    c[at + 4 * step] = s[0] + s[3] - s[1] - s[2];
    c[at + 2 * step] = (s[0] - s[3]) + ((s[1] - s[2]) >> 1);
    c[at + 6 * step] = ((s[0] - s[3]) >> 1) - (s[1] - s[2]);
    e[0] = d[1] + d[2] + (d[0] >> 1) + d[0];
    e[1] = d[0] - d[3] - (d[2] >> 1) - d[2];
    e[2] = d[0] + d[3] - (d[1] >> 1) - d[1];
    e[3] = d[1] - d[2] + (d[3] >> 1) + d[3];
    c[at + step] = e[0] + (e[3] >> 2);
    c[at + 3 * step] = e[1] + (e[2] >> 2);
    c[at + 5 * step] = e[2] - (e[1] >> 2);
    c[at + 7 * step] = (e[0] >> 2) - e[3];
}

void forward8(inout int c[64])
{
    for (int y = 0; y < 8; y++)
        forward8_line(c, 8 * y, 1);
    for (int x = 0; x < 8; x++)
        forward8_line(c, x, 8);
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
