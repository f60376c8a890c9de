/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC decoding engine (9.3.1.2, 9.3.3.2) in 32 bits.
 *
 * codIOffset is in the upper 9 bits of `value`, bits read ahead are below, `ahead` of them, at least one between bins; 16 more come
 * when there are none. Words are fetched long before they are needed.
 */
#ifndef PELTON_ENTROPY_ENGINE_GLSL
#define PELTON_ENTROPY_ENGINE_GLSL

uint range;  /* codIRange, 256..510 between bins */
uint value;
int ahead;
uint loaded; /* bits that have gone into value since engine_start */
uint first_byte; /* of the RBSP, where the engine was started */
uint queue;  /* the next 32 bits, or its last 16 */
bool second_half; /* those */
uint raw, raw_ahead; /* words as they lie in memory: after those of queue */
uint next_word; /* the one to fetch next */

uint fetch_word(uint at)
{
    return at < (slice.size + 3u) >> 2 ? words[slice.word + at] : 0u;
}

uint swap_bytes(uint w)
{
    return w << 24 | (w & 0xff00u) << 8 | (w >> 8 & 0xff00u) | w >> 24;
}

/* The next 32 bits from first_byte on, which may lie anywhere in a word. */
uint next_bits()
{
    uint skip = (first_byte & 3u) * 8u;
    uint bits = swap_bytes(raw) << skip | swap_bytes(raw_ahead) >> 1 >> (31u - skip);
    raw = raw_ahead;
    raw_ahead = fetch_word(next_word++);
    return bits;
}

/* 9.3.1.2 */
void engine_start(uint byte)
{
    first_byte = byte;
    raw = fetch_word(byte >> 2);
    raw_ahead = fetch_word((byte >> 2) + 1u);
    next_word = (byte >> 2) + 2u;
    value = next_bits();
    queue = next_bits();
    second_half = false;
    range = 510u;
    ahead = 23;
    loaded = 32u;
}

/* Bits from the start of the RBSP that codIOffset has got. */
uint engine_position()
{
    return first_byte * 8u + loaded - uint(ahead);
}

void engine_ready()
{
    if (ahead <= 0) {
        uint bits = second_half ? queue & 0xffffu : queue >> 16;
        if (second_half)
            queue = next_bits();
        second_half = !second_half;
        value |= bits << (7 - ahead);
        ahead += 16;
        loaded += 16u;
    }
}

/* DecodeDecision (9.3.3.2.1) by a context that is in state row; row becomes the state after it. */
uint decide(inout uvec2 row)
{
    uint lps = row.x >> (range >> 3 & 24u) & 255u;
    uvec2 after_mps = states[row.y & 127u], after_lps = states[row.y >> 8 & 127u];
    uint mps = range - lps, scaled = mps << 23;
    bool less = value >= scaled; /* the LPS */
    uint shift = less ? 8u - uint(findMSB(lps)) : mps >> 8 ^ 1u; /* RenormD (9.3.3.2.2) */
    uint result = row.y >> 16 ^ (less ? 1u : 0u);
    range = (less ? lps : mps) << shift;
    value = (less ? value - scaled : value) << shift;
    ahead -= int(shift);
    row = less ? after_lps : after_mps;
    engine_ready();
    return result;
}

uint bin(uint context)
{
    uvec2 row = contexts[context];
    uint result = decide(row);
    contexts[context] = row;
    return result;
}

/* DecodeBypass (9.3.3.2.3) */
uint bypass()
{
    uint half_range = range << 22;
    bool one = value >= half_range;
    value = (one ? value - half_range : value) << 1;
    ahead--;
    engine_ready();
    return one ? 1u : 0u;
}

/* DecodeTerminate (9.3.3.2.2.3) */
bool terminate()
{
    range -= 2u;
    if (value >= range << 23)
        return true;
    uint shift = range >> 8 ^ 1u;
    range <<= shift;
    value <<= shift;
    ahead -= int(shift);
    engine_ready();
    return false;
}

/* Suffix of UEGk (9.3.2.3); a prefix past 2^24 gives a value that no syntax element allows. */
uint exp_golomb(uint k)
{
    uint v = 0u;
    while (k < 24u && bypass() != 0u)
        v += 1u << k++;
    while (k > 0u)
        v += bypass() << --k;
    return v;
}

#endif
