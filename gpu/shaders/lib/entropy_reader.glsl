/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes of a slice, for both codings. In `value` stands what comes next, and `ahead` bits of it
 * are read ahead.
 */
#ifndef PELTON_ENTROPY_READER_GLSL
#define PELTON_ENTROPY_READER_GLSL

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

/* Bits from the start of the RBSP that are used up; CABAC: that codIOffset has got. */
uint engine_position()
{
    return (next_half - slice.word * 2u) * 16u - uint(ahead);
}

#endif
