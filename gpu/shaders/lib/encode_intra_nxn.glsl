/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra macroblocks of 4x4 and of 8x8 blocks: each block is predicted from those before it.
 */
#ifndef PELTON_ENCODE_INTRA_NXN_GLSL
#define PELTON_ENCODE_INTRA_NXN_GLSL

/* The mode of a block */
uint mode_of(uvec2 modes, uint blk)
{
    return modes[blk >> 3] >> 4u * (blk & 7u) & 15u;
}

uvec2 modes_of(uint at)
{
    return uvec2(mbs[at].intra_mode[0], mbs[at].intra_mode[1]);
}

/* ---- blocks of 8x8 ---- */

/* One after the other. A thread has samples of two rows. */
void code_8x8(uint at, uint avail)
{
    int t = int(gl_LocalInvocationIndex), x = t & 7;
    uvec2 modes = modes_of(at);
    lane_place8 own[2] = lane_place8[2](lane_place8_of(0u, qps.x), lane_place8_of(1u, qps.x));
    border_begin_luma(avail);
    border_take_all();
    [[dont_unroll]] for (int block = 0; block < 4; block++) {
        ivec2 place = 2 * ivec2(block & 1, block >> 1), corner = 4 * place;
        block_sides s = sides_of(avail, place, 2);
        border_fill(place, s);
        barrier();
        for (int y = t >> 3; y < 8; y += 4) {
            int i = 16 * (corner.y + y) + corner.x + x;
            pred[i] = intra_8x8(int(mode_of(modes, 4u * uint(block))), x, y, s.left, s.top, DEPTH);
            residual[i] -= pred[i];
        }
        barrier();
        code_luma8(uint(block), own);
        for (int y = t >> 3; y < 8; y += 4)
            TILE_AT(corner.x + x, corner.y + y) = work[LUMA8_FIRST + 64 * block + 8 * y + x];
        barrier();
    }
    border_tell(true);
}

/* ---- blocks of 4x4: a wavefront of ten steps, two at a time by 16 threads each ---- */

#define STEPS 10
/* How each sample is predicted, before its border is known: places in the tile of three samples of
 * E, 10 bits each, and how many of them count. 0: the mean, with the place of E(0) and the sides */
shared uint plans[STEPS * LANES];

uint plan_index(ivec2 corner, int i)
{
    return uint(i >= 0 ? corner.y * TILE_PITCH + corner.x + i
                       : (corner.y - i) * TILE_PITCH + corner.x);
}

uint plan_of(uint mode, ivec2 corner, ivec2 to, block_sides s)
{
    if (mode == 2u)
        return plan_index(corner, 0) << 12 | (s.left ? 4u : 0u) | (s.top ? 8u : 0u);
    ivec2 d = intra_direction(int(mode), to.x, to.y);
    int last = s.right ? 8 : 4;
    return uint(d.y) | plan_index(corner, clamp(d.x - 1, -4, last)) << 2 |
           plan_index(corner, clamp(d.x, -4, last)) << 12 |
           plan_index(corner, clamp(d.x + 1, -4, last)) << 22;
}

int plan_sample(uint plan)
{
    uint taps = plan & 3u, at = plan >> 12 & 1023u;
    if (taps == 0u) {
        int left = 0, top = 0;
        [[unroll]] for (uint k = 1u; k <= 4u; k++) {
            left += tile[at + k * TILE_PITCH];
            top += tile[at + k];
        }
        return intra_dc((plan & 4u) != 0u, (plan & 8u) != 0u, left, top, 2, DEPTH);
    }
    int before = tile[plan >> 2 & 1023u], e = tile[at], next = tile[plan >> 22];
    return taps == 1u ? e : taps == 2u ? (e + next + 1) >> 1 : (before + 2 * e + next + 2) >> 2;
}

/* The thread's block of a step, in units of blocks, and whether there is one */
bool step_place(int step, out ivec2 place)
{
    int second = int(LANE >> 4);
    place = ivec2((step & 1) + 2 * second, (step >> 1) - second);
    return place.y >= 0 && place.y < 4;
}

uint block_at(ivec2 place)
{
    return uint((place.x & 1) | (place.y & 1) << 1 | (place.x & 2) << 1 | (place.y & 2) << 2);
}

ivec2 sample_of_lane()
{
    return ivec2(LANE & 3u, LANE >> 2 & 3u);
}

/* Sides of the macroblock that a block is predicted from */
uint sides_of_block(uint mode, ivec2 place)
{
    uint needs = mode == 2u ? REC_NEED_LEFT | REC_NEED_TOP : REC_NEEDS_NXN >> 3u * mode & 7u;
    uint sides = place.x == 0 && (needs & REC_NEED_LEFT) != 0u ? REC_AVAIL_A : 0u;
    if (place.y == 0 && (needs & REC_NEED_TOP) != 0u)
        sides |= REC_AVAIL_B;
    if (place == ivec2(3, 0) && (mode == 3u || mode == 7u))
        sides |= REC_AVAIL_C;
    if ((needs & REC_NEED_CORNER) != 0u)
        sides |= place == ivec2(0) ? REC_AVAIL_D : place.x == 0 ? REC_AVAIL_A : 0u;
    return sides;
}

/* What does not wait */
void plans_make(uvec2 modes, uint avail)
{
    if (LANE == 0u)
        sides_read = 0u;
    barrier();
    [[dont_unroll]] for (int step = 0; step < STEPS; step++) {
        ivec2 place;
        if (!step_place(step, place))
            continue;
        uint mode = mode_of(modes, block_at(place));
        plans[uint(step) * LANES + LANE] =
            plan_of(mode, 4 * place, sample_of_lane(), sides_of(avail, place, 1));
        if ((LANE & 15u) == 0u)
            atomicOr(sides_read, sides_of_block(mode, place));
    }
    barrier();
}

/* Waits for what the blocks of a step are predicted from. */
void border_take_step(int step)
{
    if (int(LANE) <= 4 * step + 8)
        border_take(border_top);
    if (int(LANE) < 2 * step + 4)
        border_take(border_left);
    border_ahead();
    barrier();
}

void code_4x4(uint at, uint avail)
{
    lane_quantiser q = lane_quantiser_of(qps.x);
    ivec2 to = sample_of_lane();
    plans_make(modes_of(at), avail);
    border_begin_luma(avail & sides_read);
    [[dont_unroll]] for (int step = 0; step < STEPS; step++) {
        ivec2 place;
        bool here = step_place(step, place), any;
        ivec2 sample_in = 4 * place + to;
        uint blk = block_at(place);
        border_take_step(step);
        int r = here ? residual[16 * sample_in.y + sample_in.x] : 0;
        int p = here ? plan_sample(plans[uint(step) * LANES + LANE]) : 0;
        int v = lane_level(q, lane_coefficient(q, r - p), false, any);
        r = clamp(p + lane_residual(q, lane_scaled(q, v)), 0, 255);
        if (!here)
            continue;
        TILE_AT(sample_in.x, sample_in.y) = r;
        border_put_luma(sample_in, r);
        level[16 * int(blk) + q.at] = v;
        work[16u * blk + (LANE & 15u)] = r;
        if (any && (LANE & 15u) == 0u)
            atomicOr(coded[WAY_LUMA4], 1u << blk);
    }
}

#endif
