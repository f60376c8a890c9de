/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside libpelton: structures between the library and a caller that was compiled against an older
 * or a newer pelton.h. Both have the same fields at their beginning.
 */
#ifndef LIBPELTON_SIZES_H
#define LIBPELTON_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Gives the caller, whose structure has `size` bytes, the library's structure of `known` bytes. */
static inline void pelton_give(void *out, size_t size, const void *from, size_t known)
{
    size_t both = size < known ? size : known;
    memcpy(out, from, both);
    memset((char *)out + both, 0, size - both);
}

/* The opposite: fields that the caller does not know become zero. False: the caller has set fields
 * that the library does not know. */
static inline bool pelton_take(void *out, size_t known, const void *from, size_t size)
{
    const uint8_t *bytes = from;
    bool zero = true;
    pelton_give(out, known, from, size);
    for (size_t i = known; i < size; i++)
        zero &= bytes[i] == 0;
    return zero;
}

/* The same in place of *out = *from. */
#define PELTON_GIVE(out, size, from) pelton_give(out, size, from, sizeof(*(from)))
#define PELTON_TAKE(out, from, size) pelton_take(out, sizeof(*(out)), from, size)

#endif
