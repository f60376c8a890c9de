/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See id_table.h.
 */
#include "daemon/broker/id_table.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

static uint32_t home(const struct id_table *t, uint32_t id)
{
    return (id * 2654435769u) >> 7 & (t->capacity - 1);
}

/* The entry of id, or the free entry where it would go. */
static uint32_t position(const struct id_table *t, uint32_t id)
{
    uint32_t at = home(t, id);
    while (t->entries[at].value && t->entries[at].id != id)
        at = (at + 1) & (t->capacity - 1);
    return at;
}

bool id_table_reserve(struct id_table *t, uint32_t count)
{
    struct id_table grown = {.capacity = t->capacity ? t->capacity : FIRST_CAPACITY};
    while (grown.capacity / 2 < count)
        grown.capacity *= 2;
    if (grown.capacity == t->capacity)
        return true;
    grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
    if (!grown.entries)
        return false;
    for (uint32_t i = 0; i < t->capacity; i++)
        if (t->entries[i].value)
            id_table_put(&grown, t->entries[i].id, t->entries[i].value);
    free(t->entries);
    *t = grown;
    return true;
}

void id_table_put(struct id_table *t, uint32_t id, void *value)
{
    assert(value && t->count < t->capacity / 2);
    struct id_entry *e = &t->entries[position(t, id)];
    assert(!e->value);
    *e = (struct id_entry){id, value};
    t->count++;
}

void *id_table_find(const struct id_table *t, uint32_t id)
{
    return t->count ? t->entries[position(t, id)].value : NULL;
}

/* Entries behind the gap move into it where their search would begin before it. */
void id_table_remove(struct id_table *t, uint32_t id)
{
    if (!id_table_find(t, id))
        return;
    uint32_t mask = t->capacity - 1, gap = position(t, id);
    for (uint32_t at = (gap + 1) & mask; t->entries[at].value; at = (at + 1) & mask) {
        uint32_t from_home = (at - home(t, t->entries[at].id)) & mask;
        if (from_home >= ((at - gap) & mask)) {
            t->entries[gap] = t->entries[at];
            gap = at;
        }
    }
    t->entries[gap].value = NULL;
    t->count--;
}

void id_table_free(struct id_table *t)
{
    free(t->entries);
    *t = (struct id_table){0};
}
