/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libpelton against daemons that lie, stall and break off. Each case gives a named error in time,
 * and never a crash, a hang or a bad pointer.
 */
#include "tests/daemon/broker/liar.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SLOT = 4096, ALL_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL };

static void say_nothing(struct raw *r, int arg)
{
    pause();
}

static void say_garbage(struct raw *r, int arg)
{
    uint8_t bytes[256];
    memset(bytes, arg, sizeof(bytes));
    CHECK(write(r->fd, bytes, sizeof(bytes)) > 0);
    pause();
}

static void welcome_another_protocol(struct raw *r, int arg)
{
    Pelton__Welcome m = PELTON__WELCOME__INIT;
    m.proto = 9;
    raw_send(r, WIRE_WELCOME, 0, 0, &m.base, -1);
    pause();
}

static void break_off(struct raw *r, int arg)
{
    uint32_t id = liar_accepts(r);
    uint8_t half[20];
    frame_header_pack(
        &(struct frame_header){.length = 100, .type = WIRE_FRAME_READY, .object_id = id}, half);
    CHECK(write(r->fd, half, sizeof(half)) == sizeof(half));
}

static void welcome_then_stall(struct raw *r, int arg)
{
    liar_welcome(r);
    pause();
}

/* Good format and pool; then `arg` says which one number is wrong. */
enum lie {
    TRUTH,
    NO_SEALS,
    NO_SHRINK_SEAL,
    SHORT_MEMFD,
    NO_MEMFD,
    NOT_A_MEMFD,
    MANY_SLOTS,
    HUGE_SLOT,
    ZERO_SLOTS,
    PLANE_OUTSIDE,
    PLANE_TALL,
    STRIDE_SMALL,
    STRIDE_HUGE,
    OFFSET_HUGE,
    FIVE_PLANES,
    SIZE_OVERFLOW,
    SAME_EPOCH,
    UNASKED_DEVICE, /* memory of a GPU, for a reader that maps */
    BAD_SLOT,
    BAD_EPOCH,
    LIES
};

static int make_pool(enum lie lie)
{
    int fd = memfd_create("lie", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fd >= 0 && ftruncate(fd, lie == SHORT_MEMFD ? SLOT : 2 * SLOT) == 0);
    if (lie != NO_SEALS) {
        CHECK(fcntl(fd, F_ADD_SEALS,
                    lie == NO_SHRINK_SEAL ? ALL_SEALS & ~F_SEAL_SHRINK : ALL_SEALS) == 0);
    }
    if (lie == NOT_A_MEMFD) {
        close(fd);
        fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    }
    return fd;
}

static void apply_lie(enum lie lie, Pelton__FormatChanged *m, Pelton__Plane *p)
{
    switch (lie) {
    case MANY_SLOTS:
        m->slots = 3;
        break;
    case HUGE_SLOT:
        m->slot_size = UINT64_MAX;
        break;
    case ZERO_SLOTS:
        m->slots = 0;
        break;
    case PLANE_OUTSIDE:
        p->offset = SLOT - 10;
        break;
    case PLANE_TALL:
        p->height = 17;
        break;
    case STRIDE_SMALL:
        p->stride = 63;
        break;
    case STRIDE_HUGE:
        p->stride = UINT32_MAX;
        break;
    case OFFSET_HUGE:
        p->offset = UINT64_MAX - 4095;
        break;
    case FIVE_PLANES:
        m->n_planes = 5;
        break;
    case SIZE_OVERFLOW:
        m->slots = 65536;
        m->slot_size = (uint64_t)1 << 48;
        m->memfd_size = 4096;
        break;
    default:
        break;
    }
}

static void lie_about_frames(struct raw *r, int arg)
{
    enum lie lie = (enum lie)arg;
    uint32_t id = liar_accepts(r);
    Pelton__Plane p = PELTON__PLANE__INIT, *planes[5] = {&p, &p, &p, &p, &p};
    Pelton__FormatChanged m = PELTON__FORMAT_CHANGED__INIT;
    Pelton__FrameReady ready = PELTON__FRAME_READY__INIT;
    p.stride = 256;
    p.width = 64;
    p.height = 16;
    m.epoch = ready.epoch = 1;
    m.slots = 2;
    m.width = 64;
    m.height = 16;
    m.planes = planes;
    m.n_planes = 1;
    m.slot_size = SLOT;
    m.memfd_size = 2 * SLOT;
    apply_lie(lie, &m, &p);
    int fd = lie == NO_MEMFD ? -1 : make_pool(lie);
    uint8_t uuid[16] = {0};
    Pelton__DeviceMemory device = PELTON__DEVICE_MEMORY__INIT;
    device.handle_type = PELTON_HANDLE_OPAQUE_FD;
    device.allocation_size = m.memfd_size;
    device.device_uuid = device.driver_uuid = (ProtobufCBinaryData){sizeof(uuid), uuid};
    m.device = lie == UNASKED_DEVICE ? &device : NULL;
    raw_send(r, WIRE_FORMAT_CHANGED, 0, id, &m.base, fd);
    if (lie == SAME_EPOCH)
        raw_send(r, WIRE_FORMAT_CHANGED, 0, id, &m.base, fd);
    ready.slot = lie == BAD_SLOT ? 2 : 1;
    ready.epoch += lie == BAD_EPOCH;
    raw_send(r, WIRE_FRAME_READY, 0, id, &ready.base, -1);
    pause();
}

/* Frames of slots 0, 1 and 0, where two make a batch; then the end. */
static void give_batch(struct raw *r, int arg)
{
    static const uint32_t slots[] = {0, 1, 0};
    uint32_t id = liar_accepts(r);
    Pelton__Plane p = PELTON__PLANE__INIT, *planes[1] = {&p};
    Pelton__FormatChanged m = PELTON__FORMAT_CHANGED__INIT;
    Pelton__FrameReady ready = PELTON__FRAME_READY__INIT;
    p.stride = p.width = 64;
    p.height = 16;
    m.epoch = ready.epoch = 1;
    m.slots = m.batch = 2;
    m.width = 64;
    m.height = 16;
    m.planes = planes;
    m.n_planes = 1;
    m.slot_size = SLOT;
    m.memfd_size = 2 * SLOT;
    raw_send(r, WIRE_FORMAT_CHANGED, 0, id, &m.base, make_pool(TRUTH));
    for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
        ready.slot = slots[i];
        ready.sequence = i;
        raw_send(r, WIRE_FRAME_READY, 0, id, &ready.base, -1);
    }
}

static uint64_t random_state;

static uint32_t random_u32(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

static void rave(struct raw *r, int seed)
{
    random_state = 0x9e3779b97f4a7c15u + (uint64_t)seed;
    uint32_t id = liar_accepts(r);
    for (int i = 0; i < 50; i++) {
        uint8_t bytes[128];
        struct frame_header h = {.length = random_u32() % 40,
                                 .type = (uint16_t)(random_u32() % 38),
                                 .request_id = random_u32() % 3};
        h.type = h.type == WIRE_GOODBYE ? WIRE_FRAME_READY : h.type;
        h.object_id = random_u32() % 3 ? id : 0;
        frame_header_pack(&h, bytes);
        for (size_t k = 0; k < h.length; k++) {
            bytes[16 + k] = (uint8_t)(random_u32() % 3 ? random_u32() % 16 * 8 + random_u32() % 3
                                                       : random_u32());
        }
        if (send(r->fd, bytes, 16 + h.length, MSG_NOSIGNAL) < 0)
            return;
    }
}

/* ---- tests ---- */

static int connect_to(void (*serve)(struct raw *r, int arg), int arg, int timeout_ms)
{
    struct liar l;
    struct pelton *conn = NULL;
    liar_start(&l, serve, arg);
    int64_t start = now_ms();
    int rc = pelton_connect(l.socket, timeout_ms, &conn);
    CHECK(now_ms() - start < timeout_ms + LATE_MS);
    CHECK(rc == 0 || (pelton_failure(NULL)->code == rc && pelton_failure(NULL)->cause[0]));
    pelton_close(conn);
    liar_stop(&l);
    return rc;
}

static void bad_welcomes(void)
{
    CHECK_INT(connect_to(say_nothing, 0, 50), PELTON_ERR_TIMEOUT);
    CHECK_INT(connect_to(say_garbage, 0xff, WAIT_MS), PELTON_ERR_PROTOCOL);
    CHECK_INT(connect_to(say_garbage, 'H', WAIT_MS), PELTON_ERR_PROTOCOL);
    CHECK_INT(connect_to(say_garbage, 1, WAIT_MS), PELTON_ERR_PROTOCOL);
    CHECK_INT(connect_to(welcome_another_protocol, 0, WAIT_MS), PELTON_ERR_NO_DAEMON);
    CHECK_INT(connect_to(welcome_then_stall, 0, WAIT_MS), 0);
}

/* Opens and takes one frame from a liar: the result of pelton_next. */
static int next_from(void (*serve)(struct raw *r, int arg), int arg, int timeout_ms)
{
    struct liar l;
    struct pelton *conn = NULL;
    struct pelton_stream *s = NULL;
    struct pelton_frame f;
    struct pelton_open_params p = script_params(0, "liar");
    liar_start(&l, serve, arg);
    CHECK_INT(pelton_connect(l.socket, WAIT_MS, &conn), 0);
    int rc = pelton_open(conn, &p, timeout_ms, NULL, &s);
    while (rc >= 0 && (rc = pelton_next(s, timeout_ms, &f)) > 0) {
        CHECK_INT(f.data[0][0] +
                      f.data[0][f.stride[0] * (f.plane_height[0] - 1) + f.plane_width[0] - 1],
                  0);
        if (serve == lie_about_frames)
            break;
        pelton_release(s, &f);
    }
    CHECK(rc >= 0 || (pelton_failure(conn)->code == rc && pelton_failure(conn)->cause[0]));
    pelton_stream_close(s);
    pelton_close(conn);
    liar_stop(&l);
    return rc;
}

static void stalls_and_ends(void)
{
    CHECK_INT(next_from(break_off, 0, WAIT_MS), PELTON_ERR_GONE);
    CHECK_INT(next_from(welcome_then_stall, 0, 50), PELTON_ERR_TIMEOUT);
}

static void lies_about_pools(void)
{
    CHECK_INT(next_from(lie_about_frames, TRUTH, WAIT_MS), 1);
    for (int lie = TRUTH + 1; lie < LIES; lie++) {
        int rc = next_from(lie_about_frames, lie, WAIT_MS);
        if (rc != PELTON_ERR_PROTOCOL)
            fprintf(stderr, "lie %d was believed\n", lie);
        CHECK_INT(rc, PELTON_ERR_PROTOCOL);
    }
}

static void ravings(void)
{
    for (int seed = 0; seed < 200; seed++)
        CHECK(next_from(rave, seed, WAIT_MS) <= 0);
}

/* A whole batch, and at the end of the connection what there is of the next one. */
static void batch_of_two(void)
{
    struct liar l;
    struct pelton *conn = NULL;
    struct pelton_stream *s = NULL;
    struct pelton_frame f[2];
    liar_open(&l, give_batch, 0, &conn, &s);
    CHECK_INT(pelton_next_batch(s, WAIT_MS, f, 1), PELTON_ERR_USAGE);
    CHECK_INT(pelton_next_batch(s, WAIT_MS, f, 2), 2);
    CHECK(f[0].slot == 0 && f[1].slot == 1 && f[1].sequence == 1);
    pelton_release(s, &f[0]);
    pelton_release(s, &f[1]);
    CHECK_INT(pelton_next_batch(s, WAIT_MS, f, 2), 1);
    CHECK_INT((int)f[0].sequence, 2);
    CHECK_INT(pelton_next_batch(s, WAIT_MS, f, 2), PELTON_ERR_GONE);
    pelton_stream_close(s);
    pelton_close(conn);
    liar_stop(&l);
}

static void spawn_failures(void)
{
    struct pelton *conn = NULL;
    struct pelton_spawn_params p = {.program = "/no/such/peltond", .log_fd = -1};
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), PELTON_ERR_NO_DAEMON);
    CHECK_TEXT(pelton_failure(NULL)->cause, "/no/such/peltond: No such file or directory");
    p.program = "/bin/true";
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), PELTON_ERR_NO_DAEMON);
    p.program = "/etc/passwd";
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), PELTON_ERR_PERMISSION);
    const char *values[] = {"nonsense=1", NULL};
    p.program = fake_program();
    p.extra = values;
    p.log_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), PELTON_ERR_NO_DAEMON);
    close(p.log_fd);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"bad_welcomes", bad_welcomes},         {"stalls_and_ends", stalls_and_ends},
        {"lies_about_pools", lies_about_pools}, {"ravings", ravings},
        {"batch_of_two", batch_of_two},         {"spawn_failures", spawn_failures},
    };
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
