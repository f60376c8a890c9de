/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes of an access unit that leaves as it came: is it a key picture, and which parameter sets
 * does it bring. Pure.
 */
#ifndef PELTON_UNIT_SETS_H
#define PELTON_UNIT_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More parameter sets of one access unit are not looked at. */
enum { UNIT_SETS_MOST = 32, UNIT_SETS_BYTES = 1 << 17 };

struct unit_set {
    const uint8_t *nal;
    size_t size;
};

struct unit_sets {
    struct unit_set sps[UNIT_SETS_MOST], pps[UNIT_SETS_MOST];
    unsigned n_sps, n_pps;
    bool idr; /* there is a slice of an IDR picture */
};

/* Bytes of the length before each NAL unit, by extradata as libavformat gives it; 0: start codes.
 */
unsigned unit_nal_length(const uint8_t *extradata, size_t size);
/* Points into data. */
void unit_sets_find(struct unit_sets *out, const uint8_t *data, size_t size, unsigned nal_length);
/* Each set that was found stands in these bytes. */
bool unit_sets_known(const struct unit_sets *sets, const uint8_t *bytes, size_t size);
/* All that were found, with start codes or as the content of an avcC box, for free(). NULL: there
 * is no sequence parameter set, they are too large, or there is no memory. */
uint8_t *unit_sets_write(const struct unit_sets *sets, unsigned nal_length, size_t *size);

#endif
