/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading a descriptor for libavformat: files by pread, so that several sessions may share one open
 * file; pipes and sockets by poll and read, so that a session can be closed while its source is
 * silent.
 */
#include "daemon/worker/source/source_io.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define IO_BUFFER 65536
#define POLL_MS   100

static int read_file(struct source *src, uint8_t *buffer, int size)
{
    ssize_t got;
    do
        got = pread(src->fd, buffer, (size_t)size, (off_t)src->position);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return AVERROR(errno);
    src->position += got;
    return got ? (int)got : AVERROR_EOF;
}

static int read_pipe(struct source *src, uint8_t *buffer, int size)
{
    for (;;) {
        if (atomic_load(src->stop))
            return AVERROR_EXIT;
        struct pollfd p = {.fd = src->fd, .events = POLLIN};
        int ready = poll(&p, 1, POLL_MS);
        if (ready < 0 && errno != EINTR)
            return AVERROR(errno);
        if (ready <= 0)
            continue;
        ssize_t got = read(src->fd, buffer, (size_t)size);
        if (got > 0)
            return (int)got;
        if (got == 0)
            return AVERROR_EOF;
        if (errno != EINTR && errno != EAGAIN)
            return AVERROR(errno);
    }
}

static int io_read(void *opaque, uint8_t *buffer, int size)
{
    struct source *src = opaque;
    if (atomic_load(src->stop))
        return AVERROR_EXIT;
    return src->size >= 0 ? read_file(src, buffer, size) : read_pipe(src, buffer, size);
}

static int64_t io_seek(void *opaque, int64_t offset, int whence)
{
    struct source *src = opaque;
    if (whence & AVSEEK_SIZE)
        return src->size;
    int64_t base = (whence & ~AVSEEK_FORCE) == SEEK_CUR   ? src->position
                   : (whence & ~AVSEEK_FORCE) == SEEK_END ? src->size
                                                          : 0;
    if (offset < -base || offset > INT64_MAX - base)
        return AVERROR(EINVAL);
    return src->position = base + offset;
}

int source_io_open(struct source *src)
{
    struct stat st;
    if (fstat(src->fd, &st))
        return AVERROR(errno);
    if (S_ISDIR(st.st_mode))
        return AVERROR(EISDIR);
    src->size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
    uint8_t *buffer = av_malloc(IO_BUFFER);
    if (!buffer)
        return AVERROR(ENOMEM);
    src->io = avio_alloc_context(buffer, IO_BUFFER, 0, src, io_read, NULL,
                                 src->size >= 0 ? io_seek : NULL);
    if (!src->io) {
        av_free(buffer);
        return AVERROR(ENOMEM);
    }
    return 0;
}

void source_io_close(struct source *src)
{
    if (!src->io)
        return;
    av_freep(&src->io->buffer);
    avio_context_free(&src->io);
}
