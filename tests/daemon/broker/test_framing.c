/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Framing, messages, golden bytes, and the broker's small parts without a process: pools, restart
 * policy.
 */
#include "daemon/broker/reader_pool.h"
#include "daemon/broker/restart.h"
#include "tests/daemon/broker/harness.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct link {
    int fds[2];
    struct frame_writer writer;
    struct frame_reader reader;
};

static void link_open(struct link *l)
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, l->fds) == 0);
    frame_writer_init(&l->writer);
    frame_reader_init(&l->reader);
}

static void link_close(struct link *l)
{
    frame_writer_free(&l->writer);
    frame_reader_free(&l->reader);
    close(l->fds[0]);
    close(l->fds[1]);
}

static void header_layout(void)
{
    const struct frame_header h = {0x01020304, 0x0506, 7, 8, 0x090a0b0c, 0x0d0e0f10};
    const uint8_t want[16] = {4, 3, 2, 1, 6, 5, 7, 8, 0x0c, 0x0b, 0x0a, 9, 0x10, 0x0f, 0x0e, 0x0d};
    uint8_t bytes[16];
    struct frame_header back;
    frame_header_pack(&h, bytes);
    CHECK(memcmp(bytes, want, 16) == 0);
    frame_header_unpack(bytes, &back);
    CHECK(memcmp(&h, &back, sizeof(h)) == 0);
}

static char filler[FRAME_MAX_PAYLOAD + 16];

/* A body of `length` bytes, by a string field. */
static Pelton__Goodbye goodbye_of(size_t length)
{
    Pelton__Goodbye m = PELTON__GOODBYE__INIT;
    if (length >= 2) {
        size_t head = length < 2 + 128 ? 2 : length < 3 + 16384 ? 3 : 4;
        memset(filler, 'a', sizeof(filler));
        filler[length - head] = 0;
        m.reason = filler;
    }
    return m;
}

/* Sizes about every limit, through a socket that takes a little at a time. */
static void round_trip(void)
{
    const size_t sizes[] = {0, 3, 129, 4080, 4081, 16000, 65535, 65536};
    struct link l;
    link_open(&l);
    int small = 4096;
    setsockopt(l.fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    size_t received = 0, count = sizeof(sizes) / sizeof(*sizes);
    for (size_t i = 0; i < count; i++) {
        Pelton__Goodbye m = goodbye_of(sizes[i]);
        struct frame_header h = {.type = WIRE_GOODBYE, .request_id = (uint32_t)i, .object_id = 77};
        int fds[4] = {l.fds[0], l.fds[1], l.fds[0], l.fds[1]};
        CHECK_INT(frame_writer_put(&l.writer, &h, &m.base, fds, (unsigned)i % 5), 0);
    }
    while (received < count) {
        struct frame f;
        CHECK(frame_writer_flush(&l.writer, l.fds[0]) >= 0);
        CHECK(frame_reader_fill(&l.reader, l.fds[1]) >= 0);
        int rc = frame_reader_next(&l.reader, &f);
        CHECK(rc >= 0);
        if (rc == 1) {
            CHECK_INT(f.h.length, sizes[received]);
            CHECK_INT(f.h.request_id, received);
            CHECK_INT(f.h.n_fds, received % 5);
            for (unsigned k = 0; k < f.h.n_fds; k++)
                CHECK(fcntl(f.fds[k], F_GETFD) & FD_CLOEXEC);
            frame_close_fds(&f);
            received++;
        }
    }
    CHECK_INT(l.writer.queued, 0);
    link_close(&l);
}

static void limits_of_writing(void)
{
    struct link l;
    link_open(&l);
    struct frame_header h = {.type = WIRE_GOODBYE};
    Pelton__Goodbye m = goodbye_of(FRAME_MAX_PAYLOAD + 1);
    CHECK_INT(frame_writer_put(&l.writer, &h, &m.base, NULL, 0), FRAME_ERR_TOO_LONG);
    m = goodbye_of(FRAME_MAX_PAYLOAD);
    int rc, taken = 0;
    while ((rc = frame_writer_put(&l.writer, &h, &m.base, NULL, 0)) == 0)
        taken++;
    CHECK_INT(rc, FRAME_ERR_QUEUE);
    CHECK_INT(taken, FRAME_MAX_QUEUE / (FRAME_MAX_PAYLOAD + FRAME_HEADER_SIZE));
    link_close(&l);
}

static int count_fds(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Bytes and descriptors that no writer of ours sends. */
static int read_raw(const struct frame_header *h, size_t bytes, unsigned n_fds)
{
    struct link l;
    uint8_t data[64] = {0};
    union {
        char bytes[CMSG_SPACE(16 * sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    int fds[16];
    link_open(&l);
    frame_header_pack(h, data);
    struct iovec iov = {data, bytes};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    for (int i = 0; i < 16; i++)
        fds[i] = l.fds[0];
    if (n_fds) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
    }
    CHECK(sendmsg(l.fds[0], &msg, 0) == (ssize_t)bytes);
    struct frame f;
    int rc = frame_reader_fill(&l.reader, l.fds[1]);
    if (rc >= 0) {
        rc = frame_reader_next(&l.reader, &f);
        if (rc == 1)
            frame_close_fds(&f);
    }
    link_close(&l);
    return rc;
}

static void limits_of_reading(void)
{
    int before = count_fds();
    CHECK_INT(read_raw(&(struct frame_header){.length = 4}, 20, 0), 1);
    CHECK_INT(read_raw(&(struct frame_header){.length = 4}, 19, 0), 0);
    CHECK_INT(read_raw(&(struct frame_header){.length = FRAME_MAX_PAYLOAD + 1}, 20, 0),
              FRAME_ERR_TOO_LONG);
    CHECK_INT(read_raw(&(struct frame_header){.length = UINT32_MAX}, 16, 0), FRAME_ERR_TOO_LONG);
    CHECK_INT(read_raw(&(struct frame_header){.n_fds = 1}, 16, 0), FRAME_ERR_FDS);
    CHECK_INT(read_raw(&(struct frame_header){.n_fds = 4}, 16, 4), 1);
    CHECK_INT(read_raw(&(struct frame_header){.n_fds = 5}, 16, 5), FRAME_ERR_FDS);
    CHECK_INT(read_raw(&(struct frame_header){.n_fds = 4}, 16, 16), FRAME_ERR_FDS);
    CHECK_INT(read_raw(&(struct frame_header){.n_fds = 1}, 16, 2), FRAME_ERR_FDS);
    CHECK_INT(read_raw(&(struct frame_header){.n_fds = 0}, 16, 1), FRAME_ERR_FDS);
    CHECK_INT(count_fds(), before);
}

/* Descriptors that come faster than their frames, and a length that is seen while more comes. */
static void limits_of_filling(void)
{
    struct link l;
    int before = count_fds();
    link_open(&l);
    const struct frame_header four = {.type = WIRE_PING, .n_fds = 4}, plain = {.type = WIRE_PING},
                              endless = {.length = FRAME_MAX_PAYLOAD + 1};
    int fds[4] = {l.fds[0], l.fds[1], l.fds[0], l.fds[1]};
    for (int i = 0; i < 3; i++)
        CHECK_INT(frame_writer_put(&l.writer, &four, NULL, fds, 4), 0);
    CHECK_INT(frame_writer_flush(&l.writer, l.fds[0]), 1);
    CHECK(frame_reader_fill(&l.reader, l.fds[1]) > 0);
    CHECK(frame_reader_fill(&l.reader, l.fds[1]) > 0);
    CHECK_INT(frame_reader_fill(&l.reader, l.fds[1]), FRAME_ERR_FDS);
    struct frame f;
    CHECK_INT(frame_reader_next(&l.reader, &f), FRAME_ERR_FDS); /* for good */
    CHECK_INT(frame_reader_fill(&l.reader, l.fds[1]), FRAME_ERR_FDS);
    link_close(&l);
    link_open(&l);
    uint8_t head[FRAME_HEADER_SIZE];
    frame_header_pack(&endless, head);
    CHECK(write(l.fds[0], head, sizeof(head)) == sizeof(head));
    CHECK_INT(frame_reader_fill(&l.reader, l.fds[1]), FRAME_HEADER_SIZE);
    CHECK_INT(frame_reader_fill(&l.reader, l.fds[1]), FRAME_ERR_TOO_LONG);
    link_close(&l);
    link_open(&l);
    for (int i = 0; i < 300; i++) /* more than a buffer */
        CHECK_INT(frame_writer_put(&l.writer, &plain, NULL, NULL, 0), 0);
    CHECK_INT(frame_writer_flush(&l.writer, l.fds[0]), 1);
    CHECK_INT(frame_reader_fill(&l.reader, l.fds[1]), 4096);
    CHECK_INT(frame_reader_fill(&l.reader, l.fds[1]), 1); /* frames are there */
    CHECK_INT(l.reader.end, 4096);
    link_close(&l);
    CHECK_INT(count_fds(), before);
}

/* A descriptor that cannot be duplicated queues nothing. */
static void bad_descriptor(void)
{
    struct link l;
    link_open(&l);
    const struct frame_header h = {.type = WIRE_PING};
    int before = count_fds(), fds[2] = {l.fds[0], -1};
    CHECK_INT(frame_writer_put(&l.writer, &h, NULL, fds, 2), FRAME_ERR_NOMEM);
    CHECK(!l.writer.head && l.writer.queued == 0);
    CHECK_INT(count_fds(), before);
    CHECK_INT(frame_writer_flush(&l.writer, l.fds[0]), 1);
    close(l.fds[1]);
    CHECK_INT(frame_writer_put(&l.writer, &h, NULL, fds, 1), 0);
    CHECK_INT(frame_writer_flush(&l.writer, l.fds[0]), FRAME_ERR_CLOSED);
    l.fds[1] = dup(STDERR_FILENO);
    link_close(&l);
}

static void words_of_errors(void)
{
    const int all[] = {FRAME_OK,        FRAME_ERR_CLOSED, FRAME_ERR_TOO_LONG, FRAME_ERR_FDS,
                       FRAME_ERR_NOMEM, FRAME_ERR_QUEUE,  FRAME_ERR_BODY,     FRAME_ERR_NO_FDS};
    const size_t count = sizeof(all) / sizeof(*all);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(frame_error_text(all[i]), frame_error_text(all[k])) != 0);
    CHECK_TEXT(frame_error_text(-1000), "unknown error");
    struct frame none = {.h = {.n_fds = 0}};
    CHECK_INT(frame_take_fd(&none, 0), -1);
}

/* The kernel hands over as many as this process may have. That is not the sender's fault. */
static void no_descriptors_to_take(void)
{
    struct rlimit all, few;
    int before = count_fds(), unused[7]; /* two for the link */
    for (int i = 0; i < 7; i++)
        unused[i] = dup(STDERR_FILENO);
    for (int i = 0; i < 7; i++)
        close(unused[i]);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &all), 0);
    for (unsigned room = 0; room < 4; room++) {
        few = (struct rlimit){(rlim_t)unused[2 + room], all.rlim_max};
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
        CHECK_INT(read_raw(&(struct frame_header){.n_fds = 4}, 16, 4), FRAME_ERR_NO_FDS);
    }
    few.rlim_cur = (rlim_t)unused[2 + 4];
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK_INT(read_raw(&(struct frame_header){.n_fds = 4}, 16, 4), 1);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &all), 0);
    CHECK_INT(count_fds(), before);
}

static uint64_t random_state = 88172645463325252u;

static uint32_t random_u32(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

/* Every known type with 10,000 random bodies: parsed or refused, converted, freed. */
static void random_bodies(void)
{
    uint8_t bytes[512];
    for (int i = 0; i < 10000; i++) {
        struct frame f = {.payload = bytes};
        f.h.type = (uint16_t)(random_u32() % 40);
        f.h.length = random_u32() % 64;
        for (uint32_t k = 0; k < f.h.length; k++) {
            bytes[k] = (uint8_t)(random_u32() % 3 ? random_u32() % 24 * 8 + random_u32() % 3
                                                  : random_u32());
        }
        ProtobufCMessage *body = wire_unpack(&f);
        struct pelton_info info;
        struct pelton_stats stats;
        struct pelton_open_params params;
        struct wire_stretch stretch;
        if (body && f.h.type == WIRE_OPEN_REPLY)
            wire_info_to(((Pelton__OpenReply *)body)->info, &info);
        else if (body && f.h.type == WIRE_STATS_REPLY)
            wire_stats_to((Pelton__StatsReply *)body, &stats);
        else if (body && f.h.type == WIRE_OPEN)
            wire_open_to((Pelton__Open *)body, &params, &stretch);
        wire_free(body);
    }
}

/* ---- side data ---- */

static const struct pelton_sei_message side_messages[] = {
    {5, 18, (const uint8_t *)"0123456789abcdef\1\2"}, {300, 0, NULL}};

/* Every member has a value of its own. */
static struct pelton_side_data full_side(void)
{
    struct pelton_side_data s = {
        .has = 511,
        .recovery_point = {300, true, false, 2, {0}},
        .cpb_removal_delay = 0xfedcba98,
        .dpb_output_delay = 7,
        .pic_struct = 4,
        .clocks = 2,
        .clock = {{1, 4, 7, 23, 58, 59, 29, true, false, true, false, 0, -5},
                  {2, 6, 1, 0, 0, 12, 3, false, true, false, true, 0, 9}},
        .frame_packing =
            {8, 1, false, 3, 2, true, false, true, false, true, false, true, {1, 2, 3, 4}, {0}},
        .display_orientation = {.hor_flip = true,
                                .anticlockwise_rotation = 0xc000,
                                .repetition_period = 1},
        .mastering_display = {{1, 2, 3, 4, 5, 6}, {7, 65535}, 40000000, 50},
        .content_light = {1000, 400},
        .preferred_transfer_characteristics = 18,
        .active_format = 0,
        .captions_size = 3,
        .captions = (const uint8_t *)"\xfc\x94\x20",
        .messages = 2,
        .message = side_messages,
        .left_out = 9,
    };
    return s;
}

static void side_data(void)
{
    struct pelton_side_data in = full_side(), *out = NULL;
    size_t size;
    uint8_t *bytes = wire_side_pack(&in, &size);
    CHECK(bytes && wire_side_unpack(bytes, size, &out) == 0);
    CHECK(out->captions_size == 3 && memcmp(out->captions, in.captions, 3) == 0);
    CHECK(out->messages == 2 && out->message[0].type == 5 && out->message[0].size == 18 &&
          out->message[1].type == 300 && out->message[1].size == 0);
    CHECK(memcmp(out->message[0].bytes, side_messages[0].bytes, 18) == 0);
    CHECK(out->recovery_point.exact_match_flag && out->clock[0].time_offset == -5 &&
          out->frame_packing.grid_position[3] == 4 &&
          out->mastering_display.white_point[1] == 65535 && out->active_format == 0 &&
          out->has == 511);
    size_t again_size;
    uint8_t *again = wire_side_pack(out, &again_size);
    CHECK(again && again_size == size && memcmp(again, bytes, size) == 0);
    free(again);
    free(out);
    for (size_t n = 0; n < size; n++) { /* every cut is a message or an error */
        out = NULL;
        int rc = wire_side_unpack(bytes, n, &out);
        CHECK(rc == 0 ? out != NULL : rc == PELTON_ERR_PROTOCOL && !out);
        free(out);
    }
    free(bytes);
    struct pelton_side_data nothing = {0};
    bytes = wire_side_pack(&nothing, &size);
    CHECK(bytes && size == 0 && wire_side_unpack(bytes, 0, &out) == 0 && out->has == 0 &&
          out->messages == 0);
    free(out);
    free(bytes);
}

/* ---- golden bytes: what the wire looks like may never change by accident ---- */

static void check_golden(const char *name, unsigned type, uint32_t request, uint32_t object,
                         const ProtobufCMessage *body)
{
    char path[512], text[8192] = "", have[8192] = "";
    uint8_t bytes[2048];
    struct frame_header h = {.type = (uint16_t)type, .request_id = request, .object_id = object};
    h.length = body ? (uint32_t)protobuf_c_message_get_packed_size(body) : 0;
    CHECK(h.length + 16 <= sizeof(bytes));
    frame_header_pack(&h, bytes);
    if (body)
        protobuf_c_message_pack(body, bytes + 16);
    for (size_t i = 0; i < 16 + (size_t)h.length; i++) {
        sprintf(have + strlen(have), "%02x%s", bytes[i],
                i % 16 == 15 || i + 1 == 16 + (size_t)h.length ? "\n" : " ");
    }
    snprintf(path, sizeof(path), "%s/%s.hex", PELTON_GOLDEN_DIR, name);
    FILE *file = fopen(path, getenv("PELTON_WRITE_GOLDEN") ? "w+" : "r");
    CHECK(file != NULL);
    if (getenv("PELTON_WRITE_GOLDEN")) {
        fputs(have, file);
        rewind(file);
    }
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    CHECK_TEXT(have, text);
}

static void golden(void)
{
    Pelton__Hello hello = PELTON__HELLO__INIT;
    hello.proto_min = hello.proto_max = 1;
    hello.client = "libpelton 0.1.0";
    check_golden("hello", WIRE_HELLO, 0, 0, &hello.base);
    struct pelton_open_params p = {.fd = 0,
                                   .name = "clip.mp4",
                                   .pix_fmt = "nv12",
                                   .policy = PELTON_FIFO,
                                   .depth = 3,
                                   .start_us = -1,
                                   .duration_us = 2500000,
                                   .max_frames = 7};
    Pelton__Open open;
    wire_open_from(&p, (struct wire_stretch){0}, &open);
    check_golden("open", WIRE_OPEN, 1, 1, &open.base);
    Pelton__FrameReady ready = PELTON__FRAME_READY__INIT;
    ready.sequence = 300;
    ready.epoch = 1;
    ready.slot = 2;
    ready.generation = 75;
    ready.pts = INT64_MIN;
    ready.dts = -512;
    ready.duration = 512;
    ready.flags = PELTON_FRAME_KEY | PELTON_FRAME_DISCONT;
    ready.received_ns = 123456789012;
    ready.decoded_ns = 123456799012;
    check_golden("frame_ready", WIRE_FRAME_READY, 0, 1, &ready.base);
    struct pelton_side_data side = full_side();
    ready.side_data.data = wire_side_pack(&side, &ready.side_data.len);
    check_golden("side_data", WIRE_FRAME_READY, 0, 1, &ready.base);
    free(ready.side_data.data);
    Pelton__Error error = PELTON__ERROR__INIT;
    error.code = PELTON_ERR_LIMIT;
    error.message = "no room";
    error.hint = "come again";
    error.retryable = true;
    check_golden("error", WIRE_ERROR, 9, 0, &error.base);
    check_golden("ping", WIRE_PING, 0, 0, NULL);
}

/* ---- pools and restarts ---- */

static void pool_slots(void)
{
    Pelton__FormatChanged m = PELTON__FORMAT_CHANGED__INIT;
    m.slots = 2;
    CHECK(reader_pool_create(&(Pelton__FormatChanged){.slots = POOL_MAX_SLOTS + 1}, 1,
                             open("/dev/null", O_RDONLY)) == NULL);
    struct reader_pool *p = reader_pool_create(&m, 5, open("/dev/null", O_RDONLY));
    CHECK(p && p->n_slots == 2 && p->wid == 5);
    CHECK(!reader_pool_take(p, 2, 1));
    CHECK(reader_pool_take(p, 1, 9));
    CHECK(!reader_pool_take(p, 1, 10));
    CHECK(!reader_pool_release(p, 1, 9, SLOT_CLIENT)); /* not sent yet */
    reader_pool_send(p, 1);
    CHECK(!reader_pool_release(p, 1, 8, SLOT_CLIENT));
    CHECK(!reader_pool_release(p, 7, 9, SLOT_CLIENT));
    CHECK_INT(p->held, 1);
    CHECK(reader_pool_release(p, 1, 9, SLOT_CLIENT));
    CHECK(!reader_pool_release(p, 1, 9, SLOT_CLIENT));
    CHECK_INT(p->held, 0);
    reader_pool_free(p);
}

static void restarts_in_a_window(void)
{
    struct restart_policy p = {.limit = 3, .window_ms = 1000};
    CHECK(restart_allowed(&p, 0));
    CHECK(restart_allowed(&p, 10));
    CHECK(restart_allowed(&p, 999));
    CHECK(!restart_allowed(&p, 999));
    CHECK(restart_allowed(&p, 1000)); /* the first has left the window */
    CHECK(!restart_allowed(&p, 1009));
    CHECK(restart_allowed(&p, 1010));
    struct restart_policy none = {.limit = 0, .window_ms = 1000};
    CHECK(!restart_allowed(&none, 5));
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"header_layout", header_layout},
        {"round_trip", round_trip},
        {"limits_of_writing", limits_of_writing},
        {"limits_of_reading", limits_of_reading},
        {"limits_of_filling", limits_of_filling},
        {"bad_descriptor", bad_descriptor},
        {"words_of_errors", words_of_errors},
        {"no_descriptors_to_take", no_descriptors_to_take},
        {"random_bodies", random_bodies},
        {"side_data", side_data},
        {"golden", golden},
        {"pool_slots", pool_slots},
        {"restarts_in_a_window", restarts_in_a_window},
    };
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
