/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Indexes of files that were open before: in the worker's memory, and in the cache folder
 * (gpu/engine/cache_file.h). A file of the folder that is damaged, or of another version, counts as
 * absent and is replaced. Thread: any.
 */
#ifndef PELTON_INDEX_CACHE_H
#define PELTON_INDEX_CACHE_H

#include <stdint.h>

struct file_index;
struct index_cache;

struct index_cache *index_cache_create(void); /* NULL: no memory */
void index_cache_free(struct index_cache *c); /* NULL is allowed */
/* A file's identity: its size, time, first and last bytes, and which of its videos. 0: it has none,
 * as it is no regular file. */
uint64_t index_identity(int fd, uint32_t video);
/* A reference for the caller; NULL: it is not known. */
struct file_index *index_cache_find(struct index_cache *c, uint64_t identity);
/* Keeps a reference of its own. */
void index_cache_store(struct index_cache *c, struct file_index *x);

#endif
