/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which part of a shared file decodes which stretch: a table in memory that all its workers map.
 *
 * A part joins when its device is there and it has come to a stretch that nobody has yet. From
 * there on the stretches go round among the parts that have joined. Part 0 has joined from the
 * start. The first part that comes to a stretch writes whose it is, and that never changes. So a
 * worker that begins again finds its own stretches.
 *
 * The table is a ring. Parts are never so far apart that one misses an entry which it still needs:
 * look-ahead and pools bound their distance to some 20,000 pictures.
 *
 * Any thread, any process: all access is atomic. A worker may write nonsense. Then frames of this
 * file are missing, and nothing else happens.
 */
#ifndef PELTON_STRETCH_TABLE_H
#define PELTON_STRETCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STRETCH_NOBODY = -1, /* no part has come there */
    STRETCH_PAST = -2    /* so long ago that its entry is overwritten */
};

struct stretch_table;

/* A sealed descriptor of a new table, or -1 with errno. Calls write alone: the broker may. */
int stretch_table_create(void);
/* The descriptor stays the caller's. NULL: it is none of a table, or there is no memory. */
struct stretch_table *stretch_table_map(int fd);
void stretch_table_unmap(struct stretch_table *t); /* NULL: nothing */

/* part: below 64. */
void stretch_table_join(struct stretch_table *t, uint32_t part);
bool stretch_table_joined(const struct stretch_table *t, uint32_t part);
/* The part that decodes the stretch, or one of the above. */
int stretch_table_owner(const struct stretch_table *t, uint64_t number);
/* The same, and decides it where it is open. */
int stretch_table_assign(struct stretch_table *t, uint64_t number);

#endif
