/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A hash table from numbers to pointers. Messages name streams by number, so each frame costs one
 * look-up, however many streams are open. Open addressing with linear probing; at most half full.
 */
#ifndef PELTON_ID_TABLE_H
#define PELTON_ID_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct id_entry {
    uint32_t id;
    void *value; /* NULL: the entry is free */
};

/* All zero: an empty table. */
struct id_table {
    struct id_entry *entries;
    uint32_t capacity; /* 0 or a power of two */
    uint32_t count;
};

/* Makes room for `count` entries. False: out of memory, and the table is as it was. */
bool id_table_reserve(struct id_table *t, uint32_t count);
/* The room must have been reserved, and the number must not be in the table. */
void id_table_put(struct id_table *t, uint32_t id, void *value);
void *id_table_find(const struct id_table *t, uint32_t id); /* NULL: not there */
void id_table_remove(struct id_table *t, uint32_t id);      /* nothing where it is not there */
void id_table_free(struct id_table *t);

#endif
