/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The streams of a connection by their number. Each frame of each stream is looked up here.
 */
#ifndef PELTON_STREAM_TABLE_H
#define PELTON_STREAM_TABLE_H

#include <stdint.h>

struct pelton_stream;

/* A hash table with open addressing. All zero is an empty table. */
struct stream_table {
    struct stream_entry {
        uint32_t id;                  /* 0: free */
        struct pelton_stream *stream; /* NULL with an id: it was removed */
    } *entries;
    uint32_t room;  /* entries; a power of two, or 0 */
    uint32_t used;  /* entries with an id */
    uint32_t count; /* streams */
};

/* Adds a stream under an id that is not 0 and not in the table. 0, or -1: out of memory, and the
 * table is as before. */
int stream_table_add(struct stream_table *t, uint32_t id, struct pelton_stream *stream);
/* Removes the stream with this id; an unknown id does nothing. */
void stream_table_remove(struct stream_table *t, uint32_t id);
/* The stream with this id, or NULL. */
struct pelton_stream *stream_table_find(const struct stream_table *t, uint32_t id);
/* Frees the table, not the streams. It is empty afterwards. */
void stream_table_free(struct stream_table *t);

#endif
