/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual parsing into 32-bit levels: a bit depth over 8; levels of 14 bits stay below 22 bits.
 */
#include "codec/cabac.h"
#include "codec/cavlc.h"
#include "codec/macroblock.h"
#include "codec/scan.h"

#define COEFF             int32_t
#define NAME(x)           x##_32
#define LEVEL_FITS(level) ((level) >= -(1 << 22) && (level) < 1 << 22)

#include "codec/residual_tmpl.c"

#include "codec/residual_cabac_tmpl.c"
#include "codec/residual_cavlc_tmpl.c"
