/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One framed connection on a libuv loop: clients of the broker, and both ends between broker and
 * worker. libuv cannot pass descriptors of memory files, so this is a uv_poll_t on a descriptor of
 * our own.
 */
#ifndef PELTON_CHANNEL_H
#define PELTON_CHANNEL_H

#include "proto/framing.h"

#include <uv.h>

struct channel;

struct channel_callbacks {
    /* descriptors not taken are closed afterwards */
    void (*on_frame)(struct channel *ch, struct frame *f);
    /* enum frame_error, once; channel_close is the answer */
    void (*on_lost)(struct channel *ch, int error);
    void (*on_closed)(struct channel *ch); /* the memory may go */
};

/* OPEN -> LOST (on_lost) -> CLOSING (channel_close) -> CLOSED (on_closed); OPEN -> CLOSING directly
 * as well. */
struct channel {
    uv_poll_t poll;
    int fd;
    bool open, lost, closing;
    bool put; /* what is queued waits for channel_flush, not for the socket */
    int error;
    struct frame_reader reader;
    struct frame_writer writer;
    const struct channel_callbacks *callbacks;
    void *ctx;
    uint64_t heard_ms, pinged_ms; /* uv_now of the last byte and of the last ping */
};

/* fd becomes the channel's, also on failure. Negative: libuv's error. */
int channel_open(struct channel *ch, uv_loop_t *loop, int fd,
                 const struct channel_callbacks *callbacks, void *ctx);
/* Queues and sends what the socket takes. A failure comes later, by on_lost; inside on_lost a last
 * word may be tried. */
void channel_send(struct channel *ch, unsigned type, uint32_t request_id, uint32_t object_id,
                  const ProtobufCMessage *body, const int *fds, unsigned n_fds);
/* Queues alone. The next channel_flush or channel_send sends all that is queued, by one system call
 * for many messages. */
void channel_put(struct channel *ch, unsigned type, uint32_t request_id, uint32_t object_id,
                 const ProtobufCMessage *body);
void channel_flush(struct channel *ch);
void channel_close(struct channel *ch); /* what is queued and does not fit the socket now is lost */

/* A ping where the peer was silent for ping_ms; true where it has been for dead_ms and left a ping
 * unanswered. Whoever asks late, because this process had no time, gives the peer all of its time
 * from the ping on. */
bool channel_check_silence(struct channel *ch, uint64_t now_ms, uint64_t ping_ms, uint64_t dead_ms);

#endif
