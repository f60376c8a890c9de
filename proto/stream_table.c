/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Open addressing with linear steps. Ids count up, so neighbours rarely collide. A removed stream
 * keeps its entry until the table grows or is rebuilt. The table is at most half full.
 */
#include "proto/stream_table.h"

#include <stdlib.h>

enum { LEAST_ROOM = 16 };

/* The entry with this id, or the free one where it would go. */
static struct stream_entry *table_entry(const struct stream_table *t, uint32_t id)
{
    uint32_t at = id & (t->room - 1);
    while (t->entries[at].id != 0 && t->entries[at].id != id)
        at = (at + 1) & (t->room - 1);
    return &t->entries[at];
}

/* Moves the streams to new entries, with room for twice as many, and leaves removed ones out. */
static int table_rebuild(struct stream_table *t)
{
    struct stream_table larger = {.room = LEAST_ROOM, .used = t->count, .count = t->count};
    while (larger.room < 4 * (t->count + 1))
        larger.room *= 2;
    larger.entries = calloc(larger.room, sizeof(*larger.entries));
    if (!larger.entries)
        return -1;
    for (uint32_t i = 0; i < t->room; i++)
        if (t->entries[i].stream)
            *table_entry(&larger, t->entries[i].id) = t->entries[i];
    free(t->entries);
    *t = larger;
    return 0;
}

int stream_table_add(struct stream_table *t, uint32_t id, struct pelton_stream *stream)
{
    if (2 * (t->used + 1) > t->room && table_rebuild(t) < 0)
        return -1;
    struct stream_entry *e = table_entry(t, id);
    t->used += e->id == 0;
    t->count++;
    *e = (struct stream_entry){.id = id, .stream = stream};
    return 0;
}

void stream_table_remove(struct stream_table *t, uint32_t id)
{
    struct stream_entry *e = t->room && id ? table_entry(t, id) : NULL;
    if (!e || !e->stream)
        return;
    e->stream = NULL;
    t->count--;
}

struct pelton_stream *stream_table_find(const struct stream_table *t, uint32_t id)
{
    return t->room && id ? table_entry(t, id)->stream : NULL;
}

void stream_table_free(struct stream_table *t)
{
    free(t->entries);
    *t = (struct stream_table){0};
}
