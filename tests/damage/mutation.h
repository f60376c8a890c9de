/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Thirteen kinds of damage to the NAL units of a stream.
 */
#ifndef PELTON_TESTS_MUTATION_H
#define PELTON_TESTS_MUTATION_H

#include "tests/streamgen/rng.h"

#include <stddef.h>

/* A NAL unit without its start code. */
struct unit {
    const uint8_t *data;
    size_t size;
    int64_t tag;  /* its access unit */
    uint8_t *own; /* malloc'd data that this unit alone uses, or NULL */
};

struct units {
    struct unit *at;
    unsigned count, capacity;
    unsigned open; /* the first so many may be damaged */
};

enum mutation {
    MUTATION_DROP,
    MUTATION_DUPLICATE,
    MUTATION_SWAP,
    MUTATION_TRUNCATE,
    MUTATION_HEADER_BITS,
    MUTATION_PAYLOAD_BITS,
    MUTATION_SPLICE,
    MUTATION_PARAMETER_SETS,
    MUTATION_TYPE,
    MUTATION_FLOOD,
    MUTATION_ZERO_TAIL,
    MUTATION_START_CODE,
    MUTATION_SIZE_CHANGE,
    MUTATION_KINDS
};
extern const char *const mutation_names[MUTATION_KINDS];

/* H.264 7.3.1, 7.4.1 */
static inline unsigned unit_type(const struct unit *u)
{
    return u->size ? u->data[0] & 31 : 0;
}
static inline bool unit_is_slice(const struct unit *u)
{
    unsigned type = unit_type(u);
    return (type >= 1 && type <= 5) || type == 20;
}

/* False: no memory. u is unchanged then. */
bool units_insert(struct units *u, unsigned at, struct unit unit);
bool units_copy(struct units *to, const struct units *from);
void units_free(struct units *u);

/* Damages one of the open units of u. other: units of any stream, for what is spliced in. Returns
 * the smallest tag of a unit that it touches, or -1 without memory. */
int64_t mutate(struct rng *r, enum mutation kind, struct units *u, const struct units *other);

#endif
