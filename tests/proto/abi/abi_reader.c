/* SPDX-License-Identifier: BSD-2-Clause
 *
 * abi_reader PELTOND: a user's program, compiled against the header of one version and run with the
 * library of another, under AddressSanitizer. Every structure lies in a heap block of its exact
 * size: a library that reads or writes one byte beyond it ends the program. With ABI_NEWER the
 * header is of a version after the library's.
 */
#include <fcntl.h>
#include <pelton.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 60000, FRAMES = 40 };

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: failed: %s (%s: %s)\n", __FILE__, __LINE__, #condition,        \
                    pelton_error_name(pelton_failure(conn)->code), pelton_failure(conn)->cause);   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* A block of its own, filled: what the library leaves out can be seen. */
static void *block(size_t size)
{
    void *p = malloc(size);
    if (!p)
        exit(1);
    return memset(p, 0xA5, size);
}

#define NEW(tag) ((struct tag *)block(sizeof(struct tag)))

static struct pelton *start(const char *program)
{
    static const char *const settings[] = {"sources.one.uri=sim://test",
                                           "sources.two.uri=sim://test?fps=5",
                                           "sources.three.uri=sim://test?fps=7", NULL};
    struct pelton_spawn_params *params = NEW(pelton_spawn_params);
    struct pelton *conn = NULL;
    memset(params, 0, sizeof(*params));
    params->program = program;
    params->extra = settings;
    CHECK(pelton_spawn(params, WAIT_MS, &conn) == 0);
    free(params);
    return conn;
}

static int script(const char *text)
{
    char path[] = "/tmp/pelton-abi-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        exit(1);
    unlink(path);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Zero is the default of everything but the source. */
static struct pelton_open_params *zero_params(int fd)
{
    struct pelton_open_params *params = NEW(pelton_open_params);
    memset(params, 0, sizeof(*params));
    params->fd = fd;
    return params;
}

static void check_frame(struct pelton *conn, const struct pelton_frame *f, uint64_t n)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec, minute = 60000000000;
    CHECK(f->sequence == n && f->width == 32 && f->height == 16 && f->planes == 1);
    CHECK(!strcmp(f->pix_fmt, "gray") && f->stride[0] >= 32 && f->plane_height[0] == 16);
    for (uint32_t y = 0; y < 16; y++)
        for (uint32_t x = 0; x < 32; x++)
            CHECK(f->data[0][y * f->stride[0] + x] == (uint8_t)n);
    CHECK(f->realtime_ns > now - 10 * minute && f->realtime_ns <= now + minute);
    CHECK(f->data[1] == NULL && f->view == 0 && !f->camera.present && f->side == NULL);
#ifdef ABI_NEWER /* the library does not know the field */
    CHECK(f->next_version[0] == 0 && f->next_version[3] == 0);
#endif
}

static void read_frames(struct pelton *conn)
{
    int fd = script("frames=40 width=32 height=16 slots=4");
    struct pelton_open_params *params = zero_params(fd);
    struct pelton_info *info = NEW(pelton_info);
    struct pelton_probe_sei *sei = NEW(pelton_probe_sei);
    struct pelton_frame *frame = NEW(pelton_frame);
    struct pelton_stats *stats = NEW(pelton_stats), *sum = NEW(pelton_stats);
    struct pelton_control *control = NEW(pelton_control);
    struct pelton_control *all = block(PELTON_MAX_CONTROLS * sizeof(*all));
    struct pelton_stream *s = NULL;
    uint32_t n_controls = 0;
    CHECK(pelton_probe(conn, params, WAIT_MS, info) == 0 && info->supported);
    CHECK(pelton_probe_sei(conn, params, WAIT_MS, info, sei) == 0);
    CHECK(sei->first == NULL && sei->types == 0);
    CHECK(pelton_open(conn, params, WAIT_MS, info, &s) == 0);
    CHECK(!strcmp(info->container, "script") && info->width == 32);
    memset(control, 0, sizeof(*control));
    strcpy(control->name, "ExposureTime");
    control->n = 1;
    CHECK(pelton_controls(s, WAIT_MS, control, 1, all, &n_controls) < 0); /* no camera */
    for (uint64_t n = 0; n < FRAMES; n++) {
        CHECK(pelton_next(s, WAIT_MS, frame) == 1);
        check_frame(conn, frame, n);
        pelton_release(s, frame);
    }
    CHECK(pelton_next(s, WAIT_MS, frame) == 0);
    CHECK(pelton_stats(s, WAIT_MS, stats) == 0 && stats->frames == FRAMES);
    memset(sum, 0, sizeof(*sum));
    pelton_stats_add(sum, stats);
    pelton_stats_add(sum, stats);
    CHECK(sum->frames == 2 * FRAMES);
    pelton_stream_close(s);
    /* in two steps, without the information, and closed while a frame is held */
    pelton_open_params_init(params);
    params->fd = fd;
    CHECK(pelton_open_start(conn, params, &s) == 0 && pelton_open_wait(s, WAIT_MS, NULL) == 0);
    CHECK(pelton_next(s, WAIT_MS, frame) == 1);
    pelton_stream_close(s);
    free(all);
    free(control);
    free(sum);
    free(stats);
    free(frame);
    free(sei);
    free(info);
    free(params);
    close(fd);
}

/* Elements of lists lie where this program's sizeof says. */
static void read_lists(struct pelton *conn)
{
    static const char *const names[] = {"one", "two", "three"};
    struct pelton_source *sources = NULL, *change = NEW(pelton_source);
    struct pelton_device *devices = NULL, *device = NEW(pelton_device);
    struct pelton_status *status = NEW(pelton_status);
    struct pelton_stream_status *streams = NULL;
    struct pelton_stream *s[2];
    size_t n = 0;
    unsigned seen = 0;
    CHECK(pelton_sources(conn, WAIT_MS, &sources, &n) == 0 && n == 3);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < 3; k++)
            seen |= strcmp(sources[i].name, names[k]) ? 0 : 1u << k;
    CHECK(seen == 7 && sources[1].state == PELTON_SOURCE_CLOSED && sources[2].readers == 0);
    CHECK(pelton_sources_watch(conn, WAIT_MS) == 0);
    for (size_t i = 0; i < n; i++)
        CHECK(pelton_sources_next(conn, WAIT_MS, change) == 1 && !strncmp(change->uri, "sim:", 4));
    CHECK(pelton_device(conn, device) == 0 && device->name[0] && device->devices == 1);
    CHECK(pelton_devices(conn, WAIT_MS, &devices, &n) == 0 && n > 0 && devices[n - 1].name[0]);
    for (int i = 0; i < 2; i++) {
        int fd = script("frames=9 interval=50");
        struct pelton_open_params *params = zero_params(fd);
        params->name = i ? "second" : "first";
        CHECK(pelton_open(conn, params, WAIT_MS, NULL, &s[i]) == 0);
        free(params);
        close(fd);
    }
    CHECK(pelton_status(conn, WAIT_MS, status, &streams, &n) == 0 && n == 2);
    CHECK(strcmp(streams[0].name, streams[1].name) && streams[1].pid == (int32_t)getpid());
    CHECK(status->n_streams == 2 && !strncmp(status->server, "peltond", 7) && status->device[0]);
    pelton_stream_close(s[0]);
    pelton_stream_close(s[1]);
    free(streams);
    free(status);
    free(devices);
    free(device);
    free(change);
    free(sources);
}

static void administer(struct pelton *conn)
{
    struct pelton_reloaded *reloaded = NEW(pelton_reloaded);
    int rc = pelton_reload(conn, WAIT_MS, reloaded);
    CHECK(rc == 0 || rc == PELTON_ERR_USAGE); /* no file to read again */
    free(reloaded);
    CHECK(!strcmp(pelton_error_name(PELTON_ERR_TIMEOUT), "PELTON_ERR_TIMEOUT"));
    CHECK(!strcmp(pelton_error_name(-99), "PELTON_ERR_UNKNOWN"));
    CHECK(pelton_shutdown(conn, WAIT_MS) == 0);
}

#ifdef ABI_NEWER
/* An option that the library does not know is refused, not left out in silence. */
static void ask_for_more(struct pelton *conn)
{
    int fd = script("frames=3");
    struct pelton_open_params *params = zero_params(fd);
    struct pelton_stream *s = NULL;
    params->next_version[2] = 1;
    CHECK(pelton_open(conn, params, WAIT_MS, NULL, &s) == PELTON_ERR_USAGE);
    CHECK(strstr(pelton_failure(conn)->cause, "unknown to libpelton"));
    free(params);
    close(fd);
}
#endif

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    struct pelton *conn = start(argv[1]);
    read_frames(conn);
    read_lists(conn);
#ifdef ABI_NEWER
    ask_for_more(conn);
#endif
    administer(conn);
    pelton_close(conn);
    printf("%d frames, lists and totals, nothing beyond a structure\n", FRAMES);
    return 0;
}
