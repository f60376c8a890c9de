/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Framing on a SOCK_STREAM: a 16-byte little-endian header, then one packed protobuf message;
 * descriptors travel by SCM_RIGHTS with the first byte of their frame. No I/O loop here: the owner
 * of the descriptor calls fill when it is readable and flush when it is writable, blocking or not.
 * Thread: one at a time per object.
 */
#ifndef PELTON_FRAMING_H
#define PELTON_FRAMING_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRAME_HEADER_SIZE = 16,
    FRAME_MAX_PAYLOAD = 64 * 1024,
    FRAME_MAX_FDS = 4,
    FRAME_MAX_QUEUE = 8 * 1024 * 1024 /* outgoing bytes */
};

enum frame_error {
    FRAME_OK = 0,
    FRAME_ERR_CLOSED = -1,   /* end of file or a socket error */
    FRAME_ERR_TOO_LONG = -2, /* length beyond FRAME_MAX_PAYLOAD */
    FRAME_ERR_FDS = -3,      /* too many descriptors, or not as many as the header says */
    FRAME_ERR_NOMEM = -4,
    /* the reader at the other end is too slow: FRAME_MAX_QUEUE would be passed */
    FRAME_ERR_QUEUE = -5,
    FRAME_ERR_BODY = -6 /* the payload is not such a message */
};
const char *frame_error_text(int error);

struct frame_header {
    uint32_t length; /* of the payload */
    uint16_t type;
    uint8_t n_fds, flags;
    uint32_t request_id, object_id;
};
void frame_header_pack(const struct frame_header *h, uint8_t out[FRAME_HEADER_SIZE]);
void frame_header_unpack(const uint8_t in[FRAME_HEADER_SIZE], struct frame_header *out);

/* A received frame. payload is valid until the next call on the reader; the descriptors are the
 * taker's (frame_close_fds). */
struct frame {
    struct frame_header h;
    const uint8_t *payload;
    int fds[FRAME_MAX_FDS];
};
/* -1 where there is none; the caller owns it then */
int frame_take_fd(struct frame *f, unsigned i);
void frame_close_fds(struct frame *f); /* those not taken */

struct frame_reader {
    uint8_t *buffer;
    size_t capacity, start, end; /* unread bytes are [start, end) */
    int fds[2 * FRAME_MAX_FDS];  /* received, not yet claimed by a frame */
    unsigned n_fds;
    int error; /* sticky */
};
void frame_reader_init(struct frame_reader *r);
void frame_reader_free(struct frame_reader *r);
/* One recvmsg. >0: bytes came; 0: nothing there now; negative: enum frame_error. */
int frame_reader_fill(struct frame_reader *r, int fd);
/* 1: *out is the next frame; 0: none complete; negative: enum frame_error, for good. */
int frame_reader_next(struct frame_reader *r, struct frame *out);

struct frame_out;
struct frame_writer {
    struct frame_out *head, *tail;
    size_t queued; /* bytes not yet sent */
};
void frame_writer_init(struct frame_writer *w);
void frame_writer_free(struct frame_writer *w);
/* Packs and queues; body NULL is an empty payload. fds are borrowed: the writer duplicates them. */
int frame_writer_put(struct frame_writer *w, const struct frame_header *h,
                     const ProtobufCMessage *body, const int *fds, unsigned n_fds);
/* 1: all is out; 0: the socket takes no more now; negative: enum frame_error. */
int frame_writer_flush(struct frame_writer *w, int fd);

#endif
