/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Channels: see channel.h.
 *
 * The happy path is on_frame for each frame that comes, channel_send for each that goes,
 * channel_close. The failure modes are: the peer closes or breaks the framing, it does not read (8
 * MiB queued), no memory. All end in one on_lost, which the loop calls. channel_send never calls
 * it, so a sender may go on with the objects that it sends from. Close waits for the one handle.
 */
#include "daemon/channel.h"

#include "proto/wire.h"

#include <sys/socket.h>
#include <unistd.h>

static void on_poll(uv_poll_t *poll, int status, int events);

static void channel_watch(struct channel *ch)
{
    int events = UV_READABLE | (ch->writer.head ? UV_WRITABLE : 0);
    uv_poll_start(&ch->poll, events, on_poll);
}

/* Makes the loop come back to this channel at once: a socket that is shut down is readable. */
static void channel_fail(struct channel *ch, int error)
{
    if (ch->error == 0) {
        ch->error = error;
        shutdown(ch->fd, SHUT_RDWR);
    }
}

static void channel_lose(struct channel *ch, int error)
{
    if (!ch->lost && !ch->closing) {
        ch->lost = true;
        uv_poll_stop(&ch->poll);
        ch->callbacks->on_lost(ch, error);
    }
}

static void channel_drain(struct channel *ch)
{
    struct frame f;
    while (!ch->closing && !ch->lost && ch->error == 0) {
        int rc = frame_reader_next(&ch->reader, &f);
        if (rc <= 0) {
            if (rc < 0)
                channel_lose(ch, rc);
            return;
        }
        ch->callbacks->on_frame(ch, &f);
        frame_close_fds(&f);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct channel *ch = poll->data;
    if (ch->error || status < 0) {
        channel_lose(ch, ch->error ? ch->error : FRAME_ERR_CLOSED);
        return;
    }
    int wrote = 0;
    if (events & UV_WRITABLE) {
        wrote = frame_writer_flush(&ch->writer, ch->fd);
        if (wrote == 1)
            channel_watch(ch);
    }
    int rc = frame_reader_fill(&ch->reader, ch->fd);
    if (rc > 0)
        ch->heard_ms = uv_now(poll->loop);
    channel_drain(ch); /* also of a peer that takes nothing more: it may have left frames for us */
    if (rc < 0 || (rc == 0 && wrote < 0))
        channel_lose(ch, rc < 0 ? rc : wrote);
}

int channel_open(struct channel *ch, uv_loop_t *loop, int fd,
                 const struct channel_callbacks *callbacks, void *ctx)
{
    *ch = (struct channel){.fd = fd, .callbacks = callbacks, .ctx = ctx, .heard_ms = uv_now(loop)};
    int rc = uv_poll_init(loop, &ch->poll, fd);
    if (rc < 0) {
        close(fd);
        ch->fd = -1;
        return rc;
    }
    ch->poll.data = ch;
    ch->open = true;
    frame_reader_init(&ch->reader);
    frame_writer_init(&ch->writer);
    channel_watch(ch);
    return 0;
}

/* Full: goes on when the socket is writable again. Broken: reading will tell. */
static void channel_flush_now(struct channel *ch)
{
    ch->put = false;
    if (frame_writer_flush(&ch->writer, ch->fd) != 1)
        channel_watch(ch);
}

static int channel_queue(struct channel *ch, unsigned type, uint32_t request_id, uint32_t object_id,
                         const ProtobufCMessage *body, const int *fds, unsigned n_fds)
{
    struct frame_header h = {
        .type = (uint16_t)type, .request_id = request_id, .object_id = object_id};
    return frame_writer_put(&ch->writer, &h, body, fds, n_fds);
}

void channel_send(struct channel *ch, unsigned type, uint32_t request_id, uint32_t object_id,
                  const ProtobufCMessage *body, const int *fds, unsigned n_fds)
{
    if (!ch->open || ch->closing || (ch->error && !ch->lost))
        return;
    bool idle = !ch->writer.head || ch->put;
    int rc = channel_queue(ch, type, request_id, object_id, body, fds, n_fds);
    if (ch->lost) { /* a last word: once, or not at all */
        frame_writer_flush(&ch->writer, ch->fd);
        return;
    }
    if (rc < 0) {
        channel_fail(ch, rc);
        return;
    }
    if (idle)
        channel_flush_now(ch);
}

void channel_put(struct channel *ch, unsigned type, uint32_t request_id, uint32_t object_id,
                 const ProtobufCMessage *body)
{
    if (!ch->open || ch->closing || ch->lost || ch->error)
        return;
    bool idle = !ch->writer.head;
    int rc = channel_queue(ch, type, request_id, object_id, body, NULL, 0);
    if (rc < 0)
        channel_fail(ch, rc);
    else
        ch->put |= idle;
}

void channel_flush(struct channel *ch)
{
    if (ch->put && ch->open && !ch->closing && !ch->lost && !ch->error)
        channel_flush_now(ch);
}

static void on_closed(uv_handle_t *handle)
{
    struct channel *ch = handle->data;
    frame_reader_free(&ch->reader);
    frame_writer_free(&ch->writer);
    close(ch->fd);
    ch->fd = -1;
    ch->open = false;
    ch->callbacks->on_closed(ch);
}

void channel_close(struct channel *ch)
{
    if (!ch->open || ch->closing)
        return;
    ch->closing = true;
    frame_writer_flush(&ch->writer, ch->fd);
    uv_close((uv_handle_t *)&ch->poll, on_closed);
}

bool channel_check_silence(struct channel *ch, uint64_t now_ms, uint64_t ping_ms, uint64_t dead_ms)
{
    if (!ch->open || ch->lost || ch->closing || now_ms <= ch->heard_ms ||
        now_ms - ch->heard_ms < ping_ms)
        return false;
    if (ch->pinged_ms <= ch->heard_ms) {
        ch->pinged_ms = now_ms;
        channel_send(ch, WIRE_PING, 0, 0, NULL, NULL, 0);
        return false;
    }
    return now_ms - ch->pinged_ms + ping_ms >= dead_ms;
}
