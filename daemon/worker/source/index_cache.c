/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Indexes by identity, the latest used first. Both places have a quota; the oldest goes first.
 */
#include "daemon/worker/source/index_cache.h"

#include "daemon/worker/source/file_index.h"
#include "gpu/engine/cache_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <libavformat/avformat.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_MOST  (64u << 20) /* bytes of all indexes */
#define MEMORY_FILES 4096
#define FOLDER_MOST  (64u << 20) /* bytes of all files */
#define FILE_MOST    (16u << 20)
#define HEAD_BYTES   4096
#define NAME_PREFIX  "index-"

struct index_cache {
    pthread_mutex_t lock;
    struct file_index *first[MEMORY_FILES]; /* the latest used first */
    uint32_t count;
    size_t bytes;
};

struct index_cache *index_cache_create(void)
{
    struct index_cache *c = calloc(1, sizeof(*c));
    if (c)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

void index_cache_free(struct index_cache *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->count; i++)
        file_index_unref(c->first[i]);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* How packets are cut depends on libavformat. */
uint64_t index_identity(int fd, uint32_t video)
{
    struct {
        int64_t size, seconds, nanoseconds;
        uint64_t video, version;
        uint8_t head[HEAD_BYTES], tail[HEAD_BYTES];
    } of;
    struct stat st;
    memset(&of, 0, sizeof(of));
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    of.size = st.st_size;
    of.seconds = st.st_mtim.tv_sec;
    of.nanoseconds = st.st_mtim.tv_nsec;
    of.video = video;
    of.version = avformat_version();
    if (pread(fd, of.head, sizeof(of.head), 0) < 0 ||
        pread(fd, of.tail, sizeof(of.tail), st.st_size > HEAD_BYTES ? st.st_size - HEAD_BYTES : 0) <
            0)
        return 0;
    uint64_t identity = cache_checksum(&of, sizeof(of));
    return identity ? identity : 1;
}

/* ---- memory ---- */

/* With the lock. The entry becomes the first one. */
static struct file_index *entry_use(struct index_cache *c, uint32_t i)
{
    struct file_index *x = c->first[i];
    memmove(&c->first[1], &c->first[0], i * sizeof(c->first[0]));
    c->first[0] = x;
    return x;
}

static void memory_store(struct index_cache *c, struct file_index *x)
{
    while (c->count && (c->count == MEMORY_FILES || c->bytes + file_index_bytes(x) > MEMORY_MOST)) {
        struct file_index *oldest = c->first[--c->count];
        c->bytes -= file_index_bytes(oldest);
        file_index_unref(oldest);
    }
    c->first[c->count++] = file_index_ref(x);
    c->bytes += file_index_bytes(x);
    entry_use(c, c->count - 1);
}

static struct file_index *memory_find(struct index_cache *c, uint64_t identity)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->first[i]->identity == identity)
            return file_index_ref(entry_use(c, i));
    return NULL;
}

/* ---- the folder ---- */

static void file_name(uint64_t identity, char name[40])
{
    snprintf(name, 40, NAME_PREFIX "%016llx", (unsigned long long)identity);
}

/* The bytes of all indexes in the folder; the name of the oldest. */
static uint64_t folder_size(DIR *dir, char oldest[256])
{
    uint64_t sum = 0;
    struct timespec least = {0};
    rewinddir(dir);
    oldest[0] = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        struct stat st;
        if (strncmp(e->d_name, NAME_PREFIX, sizeof(NAME_PREFIX) - 1) != 0 ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        sum += (uint64_t)st.st_size;
        bool older = st.st_mtim.tv_sec < least.tv_sec ||
                     (st.st_mtim.tv_sec == least.tv_sec && st.st_mtim.tv_nsec < least.tv_nsec);
        if (oldest[0] && !older)
            continue;
        least = st.st_mtim;
        snprintf(oldest, 256, "%s", e->d_name);
    }
    return sum;
}

static void folder_make_room(uint64_t size)
{
    char path[CACHE_PATH], oldest[256];
    DIR *dir = cache_file_path(".", path) ? opendir(path) : NULL;
    if (!dir)
        return;
    while (folder_size(dir, oldest) + size > FOLDER_MOST && oldest[0])
        if (unlinkat(dirfd(dir), oldest, 0) < 0)
            break;
    closedir(dir);
}

static void folder_store(const struct file_index *x)
{
    char name[40], path[CACHE_PATH];
    size_t size;
    void *block = file_index_pack(x, &size);
    if (block && size <= FILE_MOST) {
        folder_make_room(size);
        file_name(x->identity, name);
        cache_file_write(name, block, size, path); /* without it the file is read once more */
    }
    free(block);
}

static struct file_index *folder_find(uint64_t identity)
{
    char name[40];
    size_t size;
    file_name(identity, name);
    void *block = cache_file_read(name, FILE_MOST, &size);
    struct file_index *x = block ? file_index_unpack(block, size, identity) : NULL;
    free(block);
    return x;
}

/* ---- both ---- */

struct file_index *index_cache_find(struct index_cache *c, uint64_t identity)
{
    pthread_mutex_lock(&c->lock);
    struct file_index *x = memory_find(c, identity);
    pthread_mutex_unlock(&c->lock);
    if (x || !(x = folder_find(identity)))
        return x;
    pthread_mutex_lock(&c->lock);
    memory_store(c, x);
    pthread_mutex_unlock(&c->lock);
    return x;
}

void index_cache_store(struct index_cache *c, struct file_index *x)
{
    pthread_mutex_lock(&c->lock);
    memory_store(c, x);
    pthread_mutex_unlock(&c->lock);
    folder_store(x);
}
