/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A libpelton without a daemon. It makes frames in this process, so tests of output, options and
 * exit codes take milliseconds. The environment chooses the stream:
 *
 *   FAKE_SIZE=WxH  FAKE_FRAMES=N  FAKE_RATE=num/den  FAKE_PIX_FMT=yuv420p|nv12|gray
 *   FAKE_PTS=file      has lines "pts duration", in FAKE_TIME_BASE=num/den
 *   FAKE_MATRIX, FAKE_RANGE, FAKE_SITING   as in struct pelton_colour
 *   FAKE_CORRUPT=n     every n-th frame is corrupt, of both views
 *   FAKE_FAIL=code     fails after the last frame
 *   FAKE_OPEN=code, FAKE_CONNECT=code      these calls fail
 *   FAKE_DELAY_MS=n    delay before each frame
 *   FAKE_SOFTWARE=1, FAKE_NO_DEVICE=1      the device is software; there is none
 *   FAKE_UNSUPPORTED=syntax element
 *   FAKE_SHRINK=n      from frame n on the frames have half the size
 *   FAKE_BEHIND=n      the second view comes n frames behind the base view, if it is asked for
 *   FAKE_SLOTS=n       frames that may be held (4)
 *   FAKE_FLICKER=1     two of three frames have a wrong bit
 *   FAKE_FLIP=s:n      frame n of the s-th stream that is read as a whole has a wrong bit
 */
#include "proto/pelton.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { PADDING = 32, MAX_SLOTS = 16 };

struct pelton {
    int fd;
    struct pelton_failure failure;
};

struct pelton_stream {
    struct pelton *conn;
    struct pelton_open_params params;
    struct pelton_info info;
    uint64_t frame, frames; /* of each view */
    uint64_t loop_frames;   /* of one loop */
    uint64_t next;          /* what comes next, of both */
    int64_t *pts, *duration;
    uint8_t *slots[MAX_SLOTS];
    bool busy[MAX_SLOTS];
    unsigned n_slots, held;
    long number; /* among the streams to be read as a whole, from 1; 0: none of them */
};

static struct pelton_failure no_connection;

static long setting(const char *name, long preset)
{
    const char *text = getenv(name);
    return text && text[0] ? strtol(text, NULL, 0) : preset;
}

static struct pelton_rational rational(const char *name, int num, int den)
{
    struct pelton_rational r = {num, den};
    const char *text = getenv(name);
    if (text)
        sscanf(text, "%d/%d", &r.num, &r.den);
    return r;
}

static int fail(struct pelton_failure *f, int code, const char *cause)
{
    f->code = code;
    snprintf(f->cause, sizeof(f->cause), "%s", cause);
    snprintf(f->hint, sizeof(f->hint), "%s", "");
    return code;
}

const struct pelton_failure *pelton_failure(const struct pelton *conn)
{
    return conn ? &conn->failure : &no_connection;
}

const char *pelton_version(void)
{
    return "fake";
}

static int connection_create(struct pelton **out)
{
    long code = setting("FAKE_CONNECT", 0);
    if (code)
        return fail(&no_connection, (int)code, "no daemon");
    struct pelton *conn = calloc(1, sizeof(*conn));
    conn->fd = eventfd(1, EFD_CLOEXEC);
    *out = conn;
    return 0;
}

/* A daemon listens at every path but the default one. */
int pelton_connect(const char *path, int timeout_ms, struct pelton **out)
{
    if (!path || strstr(path, "none.sock"))
        return fail(&no_connection, PELTON_ERR_NO_DAEMON, "no daemon");
    return connection_create(out);
}

const char *pelton_socket(const struct pelton *conn)
{
    return "fake.sock";
}

int pelton_spawn_sized(const struct pelton_spawn_params *params, size_t size, int timeout_ms,
                       struct pelton **out)
{
    if (setting("FAKE_NO_DEVICE", 0))
        return fail(&no_connection, PELTON_ERR_NO_DEVICE, "no Vulkan device");
    for (const char *const *e = params->extra; e && *e; e++)
        if (!strncmp(*e, "bad=", 4))
            return fail(&no_connection, PELTON_ERR_USAGE, "bad: no such key");
    return connection_create(out);
}

void pelton_close(struct pelton *conn)
{
    if (conn) {
        close(conn->fd);
        free(conn);
    }
}

int pelton_device_sized(struct pelton *conn, struct pelton_device *out, size_t size)
{
    *out = (struct pelton_device){.name = "Fake 3000",
                                  .uuid = "00000000-0000-0000-0000-000000000000",
                                  .driver = "fake 1.0",
                                  .software = setting("FAKE_SOFTWARE", 0) != 0};
    return 0;
}

int pelton_devices_sized(struct pelton *conn, int timeout_ms, struct pelton_device **out,
                         size_t size, size_t *count)
{
    *out = calloc(1, sizeof(**out));
    *count = 1;
    return pelton_device(conn, *out);
}

int pelton_fd(const struct pelton *conn)
{
    return conn->fd;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fill_info(struct pelton_info *info)
{
    unsigned w = 64, h = 48;
    if (getenv("FAKE_SIZE"))
        sscanf(getenv("FAKE_SIZE"), "%ux%u", &w, &h);
    *info = (struct pelton_info){.container = "fake",
                                 .codec = "h264",
                                 .profile = "High",
                                 .level = 31,
                                 .width = w,
                                 .height = h,
                                 .sar = {1, 1},
                                 .start_pts = INT64_MIN,
                                 .duration_us = -1,
                                 .supported = true};
    info->coded_width = (w + 15) & ~15u;
    info->coded_height = (h + 15) & ~15u;
    info->frame_rate = info->avg_frame_rate = rational("FAKE_RATE", 25, 1);
    info->time_base = rational("FAKE_TIME_BASE", info->frame_rate.den, info->frame_rate.num);
    snprintf(info->pix_fmt, sizeof(info->pix_fmt), "%s",
             getenv("FAKE_PIX_FMT") ? getenv("FAKE_PIX_FMT") : "yuv420p");
    const char *element = getenv("FAKE_UNSUPPORTED");
    if (element) {
        info->supported = false;
        snprintf(info->unsupported_element, sizeof(info->unsupported_element), "%s", element);
        snprintf(info->unsupported_what, sizeof(info->unsupported_what), "interlaced coding");
    }
}

int pelton_probe_sized(struct pelton *conn, const struct pelton_open_params *params,
                       size_t params_size, int timeout_ms, struct pelton_info *info,
                       size_t info_size, struct pelton_probe_sei *sei, size_t sei_size)
{
    fill_info(info);
    if (sei)
        *sei = (struct pelton_probe_sei){0};
    return 0;
}

static void read_times(struct pelton_stream *s)
{
    const char *path = getenv("FAKE_PTS");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file)
        return;
    size_t room = 0;
    long long pts, duration;
    for (s->frames = 0; fscanf(file, "%lld %lld", &pts, &duration) == 2; s->frames++) {
        if (s->frames == room) {
            room = room ? room * 2 : 64;
            s->pts = realloc(s->pts, room * sizeof(*s->pts));
            s->duration = realloc(s->duration, room * sizeof(*s->duration));
        }
        s->pts[s->frames] = pts;
        s->duration[s->frames] = duration;
    }
    fclose(file);
}

int pelton_open_sized(struct pelton *conn, const struct pelton_open_params *params,
                      size_t params_size, int timeout_ms, struct pelton_info *info,
                      size_t info_size, struct pelton_stream **out)
{
    struct pelton_info found;
    fill_info(&found);
    if (info)
        *info = found;
    if (!found.supported) {
        char cause[128];
        snprintf(cause, sizeof(cause), "%s: interlaced coding is not supported",
                 found.unsupported_element);
        return fail(&conn->failure, PELTON_ERR_UNSUPPORTED, cause);
    }
    if (setting("FAKE_OPEN", 0))
        return fail(&conn->failure, (int)setting("FAKE_OPEN", 0), "the source cannot be opened");
    struct pelton_stream *s = calloc(1, sizeof(*s));
    s->conn = conn;
    s->params = *params;
    s->info = found;
    if (params->pix_fmt && (!strcmp(params->pix_fmt, "yuv420p") ||
                            !strcmp(params->pix_fmt, "nv12") || !strcmp(params->pix_fmt, "gray"))) {
        snprintf(s->info.pix_fmt, sizeof(s->info.pix_fmt), "%s", params->pix_fmt);
    }
    s->frames = (uint64_t)setting("FAKE_FRAMES", 10);
    read_times(s);
    s->loop_frames = s->frames ? s->frames : 1;
    static long whole;
    s->number = params->bench.transport == PELTON_SHM && !params->max_frames ? ++whole : 0;
    if (params->loop)
        s->frames = params->loops ? s->frames * params->loops : UINT64_MAX;
    if (params->max_frames && params->max_frames < s->frames)
        s->frames = params->max_frames;
    long slots = setting("FAKE_SLOTS", 4);
    s->n_slots = slots > 0 && slots < MAX_SLOTS ? (unsigned)slots : MAX_SLOTS;
    for (unsigned i = 0; i < s->n_slots; i++)
        s->slots[i] = malloc((size_t)(found.width + PADDING) * found.height * 3);
    *out = s;
    return 0;
}

int pelton_open_start_sized(struct pelton *conn, const struct pelton_open_params *params,
                            size_t size, struct pelton_stream **out)
{
    return pelton_open(conn, params, 0, NULL, out);
}

int pelton_open_wait_sized(struct pelton_stream *s, int timeout_ms, struct pelton_info *info,
                           size_t size)
{
    *info = s->info;
    return 0;
}

const char *pelton_waiting(const struct pelton_stream *s)
{
    return NULL;
}

/* A slope with its own step for each plane and frame; the padding holds what must never be seen. */
static void paint(struct pelton_frame *f, uint64_t number, uint8_t *base)
{
    bool nv12 = !strcmp(f->pix_fmt, "nv12"), gray = !strcmp(f->pix_fmt, "gray");
    f->planes = gray ? 1 : nv12 ? 2 : 3;
    for (uint32_t p = 0; p < f->planes; p++) {
        f->plane_width[p] = p == 0 ? f->width : nv12 ? (f->width + 1) / 2 * 2 : (f->width + 1) / 2;
        f->plane_height[p] = p == 0 ? f->height : (f->height + 1) / 2;
        f->stride[p] = f->plane_width[p] + PADDING;
        f->data[p] = base;
        memset(base, 0xEE, (size_t)f->stride[p] * f->plane_height[p]);
        for (uint32_t y = 0; y < f->plane_height[p]; y++) {
            for (uint32_t x = 0; x < f->plane_width[p]; x++) {
                base[(size_t)y * f->stride[p] + x] =
                    (uint8_t)(16 + (x * (p + 1) + y * 3 + number * 5 + f->view * 90) % 200);
            }
        }
        base += (size_t)f->stride[p] * f->plane_height[p];
    }
}

/* Of what comes at place `next`: its view, and its number there. */
static uint32_t place(const struct pelton_stream *s, uint64_t next, uint64_t *number)
{
    uint64_t behind = (uint64_t)setting("FAKE_BEHIND", 0), n = s->frames;
    behind = behind < n ? behind : n;
    uint64_t paired = next - behind, rest = paired - 2 * (n - behind);
    bool second = next >= behind && (paired >= 2 * (n - behind) || paired & 1);
    if (s->params.views != PELTON_VIEWS_BOTH || next < behind) {
        *number = next;
        return 0;
    }
    *number = paired >= 2 * (n - behind) ? n - behind + rest
              : second                   ? paired / 2
                                         : behind + paired / 2;
    return second;
}

static bool corrupt_at(uint64_t next)
{
    long corrupt = setting("FAKE_CORRUPT", 0);
    return corrupt && next && next % (uint64_t)corrupt == 0;
}

/* The next slot that is free, in turn, or n_slots. */
static unsigned free_slot(const struct pelton_stream *s)
{
    for (unsigned i = 0; i < s->n_slots; i++) {
        unsigned slot = (unsigned)((s->next + i) % s->n_slots);
        if (!s->busy[slot])
            return slot;
    }
    return s->n_slots;
}

static bool flipped(const struct pelton_stream *s, uint64_t next)
{
    long number;
    unsigned long long frame;
    const char *text = getenv("FAKE_FLIP");
    return text && sscanf(text, "%ld:%llu", &number, &frame) == 2 && number == s->number &&
           frame == next;
}

int pelton_next_sized(struct pelton_stream *s, int timeout_ms, struct pelton_frame *out,
                      size_t size)
{
    long delay = setting("FAKE_DELAY_MS", 0);
    if (timeout_ms >= 0 && delay > timeout_ms) {
        usleep((useconds_t)timeout_ms * 1000);
        return fail(&s->conn->failure, PELTON_ERR_TIMEOUT, "no frame in time");
    }
    usleep((useconds_t)delay * 1000);
    uint64_t all = s->params.views == PELTON_VIEWS_BOTH ? 2 * s->frames : s->frames, n;
    while (s->params.on_error == PELTON_ON_ERROR_DROP && s->next < all && corrupt_at(s->next))
        s->next++;
    if (s->next >= all || s->params.bench.transport != PELTON_SHM) {
        s->frame = s->frames;
        long code = setting("FAKE_FAIL", 0);
        return code ? fail(&s->conn->failure, (int)code, "the stream is damaged") : 0;
    }
    unsigned slot = free_slot(s);
    if (slot == s->n_slots)
        return fail(&s->conn->failure, PELTON_ERR_TIMEOUT, "every slot is held");
    uint32_t view = place(s, s->next, &n);
    s->frame += !view;
    struct pelton_frame f = {.sequence = s->next,
                             .view = view,
                             .slot = slot,
                             .width = s->info.width,
                             .height = s->info.height};
    if (s->next >= (uint64_t)setting("FAKE_SHRINK", LONG_MAX)) {
        f.width /= 2;
        f.height /= 2;
    }
    snprintf(f.pix_fmt, sizeof(f.pix_fmt), "%.15s", s->info.pix_fmt);
    f.pts = s->pts ? s->pts[n] : (int64_t)n;
    f.dts = f.pts;
    f.duration = s->duration ? s->duration[n] : 1;
    f.time_base = s->info.time_base;
    f.sar = s->info.sar;
    f.flags = n == 0 ? PELTON_FRAME_KEY : corrupt_at(s->next) ? PELTON_FRAME_CORRUPT : 0;
    f.flags |= n > 0 && n % s->loop_frames == 0 ? PELTON_FRAME_DISCONT : 0;
    bool wrong = flipped(s, s->next++);
    f.colour = (struct pelton_colour){.primaries = 2,
                                      .transfer = 2,
                                      .matrix = (uint8_t)setting("FAKE_MATRIX", 2),
                                      .range = (enum pelton_range)setting("FAKE_RANGE", 0),
                                      .siting = (uint8_t)setting("FAKE_SITING", 0),
                                      .source = PELTON_COLOUR_BITSTREAM};
    f.received_ns = now_ns() - 1000000;
    f.decoded_ns = now_ns();
    paint(&f, n % s->loop_frames, s->slots[f.slot]);
    static unsigned given;
    s->slots[f.slot][0] ^= (uint8_t)(setting("FAKE_FLICKER", 0) ? given++ % 3 : 0);
    s->slots[f.slot][f.stride[0] * (f.height - 1)] ^= (uint8_t)(wrong ? 0x20 : 0);
    s->busy[f.slot] = true;
    s->held++;
    *out = f;
    return 1;
}

void pelton_release(struct pelton_stream *s, const struct pelton_frame *frame)
{
    memset(s->slots[frame->slot], 0xDD, 16); /* the slot is written again */
    s->busy[frame->slot] = false;
    s->held--;
}

int pelton_stats_sized(struct pelton_stream *s, int timeout_ms, struct pelton_stats *out,
                       size_t size)
{
    *out = (struct pelton_stats){
        .access_units = s->frame, .frames = s->frame, .cpu_entropy = 0.25, .gpu_inter = 0.5};
    return 0;
}

void pelton_stream_close(struct pelton_stream *s)
{
    if (!s)
        return;
    if (s->held) {
        fprintf(stderr, "fake: %u frames not released\n", s->held);
        abort();
    }
    for (unsigned i = 0; i < s->n_slots; i++)
        free(s->slots[i]);
    free(s->pts);
    free(s->duration);
    free(s);
}

int pelton_sources_sized(struct pelton *conn, int timeout_ms, struct pelton_source **out,
                         size_t size, size_t *count)
{
    *out = calloc(1, sizeof(**out));
    *count = 0;
    return *out ? 0 : fail(&conn->failure, PELTON_ERR_NOMEM, "out of memory");
}

/* Nothing to watch, reload or end here. */
int pelton_sources_watch(struct pelton *conn, int timeout_ms)
{
    return fail(&conn->failure, PELTON_ERR_GONE, "no daemon");
}

int pelton_sources_next_sized(struct pelton *conn, int timeout_ms, struct pelton_source *out,
                              size_t size)
{
    return fail(&conn->failure, PELTON_ERR_GONE, "no daemon");
}

uint32_t pelton_source_controls_sized(const struct pelton *conn, struct pelton_control *out,
                                      uint32_t most, size_t size)
{
    return 0;
}

int pelton_reload_sized(struct pelton *conn, int timeout_ms, struct pelton_reloaded *out,
                        size_t size)
{
    return fail(&conn->failure, PELTON_ERR_PERMISSION, "only the daemon's user may have it reload");
}

int pelton_status_sized(struct pelton *conn, int timeout_ms, struct pelton_status *out, size_t size,
                        struct pelton_stream_status **streams, size_t stream_size, size_t *count)
{
    return fail(&conn->failure, PELTON_ERR_GONE, "no daemon");
}

int pelton_shutdown(struct pelton *conn, int timeout_ms)
{
    return fail(&conn->failure, PELTON_ERR_PERMISSION, "only the daemon's user may stop it");
}

/* No stream of this library is a camera's. */
int pelton_controls_sized(struct pelton_stream *s, int timeout_ms, const struct pelton_control *set,
                          uint32_t n_set, struct pelton_control *out, uint32_t most, size_t size,
                          uint32_t *n_out)
{
    return fail(&s->conn->failure, PELTON_ERR_USAGE, "no camera");
}
