/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The search in a quarter of the size: half of 33 x 33 positions, as the fields of one colour of a
 * chessboard lie, of 8x8 samples around the macroblock's 4x4.
 * Those 8x8 samples are four blocks of 4x4, and each block belongs to four macroblocks. So a
 * workgroup takes tiles of 8 x 8 macroblocks, and sums up each block once: by a thread for each
 * block, and for each third of the rows of positions. Grid: tiles in x, references in y, pictures
 * in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define SEARCH_THREADS 256
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_pairs.glsl"

#define RANGE  16
#define SIDE   (2 * RANGE + 1)
#define TILE   ENC_SEARCH_TILE
#define BLOCKS (TILE + 1) /* in a row of the tile */
#define THIRDS 3
#define ROWS   (SIDE / THIRDS)

/* Positions of a row: those of odd rows begin one further. */
#define COLUMNS (RANGE + 1)
#define PAIRS   (COLUMNS / 2 + 1)

/* Of blocks, for a row of positions each: two in a word, the first one below. The sum of four words
 * has no carry. */
shared uint sads[THIRDS][BLOCKS * BLOCKS][PAIRS];
shared uint place_bits[SIDE]; /* of a component of a vector */
shared uint best_keys[THIRDS][TILE * TILE];

ivec2 tile_at; /* its first macroblock */

/* Cost and order in a word: the least one is the best position. A cost has less than 21 bits. */
#define ORDER_BITS 11

/* The thread's block at all positions of a row */
void row_sums(uint third, uint block, four_pairs source[4], int y)
{
    int stride = int(plane_stride(ENC_PLANE_FOURTH));
    ivec2 at = 4 * min(tile_at + ivec2(block % BLOCKS, block / BLOCKS),
                       ivec2(args.mb_width, args.mb_height)) -
               2 + ivec2((y & 1) - RANGE, y - RANGE);
    int from = int(plane_origin(uint(pictures[picture].reference[reference]), ENC_PLANE_FOURTH)) +
               at.y * stride + at.x;
    uint shift = shift_of(from); /* of all rows: strides are whole words */
    uvec4 window, next, last;
    [[unroll]] for (int i = 0; i < 4; i++) {
        last[i] = plane_words[(from + i * stride >> 2) + 1];
        window[i] = joined(plane_words[from + i * stride >> 2], last[i], shift);
    }
    [[dont_unroll]] for (int pair = 0; pair < PAIRS; pair++) {
        PAIR first = PAIR_NONE, second = PAIR_NONE; /* of eight samples each */
        [[unroll]] for (int i = 0; i < 4; i++) {
            uint word = plane_words[(from + i * stride >> 2) + pair + 2];
            next[i] = joined(last[i], word, shift);
            last[i] = word;
            first += pairs_sad(source[i], pair_of(window[i]), pair_of(window[i] >> 8));
            window[i] = window[i] >> 16 | next[i] << 16;
            second += pairs_sad(source[i], pair_of(window[i]), pair_of(window[i] >> 8));
            window[i] = next[i];
        }
        sads[third][block][pair] = pair_sum(first) | pair_sum(second) << 16;
    }
}

/* Positions that are allowed (as `allowed` has it): the first ones and the last ones */
ivec4 places_allowed()
{
    ivec2 most = ivec2(pictures[picture].mv_max[0], pictures[picture].mv_max[1]);
    ivec2 low = max(-64 * mb_at - 4 * ENC_REACH, -most - 1);
    ivec2 last = ivec2(args.mb_width, args.mb_height) - 1;
    ivec2 high = min(64 * (last - mb_at) + 4 * ENC_REACH, most);
    return ivec4(max((low + 15 >> 4) + RANGE, 0), min((high >> 4) + RANGE, SIDE - 1));
}

uint key_of(uint sum, int x, int y)
{
    uint bits = pictures[picture].lambda * (place_bits[x] + place_bits[y]) / 16u;
    /* no motion comes first */
    uint place = x == RANGE && y == RANGE ? 0u : uint(y * SIDE + x) + 1u;
    return 4u * sum + bits << ORDER_BITS | place;
}

/* A macroblock's best position of a row */
uint row_choose(uint third, uint in_tile, int y, ivec4 places)
{
    uint block = in_tile / TILE * BLOCKS + in_tile % TILE, best = NO_COST;
    int odd = y & 1, low = places.x - odd + 1 >> 1, high = places.z - odd >> 1;
    if (y < places.y || y > places.w)
        return best;
    for (int pair = low >> 1; pair <= high >> 1; pair++) {
        uint sum = sads[third][block][pair] + sads[third][block + 1u][pair] +
                   sads[third][block + BLOCKS][pair] + sads[third][block + BLOCKS + 1u][pair];
        int x = 4 * pair + odd;
        if (2 * pair >= low)
            best = min(best, key_of(sum & 0xffffu, x, y));
        if (2 * pair + 1 <= high)
            best = min(best, key_of(sum >> 16, x + 2, y));
    }
    return best;
}

/* Of the thirds the best one */
void mb_store(uint in_tile)
{
    uint best = min(min(best_keys[0][in_tile], best_keys[1][in_tile]), best_keys[2][in_tile]);
    int order = int(best & (1u << ORDER_BITS) - 1u);
    ivec2 mv = order == 0 ? ivec2(0) : ivec2((order - 1) % SIDE, (order - 1) / SIDE) - RANGE;
    search[search_at(mb)].coarse[0] = int16_t(mv.x);
    search[search_at(mb)].coarse[1] = int16_t(mv.y);
}

void main()
{
    uint t = gl_LocalInvocationIndex, tiles = (args.mb_width + TILE - 1u) / TILE;
    if (!search_begin())
        return;
    tile_at = TILE * ivec2(gl_WorkGroupID.x % tiles, gl_WorkGroupID.x / tiles);
    if (t < SIDE)
        place_bits[t] = se_bits(16 * (int(t) - RANGE));
    /* 81 threads a third for blocks; the first 64 of them have macroblocks, too */
    uint third = t / (BLOCKS * BLOCKS), block = t % (BLOCKS * BLOCKS), best = NO_COST;
    ivec2 at = tile_at + ivec2(block % BLOCKS, block / BLOCKS);
    int stride = int(plane_stride(ENC_PLANE_FOURTH)),
        from = int(plane_origin(pictures[picture].source, ENC_PLANE_FOURTH)) - 2 * stride - 2;
    four_pairs source[4];
    bool counts = third < THIRDS;
    at = 4 * min(at, ivec2(args.mb_width, args.mb_height));
    [[unroll]] for (int i = 0; i < 4; i++) {
        source[i] = pairs_of(four_samples(from + (at.y + i) * stride + at.x));
    }
    mb_at = tile_at + ivec2(block % TILE, block / TILE);
    mb = uint(mb_at.y) * args.mb_width + uint(mb_at.x);
    bool chooses = counts && block < TILE * TILE && mb_at.x < int(args.mb_width) &&
                   mb_at.y < int(args.mb_height);
    ivec4 places = places_allowed();
    [[dont_unroll]] for (int i = 0; i < ROWS; i++) {
        int y = int(third) * ROWS + i;
        barrier();
        if (counts)
            row_sums(third, block, source, y);
        barrier();
        if (chooses)
            best = min(best, row_choose(third, block, y, places));
    }
    if (chooses)
        best_keys[third][block] = best;
    barrier();
    if (chooses && third == 0u)
        mb_store(block);
}
