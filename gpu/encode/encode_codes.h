/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables of entropy coding for shaders, from those of codec/ and encode/.
 */
#ifndef PELTON_ENCODE_CODES_H
#define PELTON_ENCODE_CODES_H

#include "gpu/shaders/lib/encode_args.h"

void encode_codes_fill(struct enc_codes *out);

#endif
