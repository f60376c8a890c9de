/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Codes of any length into a string of bits, whose first bit is the highest one of the first byte.
 * A thread begins at any bit, and puts codes one after the other. Threads that share a word do not
 * disturb each other: words are zero before, and each thread sets its own bits. The including
 * shader defines BIT_OR(word, bits): an atomicOr of bits into a word of memory.
 */
#ifndef PELTON_BIT_STRING_GLSL
#define PELTON_BIT_STRING_GLSL

uint bits_at;   /* place of the next bit */
uint bits_word; /* bits of the word of bits_at that are not stored yet, the first one highest */

void bits_begin(uint at)
{
    bits_at = at;
    bits_word = 0u;
}

/* The first byte of a word is its lowest one in memory. */
uint bits_swapped(uint word)
{
    uint odd = word >> 8 & 0x00ff00ffu, even = word << 8 & 0xff00ff00u;
    return (odd | even) >> 16 | (odd | even) << 16;
}

void bits_store()
{
    if (bits_word != 0u)
        BIT_OR(bits_at >> 5, bits_swapped(bits_word));
}

/* The lowest n bits of code, n <= 32; those above are 0. */
void bits_put(uint n, uint code)
{
    uint room = 32u - (bits_at & 31u);
    if (n < room) {
        bits_word |= code << (room - n - 1u) << 1;
    } else if (n > 0u) {
        bits_word |= code >> (n - room);
        bits_store();
        bits_word = n > room ? code << (32u - (n - room)) : 0u;
    }
    bits_at += n;
}

/* After the last code */
void bits_end()
{
    bits_store();
    bits_word = 0u;
}

#endif
