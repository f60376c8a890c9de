/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual parsing into 16-bit levels: both bit depths are 8.
 */
#include "codec/cabac.h"
#include "codec/cavlc.h"
#include "codec/macroblock.h"
#include "codec/scan.h"

#define COEFF             int16_t
#define NAME(x)           x##_16
#define LEVEL_FITS(level) ((level) == (int16_t)(level))

#include "codec/residual_tmpl.c"

#include "codec/residual_cabac_tmpl.c"
#include "codec/residual_cavlc_tmpl.c"
