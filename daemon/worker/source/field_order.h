/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The field order of a frame.
 */
#ifndef PELTON_FIELD_ORDER_H
#define PELTON_FIELD_ORDER_H

#include "codec/h264.h"
#include "proto/pelton.h"

/* pic: of a frame coded as two fields the first one; poc: of its top and bottom field. *interlaced:
 * what was found for the frame before, in output order, and then for this one. */
enum pelton_field_order field_order(const struct h264_picture *pic, const int32_t poc[2],
                                    bool *interlaced);

#endif
