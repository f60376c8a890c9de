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

/* Below it no level pays: a 1 costs more than none. */
#define MAGNITUDE_NEAR_ONE ((64 * 64 + COST_ONE) / 128 + 1)

/* level_of without its two costs: the lower level is the better one up to a difference of -29 from
 * 2, and of -31 from those above. */
int level_near(int magnitude)
{
    int round = magnitude < 64                       ? 32
                : magnitude < 128                    ? 28
                : magnitude < 64 * LEVEL_WEIGHED + 1 ? 30
                                                     : 32;
    return (magnitude + round) >> 6;
}

/* What the level costs more than none. A level of 0 costs as much as a 1 does, and is never kept.
 */
int level_more(int magnitude, int level)
{
    int n = 64 * level, most = min(magnitude, ERROR_MOST);
    int bits = level > 1 ? COST_ONE + COST_TWO - 2 * COST_MORE + COST_MORE * level : COST_ONE;
    return level > LEVEL_WEIGHED
               ? COST_ONE + COST_TWO + COST_MORE * (LEVEL_WEIGHED - 2) - most * most
               : n * (n - 2 * magnitude) + bits;
}

/* A place of the scan, and what can become of its coefficient */
struct place_choice {
    int near;  /* magnitude of the level, 0: none */
    int more;  /* what that costs more than no level */
    bool keep; /* before the last level */
};

place_choice place_with(int magnitude)
{
    place_choice p;
    p.near = level_near(magnitude);
    p.more = level_more(magnitude, p.near);
    p.keep = p.more <= COST_ZERO;
    return p;
}

/* What a place before the last level costs more than none */
int kept_more(place_choice p)
{
    return min(p.more, COST_ZERO);
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
