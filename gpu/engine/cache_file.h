/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Files in the user's cache folder: $XDG_CACHE_HOME/pelton, else ~/.cache/pelton. A lost or refused
 * file costs time, never a result. Thread: any.
 */
#ifndef PELTON_CACHE_FILE_H
#define PELTON_CACHE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_PATH 4096

/* The folder of all programs' caches. False: the environment names none. */
static inline bool cache_folder(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (cache && cache[0] == '/')
        n = snprintf(path, size, "%s", cache);
    else if (home && home[0] == '/')
        n = snprintf(path, size, "%s/.cache", home);
    else
        return false;
    return n > 0 && (size_t)n < size;
}

/* FNV-1a of 64 bits, over eight bytes at a time: this finds damage, not forgery. */
uint64_t cache_checksum(const void *bytes, size_t size);
/* The path of a file, whether it exists or not. False: no folder is known, or it is too long. */
bool cache_file_path(const char *name, char path[CACHE_PATH]);
/* Replace a file as a whole: a reader sees the old bytes or the new ones. Makes the folder. path
 * gets the file's path where one is known. Returns 0, or -1 with errno; EBUSY: another process
 * writes it. */
int cache_file_write(const char *name, const void *data, size_t size, char path[CACHE_PATH]);
/* The bytes of a file of at most `most` bytes, which the caller frees. NULL with errno: there is
 * none, it is larger, or another user could have written it (EPERM). */
void *cache_file_read(const char *name, size_t most, size_t *size);

#endif
