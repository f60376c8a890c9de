/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes of a slice, for both codings. In `value` stands what comes next, and `ahead` bits of it
 * are read ahead.
 */
#ifndef PELTON_ENTROPY_READER_GLSL
#define PELTON_ENTROPY_READER_GLSL

/* The next bits of each slice, 16 a word, in shared memory. A bin looks whether it needs some. A
 * compiler loads them without a branch. From a buffer that takes a fifth of each bin's time, for
 * the address and its check, whether they are needed or not. */
const uint RING = 128u, RING_STEP = 16u; /* words; that are filled at once */
shared uint bits_ring[SHARE * RING];

uint value;
int ahead;
uint next_half; /* 16 bits of the batch's bytes: to be read next */
uint ring_base; /* the slice's part of the ring */
uint ring_end;  /* halves before this one are there; a multiple of RING_STEP */
uint end_quad;  /* behind the slice: zeros (ENT_PADDING), which are read again and again */

/* 16 bytes of the batch into the ring. */
void ring_put(uint at, uvec4 bytes)
{
    uvec4 swapped = (bytes & 0x00ff00ffu) << 8 | (bytes >> 8 & 0x00ff00ffu);
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        bits_ring[at + 2u * i] = swapped[i] & 0xffffu;
        bits_ring[at + 2u * i + 1u] = swapped[i] >> 16;
    }
}

/* More than RING - RING_STEP halves are in the ring afterwards: 1,808 bits at least. Whoever calls
 * it tells what may be read until the next call, where a decision takes 7 bits at most. It takes
 * 100 cycles, so it is not in every bin. */
void reader_reserve()
{
    [[dont_unroll]] while (int(ring_end - next_half) <= int(RING - RING_STEP)) {
        uint at = ring_base + (ring_end & RING - 1u), quad = ring_end >> 3;
        uvec4 first = quads[min(quad, end_quad)], second = quads[min(quad + 1u, end_quad)];
        ring_put(at, first);
        ring_put(at + 8u, second);
        ring_end += RING_STEP;
    }
}

/* At a half of the batch's bytes */
void reader_begin(uint half_)
{
    next_half = half_;
    ring_end = half_ & ~(RING_STEP - 1u);
    reader_reserve();
}

/* Where less than `least` bits are read ahead 16 more are, the last of them at bit at - ahead.
 * Without a branch, which takes longer than all this. */
void reader_fill(int least, int at)
{
    uint more = bits_ring[ring_base + (next_half & RING - 1u)] << (at - ahead & 31);
    bool few = ahead < least;
    value |= few ? more : 0u;
    ahead += few ? 16 : 0;
    next_half += few ? 1u : 0u;
}

/* Bits from the start of the RBSP that are used up; CABAC: that codIOffset has got. */
uint engine_position()
{
    return (next_half - slice.word * 2u) * 16u - uint(ahead);
}

#endif
