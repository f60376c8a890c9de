/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The drivers' own caches: see driver_cache.h. Mesa makes its index with ftruncate and maps it: a
 * sparse file of 1.3 MB. Its pages get their room one by one, when they are touched.
 */
#include "gpu/engine/driver_cache.h"

#include "gpu/engine/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Of the folder: Mesa's index, and some objects of both drivers. */
#define ROOM_BYTES (16u << 20)

/* The variables that Mesa's folder may come from, in its order. */
static bool mesa_folder(char folder[CACHE_PATH])
{
    const char *own = getenv("MESA_SHADER_CACHE_DIR");
    if (!own)
        own = getenv("MESA_GLSL_CACHE_DIR");
    if (!own)
        return cache_folder(folder, CACHE_PATH);
    int n = snprintf(folder, CACHE_PATH, "%s", own);
    return n > 0 && n < CACHE_PATH;
}

/* Of the folder, or of the one where it would be made. */
static bool folder_has_room(char *folder)
{
    struct statvfs fs;
    while (statvfs(folder, &fs) < 0) {
        char *slash = strrchr(folder, '/');
        if (errno != ENOENT || !slash || slash == folder)
            return true; /* the driver makes nothing there either */
        *slash = 0;
    }
    return (unsigned long long)fs.f_bavail * fs.f_frsize >= ROOM_BYTES && fs.f_favail > 0;
}

bool driver_cache_reserve(void)
{
    char folder[CACHE_PATH], path[CACHE_PATH + 32];
    struct stat st;
    if (!mesa_folder(folder))
        return true;
    snprintf(path, sizeof(path), "%s/mesa_shader_cache/index", folder);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return true;
    bool good = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
                posix_fallocate(fd, 0, st.st_size) != ENOSPC;
    close(fd);
    return good;
}

bool driver_cache_guard(void)
{
    char folder[CACHE_PATH];
    if (!mesa_folder(folder) || (driver_cache_reserve() && folder_has_room(folder)))
        return false;
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
    setenv("__GL_SHADER_DISK_CACHE", "0", 1);
    return true;
}
