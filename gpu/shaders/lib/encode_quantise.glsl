/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Forward transforms of lines in registers, and what becomes of a coefficient
 * (encode/reference/forward.c, quantise.c).
 */
#ifndef PELTON_ENCODE_QUANTISE_GLSL
#define PELTON_ENCODE_QUANTISE_GLSL

#include "gpu/shaders/lib/encode_levels.glsl"

/* ---- transforms ---- */

void forward4(inout int v[16])
{
    [[unroll]] for (int i = 0; i < 8; i++) {
        int at = i < 4 ? 4 * i : i - 4, step = i < 4 ? 1 : 4;
        int a = v[at] + v[at + 3 * step], b = v[at + step] + v[at + 2 * step];
        int d = v[at + step] - v[at + 2 * step], e = v[at] - v[at + 3 * step];
        v[at] = a + b, v[at + step] = 2 * e + d;
        v[at + 2 * step] = a - b, v[at + 3 * step] = e - 2 * d;
    }
}

void forward8(inout int v[8])
{
    int s[4], d[4], e[4];
    [[unroll]] for (int i = 0; i < 4; i++) {
        s[i] = v[i] + v[7 - i];
        d[i] = v[i] - v[7 - i];
    }
    v[0] = s[0] + s[3] + s[1] + s[2];
    v[4] = s[0] + s[3] - s[1] - s[2];
    v[2] = (s[0] - s[3]) + ((s[1] - s[2]) >> 1);
    v[6] = ((s[0] - s[3]) >> 1) - (s[1] - s[2]);
    e[0] = d[1] + d[2] + (d[0] >> 1) + d[0];
    e[1] = d[0] - d[3] - (d[2] >> 1) - d[2];
    e[2] = d[0] + d[3] - (d[1] >> 1) - d[1];
    e[3] = d[1] - d[2] + (d[3] >> 1) + d[3];
    v[1] = e[0] + (e[3] >> 2);
    v[3] = e[1] + (e[2] >> 2);
    v[5] = e[2] - (e[1] >> 2);
    v[7] = (e[0] >> 2) - e[3];
}

/* ---- the quantiser ---- */

/* Below it the nearest level is 0. */
#define MAGNITUDE_NEAR_ONE 32

/* level_of without its two costs: the lower level is the better one from a difference on */
int level_near(int magnitude)
{
    int near = (magnitude + 32) >> 6, off = magnitude - 64 * near;
    bool lower = near > 1 && near <= LEVEL_WEIGHED && off <= (near == 2 ? -29 : -31);
    return lower ? near - 1 : near;
}

/* A place of the scan: where it lies, its coefficient, and what can become of it */
struct place_choice {
    int near;       /* magnitude of the level, 0: none */
    int cost, zero; /* of that level, of no level */
    bool keep;      /* before the last level */
};

place_choice place_with(int magnitude)
{
    place_choice p;
    p.near = level_near(magnitude);
    p.cost = cost_of_level(magnitude, p.near);
    p.zero = cost_of_zero(magnitude);
    p.keep = p.near != 0 && p.cost <= p.zero + COST_ZERO;
    return p;
}

place_choice place_of(int c, int factor, int shift)
{
    return place_with((abs(c) * factor) >> shift);
}

int signed_level(int c, int near)
{
    int v = min(near, pictures[picture].level_max);
    return c < 0 ? -v : v;
}

#endif
