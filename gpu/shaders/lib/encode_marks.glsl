/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the wavefront of intra macroblocks has in memory, by picture: two tickets, of luma and of
 * chroma; a bit for each macroblock, which is set if it is intra, by diagonals of slope 2; the
 * samples of its lower and right border once they are known, each with a bit that says so. All is 0
 * before.
 */
#ifndef PELTON_ENCODE_MARKS_GLSL
#define PELTON_ENCODE_MARKS_GLSL

layout(set = 0, binding = ENC_BIND_TICKETS, scalar) coherent volatile buffer ticket_buffer
{
    uint tickets[];
};

#define BORDER_KNOWN 256u

/* Where a picture's words begin */
uint tickets_at()
{
    return picture * ENC_TICKETS(args.mb_width, args.mb_height);
}

/* Words of a diagonal's bits */
uint mark_words()
{
    return ENC_MARK_WORDS(args.mb_width, args.mb_height);
}

/* The first row of the diagonal x + 2 y = step */
int diagonal_first(int step)
{
    return (max(step - int(args.mb_width) + 1, 0) + 1) / 2;
}

/* Sets the bit of the thread's macroblock. */
void mark_set()
{
    int step = mb_at.x + 2 * mb_at.y;
    uint i = uint(mb_at.y - diagonal_first(step));
    atomicOr(tickets[tickets_at() + 2u + uint(step) * mark_words() + i / 32u], 1u << (i & 31u));
}

/* Of a macroblock: 16 samples of luma from left to right, 16 downwards; 8 and 8 of Cb, of Cr */
uint border_at(uint address)
{
    return tickets_at() + 2u + ENC_MARKS(args.mb_width, args.mb_height) + 64u * address;
}

#endif
