/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The index of a file: the time of each frame, and where decoding may start.
 *
 * Frame n is the n-th that a decode of the whole file gives out. Thread: any, one at a time; once
 * it is made, nobody changes it, and any number of threads may read it.
 */
#ifndef PELTON_FILE_INDEX_H
#define PELTON_FILE_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Frames of a file that has an index. */
#define FILE_INDEX_MOST (1u << 24)

/* A packet at which decoding may start; frame `number` is the first that comes then. */
struct index_key {
    uint64_t number;
    int64_t pos, dts;   /* of the packet; dts INT64_MIN: none */
    uint64_t size, sum; /* of the packet: bytes, and the checksum of the first of them */
};

struct file_index {
    atomic_int refs;
    uint64_t identity; /* of the file */
    uint64_t frames, n_keys;
    int64_t *pts; /* by frame, in the time base of the stream */
    /* by number; the first one is the file's first packet, the others are key pictures */
    struct index_key *keys;
    uint64_t pts_room, key_room;
};

/* refs is 1. NULL: no memory. */
struct file_index *file_index_create(uint64_t identity);
struct file_index *file_index_ref(struct file_index *x);
void file_index_unref(struct file_index *x); /* NULL is allowed */
/* The next frame, the next key. False: no memory, or more than FILE_INDEX_MOST. */
bool file_index_add_frame(struct file_index *x, int64_t pts);
bool file_index_add_key(struct file_index *x, const struct index_key *key);
/* The last key whose frame is `number` or an earlier one. */
const struct index_key *file_index_key(const struct file_index *x, uint64_t number);
/* The last frame that begins at pts or before; the first one where there is none. */
uint64_t file_index_at(const struct file_index *x, int64_t pts);
/* Bytes that it holds. */
size_t file_index_bytes(const struct file_index *x);

/* The index as one block, which the caller frees. NULL: no memory. */
void *file_index_pack(const struct file_index *x, size_t *size);
/* NULL: the block is damaged, of another file or of another version, or there is no memory. */
struct file_index *file_index_unpack(const void *block, size_t size, uint64_t identity);

#endif
