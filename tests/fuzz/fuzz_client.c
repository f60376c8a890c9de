/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: libpelton against a hostile daemon. The input's first byte chooses what the
 * client asks for. The rest is what the daemon says: messages, each as flags, type and length, then
 * its bytes. It says the next ones whenever the client waits, and closes at the end of the input.
 *
 * There is no second thread and no socket of the file system: the linker wraps connect and poll.
 */
#include "proto/wire.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SLOT = 4096, FRAMES = 24, HELD = 4, WAIT_MS = 20000, MOST_WAITS = 4096 };
enum {
    ASK_FIELDS = 1,
    ASK_FD = 2,
    ASK_SHARE = 4,
    ASK_PROBE = 8,
    ASK_TOTALS = 16,
    ASK_LISTS = 32,
    ASK_UNITS = 64 /* in place of fields and shares */
};
/* flags of a message: whom it answers, which descriptor comes with it, whether more follows */
enum { TO_REQUEST = 1, TO_OBJECT = 2, WITH_FD = 4, FD_SHIFT = 3, FD_MASK = 7, MORE = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_poll(struct pollfd *p, nfds_t n, int timeout_ms);

static struct {
    const uint8_t *data;
    size_t size, at;
    int fd; /* the daemon's end; -1: closed */
    unsigned waits;
    struct frame_reader reader;
    uint32_t request, object; /* of the client's last message */
    int pools[FD_MASK + 1];   /* what a daemon may pass as frames */
} script = {.fd = -1, .pools = {-1}};

/* ---- the daemon ---- */

static int pool_create(int size, int seals)
{
    int fd = memfd_create("pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, size) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
        abort();
    return fd;
}

/* Good ones come most often. */
static void pools_create(void)
{
    const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        abort();
    close(pair[1]);
    for (int i = 0; i < 4; i++)
        script.pools[i] = pool_create(2 * SLOT, all);
    script.pools[4] = pool_create(2 * SLOT, all & ~F_SEAL_SHRINK);
    script.pools[5] = pool_create(100, all);
    script.pools[6] = pair[0];
    script.pools[7] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void client_hear(void)
{
    struct frame f;
    while (frame_reader_fill(&script.reader, script.fd) > 0)
        while (frame_reader_next(&script.reader, &f) > 0) {
            if (f.h.request_id)
                script.request = f.h.request_id;
            if (f.h.object_id)
                script.object = f.h.object_id;
            frame_close_fds(&f);
        }
}

static unsigned script_byte(void)
{
    return script.at < script.size ? script.data[script.at++] : 0;
}

static void message_send(const uint8_t *head, size_t length, int fd)
{
    char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec parts[2] = {{(void *)head, FRAME_HEADER_SIZE},
                             {(void *)(script.data + script.at), length}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    if (fd >= 0) {
        m.msg_control = room;
        m.msg_controllen = sizeof(room);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    sendmsg(script.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* False: no other message comes at once. */
static bool script_say(void)
{
    unsigned flags = script_byte(), type = script_byte();
    size_t length = script_byte();
    length |= (size_t)script_byte() << 8;
    length = length < script.size - script.at ? length : script.size - script.at;
    struct frame_header h = {.length = (uint32_t)length,
                             .type = (uint16_t)type,
                             .n_fds = flags & WITH_FD ? 1 : 0,
                             .request_id = flags & TO_REQUEST ? script.request : 0,
                             .object_id = flags & TO_OBJECT ? script.object : 0};
    uint8_t head[FRAME_HEADER_SIZE];
    frame_header_pack(&h, head);
    message_send(head, length, flags & WITH_FD ? script.pools[flags >> FD_SHIFT & FD_MASK] : -1);
    script.at += length;
    return flags & MORE && script.at < script.size;
}

static void script_end(void)
{
    if (script.fd >= 0)
        close(script.fd);
    script.fd = -1;
}

/* ---- what the client calls ---- */

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    int pair[2];
    (void)address;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0 ||
        dup3(pair[1], fd, O_CLOEXEC) < 0)
        abort();
    close(pair[1]);
    script.fd = pair[0];
    return 0;
}

int __wrap_poll(struct pollfd *p, nfds_t n, int timeout_ms)
{
    if (++script.waits > MOST_WAITS) {
        fprintf(stderr, "the client waits for ever\n");
        abort();
    }
    if (script.fd >= 0)
        client_hear();
    if (script.fd >= 0 && script.at >= script.size)
        script_end();
    while (script.fd >= 0 && script_say()) {
    }
    for (nfds_t i = 0; i < n; i++)
        p[i].revents = POLLIN;
    return (int)n;
}

/* ---- the client ---- */

static volatile unsigned char seen;

/* All bytes that the client is told it may read. */
static void frame_read(const struct pelton_frame *f)
{
    for (uint32_t i = 0; i < f->planes; i++)
        for (uint32_t y = 0; y < f->plane_height[i]; y++)
            for (uint32_t x = 0; x < f->plane_width[i]; x++)
                seen ^= f->data[i][(size_t)y * f->stride[i] + x];
    for (uint32_t i = 0; i < f->parameter_sets_size; i++)
        seen ^= f->parameter_sets[i];
    if (f->side)
        for (size_t i = 0; i < f->side->size; i++)
            seen ^= ((const unsigned char *)f->side)[i];
}

/* A failure says its cause. */
static int check(struct pelton *conn, int rc)
{
    if (rc < 0 && !pelton_failure(conn)->cause[0]) {
        fprintf(stderr, "failure %d without a cause\n", rc);
        abort();
    }
    return rc;
}

/* A few frames are held, and go back later or with the stream. */
static void stream_read(struct pelton *conn, struct pelton_stream *s)
{
    struct pelton_frame held[HELD], f;
    unsigned n = 0;
    for (int i = 0; i < FRAMES && check(conn, pelton_next(s, WAIT_MS, &f)) > 0; i++) {
        frame_read(&f);
        if (i % 3 && n < HELD)
            held[n++] = f;
        else
            pelton_release(s, &f);
    }
    for (unsigned i = 0; i < n / 2; i++) {
        frame_read(&held[i]);
        pelton_release(s, &held[i]);
    }
}

static void ask_totals(struct pelton *conn, struct pelton_stream *s)
{
    struct pelton_stats stats;
    struct pelton_control set = {.name = "AeEnable", .n = 1}, all[PELTON_MAX_CONTROLS];
    uint32_t n;
    check(conn, pelton_stats(s, WAIT_MS, &stats));
    if (check(conn, pelton_controls(s, WAIT_MS, &set, 1, all, &n)) == 0 && n > PELTON_MAX_CONTROLS)
        abort();
    pelton_waiting(s);
}

static void ask_lists(struct pelton *conn)
{
    struct pelton_device device, *devices = NULL;
    struct pelton_source source, *sources = NULL;
    struct pelton_status status;
    struct pelton_stream_status *streams = NULL;
    struct pelton_reloaded reloaded;
    size_t n;
    check(conn, pelton_device(conn, &device));
    check(conn, pelton_devices(conn, WAIT_MS, &devices, &n));
    check(conn, pelton_sources(conn, WAIT_MS, &sources, &n));
    check(conn, pelton_status(conn, WAIT_MS, &status, &streams, &n));
    check(conn, pelton_reload(conn, WAIT_MS, &reloaded));
    for (int i = 0; i < 4 && check(conn, pelton_sources_next(conn, WAIT_MS, &source)) > 0; i++)
        seen ^= (unsigned char)source.name[0];
    free(devices);
    free(sources);
    free(streams);
}

static void client_run(struct pelton *conn, unsigned asks)
{
    struct pelton_open_params p;
    struct pelton_stream *s = NULL;
    struct pelton_info info;
    struct pelton_probe_sei sei;
    pelton_open_params_init(&p);
    p.encoded = asks & ASK_UNITS;
    p.fields = !p.encoded && asks & ASK_FIELDS;
    p.side_data = p.fields ? PELTON_SIDE_ALL : 0;
    p.uri = asks & ASK_FD ? NULL : "source";
    p.fd = asks & ASK_FD ? script.pools[0] : -1;
    p.devices = !p.encoded && asks & ASK_SHARE ? 2 : 0;
    if (asks & ASK_PROBE)
        check(conn, pelton_probe_sei(conn, &p, WAIT_MS, &info, &sei));
    if (asks & ASK_LISTS)
        ask_lists(conn);
    if (check(conn, pelton_open(conn, &p, WAIT_MS, &info, &s)) == 0) {
        stream_read(conn, s);
        if (asks & ASK_TOTALS)
            ask_totals(conn, s);
    }
    pelton_stream_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pelton *conn = NULL;
    if (size < 1)
        return -1;
    if (script.pools[0] < 0)
        pools_create();
    script.data = data + 1;
    script.size = size - 1;
    script.at = script.waits = script.request = script.object = 0;
    frame_reader_init(&script.reader);
    if (check(NULL, pelton_connect("/fuzz", WAIT_MS, &conn)) == 0)
        client_run(conn, data[0]);
    pelton_close(conn);
    script_end();
    frame_reader_free(&script.reader);
    return 0;
}
