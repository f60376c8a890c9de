/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Channels on a socket pair: frames with bodies and descriptors, the loss of the peer, a peer that
 * breaks the framing, one that does not read, one that is silent, and close at any time.
 */
#include "daemon/channel.h"
#include "proto/pelton.pb-c.h"
#include "proto/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

/* One end, and what its callbacks were told. */
struct end {
    struct channel channel;
    unsigned frames, lost, closed;
    int error;
    struct frame_header last;
    char text[64];
    int taken; /* descriptor of the last frame that had one */
    bool close_on_frame, close_on_lost, word_on_lost, in_send;
};

static uv_loop_t loop;

static void on_frame(struct channel *ch, struct frame *f)
{
    struct end *e = ch->ctx;
    e->frames++;
    e->last = f->h;
    if (f->h.n_fds)
        e->taken = frame_take_fd(f, 0);
    Pelton__Failure *m =
        f->h.length ? pelton__failure__unpack(NULL, f->h.length, f->payload) : NULL;
    if (m) {
        strncpy(e->text, m->cause, sizeof(e->text) - 1);
        pelton__failure__free_unpacked(m, NULL);
    }
    if (e->close_on_frame)
        channel_close(ch);
}

static void on_lost(struct channel *ch, int error)
{
    struct end *e = ch->ctx;
    assert_false(e->in_send); /* a sender may go on to use what it sends from */
    e->lost++;
    e->error = error;
    if (e->word_on_lost)
        channel_send(ch, WIRE_PONG, 9, 0, NULL, NULL, 0);
    if (e->close_on_lost)
        channel_close(ch);
}

static void on_closed(struct channel *ch)
{
    struct end *e = ch->ctx;
    e->closed++;
}

static const struct channel_callbacks callbacks = {on_frame, on_lost, on_closed};

static void end_open(struct end *e, int fd)
{
    memset(e, 0, sizeof(*e));
    e->taken = -1;
    assert_int_equal(channel_open(&e->channel, &loop, fd, &callbacks, e), 0);
}

static void end_send(struct end *e, unsigned type, uint32_t id, const char *text, int fd)
{
    Pelton__Failure m;
    pelton__failure__init(&m);
    m.cause = (char *)text;
    e->in_send = true;
    channel_send(&e->channel, type, id, id + 1, text ? &m.base : NULL, &fd, fd >= 0);
    e->in_send = false;
}

static void turn(unsigned times)
{
    while (times--)
        uv_run(&loop, UV_RUN_NOWAIT);
}

/* Closes what is open and expects each end's callback exactly once. */
static void finish(struct end *a, struct end *b)
{
    channel_close(&a->channel);
    channel_close(&a->channel); /* the second time is nothing */
    if (b)
        channel_close(&b->channel);
    turn(4);
    assert_int_equal(a->closed, 1);
    assert_int_equal(a->channel.fd, -1);
    if (b)
        assert_int_equal(b->closed, 1);
    assert_false(uv_loop_alive(&loop));
}

static void pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

static void both(struct end *a, struct end *b)
{
    int fds[2];
    pair(fds);
    end_open(a, fds[0]);
    end_open(b, fds[1]);
}

static void frames(void **state)
{
    struct end a, b;
    both(&a, &b);
    end_send(&a, WIRE_PING, 5, NULL, -1);
    turn(2);
    assert_int_equal(b.frames, 1);
    assert_int_equal(b.last.type, WIRE_PING);
    assert_int_equal(b.last.request_id, 5);
    assert_int_equal(b.last.object_id, 6);
    assert_int_equal(b.last.length, 0);
    end_send(&b, WIRE_PONG, 7, "hello", -1);
    end_send(&b, WIRE_PONG, 8, "again", -1);
    turn(2);
    assert_int_equal(a.frames, 2);
    assert_string_equal(a.text, "again");
    finish(&a, &b);
    assert_int_equal(a.lost + b.lost, 0);
}

/* Put messages wait for a flush, or for one that is sent; the order stays. */
static void together(void **state)
{
    struct end a, b;
    both(&a, &b);
    for (unsigned i = 1; i <= 200; i++)
        channel_put(&a.channel, WIRE_PING, i, 0, NULL);
    turn(2);
    assert_int_equal(b.frames, 0);
    channel_flush(&a.channel);
    turn(2);
    assert_int_equal(b.frames, 200);
    assert_int_equal(b.last.request_id, 200);
    channel_put(&a.channel, WIRE_PING, 201, 0, NULL);
    end_send(&a, WIRE_PING, 202, NULL, 0 /* a descriptor comes with its own frame */);
    channel_put(&a.channel, WIRE_PING, 203, 0, NULL);
    turn(2);
    assert_int_equal(b.frames, 202);
    assert_int_equal(b.last.n_fds, 1);
    assert_true(b.taken >= 0);
    close(b.taken);
    channel_flush(&a.channel);
    channel_flush(&a.channel); /* there is nothing more */
    turn(2);
    assert_int_equal(b.frames, 203);
    assert_int_equal(b.last.n_fds, 0);
    channel_put(&a.channel, WIRE_PING, 204, 0, NULL); /* goes with the end */
    channel_close(&a.channel);
    channel_put(&a.channel, WIRE_PING, 205, 0, NULL);
    turn(2);
    assert_int_equal(b.frames, 204);
    finish(&a, &b);
}

static void put_to_one_who_is_gone(void **state)
{
    struct end a, b;
    both(&a, &b);
    channel_put(&a.channel, WIRE_PING, 1, 0, NULL);
    channel_close(&b.channel);
    turn(2);
    channel_flush(&a.channel);
    turn(2);
    assert_int_equal(a.lost, 1);
    channel_put(&a.channel, WIRE_PING, 2, 0, NULL);
    channel_flush(&a.channel);
    finish(&a, &b);
}

/* A socket that is full takes a part of many messages: the rest follows, none twice. */
static void together_and_full(void **state)
{
    struct end a, b;
    int fds[2], small = 4096;
    pair(fds);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    end_open(&a, fds[0]);
    Pelton__Failure m;
    pelton__failure__init(&m);
    char text[600];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    m.cause = text;
    for (unsigned i = 1; i <= 300; i++)
        channel_put(&a.channel, WIRE_PONG, i, 0, &m.base);
    channel_flush(&a.channel);
    assert_non_null(a.channel.writer.head);
    end_open(&b, fds[1]);
    turn(400);
    assert_int_equal(b.frames, 300);
    assert_int_equal(b.last.request_id, 300);
    assert_int_equal(a.channel.writer.queued, 0);
    finish(&a, &b);
}

static void descriptors(void **state)
{
    struct end a, b;
    char got[5] = "";
    both(&a, &b);
    int fd = memfd_create("x", MFD_CLOEXEC);
    assert_int_equal(write(fd, "data", 4), 4);
    end_send(&a, WIRE_PING, 1, NULL, fd);
    close(fd); /* borrowed: it was sent all the same */
    turn(2);
    assert_true(b.taken >= 0);
    assert_int_equal(pread(b.taken, got, 4, 0), 4);
    assert_string_equal(got, "data");
    close(b.taken);
    finish(&a, &b);
}

/* The peer goes: told once, after the frames that it has left. */
static void peer_gone(void **state)
{
    struct end a, b;
    both(&a, &b);
    end_send(&a, WIRE_PING, 1, "last", -1);
    channel_close(&a.channel);
    turn(4);
    assert_int_equal(a.closed, 1);
    assert_string_equal(b.text, "last");
    assert_int_equal(b.lost, 1);
    assert_int_equal(b.error, FRAME_ERR_CLOSED);
    end_send(&b, WIRE_PONG, 1, NULL, -1); /* to nobody: nothing happens */
    turn(4);
    assert_int_equal(b.lost, 1);
    finish(&b, NULL);
}

static void broken_framing(void **state)
{
    int fds[2];
    struct end a;
    pair(fds);
    end_open(&a, fds[0]);
    a.close_on_lost = true;
    uint8_t header[FRAME_HEADER_SIZE];
    struct frame_header h = {.length = FRAME_MAX_PAYLOAD + 1, .type = WIRE_PING};
    frame_header_pack(&h, header);
    assert_int_equal(write(fds[1], header, sizeof(header)), sizeof(header));
    turn(4);
    assert_int_equal(a.lost, 1);
    assert_int_equal(a.error, FRAME_ERR_TOO_LONG);
    assert_int_equal(a.closed, 1);
    close(fds[1]);
}

/* A last word inside on_lost reaches a peer that has only stopped writing sense. */
static void last_word(void **state)
{
    int fds[2];
    struct end a;
    pair(fds);
    end_open(&a, fds[0]);
    a.close_on_lost = a.word_on_lost = true;
    uint8_t bytes[FRAME_HEADER_SIZE];
    struct frame_header h = {.length = FRAME_MAX_PAYLOAD + 1};
    frame_header_pack(&h, bytes);
    assert_int_equal(write(fds[1], bytes, sizeof(bytes)), sizeof(bytes));
    turn(4);
    assert_int_equal(read(fds[1], bytes, sizeof(bytes)), sizeof(bytes));
    frame_header_unpack(bytes, &h);
    assert_int_equal(h.type, WIRE_PONG);
    assert_int_equal(h.request_id, 9);
    assert_int_equal(a.closed, 1);
    close(fds[1]);
}

/* A peer that does not read: the queue is bounded, the loss comes from the loop. */
static void slow_peer(void **state)
{
    static char text[32 * 1024];
    int fds[2];
    struct end a;
    pair(fds);
    end_open(&a, fds[0]);
    memset(text, 'x', sizeof(text) - 1);
    for (unsigned i = 0; i < 2 * FRAME_MAX_QUEUE / sizeof(text); i++)
        end_send(&a, WIRE_PING, i, text, -1);
    assert_int_equal(a.lost, 0);
    assert_true(a.channel.writer.queued <= FRAME_MAX_QUEUE);
    turn(4);
    assert_int_equal(a.lost, 1);
    assert_int_equal(a.error, FRAME_ERR_QUEUE);
    finish(&a, NULL);
    close(fds[1]);
}

/* What the socket does not take at once goes out when it is writable, in order. */
static void queued(void **state)
{
    static char text[32 * 1024];
    struct end a, b;
    both(&a, &b);
    memset(text, 'x', sizeof(text) - 1);
    for (unsigned i = 0; i < 100; i++)
        end_send(&a, WIRE_PING, i, text, -1);
    assert_true(a.channel.writer.queued > 0);
    turn(500);
    assert_int_equal(b.frames, 100);
    assert_int_equal(b.last.request_id, 99);
    assert_int_equal(a.channel.writer.queued, 0);
    finish(&a, &b);
    assert_int_equal(a.lost + b.lost, 0);
}

/* Close inside on_frame: of the frames behind it none is told. */
static void close_in_frame(void **state)
{
    struct end a, b;
    both(&a, &b);
    b.close_on_frame = true;
    for (unsigned i = 0; i < 3; i++)
        end_send(&a, WIRE_PING, i, NULL, -1);
    turn(6);
    assert_int_equal(b.frames, 1);
    assert_int_equal(b.closed, 1);
    assert_int_equal(b.lost, 0);
    assert_int_equal(a.lost, 1);
    finish(&a, NULL);
}

static void silence(void **state)
{
    struct end a, b;
    both(&a, &b);
    uint64_t now = a.channel.heard_ms;
    assert_false(channel_check_silence(&a.channel, now, 100, 300));
    assert_false(channel_check_silence(&a.channel, now + 99, 100, 300));
    assert_false(channel_check_silence(&a.channel, now + 100, 100, 300));
    assert_false(channel_check_silence(&a.channel, now + 200, 100, 300)); /* one ping is enough */
    turn(2);
    assert_int_equal(b.frames, 1);
    assert_int_equal(b.last.type, WIRE_PING);
    assert_true(channel_check_silence(&a.channel, now + 300, 100, 300));
    finish(&a, &b);
    assert_false(channel_check_silence(&a.channel, now + 9000, 100, 300));
}

/* This process stood still for long: the peer has not been asked yet. */
static void silence_of_our_own(void **state)
{
    struct end a, b;
    both(&a, &b);
    uint64_t now = a.channel.heard_ms;
    assert_false(channel_check_silence(&a.channel, now + 9000, 100, 300));
    turn(2);
    assert_int_equal(b.last.type, WIRE_PING);
    assert_false(channel_check_silence(&a.channel, now + 9199, 100, 300));
    assert_true(channel_check_silence(&a.channel, now + 9200, 100, 300));
    finish(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames),
        cmocka_unit_test(together),
        cmocka_unit_test(put_to_one_who_is_gone),
        cmocka_unit_test(together_and_full),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(peer_gone),
        cmocka_unit_test(broken_framing),
        cmocka_unit_test(last_word),
        cmocka_unit_test(slow_peer),
        cmocka_unit_test(queued),
        cmocka_unit_test(close_in_frame),
        cmocka_unit_test(silence),
        cmocka_unit_test(silence_of_our_own),
    };
    assert_int_equal(uv_loop_init(&loop), 0);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (uv_loop_close(&loop) != 0);
}
