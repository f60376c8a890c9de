/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether two pictures have the same records.
 */
#ifndef PELTON_TESTS_SAME_RECORDS_H
#define PELTON_TESTS_SAME_RECORDS_H

#include "codec/abi/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Blocks of levels: where they lie in the picture's array is not compared. */
static inline bool same_levels(const struct rec_view *a, const struct rec_view *b, uint32_t mb)
{
    size_t blocks = 0, bytes = 16u * a->head.coeff_bytes;
    for (unsigned c = 0; c < 3; c++)
        blocks += (size_t)__builtin_popcount(a->mbs[mb].coded[c]);
    return memcmp((const char *)a->coeffs + a->mbs[mb].coeff * bytes,
                  (const char *)b->coeffs + b->mbs[mb].coeff * bytes, blocks * bytes) == 0;
}

static inline const char *mb_difference(const struct rec_view *a, const struct rec_view *b,
                                        uint32_t mb)
{
    struct rec_mb x = a->mbs[mb], y = b->mbs[mb];
    x.coeff = y.coeff = 0;
    if (memcmp(&x, &y, sizeof(x)) != 0)
        return "rec_mb";
    if (a->head.has_inter && memcmp(&a->motion[mb], &b->motion[mb], sizeof(a->motion[mb])) != 0)
        return "rec_motion";
    return same_levels(a, b, mb) ? NULL : "a level";
}

/* What of slices reaches samples; scaling lists may stand at another index. */
static inline bool same_slice(const struct rec_slice *a, const struct rec_slice *b)
{
    struct rec_slice x = *a, y = *b;
    x.scaling = y.scaling = 0;
    return memcmp(&x, &y, sizeof(x)) == 0;
}

/* NULL, or what differs, and *mb */
static inline const char *records_difference(const struct rec_view *a, const struct rec_view *b,
                                             uint32_t *mb)
{
    *mb = 0;
    if (memcmp(&a->head, &b->head, sizeof(a->head)) != 0)
        return "the head";
    if (a->slice_count != b->slice_count || a->coeff_block_count != b->coeff_block_count)
        return "the number of slices or levels";
    for (uint32_t i = 0; i < a->slice_count; i++)
        if (!same_slice(&a->slices[i], &b->slices[i]))
            return "rec_slice";
    for (; *mb < a->head.mb_count; ++*mb) {
        const char *what = mb_difference(a, b, *mb);
        if (what)
            return what;
    }
    return NULL;
}

#endif
