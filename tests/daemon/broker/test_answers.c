/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libpelton's questions: lists of each length, changes of sources, controls, and options that it
 * refuses before it sends anything.
 */
#include "tests/daemon/broker/liar.h"

#include <string.h>

/* Answers each question, with lists of `arg` entries, and tells of changes of a source. */
static void answer_lists(struct raw *r, int arg)
{
    enum { MOST = PELTON_MAX_CONTROLS + 1 };
    static Pelton__Device device, *devices[MOST];
    static Pelton__Source source, *sources[MOST];
    static Pelton__Control control, *controls[MOST];
    static Pelton__StreamStatus stream, *streams[MOST];
    Pelton__DevicesReply said_devices = PELTON__DEVICES_REPLY__INIT;
    Pelton__SourcesReply said_sources = PELTON__SOURCES_REPLY__INIT;
    Pelton__StatusReply said_status = PELTON__STATUS_REPLY__INIT;
    Pelton__ReloadReply said_reload = PELTON__RELOAD_REPLY__INIT;
    Pelton__ControlsReply said_controls = PELTON__CONTROLS_REPLY__INIT;
    Pelton__SourceEvent event = PELTON__SOURCE_EVENT__INIT;
    struct frame f;
    size_t n = (size_t)arg;
    pelton__device__init(&device);
    pelton__source__init(&source);
    pelton__control__init(&control);
    pelton__stream_status__init(&stream);
    source.name = "one";
    control.name = "AeEnable";
    for (size_t i = 0; i < MOST; i++) {
        devices[i] = &device;
        sources[i] = &source;
        controls[i] = &control;
        streams[i] = &stream;
    }
    said_devices.n_devices = said_sources.n_sources = said_status.n_streams = n;
    said_controls.n_controls = event.n_controls = n;
    said_devices.devices = devices;
    said_sources.sources = sources;
    said_status.streams = streams;
    said_controls.controls = event.controls = controls;
    event.source = &source;
    liar_accepts(r);
    while (raw_receive(r, WAIT_MS, &f) == 1) {
        const ProtobufCMessage *body = f.h.type == WIRE_DEVICES         ? &said_devices.base
                                       : f.h.type == WIRE_STATUS        ? &said_status.base
                                       : f.h.type == WIRE_RELOAD        ? &said_reload.base
                                       : f.h.type == WIRE_CONTROLS      ? &said_controls.base
                                       : f.h.type == WIRE_SOURCES       ? &said_sources.base
                                       : f.h.type == WIRE_WATCH_SOURCES ? &said_sources.base
                                                                        : NULL;
        const uint16_t reply = f.h.type == WIRE_DEVICES    ? WIRE_DEVICES_REPLY
                               : f.h.type == WIRE_STATUS   ? WIRE_STATUS_REPLY
                               : f.h.type == WIRE_RELOAD   ? WIRE_RELOAD_REPLY
                               : f.h.type == WIRE_CONTROLS ? WIRE_CONTROLS_REPLY
                                                           : WIRE_SOURCES_REPLY;
        if (f.h.type == WIRE_SHUTDOWN)
            return;
        if (body)
            raw_send(r, reply, f.h.request_id, f.h.object_id, body, -1);
        for (int i = 0; f.h.type == WIRE_WATCH_SOURCES && i < 2; i++) {
            event.removed = i > 0;
            raw_send(r, WIRE_SOURCE_EVENT, 0, 0, &event.base, -1);
        }
        frame_close_fds(&f);
    }
}

/* Lists of n entries, which are the caller's. */
static void take_lists(struct pelton *conn, size_t n)
{
    struct pelton_device device, *devices = NULL;
    struct pelton_source *sources = NULL;
    struct pelton_status status;
    struct pelton_stream_status *streams = NULL;
    struct pelton_reloaded reloaded;
    size_t count = 99;
    CHECK_INT(pelton_device(conn, &device), n ? 0 : PELTON_ERR_NO_DEVICE);
    CHECK_INT(pelton_device(conn, &device), n ? 0 : PELTON_ERR_NO_DEVICE);
    CHECK_INT(pelton_devices(conn, WAIT_MS, &devices, &count), 0);
    CHECK_INT((int)count, (int)n);
    CHECK_INT(pelton_sources(conn, WAIT_MS, &sources, &count), 0);
    CHECK(count == n && (!n || !strcmp(sources[n - 1].name, "one")));
    CHECK_INT(pelton_status(conn, WAIT_MS, &status, &streams, &count), 0);
    CHECK_INT((int)count, (int)n);
    CHECK_INT(pelton_reload(conn, WAIT_MS, &reloaded), 0);
    free(devices);
    free(sources);
    free(streams);
}

/* Two changes of a source, the second one its end; then none. Controls beyond the most are none. */
static void take_changes(struct pelton *conn, size_t n)
{
    struct pelton_source source;
    struct pelton_control controls[PELTON_MAX_CONTROLS];
    uint32_t most = n <= PELTON_MAX_CONTROLS ? (uint32_t)n : 0;
    CHECK_INT((int)pelton_source_controls(conn, controls), 0);
    CHECK_INT(pelton_sources_watch(conn, WAIT_MS), 0);
    CHECK_INT(pelton_sources_next(conn, WAIT_MS, &source), 1);
    CHECK(source.state != PELTON_SOURCE_REMOVED);
    CHECK_INT((int)pelton_source_controls(conn, controls), (int)most);
    CHECK_INT(pelton_sources_next(conn, WAIT_MS, &source), 1);
    CHECK_INT((int)source.state, PELTON_SOURCE_REMOVED);
    CHECK_INT(pelton_sources_next(conn, 1, &source), PELTON_ERR_TIMEOUT);
}

static void take_controls(struct pelton_stream *s, size_t n)
{
    struct pelton_control set[PELTON_MAX_CONTROLS + 1] = {{.name = "AeEnable", .n = 1}},
                                                    all[PELTON_MAX_CONTROLS];
    uint32_t count = 99, most = PELTON_MAX_CONTROLS;
    int good = n <= PELTON_MAX_CONTROLS ? 0 : PELTON_ERR_PROTOCOL;
    CHECK_INT(pelton_controls(s, WAIT_MS, set, 1, all, &count), good);
    CHECK(good < 0 || count == n);
    CHECK_INT(pelton_controls(s, WAIT_MS, set, most + 1, all, &count), PELTON_ERR_USAGE);
    set[0].n = PELTON_CONTROL_VALUES + 1;
    CHECK_INT(pelton_controls(s, WAIT_MS, set, 1, all, &count), PELTON_ERR_USAGE);
}

static void answers(void)
{
    static const int sizes[] = {0, 1, 2, PELTON_MAX_CONTROLS, PELTON_MAX_CONTROLS + 1};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct liar l;
        struct pelton *conn = NULL;
        struct pelton_stream *s = NULL;
        liar_open(&l, answer_lists, sizes[i], &conn, &s);
        CHECK(pelton_waiting(s) == NULL);
        take_lists(conn, (size_t)sizes[i]);
        take_changes(conn, (size_t)sizes[i]);
        take_controls(s, (size_t)sizes[i]);
        CHECK_INT(pelton_shutdown(conn, WAIT_MS), 0);
        pelton_stream_close(s);
        pelton_close(conn);
        liar_stop(&l);
    }
}

/* Options that are refused before anything is sent. */
static void options_out_of_range(void)
{
    struct liar l;
    struct pelton *conn = NULL;
    struct pelton_stream *s = NULL;
    struct pelton_frame frame;
    struct pelton_device_memory memory;
    struct pelton_open_params p;
    liar_start(&l, answer_lists, 0);
    CHECK_INT(pelton_connect(l.socket, WAIT_MS, &conn), 0);
#define BAD(...)                                                                                   \
    do {                                                                                           \
        pelton_open_params_init(&p);                                                               \
        p.uri = "liar";                                                                            \
        __VA_ARGS__;                                                                               \
        CHECK_INT(pelton_open_start(conn, &p, &s), PELTON_ERR_USAGE);                              \
        CHECK(pelton_failure(conn)->cause[0]);                                                     \
    } while (0)
    CHECK_INT(pelton_open_start(conn, NULL, &s), PELTON_ERR_USAGE);
    BAD(p.uri = "");
    BAD(p.uri = NULL; p.fd = -1);
    BAD(p.policy = (enum pelton_policy) - 1);
    BAD(p.policy = PELTON_FIFO + 1);
    BAD(p.on_error = (enum pelton_on_error) - 1);
    BAD(p.on_error = PELTON_ON_ERROR_SHOW_ALL + 1);
    BAD(p.views = (enum pelton_views) - 1);
    BAD(p.views = PELTON_VIEWS_BOTH + 1);
    BAD(p.side_data = (enum pelton_side_request) - 1);
    BAD(p.side_data = PELTON_SIDE_ALL + 1);
    BAD(p.bench.transport = (enum pelton_transport) - 1);
    BAD(p.bench.transport = PELTON_DEVICE + 1);
    BAD(p.n_blur = PELTON_MAX_BLURS + 1);
    BAD(p.skip = (enum pelton_skip) - 1);
    BAD(p.skip = PELTON_SKIP_NONKEY + 1);
    BAD(p.n_wanted = PELTON_MAX_WANTED + 1);
    BAD(p.output.width = PELTON_MOST_SIZE + 1);
    BAD(p.encoded = true; p.pix_fmt = "gray");
    BAD(p.output.batch = 2; p.policy = PELTON_LATEST);
#undef BAD
    pelton_open_params_init(&p);
    p.uri = "liar";
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), 0);
    CHECK_INT(pelton_next_batch(s, 1, &frame, 0), PELTON_ERR_USAGE);
    CHECK_INT(pelton_next_batch(s, 1, &frame, 1), PELTON_ERR_TIMEOUT);
    memset(&frame, 0, sizeof(frame));
    CHECK_INT(pelton_device_memory(s, &frame, &memory), PELTON_ERR_USAGE);
    pelton_stream_close(NULL);
    pelton_stream_close(s);
    pelton_close(conn);
    liar_stop(&l);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"answers", answers},
        {"options_out_of_range", options_out_of_range},
    };
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
