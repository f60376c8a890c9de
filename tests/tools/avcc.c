/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Byte stream to avcC.
 */
#include "tests/tools/avcc.h"
#include "tests/tools/annexb.h"

#include <stdlib.h>
#include <string.h>

/* Without trailing_zero_8bits and the zero_byte of the next start code (B.1.1) */
static size_t unit_size(const uint8_t *nal, size_t size)
{
    while (size && !nal[size - 1])
        size--;
    return size;
}

static size_t append(uint8_t *out, size_t at, const uint8_t *nal, size_t size)
{
    out[at] = (uint8_t)(size >> 8);
    out[at + 1] = (uint8_t)size;
    memcpy(out + at + 2, nal, size);
    return at + 2 + size;
}

/* Sets of one type from at on, at most `most`. */
static unsigned append_sets(uint8_t *out, size_t *length, const uint8_t *data, size_t size,
                            size_t *at, unsigned type, unsigned most)
{
    unsigned count = 0;
    while (count < most && *at + 3 < size && (data[*at + 3] & 31u) == type) {
        size_t next = annexb_start(data, size, *at + 3),
               n = unit_size(data + *at + 3, next - *at - 3);
        if (n > 0xffff)
            break;
        *length = append(out, *length, data + *at + 3, n);
        *at = next;
        count++;
    }
    return count;
}

uint8_t *avcc_record(const uint8_t *data, size_t size, size_t *length, size_t *after)
{
    size_t at = annexb_start(data, size, 0), n = 6, pps_count;
    uint8_t *out = malloc(size + 16);
    if (!out)
        return NULL;
    while (at + 3 < size && (data[at + 3] & 31) != 7)
        at = annexb_start(data, size, at + 3);
    out[5] = (uint8_t)(0xe0 | append_sets(out, &n, data, size, &at, 7, 31));
    if (out[5] == 0xe0 || n < 12) {
        free(out);
        return NULL;
    }
    out[0] = 1; /* configurationVersion */
    /* AVCProfileIndication, profile_compatibility, AVCLevelIndication */
    memcpy(out + 1, out + 9, 3);
    out[4] = 0xff; /* lengthSizeMinusOne 3 */
    pps_count = n++;
    out[pps_count] = (uint8_t)append_sets(out, &n, data, size, &at, 8, 255);
    *length = n;
    *after = at;
    return out;
}

uint8_t *avcc_unit(const uint8_t *data, size_t *size)
{
    size_t n = unit_size(data + 3, *size - 3);
    uint8_t *out = malloc(n + 4);
    if (!out)
        return NULL;
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(n >> (24 - 8 * i));
    memcpy(out + 4, data + 3, n);
    *size = n + 4;
    return out;
}
