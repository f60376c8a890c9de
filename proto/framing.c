/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Framing; see framing.h and "Frames" in PROTOCOL.md.
 *
 * The happy path of a reader is: fill, next until it returns 0, fill again. That of a writer is:
 * put, flush. The failure modes are: the peer closes (FRAME_ERR_CLOSED). The peer sends a forbidden
 * length or forbidden descriptors; the reader then stays in error. The peer does not read
 * (FRAME_ERR_QUEUE).
 *
 * A reader checks the length of a frame first, and allocates no more than that.
 */
#include "proto/framing.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FIRST_CAPACITY = 4096,
    MAX_CAPACITY = FRAME_HEADER_SIZE + FRAME_MAX_PAYLOAD,
    FRAMES_AT_ONCE = 64 /* by one system call */
};

const char *frame_error_text(int error)
{
    switch (error) {
    case FRAME_OK:
        return "no error";
    case FRAME_ERR_CLOSED:
        return "the connection has ended";
    case FRAME_ERR_TOO_LONG:
        return "a message is longer than 64 KiB";
    case FRAME_ERR_FDS:
        return "wrong number of descriptors with a message";
    case FRAME_ERR_NOMEM:
        return "out of memory";
    case FRAME_ERR_QUEUE:
        return "the reader is too slow: 8 MiB wait for it";
    case FRAME_ERR_BODY:
        return "a message body cannot be parsed";
    case FRAME_ERR_NO_FDS:
        return "too many open files";
    default:
        return "unknown error";
    }
}

static void put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

static uint32_t get32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void frame_header_pack(const struct frame_header *h, uint8_t out[FRAME_HEADER_SIZE])
{
    put32(out, h->length);
    out[4] = (uint8_t)h->type;
    out[5] = (uint8_t)(h->type >> 8);
    out[6] = h->n_fds;
    out[7] = h->flags;
    put32(out + 8, h->request_id);
    put32(out + 12, h->object_id);
}

void frame_header_unpack(const uint8_t in[FRAME_HEADER_SIZE], struct frame_header *out)
{
    out->length = get32(in);
    out->type = (uint16_t)(in[4] | in[5] << 8);
    out->n_fds = in[6];
    out->flags = in[7];
    out->request_id = get32(in + 8);
    out->object_id = get32(in + 12);
}

int frame_take_fd(struct frame *f, unsigned i)
{
    if (i >= f->h.n_fds || i >= FRAME_MAX_FDS)
        return -1;
    int fd = f->fds[i];
    f->fds[i] = -1;
    return fd;
}

void frame_close_fds(struct frame *f)
{
    for (unsigned i = 0; i < f->h.n_fds && i < FRAME_MAX_FDS; i++) {
        if (f->fds[i] >= 0) {
            close(f->fds[i]);
            f->fds[i] = -1;
        }
    }
}

/* ---- reading ---- */

void frame_reader_init(struct frame_reader *r)
{
    memset(r, 0, sizeof(*r));
}

void frame_reader_free(struct frame_reader *r)
{
    for (unsigned i = 0; i < r->n_fds; i++)
        close(r->fds[i]);
    free(r->buffer);
    frame_reader_init(r);
}

static int reader_fail(struct frame_reader *r, int error)
{
    r->error = error;
    return error;
}

/* Makes room after `end`: at least one byte, and all of the frame that is announced. */
static int reader_reserve(struct frame_reader *r)
{
    if (r->start > 0) {
        memmove(r->buffer, r->buffer + r->start, r->end - r->start);
        r->end -= r->start;
        r->start = 0;
    }
    size_t want = FIRST_CAPACITY;
    if (r->end >= FRAME_HEADER_SIZE) {
        struct frame_header h;
        frame_header_unpack(r->buffer, &h);
        if (h.length > FRAME_MAX_PAYLOAD)
            return reader_fail(r, FRAME_ERR_TOO_LONG);
        if (FRAME_HEADER_SIZE + (size_t)h.length > want)
            want = FRAME_HEADER_SIZE + (size_t)h.length;
    }
    if (want > r->capacity) {
        uint8_t *grown = realloc(r->buffer, want);
        if (!grown)
            return reader_fail(r, FRAME_ERR_NOMEM);
        r->buffer = grown;
        r->capacity = want;
    }
    return FRAME_OK;
}

/* Keeps the descriptors that came with the bytes. If a rule is broken, the reader closes them all.
 */
static int reader_take_control(struct frame_reader *r, struct msghdr *msg)
{
    bool cut = (msg->msg_flags & MSG_CTRUNC) != 0, too_many = false;
    size_t came = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        came += n;
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
            if (r->n_fds == sizeof(r->fds) / sizeof(*r->fds)) {
                close(fd);
                too_many = true;
            } else {
                r->fds[r->n_fds++] = fd;
            }
        }
    }
    if (cut && came < FRAME_MAX_FDS) /* there was room for more of them */
        return reader_fail(r, FRAME_ERR_NO_FDS);
    return too_many || cut ? reader_fail(r, FRAME_ERR_FDS) : FRAME_OK;
}

int frame_reader_fill(struct frame_reader *r, int fd)
{
    if (r->error || reader_reserve(r))
        return r->error;
    if (r->end == r->capacity)
        return 1; /* a complete frame is there */
    union {
        char bytes[CMSG_SPACE(FRAME_MAX_FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {.iov_base = r->buffer + r->end, .iov_len = r->capacity - r->end};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    ssize_t n;
    do {
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n <= 0)
        return reader_fail(r, FRAME_ERR_CLOSED);
    r->end += (size_t)n;
    int error = reader_take_control(r, &msg);
    return error ? error : (int)n;
}

int frame_reader_next(struct frame_reader *r, struct frame *out)
{
    if (r->error && r->error != FRAME_ERR_CLOSED)
        return r->error;
    size_t have = r->end - r->start;
    if (have < FRAME_HEADER_SIZE)
        return 0;
    struct frame_header h;
    frame_header_unpack(r->buffer + r->start, &h);
    if (h.length > FRAME_MAX_PAYLOAD)
        return reader_fail(r, FRAME_ERR_TOO_LONG);
    /* Descriptors come with the first byte of their frame, so they are already here. */
    if (h.n_fds > FRAME_MAX_FDS || h.n_fds > r->n_fds)
        return reader_fail(r, FRAME_ERR_FDS);
    if (have < FRAME_HEADER_SIZE + (size_t)h.length)
        return 0;
    bool last = have == FRAME_HEADER_SIZE + (size_t)h.length;
    if (last && r->n_fds > h.n_fds)
        return reader_fail(r, FRAME_ERR_FDS); /* descriptors that no frame claims */
    memset(out, 0, sizeof(*out));
    out->h = h;
    out->payload = r->buffer + r->start + FRAME_HEADER_SIZE;
    memcpy(out->fds, r->fds, h.n_fds * sizeof(int));
    r->n_fds -= h.n_fds;
    memmove(r->fds, r->fds + h.n_fds, r->n_fds * sizeof(int));
    r->start += FRAME_HEADER_SIZE + (size_t)h.length;
    return 1;
}

/* ---- writing ---- */

struct frame_out {
    struct frame_out *next;
    size_t size, sent;
    int fds[FRAME_MAX_FDS];
    unsigned n_fds;
    uint8_t bytes[];
};

static void out_free(struct frame_out *o)
{
    for (unsigned i = 0; i < o->n_fds; i++)
        if (o->fds[i] >= 0)
            close(o->fds[i]);
    free(o);
}

void frame_writer_init(struct frame_writer *w)
{
    memset(w, 0, sizeof(*w));
}

void frame_writer_free(struct frame_writer *w)
{
    while (w->head) {
        struct frame_out *next = w->head->next;
        out_free(w->head);
        w->head = next;
    }
    frame_writer_init(w);
}

int frame_writer_put(struct frame_writer *w, const struct frame_header *h,
                     const ProtobufCMessage *body, const int *fds, unsigned n_fds)
{
    assert(n_fds <= FRAME_MAX_FDS);
    size_t length = body ? protobuf_c_message_get_packed_size(body) : 0;
    if (length > FRAME_MAX_PAYLOAD)
        return FRAME_ERR_TOO_LONG;
    size_t size = FRAME_HEADER_SIZE + length;
    if (w->queued > FRAME_MAX_QUEUE - size)
        return FRAME_ERR_QUEUE;
    struct frame_out *o = calloc(1, sizeof(*o) + size);
    if (!o)
        return FRAME_ERR_NOMEM;
    for (; o->n_fds < n_fds; o->n_fds++) {
        o->fds[o->n_fds] = fcntl(fds[o->n_fds], F_DUPFD_CLOEXEC, 3);
        if (o->fds[o->n_fds] < 0) {
            out_free(o);
            return FRAME_ERR_NOMEM;
        }
    }
    struct frame_header header = *h;
    header.length = (uint32_t)length;
    header.n_fds = (uint8_t)n_fds;
    frame_header_pack(&header, o->bytes);
    if (body)
        protobuf_c_message_pack(body, o->bytes + FRAME_HEADER_SIZE);
    o->size = size;
    if (w->tail)
        w->tail->next = o;
    else
        w->head = o;
    w->tail = o;
    w->queued += size;
    return FRAME_OK;
}

/* Sends a frame, and as many after it as have no descriptors: those come with the first byte. */
static ssize_t out_send(const struct frame_out *o, int fd)
{
    union {
        char bytes[CMSG_SPACE(FRAME_MAX_FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov[FRAMES_AT_ONCE];
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 1};
    iov[0] = (struct iovec){(void *)(o->bytes + o->sent), o->size - o->sent};
    for (const struct frame_out *n = o->next; n && n->n_fds == 0 && msg.msg_iovlen < FRAMES_AT_ONCE;
         n = n->next)
        iov[msg.msg_iovlen++] = (struct iovec){(void *)n->bytes, n->size};
    if (o->sent == 0 && o->n_fds > 0) {
        memset(&control, 0, sizeof(control));
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(o->n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(o->n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), o->fds, o->n_fds * sizeof(int));
    }
    ssize_t n;
    do {
        n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* So many bytes have gone, of one frame or more. */
static void writer_sent(struct frame_writer *w, size_t n)
{
    w->queued -= n;
    while (w->head && n >= w->head->size - w->head->sent) {
        struct frame_out *next = w->head->next;
        n -= w->head->size - w->head->sent;
        out_free(w->head);
        w->head = next;
    }
    if (w->head)
        w->head->sent += n;
    else
        w->tail = NULL;
}

int frame_writer_flush(struct frame_writer *w, int fd)
{
    while (w->head) {
        struct frame_out *o = w->head;
        ssize_t n = out_send(o, fd);
        if (n < 0) {
            /* ETOOMANYREFS: too many descriptors in flight; they drain as the peer reads. */
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ||
                           errno == ETOOMANYREFS
                       ? 0
                       : FRAME_ERR_CLOSED;
        }
        writer_sent(w, (size_t)n);
    }
    return 1;
}
