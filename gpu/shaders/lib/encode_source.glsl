/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction from source samples, and its SATD (encode/reference/choose_intra.c). Each border
 * is filtered once, in all ways that a mode may want: then a predicted sample is one load. 16
 * threads have a mode together, and a thread has the same 4x4 samples in all of them.
 */
#ifndef PELTON_ENCODE_SOURCE_GLSL
#define PELTON_ENCODE_SOURCE_GLSL

#include "gpu/shaders/lib/encode_intra.glsl"
#include "gpu/shaders/lib/encode_pairs.glsl"

layout(set = 0, binding = ENC_BIND_INTRA, scalar) buffer intra_buffer
{
    enc_intra intra[];
};
layout(set = 0, binding = ENC_BIND_MBS, scalar) readonly buffer mb_buffer
{
    rec_mb mbs[];
};
/* The SATD of 4x4 blocks by block and mode, while there are no levels yet */
layout(set = 0, binding = ENC_BIND_LEVELS, scalar) buffer level_buffer
{
    uint16_t levels[];
};

#define NXN_MODES     (REC_MAX_MODE_NXN + 1)
#define MB_LEVELS     (16u * ENC_BLOCKS)
#define SATD_NONE     0xffffu
#define MODES_AT_ONCE (SEARCH_THREADS / 16)

uint record_at(uint address)
{
    return picture * args.mb_width * args.mb_height + address;
}

/* Samples of the macroblock and around it. Those beyond chroma planes are not used: Cb is in
 * columns -1..7, Cr in columns 11..19. */
void tile_source(bool chroma)
{
    uint set = pictures[picture].source;
    ivec2 last = ivec2(luma_width() / 2u, luma_height() / 2u) - 1;
    for (int i = int(gl_LocalInvocationIndex); i < 17 * TILE_PITCH; i += SEARCH_THREADS) {
        ivec2 at = ivec2(i % TILE_PITCH, i / TILE_PITCH) - 1;
        int c = at.x > 10 ? 1 : 0;
        if (chroma) {
            at = clamp(8 * mb_at + at - ivec2(12 * c, 0), ivec2(0), last);
            tile[i] = int(
                planes[int(chroma_origin(set, uint(c))) + at.y * int(luma_width() / 2u) + at.x]);
        } else {
            at += 16 * mb_at;
            tile[i] = int(planes[int(plane_origin(set, 0u)) + at.y * int(plane_stride(0u)) + at.x]);
        }
    }
    barrier();
}

/* Half of the SATD of 4x4 differences, two pairs a row */
uint satd_of(PAIR d[8])
{
    PAIR sums[4], differences[4];
    [[unroll]] for (int y = 0; y < 4; y++) {
        sums[y] = d[2 * y] + d[2 * y + 1];
        differences[y] = d[2 * y] - d[2 * y + 1];
    }
    return total_of(satd_rows(sums) + satd_rows(differences));
}

/* Corner of the thread's 4x4 samples of luma */
ivec2 own_corner()
{
    return 4 * block_place(gl_LocalInvocationIndex & 15u);
}

void own_source(out PAIR d[8], ivec2 at)
{
    [[unroll]] for (int i = 0; i < 8; i++)
        d[i] = pair_with(TILE_AT(at.x + 2 * (i & 1), at.y + (i >> 1)),
                         TILE_AT(at.x + 2 * (i & 1) + 1, at.y + (i >> 1)));
}

/* ---- filtered borders ---- */

/* E(i), E by two and by three taps for i from -LOW to HIGH; then the mean. Of 16 blocks of 4x4
 * samples, or 4 of 8x8 */
#define LOW4   5
#define COUNT4 14
#define PITCH4 (3 * COUNT4 + 1)
#define LOW8   9
#define COUNT8 26
#define PITCH8 (3 * COUNT8 + 1)
shared SAMPLE taps[16 * PITCH4];

/* E(e) in all ways, of the block whose taps begin at `first` */
void taps_store(uint first, int count, int i, int before, int e, int next)
{
    int at = int(first) + i;
    taps[at] = sample_with(e);
    taps[at + count] = sample_with((e + next + 1) >> 1);
    taps[at + 2 * count] = sample_with((before + 2 * e + next + 2) >> 2);
}

/* Of all 4x4 blocks, from the tile */
void taps4_fill(uint avail)
{
    uint t = gl_LocalInvocationIndex;
    for (uint i = t; i < 16u * COUNT4; i += SEARCH_THREADS) {
        ivec2 place = block_place(i / COUNT4), at = 4 * place;
        int k = int(i % COUNT4), e = k - LOW4;
        int last = sides_of(avail, place, 1).right ? 8 : 4;
        taps_store(i / COUNT4 * PITCH4, COUNT4, k, border4(at.x, at.y, e - 1, last),
                   border4(at.x, at.y, e, last), border4(at.x, at.y, e + 1, last));
    }
    if (t < 16u) {
        ivec2 place = block_place(t), at = 4 * place;
        block_sides s = sides_of(avail, place, 1);
        taps[t * PITCH4 + PITCH4 - 1] =
            sample_with(intra_4x4(2, at.x, at.y, 0, 0, s.left, s.top, s.right, DEPTH));
    }
    barrier();
}

/* The tap that predicts sample (x, y) of the block whose taps begin at `first`. mode: a constant */
SAMPLE tap_of(int mode, uint first, int x, int y, int low, int count)
{
    ivec2 from = intra_direction(mode, x, y);
    return taps[int(first) + (from.y - 1) * count + clamp(from.x, -low, count - 1 - low) + low];
}

/* Of the 4x4 samples at `at` */
void predict_by(int mode, uint first, ivec2 at, int low, int count, inout PAIR d[8])
{
    [[unroll]] for (int i = 0; i < 8; i++) {
        int x = at.x + 2 * (i & 1), y = at.y + (i >> 1);
        d[i] -=
            PAIR(tap_of(mode, first, x, y, low, count), tap_of(mode, first, x + 1, y, low, count));
    }
}

/* d: source samples, and then their differences from the prediction */
void predict_nxn(uint mode, uint first, ivec2 at, int low, int count, inout PAIR d[8])
{
    if (mode == 2u) {
        [[unroll]] for (int i = 0; i < 8; i++)
            d[i] -= PAIR(taps[int(first) + 3 * count]);
        return;
    }
    switch (mode) {
    case 0u:
        predict_by(0, first, at, low, count, d);
        break;
    case 1u:
        predict_by(1, first, at, low, count, d);
        break;
    case 3u:
        predict_by(3, first, at, low, count, d);
        break;
    case 4u:
        predict_by(4, first, at, low, count, d);
        break;
    case 5u:
        predict_by(5, first, at, low, count, d);
        break;
    case 6u:
        predict_by(6, first, at, low, count, d);
        break;
    case 7u:
        predict_by(7, first, at, low, count, d);
        break;
    default:
        predict_by(8, first, at, low, count, d);
        break;
    }
}

#endif
