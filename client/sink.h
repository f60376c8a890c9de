/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes into a descriptor that may be slow, full or closed at the other end.
 */
#ifndef CLIENT_SINK_H
#define CLIENT_SINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink {
    int fd;
    int error; /* errno of the first write that failed; EINTR: interrupted while nobody read */
    uint64_t bytes;
    /* called about once a second while a write waits, for the daemon; NULL: nothing */
    void (*idle)(void *);
    void *idle_ctx;
};

/* Writes all bytes. False: s->error is set. */
bool sink_write(struct sink *s, const uint8_t *data, size_t size);

/* After an interrupt: breaks off a write of another thread that nobody reads. That may come before
 * the write, so the caller repeats it until the thread has ended. */
void sink_break(pthread_t writer);

#endif
