/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rectangles that leave blurred, as text: X,Y,WIDTH,HEIGHT, several with ';' between. Plain C.
 */
#ifndef PELTON_BLUR_H
#define PELTON_BLUR_H

#include "proto/pelton.h"

enum { BLUR_MOST = 65535, BLUR_WHY = 160 };

/* No side is empty, nothing is beyond what a picture can have. */
bool blur_rect_valid(const struct pelton_rect *rect);
/* Appends to list[*n]. 0, or -1 with one line; then nothing has changed. */
int blur_parse(const char *text, struct pelton_rect list[PELTON_MAX_BLURS], uint32_t *n,
               char why[BLUR_WHY]);

#endif
