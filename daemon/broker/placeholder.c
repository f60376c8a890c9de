/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames for readers of a source that is down: see placeholder.h.
 *
 * The happy path is: a source that had a format is lost; each reader gets an epoch with a grey
 * picture and a frame of it each second; the first frame of the source ends that by a further
 * epoch. Lossless readers, readers of device memory and those that take no frames get none. A
 * source that was never open has no format, so its readers wait. Without memory for the picture
 * they wait, too.
 *
 * The broker writes the picture by write(2): where memory is short that fails, and a mapping would
 * kill the process.
 */
#include "daemon/broker/placeholder.h"

#include "daemon/broker/named.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/monotonic.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bits that a sample of this format takes, from the lowest; FFmpeg's names. */
static unsigned sample_bits(const char *pix_fmt)
{
    size_t n = strlen(pix_fmt), end = n - 2;
    if (n < 4 || strcmp(pix_fmt + end, "le") != 0)
        return 8;
    size_t from = end;
    while (from > 0 && pix_fmt[from - 1] >= '0' && pix_fmt[from - 1] <= '9')
        from--;
    int bits = atoi(pix_fmt + from);
    /* p010le has its ten bits at the top; rgb48le says the bits of three samples */
    return pix_fmt[from] == '0' || bits > 16 || bits < 9 ? 16 : (unsigned)bits;
}

/* The middle of each sample's range is grey in Y, Cb, Cr as in R, G, B. */
static void slot_paint(uint8_t *slot, size_t size, const char *pix_fmt)
{
    unsigned bits = sample_bits(pix_fmt);
    bool alpha = strcmp(pix_fmt, "rgba") == 0;
    memset(slot, bits > 8 ? 0 : 0x80, size);
    for (size_t i = 1; bits > 8 && i < size; i += 2)
        slot[i] = (uint8_t)(1u << (bits - 9));
    for (size_t i = 3; alpha && i < size; i += 4)
        slot[i] = 0xff;
}

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

int placeholder_memory(const Pelton__FormatChanged *m)
{
    uint8_t *slot = malloc(m->slot_size);
    int fd = slot ? memfd_create("pelton-placeholder", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    bool good = fd >= 0;
    if (good && m->type)
        memset(slot, 0, m->slot_size); /* floats */
    else if (good)
        slot_paint(slot, m->slot_size, m->pix_fmt);
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

static bool wants_placeholder(const struct broker_stream *s)
{
    const struct named_source *n = s->source.named;
    const Pelton__Open *o = s->source.open;
    return n && n->config.upkeep.shown && s->down && s->replied && s->delivery.format &&
           o->policy != PELTON_LOSSLESS && o->transport == PELTON_SHM && !o->encoded &&
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
