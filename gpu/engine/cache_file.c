/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading and replacing files of the cache folder.
 */
#include "gpu/engine/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool cache_file_path(const char *name, char path[CACHE_PATH])
{
    char folder[CACHE_PATH / 2];
    if (!cache_folder(folder, sizeof(folder)))
        return false;
    int n = snprintf(path, CACHE_PATH, "%s/pelton/%s", folder, name);
    return n > 0 && n < CACHE_PATH;
}

uint64_t cache_checksum(const void *bytes, size_t size)
{
    const uint8_t *data = bytes;
    uint64_t hash = 0xcbf29ce484222325u ^ size;
    size_t i = 0;
    for (uint64_t word; i + 8 <= size; i += 8) {
        memcpy(&word, data + i, 8);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    for (; i < size; i++)
        hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}

static void cache_folder_make(void)
{
    char folder[CACHE_PATH / 2], below[CACHE_PATH];
    if (!cache_folder(folder, sizeof(folder)))
        return;
    mkdir(folder,
          0700); /* one that is there stays; any other fault shows when the file is opened */
    snprintf(below, sizeof(below), "%s/pelton", folder);
    mkdir(below, 0700);
}

static bool write_whole(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* Open the file that takes the path's place later. Its lock keeps other processes out. */
static int replacement_open(const char *path)
{
    struct stat ours, named;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    /* another process may have renamed it before we had the lock */
    bool good = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 &&
                stat(path, &named) == 0 && ours.st_ino == named.st_ino && ftruncate(fd, 0) == 0;
    if (good)
        return fd;
    close(fd);
    errno = EBUSY;
    return -1;
}

int cache_file_write(const char *name, const void *data, size_t size, char path[CACHE_PATH])
{
    char replacement[CACHE_PATH + 8];
    path[0] = 0;
    if (!cache_file_path(name, path)) {
        errno = ENOENT;
        return -1;
    }
    cache_folder_make();
    snprintf(replacement, sizeof(replacement), "%s.new", path);
    int fd = replacement_open(replacement);
    if (fd < 0)
        return -1;
    bool good = write_whole(fd, data, size) && rename(replacement, path) == 0;
    int error = errno;
    if (!good)
        unlink(replacement);
    close(fd);
    errno = error;
    return good ? 0 : -1;
}

/* A file that only this user could have written. */
static bool is_private(int fd, size_t most, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return false;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
        errno = EPERM;
        return false;
    }
    if (st.st_size < 0 || (unsigned long long)st.st_size > most) {
        errno = EFBIG;
        return false;
    }
    *size = (size_t)st.st_size;
    return true;
}

void *cache_file_read(const char *name, size_t most, size_t *size)
{
    char path[CACHE_PATH];
    if (!cache_file_path(name, path)) {
        errno = ENOENT;
        return NULL;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    char *data = is_private(fd, most, size) ? malloc(*size + 1) : NULL;
    int error = errno;
    size_t done = 0;
    while (data && done < *size) {
        ssize_t n = read(fd, data + done, *size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            error = n < 0 ? errno : EIO; /* it shrank meanwhile */
            free(data);
            data = NULL;
            break;
        }
        done += (size_t)n;
    }
    close(fd);
    errno = error;
    return data;
}
