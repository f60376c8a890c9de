/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of an inter macroblock, by 32 threads. 16 threads have a 4x4 block of luma each, eight one
 * of chroma, in registers, by the same code. Then eight threads have an 8x8 block: each a row, a
 * column, or an eighth of the scan. encode_predict.glsl comes before.
 */
#ifndef PELTON_ENCODE_INTER_BLOCKS_GLSL
#define PELTON_ENCODE_INTER_BLOCKS_GLSL

#include "gpu/shaders/lib/encode_quantise.glsl"

/* Sums of all threads. Of the ways to code luma, then Cb, Cr: error and bits; blocks with levels */
#define SUM_LUMA4 0u
#define SUM_LUMA8 1u
#define SUM_CB    2u
#define SUMS      4
shared uint errors[SUMS], bits[SUMS], coded[SUMS];
shared uint error_alone; /* of the prediction alone */
shared int dc[8];

/* What a thread has made: the levels of its 4x4 block, two in a word, and its samples; a row of an
 * 8x8 block, and the levels of an eighth of its scan */
uint own_levels4[8], own_samples4[4];
uint own_samples8[2];
int own_levels8[8];

/* ---- samples in words ---- */

int sample_of(uint word, int i)
{
    return int(word >> 8 * i & 255u);
}

uint square(int v)
{
    return uint(v * v);
}

/* Four samples of the reconstruction, and its error. v: the residual, times 64 */
uint rebuilt_word(uint pred, uint source, ivec4 v, inout uint error)
{
    uint word = 0u;
    [[unroll]] for (int i = 0; i < 4; i++) {
        int r = clamp(sample_of(pred, i) + ((v[i] + 32) >> 6), 0, 255);
        error += square(sample_of(source, i) - r);
        word |= uint(r) << 8 * i;
    }
    return word;
}

/* ---- 4x4 blocks; u: luma by blkIdx, then Cb, then Cr ---- */

/* Where the words of a block are: the first row, and the distance of rows */
uvec2 words_of(uint u)
{
    uvec2 corner = uvec2(block_corner(u));
    return u < 16u ? uvec2(4u * corner.y + corner.x / 4u, 4u)
                   : uvec2(LUMA_WORDS + 16u * (u - 16u >> 2) + 8u * (u >> 1 & 1u) + (u & 1u), 2u);
}

/* Levels by the scan; v: magnitudes with their signs, and then levels. before: what stands for a DC
 * coefficient that is apart */
bool levels4(inout int v[16], int before)
{
    int least = 0, last = -1, last_level = 0;
    [[unroll]] for (int i = 0; i < 16; i++) {
        int at = zigzag4[i];
        place_choice p = place_with(abs(v[at]));
        int level = signed_level(v[at], p.near);
        if (before + p.more + COST_BLOCK < least) {
            least = before + p.more + COST_BLOCK;
            last = i;
            last_level = level;
        }
        v[at] = p.keep ? level : 0;
        before += kept_more(p);
    }
    [[unroll]] for (int i = 0; i < 16; i++)
        v[zigzag4[i]] = i > last ? 0 : i == last ? last_level : v[zigzag4[i]];
    return last >= 0;
}

/* Whether there are levels, without DC of chroma. Blocks that are near to their prediction have
 * none, and whole groups of threads leave it at that. */
bool quantise_block(uint u, uint qp, inout int v[16])
{
    ivec3 factor = ivec3(factor_of(qp, 0, false), factor_of(qp, 5, false), factor_of(qp, 1, false));
    int shift = int(qp / 6u) + 9, most = 0;
    bool chroma = u >= 16u;
    v[0] = chroma ? 0 : v[0];
    [[unroll]] for (int i = 0; i < 16; i++) {
        int magnitude = (abs(v[i]) * at_position(factor, i)) >> shift;
        v[i] = v[i] < 0 ? -magnitude : magnitude;
        most = max(most, magnitude);
    }
    if (most >= MAGNITUDE_NEAR_ONE)
        return levels4(v, chroma ? -COST_ZERO : 0);
    [[unroll]] for (int i = 0; i < 16; i++)
        v[i] = 0;
    return false;
}

/* Forward, and levels; DC of chroma goes to dc. */
bool block4_begin(uint u, uint qp, out int v[16])
{
    uvec2 at = words_of(u);
    [[unroll]] for (uint y = 0u; y < 4u; y++) {
        uint s = source_words[at.x + y * at.y], p = pred_words[at.x + y * at.y];
        [[unroll]] for (int x = 0; x < 4; x++)
            v[4 * y + x] = sample_of(s, x) - sample_of(p, x);
    }
    forward4(v);
    if (u >= 16u)
        dc[u - 16u] = v[0];
    return quantise_block(u, qp, v);
}

/* DC levels of chroma (8.5.11); the block's own, and what it is after scaling. Whether any is not 0
 */
bool chroma_dc(uint u, uint qp, out int own, out int scaled)
{
    uint at = u - 16u & 4u;
    ivec4 c = hadamard2(ivec4(dc[at], dc[at + 1u], dc[at + 2u], dc[at + 3u]));
    for (int i = 0; i < 4; i++)
        c[i] = quantise_dc(c[i], qp, ROUNDING_INTER);
    own = c[u & 3u];
    bool any = c != ivec4(0);
    c = hadamard2(c) * 16 * norm_adjust4(int(qp % 6u), 0);
    scaled = (c[u & 3u] << (qp / 6u)) >> 5;
    return any;
}

/* Levels and samples into the thread's own; v: levels. dc_scaled counts where chroma. */
void block4_rebuild(uint u, uint qp, inout int v[16], bool has_levels, int dc_scaled)
{
    uvec2 at = words_of(u);
    ivec3 norm = norm4[qp % 6u];
    uint way = u < 16u ? SUM_LUMA4 : SUM_CB + (u - 16u >> 2), sum = 16u, error = 0u;
    [[unroll]] for (int i = 0; i < 8; i++)
        own_levels4[i] = uint(v[2 * i]) & 0xffffu | uint(v[2 * i + 1]) << 16;
    if (has_levels) {
        [[unroll]] for (int i = 0; i < 16; i++) {
            sum += level_bits(v[i]);
            v[i] = (v[i] * at_position(norm, i)) << (qp / 6u);
        }
        atomicAdd(bits[way], sum);
    }
    if (u >= 16u)
        v[0] = dc_scaled;
    if (has_levels || dc_scaled != 0)
        inverse4_lines(v);
    [[unroll]] for (uint y = 0u; y < 4u; y++)
        own_samples4[y] =
            rebuilt_word(pred_words[at.x + y * at.y], source_words[at.x + y * at.y],
                         ivec4(v[4 * y], v[4 * y + 1], v[4 * y + 2], v[4 * y + 3]), error);
    atomicAdd(errors[way], error);
}

/* After all blocks have begun */
void block4_end(uint u, uint qp, inout int v[16], bool any)
{
    int scaled = 0;
    bool any_dc = false;
    if (u >= 16u) {
        any_dc = chroma_dc(u, qp, v[0], scaled);
        if (any || any_dc)
            atomicOr(coded[SUM_CB + (u - 16u >> 2)], any_dc ? 15u : 1u << (u & 3u));
    } else if (any) {
        atomicOr(coded[SUM_LUMA4], 1u << u);
    }
    block4_rebuild(u, qp, v, any || any_dc, scaled);
}

#endif
