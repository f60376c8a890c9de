/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables for shaders, from those of codec/ and encode/: of entropy coding, and of the quantiser.
 */
#ifndef PELTON_ENCODE_CODES_H
#define PELTON_ENCODE_CODES_H

#include "gpu/shaders/lib/encode_args.h"

void encode_codes_fill(struct enc_codes *out);
/* By QP modulo 6 */
void encode_quantisers_fill(struct enc_quantiser out[6]);

#endif
