/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The descriptors of the broker. A part of them is kept for what has begun: pools that workers
 * send, files that are read a second time, workers that start again.
 */
#ifndef PELTON_DESCRIPTOR_RESERVE_H
#define PELTON_DESCRIPTOR_RESERVE_H

#include <stdbool.h>

enum descriptors_for { DESCRIPTORS_STREAM = 8, DESCRIPTORS_CLIENT = 4 };

/* Asks for as many as the system allows without privileges. */
void descriptors_raise(void);
int descriptors_used(void); /* how many there are, or a few less; INT_MAX: all */
/* Whether fewer than 1/what of them are free, of which `promised` are as good as taken. */
bool descriptors_short(enum descriptors_for what, unsigned promised);

#endif
