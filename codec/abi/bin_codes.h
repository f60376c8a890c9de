/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Codes of bin strings, for C and GLSL.
 */
#ifndef PELTON_BIN_CODES_H
#define PELTON_BIN_CODES_H

/* A bin string: 16-bit codes.
 *
 *   0 00s S ccccccccccc b   a decision b with context c; s: a bypass bin S follows it
 *   10 nnn vvvvvvvvvvv      n + 1 bypass bins, the first in the highest place of v
 *   110 ............ b      the terminating bin b
 *   111 nnnnnnnnnnnnn       n samples of I_PCM follow, two in a code, the first one below
 */
#define BIN_SIGN      0x1000u
#define BIN_SIGN_ONE  0x0800u
#define BIN_BYPASS    0x8000u
#define BIN_TERMINATE 0xc000u
#define BIN_PCM       0xe000u

#endif
