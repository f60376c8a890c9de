/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Binarizations of macroblock syntax elements with their contexts (9.3.2, 9.3.3.1). Increments that
 * depend on neighbours (ctxIdxInc of first bins) come from the caller.
 */
#ifndef PELTON_ENCODE_BIN_ELEMENTS_H
#define PELTON_ENCODE_BIN_ELEMENTS_H

#include "encode/cabac_coder.h"

/* mb_type in I slices (Table 9-36), and of P slices: 0 to 3, then 5 and what I slices have. After
 * I_PCM the samples follow. */
void bins_mb_type_i(struct bin_string *s, unsigned inc, unsigned type);
void bins_mb_type_p(struct bin_string *s, unsigned type);
/* The same after the bins that tell it from other types; type is 1 to 25. ctx: of the bins for
 * luma, chroma (twice), and prediction mode (twice). */
void bins_intra_16x16(struct bin_string *s, const uint8_t ctx[5], unsigned type);
void bins_sub_mb_type_p(struct bin_string *s, unsigned type);
void bins_ref_idx(struct bin_string *s, unsigned inc, unsigned value);
/* sum: of |mvd| of A and B (9.3.3.1.1.7); vertical: the component */
void bins_mvd(struct bin_string *s, unsigned vertical, unsigned sum, int mvd);
/* prev_intra4x4_pred_mode_flag or 8x8, and rem: -1 where the flag is 1 */
void bins_intra_mode(struct bin_string *s, int rem);
void bins_chroma_mode(struct bin_string *s, unsigned inc, unsigned mode);
void bins_qp_delta(struct bin_string *s, bool last_delta, int delta);
/* The levels of a block of count. places: those that are not 0, bits in scan order, at least one;
 * nonzero: they. category: ctxBlockCat with those of Cb and Cr in 4:4:4; field: the contexts of
 * field macroblocks. */
void bins_residual(struct bin_string *s, unsigned category, bool field, uint64_t places,
                   const int32_t *nonzero, unsigned count);

#endif
