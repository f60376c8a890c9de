/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC decoding engine (9.3.1.2, 9.3.3.2) in 32 bits. One thread waits for every operation, so the
 * number of operations counts.
 *
 * codIOffset and codIRange are in the upper 9 bits of `value` and `range`. Below codIOffset are
 * `ahead` bits, read ahead. After engine_ready there are at least 8: enough for two decisions, or
 * for a decision and a bypass bin.
 */
#ifndef PELTON_ENTROPY_ENGINE_GLSL
#define PELTON_ENTROPY_ENGINE_GLSL

uint range; /* 256..510 << 23 between bins */
uint value;
int ahead;
uint next_half, end_half; /* 16 bits of the batch's bytes: to be read next, behind the slice */

/* Past the end is a half of zeros (ENT_PADDING), which is read again and again. */
uint fetch_half()
{
    uint h = uint(halves[min(next_half, end_half)]);
    next_half++;
    return (h << 8 | h >> 8) & 0xffffu;
}

void engine_ready()
{
    if (ahead < 8) {
        value |= fetch_half() << (7 - ahead);
        ahead += 16;
    }
}

/* 9.3.1.2, at a byte of the slice's RBSP */
void engine_start(uint byte)
{
    next_half = slice.word * 2u + (byte >> 1);
    value = fetch_half() << 16;
    ahead = 7;
    if ((byte & 1u) != 0u) {
        value <<= 8;
        ahead = -1;
    }
    range = 510u << 23;
    engine_ready();
}

/* Bits from the start of the RBSP that codIOffset has got. */
uint engine_position()
{
    return (next_half - slice.word * 2u) * 16u - uint(ahead);
}

/* DecodeDecision (9.3.3.2.1) by a context in the state of row; next: the state after it. Takes 7
 * bits at most. */
bool decide(uvec2 row, out uint next)
{
    uint lps = row.x >> (range >> 26 & 24u) << 24 >> 1;
    uint mps = range - lps;
    bool less = value >= mps; /* the LPS */
    range = less ? lps : mps;
    value = min(value, value - mps);         /* wraps to more where it is the MPS */
    uint shift = 31u - uint(findMSB(range)); /* RenormD (9.3.3.2.2) */
    range <<= shift;
    value <<= shift;
    ahead -= int(shift);
    bool one = (int(row.y) < 0) != less;
    next = (less ? row.y >> 8 : row.y) & 127u;
    return one;
}

uint bin(uint context)
{
    uint at = context_base + context, next;
    uvec2 row = states[uint(contexts[at])];
    engine_ready();
    bool one = decide(row, next);
    contexts[at] = uint8_t(next);
    return one ? 1u : 0u;
}

/* DecodeBypass (9.3.3.2.3), after engine_ready and a decision at most */
bool bypass_ready()
{
    uint half_range = range >> 1;
    bool one = value >= half_range;
    value = min(value, value - half_range) << 1;
    ahead--;
    return one;
}

uint bypass()
{
    engine_ready();
    return bypass_ready() ? 1u : 0u;
}

/* DecodeTerminate (9.3.3.2.2.3) */
bool terminate()
{
    engine_ready();
    range -= 2u << 23;
    if (value >= range)
        return true;
    uint shift = range >> 31 ^ 1u;
    range <<= shift;
    value <<= shift;
    ahead -= int(shift);
    return false;
}

/* Suffix of UEGk (9.3.2.3); a prefix past 2^24 gives a value that no syntax element allows. */
uint exp_golomb(uint k)
{
    uint v = 0u;
    bool prefix = true;
    [[dont_unroll]] while (k > 0u || prefix) {
        bool one = bypass() != 0u;
        if (!prefix)
            v += (one ? 1u : 0u) << --k;
        else if (one && k < 24u)
            v += 1u << k++;
        else
            prefix = false;
    }
    return v;
}

#endif
