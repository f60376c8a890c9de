/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames for readers of a source that is down: see placeholder.h.
 *
 * The happy path is: a source that had a format is lost; each reader gets an epoch with a picture
 * and a frame of it each second; the first frame of the source ends that by a further
 * epoch. Lossless readers, readers of device memory and those that take no frames get none. A
 * source that was never open has no format, so its readers wait. Without memory for the picture
 * they wait, too.
 *
 * The picture is grey, the one that the configuration names, or the reader's last good frame. Where
 * there is no such frame, or frames of this format cannot be painted (tensors), it is grey. Readers
 * of one format share the memory, unless it holds their own last frame.
 *
 * The broker writes the picture by write(2): where memory is short that fails, and a mapping would
 * kill the process.
 */
#include "daemon/broker/placeholder.h"

#include "daemon/broker/named.h"
#include "daemon/broker/placeholder_paint.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/monotonic.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool write_all(int fd, const uint8_t *from, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, from, size);
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
    }
    return true;
}

/* False: it cannot be read. */
static bool slot_read(uint8_t *slot, size_t size, const struct last_frame *last)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(last->pool->memfd, slot + done, size - done,
                          (off_t)(last->slot * (uint64_t)size + done));
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

int placeholder_memory(const Pelton__FormatChanged *m, const struct still_picture *picture,
                       const struct last_frame *last)
{
    uint8_t *slot = malloc(m->slot_size);
    int fd = slot ? memfd_create("pelton-placeholder", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    bool good = fd >= 0;
    if (good && !(last && slot_read(slot, m->slot_size, last))) {
        placeholder_gray(slot, m);
        if (picture)
            placeholder_paint(slot, m, picture);
    }
    for (uint32_t i = 0; good && i < m->slots; i++)
        good = write_all(fd, slot, m->slot_size);
    good = good && fcntl(fd, F_ADD_SEALS,
                         F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_FUTURE_WRITE |
                             F_SEAL_SEAL) == 0;
    free(slot);
    if (good || fd < 0)
        return fd;
    close(fd);
    return -1;
}

/* ---- which streams ---- */

/* Such a reader may get placeholders. */
static bool takes_placeholders(const struct broker_stream *s)
{
    const Pelton__Open *o = s->source.open;
    return s->source.named && s->source.named->config.upkeep.shown &&
           o->policy != PELTON_LOSSLESS && o->transport == PELTON_SHM && !o->encoded;
}

bool placeholder_is_last(const struct broker_stream *s)
{
    return takes_placeholders(s) && s->source.named->config.upkeep.shown == PLACEHOLDER_LAST;
}

static bool wants_placeholder(const struct broker_stream *s)
{
    return takes_placeholders(s) && s->down && s->replied && s->delivery.format &&
           (s->state == STREAM_OPEN || s->state == STREAM_WAITING || s->state == STREAM_QUEUED);
}

void placeholders_step(struct broker *b, uint64_t now_ms)
{
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        if (!wants_placeholder(s) || now_ms < s->delivery.placeholder_ms)
            continue;
        s->delivery.placeholder_ms = now_ms + PLACEHOLDER_PERIOD_MS;
        delivery_placeholder(s);
    }
}
