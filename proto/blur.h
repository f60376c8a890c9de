/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rectangles that leave blurred, as text: X,Y,WIDTH,HEIGHT, with ';' between several. Plain C.
 */
#ifndef PELTON_BLUR_H
#define PELTON_BLUR_H

#include "proto/pelton.h"

enum { BLUR_MOST = 65535, BLUR_WHY = 160 };

/* True: no side is empty, and the rectangle fits into the largest picture. */
bool blur_rect_valid(const struct pelton_rect *rect);
/* Appends to list[*n]. Returns 0, or -1 with one line in `why`; list and *n are then unchanged. */
int blur_parse(const char *text, struct pelton_rect list[PELTON_MAX_BLURS], uint32_t *n,
               char why[BLUR_WHY]);

#endif
