/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A picture that the configuration names, as samples: 8-bit R, G, B of each pixel, row by row.
 */
#ifndef PELTON_PICTURE_FILE_H
#define PELTON_PICTURE_FILE_H

#include "daemon/config.h"

#include <stdbool.h>
#include <stdint.h>

enum { PICTURE_MOST = 4096 /* pixels of a side */, PICTURE_BYTES = 16 << 20 /* of the file */ };

struct still_picture {
    unsigned refs;
    uint32_t width, height;
    uint8_t rgb[];
};

/* Reads a PNG; what is transparent becomes black. A relative name begins in the folder, NULL: the
 * present one. NULL, with the reason. */
struct still_picture *picture_read(const char *folder, const char *name, char why[CONFIG_WHY]);
struct still_picture *picture_ref(struct still_picture *p); /* NULL allowed, as below */
void picture_unref(struct still_picture *p);
bool picture_same(const struct still_picture *a, const struct still_picture *b);

#endif
