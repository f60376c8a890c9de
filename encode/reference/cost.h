/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Measures of decisions: differences of samples, and estimates of bits.
 */
#ifndef PELTON_COST_H
#define PELTON_COST_H

#include <stddef.h>
#include <stdint.h>

/* Sum of absolute differences */
uint32_t cost_sad(const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride,
                  int w, int h);
/* Half the sum of absolute values of 4x4 Hadamard transforms of the differences; w and h are
 * multiples of 4. */
uint32_t cost_satd(const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride,
                   int w, int h);

/* Length of ue(v) and se(v) (9.1) */
int cost_ue_bits(unsigned v);
int cost_se_bits(int v);

/* Bits weigh this many 16ths of a unit of cost_satd at a QP: 2^((QP - 12) / 6) units. */
uint32_t cost_lambda(int qp);
/* Units of squared differences that a bit weighs: its square, times 0.6. In 16ths */
uint32_t cost_lambda_ssd(int qp);

#endif
