/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bindings of entropy.comp and entropy_ranges.comp, for C and GLSL.
 */
#ifndef PELTON_ENTROPY_ARGS_H
#define PELTON_ENTROPY_ARGS_H

#define ENT_BIND_TABLES  0
#define ENT_BIND_SLICES  1
#define ENT_BIND_BYTES   2
#define ENT_BIND_MBS     3
#define ENT_BIND_MOTION  4
#define ENT_BIND_SYNTAX  5
#define ENT_BIND_COEFFS  6
#define ENT_BIND_RESULTS 7
#define ENT_BIND_COUNTS  8
#define ENT_BIND_LINES   9
#define ENT_BIND_STATES  10
#define ENT_BIND_PACKED  11
#define ENT_BINDINGS     12

/* Of a picture in ENT_BIND_COUNTS: coefficient blocks, words of packed levels behind those of the
 * macroblocks */
#define ENT_COUNT_BLOCKS 0
#define ENT_COUNT_WORDS  1
#define ENT_COUNTS       2

/* Slices that a workgroup, which is a subgroup, decodes: powers of two from 1 on, so many of them
 * (docs/design/entropy-gpu.md) */
#define ENT_SHARES     4
#define ENT_SHARE_MOST (1 << (ENT_SHARES - 1))
/* Slices of a round: so many have a subgroup each, more share them */
#define ENT_ALONE 768

/* entropy_ranges.comp: threads of a workgroup, which has a slice; slices of a row of workgroups */
#define ENT_RANGES_THREADS 256
#define ENT_RANGES_ROW     32768

#endif
