/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The start of NAL units in a byte stream (Annex B).
 */
#ifndef PELTON_TESTS_ANNEXB_H
#define PELTON_TESTS_ANNEXB_H

#include <stddef.h>
#include <stdint.h>

/* Next start code prefix 00 00 01 at or after at; size where there is none. */
static inline size_t annexb_start(const uint8_t *data, size_t size, size_t at)
{
    for (; at + 3 <= size; at++)
        if (data[at] == 0 && data[at + 1] == 0 && data[at + 2] == 1)
            return at;
    return size;
}

#endif
