/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Framing on a SOCK_STREAM: a header of 16 bytes, little-endian, then one packed protobuf message.
 * Descriptors travel by SCM_RIGHTS with the first byte of their frame.
 *
 * There is no loop here. The owner of the socket calls fill when it is readable, and flush when it
 * is writable. Blocking and non-blocking sockets both work. Thread: one at a time for each object.
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
    FRAME_ERR_FDS = -3,      /* too many descriptors, or another number than the header says */
    FRAME_ERR_NOMEM = -4,
    /* the peer reads too slowly: FRAME_MAX_QUEUE would be exceeded */
    FRAME_ERR_QUEUE = -5,
    FRAME_ERR_BODY = -6,  /* the payload is no message of its type */
    FRAME_ERR_NO_FDS = -7 /* descriptors came, and this process may have no more */
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

/* A received frame. The payload is valid until the next call on the reader. The descriptors belong
 * to the receiver, who calls frame_close_fds. */
struct frame {
    struct frame_header h;
    const uint8_t *payload;
    int fds[FRAME_MAX_FDS];
};
/* -1: there is none; otherwise the caller owns it */
int frame_take_fd(struct frame *f, unsigned i);
void frame_close_fds(struct frame *f); /* those not taken */

struct frame_reader {
    uint8_t *buffer;
    size_t capacity, start, end; /* unread bytes are [start, end) */
    int fds[2 * FRAME_MAX_FDS];  /* received, and not yet part of a frame */
    unsigned n_fds;
    int error; /* sticky */
};
void frame_reader_init(struct frame_reader *r);
void frame_reader_free(struct frame_reader *r);
/* Calls recvmsg once. Returns >0: bytes came; 0: none are there now; negative: enum frame_error. */
int frame_reader_fill(struct frame_reader *r, int fd);
/* Returns 1: *out is the next frame; 0: no frame is complete; negative: enum frame_error, for good.
 */
int frame_reader_next(struct frame_reader *r, struct frame *out);

struct frame_out;
struct frame_writer {
    struct frame_out *head, *tail;
    size_t queued; /* bytes not yet sent */
};
void frame_writer_init(struct frame_writer *w);
void frame_writer_free(struct frame_writer *w);
/* Packs and queues a frame. body NULL is an empty payload. The writer duplicates fds. */
int frame_writer_put(struct frame_writer *w, const struct frame_header *h,
                     const ProtobufCMessage *body, const int *fds, unsigned n_fds);
/* Returns 1: everything is sent; 0: the socket takes no more now; negative: enum frame_error. */
int frame_writer_flush(struct frame_writer *w, int fd);

#endif
