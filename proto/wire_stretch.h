/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How several streams share one file: each decodes some of the stretches between IDR pictures.
 */
#ifndef PELTON_WIRE_STRETCH_H
#define PELTON_WIRE_STRETCH_H

#include <stdint.h>

/* A stream decodes every count-th stretch, from number `index` on. Its frames keep the numbers that
 * they have in the whole file. */
struct wire_stretch {
    uint32_t index, count; /* count 0 or 1: the whole file */
    uint32_t share; /* not 0: the number of their group, and the daemon decides who has which */
};

#endif
