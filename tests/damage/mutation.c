/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Damage to NAL units. Places and amounts follow from the generator alone.
 */
#include "tests/damage/mutation.h"
#include "tests/tools/grow.h"

enum { HEADER_BYTES = 12, MOST_FLOOD = 400, NAL_SPS = 7, NAL_PPS = 8 };

const char *const mutation_names[MUTATION_KINDS] = {
    "drop",           "duplicate", "swap",  "truncate",  "header-bits", "payload-bits", "splice",
    "parameter-sets", "type",      "flood", "zero-tail", "start-code",  "size-change",
};

/* ---- lists ---- */

bool units_insert(struct units *u, unsigned at, struct unit unit)
{
    if (!grow_by_one(&u->at, u->count, &u->capacity, sizeof(*u->at)))
        return false;
    memmove(u->at + at + 1, u->at + at, (u->count - at) * sizeof(*u->at));
    u->at[at] = unit;
    u->count++;
    u->open += at < u->open;
    return true;
}

static void units_remove(struct units *u, unsigned at)
{
    free(u->at[at].own);
    u->count--;
    u->open -= at < u->open;
    memmove(u->at + at, u->at + at + 1, (u->count - at) * sizeof(*u->at));
}

bool units_copy(struct units *to, const struct units *from)
{
    *to = (struct units){.count = from->count, .capacity = from->count, .open = from->open};
    to->at = malloc((from->count + 1u) * sizeof(*to->at));
    if (!to->at)
        return false;
    for (unsigned i = 0; i < from->count; i++) {
        to->at[i] = from->at[i];
        to->at[i].own = NULL;
    }
    return true;
}

void units_free(struct units *u)
{
    for (unsigned i = 0; i < u->count; i++)
        free(u->at[i].own);
    free(u->at);
    *u = (struct units){0};
}

/* ---- places ---- */

static bool is_parameter_set(const struct unit *u)
{
    return unit_type(u) == NAL_SPS || unit_type(u) == NAL_PPS;
}

static bool is_any(const struct unit *u)
{
    return u->size > 1;
}

/* One of the first n units that are such; any where there is none. */
static unsigned place(struct rng *r, const struct units *u, unsigned n,
                      bool (*such)(const struct unit *))
{
    unsigned from = rng_below(r, n);
    for (unsigned i = 0; i < n; i++)
        if (such(&u->at[(from + i) % n]))
            return (from + i) % n;
    return from;
}

/* Its bytes, to be changed; it may grow to so many. NULL: no memory. */
static uint8_t *unit_own(struct unit *u, size_t room)
{
    uint8_t *own = malloc(room > u->size ? room : u->size + 1);
    if (!own)
        return NULL;
    memcpy(own, u->data, u->size);
    free(u->own);
    u->own = own;
    u->data = own;
    return own;
}

static struct unit borrowed(const struct unit *u, int64_t tag)
{
    return (struct unit){.data = u->data, .size = u->size, .tag = tag};
}

/* ---- the kinds ---- */

static bool flip(struct rng *r, struct unit *u, size_t from, size_t to)
{
    uint8_t *bytes = from < u->size ? unit_own(u, 0) : NULL;
    to = to < u->size ? to : u->size;
    for (unsigned i = 1 + rng_below(r, 4); bytes && i > 0; i--)
        bytes[from + rng_below(r, (uint32_t)(to - from))] ^= (uint8_t)(1 << rng_below(r, 8));
    return bytes || from >= u->size;
}

static bool swap(struct rng *r, struct units *u, unsigned a, int64_t *tag)
{
    unsigned b = place(r, u, u->open, is_any);
    struct unit kept = u->at[a];
    int64_t tag_a = u->at[a].tag, tag_b = u->at[b].tag;
    u->at[a] = u->at[b];
    u->at[b] = kept;
    u->at[a].tag = tag_a;
    u->at[b].tag = tag_b;
    *tag = tag_a < tag_b ? tag_a : tag_b;
    return true;
}

static bool truncate_or_zero(struct rng *r, struct unit *u, bool zero)
{
    size_t keep = 1 + rng_below(r, (uint32_t)u->size);
    uint8_t *bytes = keep < u->size ? unit_own(u, 0) : NULL;
    if (keep >= u->size)
        return true;
    if (bytes && zero)
        memset(bytes + keep, 0, u->size - keep);
    else
        u->size = keep;
    return bytes;
}

static bool splice(struct rng *r, struct unit *u, const struct units *other)
{
    const struct unit *from = &other->at[place(r, other, other->count, unit_is_slice)];
    size_t keep = rng_below(r, (uint32_t)u->size + 1),
           skip = rng_below(r, (uint32_t)from->size + 1);
    uint8_t *bytes = unit_own(u, keep + from->size - skip + 1);
    if (!bytes)
        return false;
    memcpy(bytes + keep, from->data + skip, from->size - skip);
    u->size = keep + from->size - skip;
    return true;
}

static bool duplicate(struct rng *r, struct units *u, unsigned i)
{
    unsigned at = i + rng_below(r, u->open - i);
    struct unit copy = {.data = u->at[i].data, .size = u->at[i].size, .tag = u->at[at].tag};
    if (!unit_own(&copy, 0))
        return false;
    if (units_insert(u, at, copy))
        return true;
    free(copy.own);
    return false;
}

/* One of another stream in its place or before a slice, or damage to its bits. */
static bool parameter_sets(struct rng *r, struct units *u, unsigned i, const struct units *other,
                           int64_t *tag)
{
    const struct unit *from = &other->at[place(r, other, other->count, is_parameter_set)];
    if (rng_one_in(r, 3))
        return flip(r, &u->at[i], 1, u->at[i].size);
    if (rng_one_in(r, 2)) {
        unsigned at = place(r, u, u->open, unit_is_slice);
        *tag = u->at[at].tag;
        return units_insert(u, at, borrowed(from, *tag));
    }
    free(u->at[i].own);
    u->at[i] = borrowed(from, *tag);
    return true;
}

static bool type_change(struct rng *r, struct unit *u)
{
    uint8_t *bytes = u->size ? unit_own(u, 0) : NULL;
    uint8_t mask = rng_one_in(r, 2) ? 31 : 96;
    if (bytes)
        bytes[0] = (uint8_t)((bytes[0] & ~mask) | (rng_next(r) & mask));
    return bytes || !u->size;
}

/* Units that carry no samples: delimiters, filler, messages of random bytes, reserved types. */
static bool flood(struct rng *r, struct units *u, unsigned at)
{
    static const uint8_t types[] = {6, 9, 12, 12, 16, 24, 31};
    unsigned n = 1u << rng_below(r, 9);
    int64_t tag = u->at[at].tag;
    bool same = rng_one_in(r, 2);
    uint8_t type = types[rng_below(r, sizeof(types))];
    for (unsigned i = 0; i < n && i < MOST_FLOOD; i++) {
        size_t size = 2 + rng_below(r, 40);
        struct unit unit = {.size = size, .tag = tag, .own = malloc(size)};
        if (!unit.own)
            return false;
        unit.own[0] = same ? type : types[rng_below(r, sizeof(types))];
        for (size_t k = 1; k < size; k++)
            unit.own[k] = unit.own[0] == 12 ? 255 : (uint8_t)(1 + rng_below(r, 255));
        unit.data = unit.own;
        if (!units_insert(u, at, unit)) {
            free(unit.own);
            return false;
        }
    }
    return true;
}

/* A start code within the unit, or none before the next one, or one that is damaged. */
static bool start_code(struct rng *r, struct units *u, unsigned i)
{
    const struct unit *next = i + 1 < u->open ? &u->at[i + 1] : NULL;
    struct unit *unit = &u->at[i];
    size_t size = unit->size, more = next ? next->size : 0;
    unsigned way = rng_below(r, 3), damaged = rng_below(r, 3);
    uint8_t *bytes = unit_own(unit, size + more + 3);
    if (!bytes)
        return false;
    if (way == 0 && size > 4) {
        memcpy(bytes + 1 + rng_below(r, (uint32_t)size - 4), "\0\0\1", 3);
        return true;
    }
    if (!next)
        return true;
    if (way == 2) {
        memcpy(bytes + size, "\0\0\1", 3);
        bytes[size + damaged] ^= (uint8_t)(2 << rng_below(r, 7));
        size += 3;
    }
    memcpy(bytes + size, next->data, more);
    unit->size = size + more;
    units_remove(u, i + 1);
    return true;
}

/* The first access units of another stream, which may have another size. */
static bool size_change(struct rng *r, struct units *u, unsigned at, const struct units *other)
{
    int64_t tag = u->at[at].tag;
    unsigned slices = 1 + rng_below(r, 4);
    for (unsigned i = 0; i < other->open && slices > 0; i++) {
        slices -= unit_is_slice(&other->at[i]);
        if (!units_insert(u, at + i, borrowed(&other->at[i], tag)))
            return false;
    }
    return true;
}

int64_t mutate(struct rng *r, enum mutation kind, struct units *u, const struct units *other)
{
    if (!u->open)
        return INT64_MAX;
    bool sets = kind == MUTATION_PARAMETER_SETS, any = sets || rng_one_in(r, 4);
    unsigned i = place(r, u, u->open, sets ? is_parameter_set : any ? is_any : unit_is_slice);
    struct unit *unit = &u->at[i];
    int64_t tag = unit->tag;
    bool done = true;
    switch (kind) {
    case MUTATION_DROP:
        units_remove(u, i);
        break;
    case MUTATION_DUPLICATE:
        done = duplicate(r, u, i);
        break;
    case MUTATION_SWAP:
        done = swap(r, u, i, &tag);
        break;
    case MUTATION_TRUNCATE:
        done = truncate_or_zero(r, unit, false);
        break;
    case MUTATION_HEADER_BITS:
        done = flip(r, unit, 0, HEADER_BYTES);
        break;
    case MUTATION_PAYLOAD_BITS:
        done = flip(r, unit, HEADER_BYTES, unit->size);
        break;
    case MUTATION_SPLICE:
        done = splice(r, unit, other);
        break;
    case MUTATION_PARAMETER_SETS:
        done = parameter_sets(r, u, i, other, &tag);
        break;
    case MUTATION_TYPE:
        done = type_change(r, unit);
        break;
    case MUTATION_FLOOD:
        done = flood(r, u, i);
        break;
    case MUTATION_ZERO_TAIL:
        done = truncate_or_zero(r, unit, true);
        break;
    case MUTATION_START_CODE:
        done = start_code(r, u, i);
        break;
    case MUTATION_SIZE_CHANGE:
        done = size_change(r, u, i, other);
        break;
    default:
        break;
    }
    return done ? tag : -1;
}
