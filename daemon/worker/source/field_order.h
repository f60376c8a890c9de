/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The field order of a frame.
 */
#ifndef PELTON_FIELD_ORDER_H
#define PELTON_FIELD_ORDER_H

#include "proto/pelton.h"

#include <stdbool.h>
#include <stdint.h>

struct h264_picture;

/* pic: of a frame coded as two fields the first one; poc: of its top and bottom field. *interlaced:
 * what was found for the frame before, in output order, and then for this one. */
enum pelton_field_order field_order(const struct h264_picture *pic, const int32_t poc[2],
                                    bool *interlaced);

#endif
