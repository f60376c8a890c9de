/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Levels of a macroblock, and what the choices of the quantiser cost
 * (encode/reference/quantise.c).
 */
#ifndef PELTON_ENCODE_FORWARD_GLSL
#define PELTON_ENCODE_FORWARD_GLSL

#extension GL_EXT_control_flow_attributes : require

/* ---- the quantiser: costs in units of (step / 64)^2 ---- */

#define BIT_16TH      16
#define COST_ZERO     (9 * BIT_16TH)
#define COST_ONE      (68 * BIT_16TH)
#define COST_TWO      (24 * BIT_16TH)
#define COST_MORE     (12 * BIT_16TH)
#define COST_BLOCK    (40 * BIT_16TH)
#define LEVEL_WEIGHED 16
#define ERROR_MOST    (64 * 40)

#endif
