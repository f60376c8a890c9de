/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples around an intra macroblock that is coded, in the tile. Those of macroblocks that are
 * intra, too, are waited for one by one: a word holds a sample, and a bit that says it is there. So
 * neither flags nor memory barriers are needed, and a block may begin before its neighbours end.
 */
#ifndef PELTON_ENCODE_BORDER_GLSL
#define PELTON_ENCODE_BORDER_GLSL

#include "gpu/shaders/lib/ask.glsl"

/* A sample of the border: the word that it comes in, 0: it is there; what the word was when it was
 * read last; the sample's place in the tile */
struct border_place {
    uint word, last;
    int tile_at;
};
border_place border_top, border_left; /* the thread's */

/* A load takes less of the device than an atomic operation. llvmpipe would not load again. */
uint border_ask(uint at)
{
    return AT_ONCE == 2u ? atomicOr(tickets[at], 0u) : tickets[at];
}

/* A sample before deblocking; beside the picture: the nearest one, which is not used */
int sample_at(uint c, ivec2 at)
{
    ivec2 end = (c == 0u ? 16 : 8) * ivec2(args.mb_width, args.mb_height) - 1;
    return int(unfiltered[unfiltered_at(c, clamp(at, ivec2(0), end))]);
}

/* The thread has the sample at a place beside its macroblock. wanted: sides that are predicted
 * from */
border_place border_begin(uint c, ivec2 at, int tile_at, uint wanted)
{
    int size = c == 0u ? 16 : 8;
    uint side = at.y >= 0      ? REC_AVAIL_A
                : at.x < 0     ? REC_AVAIL_D
                : at.x >= size ? REC_AVAIL_C
                               : REC_AVAIL_B;
    uint back = side == REC_AVAIL_A   ? 1u
                : side == REC_AVAIL_B ? args.mb_width
                : side == REC_AVAIL_C ? args.mb_width - 1u
                                      : args.mb_width + 1u;
    if (AT_ONCE != 0u && (wanted & side) != 0u &&
        uint(mbs[record_at(mb - back)].kind) != REC_MB_INTER) {
        uint first = c == 0u ? 0u : 16u + 16u * c;
        uint i = side == REC_AVAIL_A ? uint(size + at.y) : uint(at.x + size) % uint(size);
        uint word = border_at(mb - back) + first + i;
        return border_place(word, border_ask(word), tile_at);
    }
    tile[tile_at] = sample_at(c, size * mb_at + at);
    return border_place(0u, 0u, tile_at);
}

void border_take(inout border_place p)
{
    if (p.word == 0u)
        return;
    uint v = p.last;
    while ((v & BORDER_KNOWN) == 0u) {
        if (AT_ONCE == 2u) {
            ASK_256(tickets[p.word])
        }
        v = border_ask(p.word);
    }
    tile[p.tile_at] = int(v & 255u);
    p.word = 0u;
}

/* Reads again what is not there, before it is needed. */
void border_ahead()
{
    if (border_top.word != 0u)
        border_top.last = border_ask(border_top.word);
    if (border_left.word != 0u)
        border_left.last = border_ask(border_left.word);
}

/* Luma: threads 0 to 24 have columns -1 to 23 above, threads 0 to 15 have rows on the left. */
void border_begin_luma(uint wanted)
{
    int t = int(LANE);
    border_top = border_left = border_place(0u, 0u, 0);
    if (t < TILE_PITCH)
        border_top = border_begin(0u, ivec2(t - 1, -1), t, wanted);
    if (t < 16)
        border_left = border_begin(0u, ivec2(-1, t), (t + 1) * TILE_PITCH, wanted);
}

/* Of both components: Cb is in columns -1..7 of the tile, Cr in columns 11..19. */
void border_begin_chroma(uint wanted)
{
    int t = int(LANE & 15u), c = int(LANE >> 4), x = 12 * c;
    border_top = border_left = border_place(0u, 0u, 0);
    if (t < 9)
        border_top = border_begin(1u + uint(c), ivec2(t - 1, -1), x + t, wanted);
    if (t < 8)
        border_left = border_begin(1u + uint(c), ivec2(-1, t), (t + 1) * TILE_PITCH + x, wanted);
}

/* Waits for all of it. */
void border_take_all()
{
    border_take(border_top);
    border_take(border_left);
    barrier();
}

void border_put(uint i, int v)
{
    tickets[border_at(mb) + i] = uint(v) | BORDER_KNOWN;
}

/* A sample of luma is known. */
void border_put_luma(ivec2 at, int v)
{
    if (AT_ONCE != 0u && at.y == 15)
        border_put(uint(at.x), v);
    if (AT_ONCE != 0u && at.x == 15)
        border_put(16u + uint(at.y), v);
}

/* All samples of the part are known, in work. */
void border_tell(bool big)
{
    uint t = LANE, k = t & 7u, c = t >> 4;
    bool down = part == PART_LUMA ? t >= 16u : (t & 8u) != 0u;
    uint at = part == PART_LUMA ? (down ? 16u * (t & 15u) + 15u : 240u + t)
                                : 256u + 64u * c + (down ? 8u * k + 7u : 56u + k);
    if (AT_ONCE != 0u)
        border_put(part == PART_LUMA ? t : 32u + t, work[block_sample(at, big)]);
}

/* Sides that the modes predict from, of those that are there */
shared uint sides_read;

uint sides_of_needs(uint needs)
{
    return ((needs & REC_NEED_LEFT) != 0u ? REC_AVAIL_A : 0u) |
           ((needs & REC_NEED_TOP) != 0u ? REC_AVAIL_B : 0u) |
           ((needs & REC_NEED_CORNER) != 0u ? REC_AVAIL_D : 0u);
}

/* Of a macroblock that is predicted as a whole. dc: the mode that reads what is there */
uint sides_of_whole(uint mode, uint dc, uint needs, uint avail)
{
    return avail &
           (mode == dc ? REC_AVAIL_A | REC_AVAIL_B : sides_of_needs(needs >> 3u * mode & 7u));
}

#endif
