/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rules of messages, each at its limit and beyond: an Open that the daemon takes or refuses, and
 * lists and numbers of others that are cut, replaced by a default, or refused.
 */
#include "proto/blur.h"
#include "proto/wire.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct pelton_open_params params;
static struct wire_stretch stretch;

static bool taken(const Pelton__Open *o)
{
    memset(&params, 0xff, sizeof(params));
    return wire_open_to(o, &params, &stretch) == PELTON_OK;
}

/* An Open with these fields alone. */
#define TAKEN(...)                                                                                 \
    do {                                                                                           \
        Pelton__Open o = PELTON__OPEN__INIT;                                                       \
        __VA_ARGS__;                                                                               \
        assert_true(taken(&o));                                                                    \
    } while (0)
#define REFUSED(...)                                                                               \
    do {                                                                                           \
        Pelton__Open o = PELTON__OPEN__INIT;                                                       \
        __VA_ARGS__;                                                                               \
        assert_false(taken(&o));                                                                   \
    } while (0)

static void numbers(void **state)
{
    TAKEN(o.max_fps = 1e6);
    REFUSED(o.max_fps = 1e6 + 1);
    REFUSED(o.max_fps = -1);
    REFUSED(o.max_fps = NAN);
    TAKEN(o.policy = PELTON_FIFO);
    REFUSED(o.policy = PELTON_FIFO + 1);
    TAKEN(o.transport = PELTON_DEVICE);
    REFUSED(o.transport = PELTON_DEVICE + 1);
    TAKEN(o.on_error = PELTON_ON_ERROR_SHOW_ALL);
    REFUSED(o.on_error = PELTON_ON_ERROR_SHOW_ALL + 1);
    TAKEN(o.side_data = PELTON_SIDE_ALL);
    REFUSED(o.side_data = PELTON_SIDE_ALL + 1);
    TAKEN(o.views = PELTON_VIEWS_BOTH);
    REFUSED(o.views = PELTON_VIEWS_BOTH + 1);
    TAKEN(o.skip = PELTON_SKIP_NONKEY);
    REFUSED(o.skip = PELTON_SKIP_NONKEY + 1);
    REFUSED(o.skip = PELTON_SKIP_NONKEY, o.views = PELTON_VIEWS_BOTH);
}

/* A part of a file that several workers share. */
static void parts(void **state)
{
    TAKEN(o.parts = PELTON_MAX_DEVICES, o.part = PELTON_MAX_DEVICES - 1);
    assert_int_equal(stretch.index, PELTON_MAX_DEVICES - 1);
    assert_int_equal(stretch.count, PELTON_MAX_DEVICES);
    REFUSED(o.parts = PELTON_MAX_DEVICES + 1);
    REFUSED(o.parts = 2, o.part = 2);
    TAKEN(o.parts = 1);
    REFUSED(o.parts = 1, o.part = 1);
    REFUSED(o.parts = 2, o.fields = true);
    REFUSED(o.parts = 2, o.realtime = true);
    REFUSED(o.parts = 2, o.views = PELTON_VIEWS_BOTH);
    REFUSED(o.parts = 2, o.policy = PELTON_LATEST);
    REFUSED(o.parts = 2, o.encoded = true);
    REFUSED(o.parts = 2, o.batch = 2);
    uint64_t range[3] = {0, 1, 1};
    REFUSED(o.parts = 2, o.n_wanted = 3, o.wanted = range);
    int64_t time = 0;
    REFUSED(o.parts = 2, o.n_wanted_us = 1, o.wanted_us = &time);
}

static void blurs(void **state)
{
    uint32_t list[4 * (PELTON_MAX_BLURS + 1)];
    for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
        list[i] = BLUR_MOST;
    TAKEN(o.blur = list, o.n_blur = 4 * PELTON_MAX_BLURS);
    assert_int_equal(params.n_blur, PELTON_MAX_BLURS);
    assert_int_equal(params.blur[PELTON_MAX_BLURS - 1].height, BLUR_MOST);
    REFUSED(o.blur = list, o.n_blur = 4 * PELTON_MAX_BLURS + 4);
    REFUSED(o.blur = list, o.n_blur = 3);
    TAKEN(o.blur_width = BLUR_MOST, o.blur_height = BLUR_MOST);
    REFUSED(o.blur_width = BLUR_MOST + 1, o.blur_height = 1);
    REFUSED(o.blur_width = 1, o.blur_height = BLUR_MOST + 1);
    REFUSED(o.blur_width = 1);
    REFUSED(o.blur_height = 1);
    for (int i = 0; i < 4; i++) {
        uint32_t wrong[4] = {1, 1, 1, 1};
        wrong[i] = BLUR_MOST + 1;
        REFUSED(o.blur = wrong, o.n_blur = 4);
        wrong[i] = 0;
        if (i < 2)
            TAKEN(o.blur = wrong, o.n_blur = 4);
        else
            REFUSED(o.blur = wrong, o.n_blur = 4);
    }
}

static void outputs(void **state)
{
    uint32_t crop[4] = {0, 0, 16, 16}, flat[4] = {1, 0, 0, 16}, thin[4] = {0, 1, 16, 0},
             empty[4] = {0, 0, 0, 0};
    TAKEN(o.crop = crop, o.n_crop = 4);
    assert_int_equal(params.output.crop.height, 16);
    REFUSED(o.crop = crop, o.n_crop = 3);
    REFUSED(o.crop = flat, o.n_crop = 4);
    REFUSED(o.crop = thin, o.n_crop = 4);
    TAKEN(o.crop = empty, o.n_crop = 4);
    TAKEN(o.width = PELTON_MOST_SIZE, o.height = PELTON_MOST_SIZE);
    REFUSED(o.width = PELTON_MOST_SIZE + 1);
    REFUSED(o.height = PELTON_MOST_SIZE + 1);
    TAKEN(o.filter = PELTON_NEAREST);
    REFUSED(o.filter = PELTON_NEAREST + 1);
    TAKEN(o.layout = PELTON_NHWC);
    REFUSED(o.layout = PELTON_NHWC + 1);
    TAKEN(o.type = PELTON_F32);
    REFUSED(o.type = PELTON_F32 + 1);
    TAKEN(o.batch = PELTON_MOST_BATCH);
    REFUSED(o.batch = PELTON_MOST_BATCH + 1);
    REFUSED(o.batch = 2, o.policy = PELTON_LATEST);
    REFUSED(o.batch = 2, o.views = PELTON_VIEWS_BOTH);
    TAKEN(o.batch = 1, o.policy = PELTON_LATEST);
    TAKEN(o.batch = 2, o.transport = PELTON_DEVICE);
}

/* Means and scales: four at the most, as many of each, finite; one list alone has the other's
 * neutral values. */
static void normalisation(void **state)
{
    float list[5] = {1, 2, 3, 4, 5}, wrong[1] = {NAN}, endless[1] = {INFINITY};
    TAKEN(o.mean = list, o.n_mean = 4);
    assert_int_equal(params.output.n_mean, 4);
    assert_true(params.output.mean[3] == 4 && params.output.scale[3] == 1);
    TAKEN(o.scale = list, o.n_scale = 3);
    assert_int_equal(params.output.n_mean, 3);
    assert_true(params.output.mean[2] == 0 && params.output.scale[2] == 3);
    TAKEN(o.mean = list, o.n_mean = 3, o.scale = list, o.n_scale = 3);
    REFUSED(o.mean = list, o.n_mean = 3, o.scale = list, o.n_scale = 1);
    REFUSED(o.mean = list, o.n_mean = 5);
    REFUSED(o.scale = list, o.n_scale = 5);
    REFUSED(o.mean = wrong, o.n_mean = 1);
    REFUSED(o.scale = endless, o.n_scale = 1);
}

static void wanted(void **state)
{
    static uint64_t many[3 * (PELTON_MAX_WANTED + 1)];
    static int64_t times[PELTON_MAX_WANTED + 1];
    for (unsigned i = 0; i <= PELTON_MAX_WANTED; i++)
        many[3 * i + 1] = many[3 * i + 2] = 1;
    TAKEN(o.wanted = many, o.n_wanted = 3 * PELTON_MAX_WANTED);
    REFUSED(o.wanted = many, o.n_wanted = 3 * PELTON_MAX_WANTED + 3);
    REFUSED(o.wanted = many, o.n_wanted = 4);
    TAKEN(o.wanted_us = times, o.n_wanted_us = PELTON_MAX_WANTED);
    REFUSED(o.wanted_us = times, o.n_wanted_us = PELTON_MAX_WANTED + 1);
    REFUSED(o.wanted = many, o.n_wanted = 3, o.wanted_us = times, o.n_wanted_us = 1);
    static const struct {
        uint64_t range[3];
        bool good;
    } ranges[] = {{{0, PELTON_MAX_WANTED_FRAMES, 1}, true},
                  {{0, PELTON_MAX_WANTED_FRAMES + 1, 1}, false},
                  {{0, 0, 1}, false},
                  {{0, 1, 0}, false},
                  {{0, 1, UINT32_MAX}, true},
                  {{0, 1, 1ULL << 32}, false},
                  {{INT64_MAX / 2, 1, 1}, true},
                  {{INT64_MAX / 2 + 1ULL, 1, 1}, false}};
    for (unsigned i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        Pelton__Open o = PELTON__OPEN__INIT;
        o.wanted = (uint64_t *)ranges[i].range;
        o.n_wanted = 3;
        assert_int_equal(taken(&o), ranges[i].good);
    }
    uint64_t two[6] = {0, PELTON_MAX_WANTED_FRAMES, 1, 0, 1, 1}; /* one too many together */
    REFUSED(o.wanted = two, o.n_wanted = 6);
}

/* Numbers of frames mean nothing beside another choice of frames. */
static void wanted_alone(void **state)
{
    uint64_t one[3] = {0, 1, 1};
#define BESIDE(...) REFUSED(o.wanted = one, o.n_wanted = 3, __VA_ARGS__)
    BESIDE(o.fields = true);
    BESIDE(o.realtime = true);
    BESIDE(o.loop = true);
    BESIDE(o.views = PELTON_VIEWS_BOTH);
    BESIDE(o.skip = PELTON_SKIP_NONKEY);
    BESIDE(o.max_fps = 1);
    BESIDE(o.max_frames = 1);
    BESIDE(o.start_us = 1);
    BESIDE(o.duration_us = 1);
#undef BESIDE
}

/* Access units are not pictures. */
static void encoded(void **state)
{
    uint64_t one[3] = {0, 1, 1};
    int64_t time = 0;
    uint32_t four[4] = {0, 0, 1, 1};
    TAKEN(o.encoded = true);
    TAKEN(o.encoded = true, o.blur = four, o.n_blur = 4); /* of cameras that are encoded */
#define BESIDE(...) REFUSED(o.encoded = true, __VA_ARGS__)
    BESIDE(o.pix_fmt = "gray");
    BESIDE(o.fields = true);
    BESIDE(o.max_fps = 1);
    BESIDE(o.views = PELTON_VIEWS_BOTH);
    BESIDE(o.skip = PELTON_SKIP_NONKEY);
    BESIDE(o.wanted = one, o.n_wanted = 3);
    BESIDE(o.wanted_us = &time, o.n_wanted_us = 1);
    BESIDE(o.side_data = PELTON_SIDE_ALL);
    BESIDE(o.transport = PELTON_DEVICE);
    BESIDE(o.width = 16);
    BESIDE(o.height = 16);
    BESIDE(o.crop = four, o.n_crop = 4);
    BESIDE(o.layout = PELTON_NHWC);
    BESIDE(o.type = PELTON_F32);
    BESIDE(o.batch = 1);
#undef BESIDE
    struct pelton_open_params p = {.encoded = true, .devices = 2};
    assert_false(wire_encoded_valid(&p));
    p.devices = 1;
    assert_true(wire_encoded_valid(&p));
    p = (struct pelton_open_params){.devices = 2, .output = {.batch = 2}};
    assert_false(wire_batch_valid(&p));
}

/* JPEG files have a quality, and nothing else of H.264. */
static void encoded_anew(void **state)
{
    Pelton__Encoding e = PELTON__ENCODING__INIT;
    TAKEN(o.encoded = true, o.encode = &e);
    REFUSED(o.encode = &e);
    e.quality = 52;
    REFUSED(o.encoded = true, o.encode = &e);
    e.codec = PELTON_CODEC_MJPEG;
    TAKEN(o.encoded = true, o.encode = &e);
    TAKEN(o.encoded = true, o.encode = &e, o.pix_fmt = "yuv444p");
    REFUSED(o.encoded = true, o.encode = &e, o.pix_fmt = "rgb24");
    REFUSED(o.encoded = true, o.encode = &e, o.fields = true);
    e.alike = 4;
    TAKEN(o.encoded = true, o.encode = &e);
    e.quality = 101;
    REFUSED(o.encoded = true, o.encode = &e);
    e.quality = 0;
    REFUSED(o.encoded = true, o.encode = &e);
    e.quality = 100;
    e.bit_rate = 1;
    REFUSED(o.encoded = true, o.encode = &e);
    e.bit_rate = 0;
    e.codec = 2;
    REFUSED(o.encoded = true, o.encode = &e);
    e.codec = 256; /* it is no 0 */
    e.quality = 20;
    REFUSED(o.encoded = true, o.encode = &e);
}

/* More than the message may have is not sent. */
static void open_is_cut(void **state)
{
    struct pelton_open_params p = {.n_blur = PELTON_MAX_BLURS + 1,
                                   .output = {.n_mean = 5, .crop = {.y = 1}}};
    Pelton__Open o;
    wire_open_from(&p, (struct wire_stretch){1, 2, 3}, &o);
    assert_int_equal(o.n_blur, 4 * PELTON_MAX_BLURS);
    assert_int_equal(o.n_mean, 4);
    assert_int_equal(o.n_scale, 4);
    assert_int_equal(o.n_crop, 4);
    assert_int_equal(o.parts, 2);
    assert_string_equal(o.uri, "");
}

/* Values that this library does not know mean the default. */
static void unknown_values(void **state)
{
    Pelton__Colour colour = PELTON__COLOUR__INIT;
    struct pelton_colour c;
    colour.range = PELTON_RANGE_FULL + 1;
    colour.source = PELTON_COLOUR_USER + 1;
    wire_colour_to(&colour, &c);
    assert_int_equal(c.range, PELTON_RANGE_UNKNOWN);
    assert_int_equal(c.source, PELTON_COLOUR_ASSUMED);
    wire_colour_to(NULL, &c);
    assert_int_equal(c.matrix, 0);
    Pelton__Info info = PELTON__INFO__INIT;
    struct pelton_info i;
    info.orientation = PELTON_TURNED_270 + 1;
    wire_info_to(&info, &i);
    assert_int_equal(i.orientation, 0);
    Pelton__Camera camera = PELTON__CAMERA__INIT;
    struct pelton_camera k;
    camera.ae_state = PELTON_AE_LOCKED + 1;
    wire_camera_to(&camera, &k);
    assert_int_equal(k.ae_state, PELTON_AE_SEARCHING);
    Pelton__StreamStatus stream = PELTON__STREAM_STATUS__INIT;
    struct pelton_stream_status s;
    stream.policy = PELTON_FIFO + 1;
    wire_stream_status_to(&stream, &s);
    assert_int_equal(s.policy, PELTON_LOSSLESS);
    assert_int_equal(wire_state_to((Pelton__SourceState__State)99), PELTON_SOURCE_CLOSED);
    assert_null(wire_type_body(0));
    assert_null(wire_type_name(10000));
    memset(i.codec, 'x', sizeof(i.codec));
    wire_copy(i.codec, sizeof(i.codec), NULL);
    assert_string_equal(i.codec, "");
}

static void failures(void **state)
{
    Pelton__Failure m = PELTON__FAILURE__INIT;
    struct pelton_failure f;
    m.code = 7; /* no failure is positive */
    wire_failure_to(&m, &f);
    assert_int_equal(f.code, PELTON_ERR_OTHER);
    assert_string_equal(f.cause, "no reason was given");
    wire_failure_to(NULL, &f);
    assert_int_equal(f.code, 0);
}

static void controls(void **state)
{
    static struct pelton_control out[PELTON_MAX_CONTROLS];
    double values[PELTON_CONTROL_VALUES + 1] = {1};
    Pelton__Control m = PELTON__CONTROL__INIT, *list[PELTON_MAX_CONTROLS + 1];
    for (unsigned i = 0; i <= PELTON_MAX_CONTROLS; i++)
        list[i] = &m;
    m.name = "ExposureTime";
    m.values = values;
    m.n_values = PELTON_CONTROL_VALUES;
    assert_int_equal(wire_controls_to(list, PELTON_MAX_CONTROLS, out), PELTON_OK);
    assert_int_equal(out[PELTON_MAX_CONTROLS - 1].n, PELTON_CONTROL_VALUES);
    assert_int_equal(wire_controls_to(list, PELTON_MAX_CONTROLS + 1, out), PELTON_ERR_USAGE);
    m.n_values++;
    assert_int_equal(wire_controls_to(list, 1, out), PELTON_ERR_USAGE);
    m.n_values = 0;
    m.values = NULL;
    assert_int_equal(wire_controls_to(list, 1, out), PELTON_OK);
    assert_int_equal(out[0].n, 0);
}

static void status_lists(void **state)
{
    static struct pelton_status out;
    Pelton__Quota quota = PELTON__QUOTA__INIT, *quotas[PELTON_QUOTAS_MOST + 1];
    Pelton__Process process = PELTON__PROCESS__INIT, *processes[PELTON_PROCESSES_MOST + 1];
    uint64_t memory[PELTON_MEMORY_MOST + 1];
    for (unsigned i = 0; i <= PELTON_QUOTAS_MOST; i++)
        quotas[i] = &quota;
    for (unsigned i = 0; i <= PELTON_PROCESSES_MOST; i++)
        processes[i] = &process;
    for (unsigned i = 0; i <= PELTON_MEMORY_MOST; i++)
        memory[i] = i + 1;
    Pelton__StatusReply m = PELTON__STATUS_REPLY__INIT;
    m.quotas = quotas;
    m.n_quotas = PELTON_QUOTAS_MOST + 1;
    m.processes = processes;
    m.n_processes = PELTON_PROCESSES_MOST + 1;
    m.worker_gpu = memory;
    m.n_worker_gpu = PELTON_MEMORY_MOST + 1;
    quota.limit = 5;
    process.pid = 6;
    wire_status_to(&m, &out);
    assert_int_equal(out.n_quotas, PELTON_QUOTAS_MOST);
    assert_int_equal(out.quotas[PELTON_QUOTAS_MOST - 1].limit, 5);
    assert_int_equal(out.n_processes, PELTON_PROCESSES_MOST);
    assert_int_equal(out.processes[PELTON_PROCESSES_MOST - 1].pid, 6);
    assert_int_equal(out.worker_gpu[PELTON_MEMORY_MOST - 1], PELTON_MEMORY_MOST);
    assert_int_equal(out.worker_host[0], 0);
}

/* Each field of a device's memory comes back; a handle of another kind, or a number of another
 * length, is refused. */
static void device_memory(void **state)
{
    struct pelton_device_memory in = {.handle_type = PELTON_HANDLE_OPAQUE_FD,
                                      .allocation_size = 1ULL << 40,
                                      .memory_type = 3,
                                      .dedicated = true,
                                      .luid_valid = true},
                                out;
    memset(in.device_uuid, 1, sizeof(in.device_uuid));
    memset(in.driver_uuid, 2, sizeof(in.driver_uuid));
    memset(in.device_luid, 3, sizeof(in.device_luid));
    Pelton__DeviceMemory m;
    wire_device_memory_from(&in, &m);
    assert_int_equal(wire_device_memory_to(&m, &out), PELTON_OK);
    assert_int_equal(out.fd, -1);
    assert_true(out.allocation_size == in.allocation_size && out.memory_type == 3);
    assert_true(out.dedicated && out.luid_valid);
    assert_memory_equal(out.device_uuid, in.device_uuid, sizeof(in.device_uuid));
    assert_memory_equal(out.driver_uuid, in.driver_uuid, sizeof(in.driver_uuid));
    assert_memory_equal(out.device_luid, in.device_luid, sizeof(in.device_luid));
    in.luid_valid = false;
    wire_device_memory_from(&in, &m);
    assert_int_equal(wire_device_memory_to(&m, &out), PELTON_OK);
    assert_false(out.luid_valid);
    m.device_luid = (ProtobufCBinaryData){sizeof(in.device_luid) - 1, in.device_luid};
    assert_int_equal(wire_device_memory_to(&m, &out), PELTON_ERR_PROTOCOL);
    m.device_luid.len = 0;
    m.driver_uuid.len--;
    assert_int_equal(wire_device_memory_to(&m, &out), PELTON_ERR_PROTOCOL);
    m.driver_uuid.len++;
    m.device_uuid.len = 0;
    assert_int_equal(wire_device_memory_to(&m, &out), PELTON_ERR_PROTOCOL);
    wire_device_memory_from(&in, &m);
    m.handle_type = PELTON_HANDLE_OPAQUE_FD + 1;
    assert_int_equal(wire_device_memory_to(&m, &out), PELTON_ERR_PROTOCOL);
}

static void blur_texts(void **state)
{
    struct pelton_rect list[PELTON_MAX_BLURS];
    char why[BLUR_WHY];
    uint32_t n = 0;
    assert_int_equal(blur_parse("1,2,3,4;5,6,7,65535", list, &n, why), 0);
    assert_int_equal(n, 2);
    assert_true(list[0].y == 2 && list[1].height == BLUR_MOST);
    static const char *const wrong[] = {
        "",        "1",       "1,2,3",   "1,2,3,",   "1,2,3,4;", "-1,2,3,4",    " 1,2,3,4",
        "1,2,0,4", "1,2,3,0", "1;2,3,4", "1,2,3,4x", "+1,2,3,4", "65536,0,1,1", "1,2,3,4,5"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(blur_parse(wrong[i], list, &n, why), -1);
        assert_non_null(strstr(why, "expected X,Y,WIDTH,HEIGHT"));
        assert_int_equal(n, 2); /* what was there stays */
    }
    while (n < PELTON_MAX_BLURS)
        assert_int_equal(blur_parse("0,0,1,1", list, &n, why), 0);
    assert_int_equal(blur_parse("0,0,1,1", list, &n, why), -1);
    assert_non_null(strstr(why, "more than 16"));
}

/* Access units that are encoded anew: other fields of an Open, and limits of the encoding. */
static void encoding_limits(void **state)
{
    struct pelton_open_params p;
#define ANEW(good, ...)                                                                            \
    do {                                                                                           \
        p = (struct pelton_open_params){.encoded = true, .encode.wanted = true};                   \
        __VA_ARGS__;                                                                               \
        assert_int_equal(wire_encoded_valid(&p), good);                                            \
    } while (0)
    ANEW(true, p.pix_fmt = "yuv420p");
    ANEW(true, p.pix_fmt = "gray");
    ANEW(true, p.max_fps = 5);
    ANEW(false, p.encoded = false);
    ANEW(false, p.pix_fmt = "nv12");
    ANEW(false, p.fields = true);
    ANEW(false, p.views = PELTON_VIEWS_BOTH);
    ANEW(false, p.devices = 2);
    ANEW(false, p.bench.transport = PELTON_DEVICE);
    ANEW(false, p.output.layout = PELTON_NHWC);
    ANEW(false, p.output.type = PELTON_F32);
    ANEW(false, p.output.batch = 1);
    ANEW(true, p.encode.rate = PELTON_RATE_BITS);
    ANEW(false, p.encode.rate = PELTON_RATE_BITS + 1);
    ANEW(false, p.encode.quality = 52);
    ANEW(false, p.encode.bit_rate = UINT64_MAX);
    ANEW(false, p.encode.buffer = UINT64_MAX);
    ANEW(true, p.encode.profile = PELTON_PROFILE_HIGH);
    ANEW(false, p.encode.profile = PELTON_PROFILE_HIGH + 1);
    ANEW(true, p.encode.level = 255);
    ANEW(false, p.encode.level = 256);
    ANEW(false, p.encode.references = UINT32_MAX);
    ANEW(false, p.encode.slices = UINT32_MAX);
#undef ANEW
    Pelton__Encoding m = PELTON__ENCODING__INIT;
    TAKEN(o.encoded = true, o.encode = &m);
    REFUSED(o.encode = &m);
    m.quality = 52;
    REFUSED(o.encoded = true, o.encode = &m);
}

/* A batch is for every frame of the base view. */
static void batches(void **state)
{
    struct pelton_open_params p;
#define BATCH(good, ...)                                                                           \
    do {                                                                                           \
        p = (struct pelton_open_params){.policy = PELTON_LOSSLESS, .output.batch = 2};             \
        __VA_ARGS__;                                                                               \
        assert_int_equal(wire_batch_valid(&p), good);                                              \
    } while (0)
    BATCH(true, p.devices = 1);
    BATCH(true, p.bench.transport = PELTON_DEVICE);
    BATCH(true, p.policy = PELTON_FIFO, p.output.batch = 1);
    BATCH(false, p.bench.transport = PELTON_DEVICE + 1);
    BATCH(false, p.policy = PELTON_FIFO);
    BATCH(false, p.views = PELTON_VIEWS_BOTH);
    BATCH(false, p.devices = 2);
#undef BATCH
    struct pelton_output o = {.filter = PELTON_NEAREST, .batch = PELTON_MOST_BATCH};
    assert_true(wire_output_valid(&o));
#define OUTPUT(...)                                                                                \
    do {                                                                                           \
        o = (struct pelton_output){__VA_ARGS__};                                                   \
        assert_false(wire_output_valid(&o));                                                       \
    } while (0)
    OUTPUT(.filter = PELTON_NEAREST + 1);
    OUTPUT(.layout = PELTON_NHWC + 1);
    OUTPUT(.type = PELTON_F32 + 1);
    OUTPUT(.batch = PELTON_MOST_BATCH + 1);
    OUTPUT(.n_mean = 5);
    OUTPUT(.crop = {.x = 1});
    OUTPUT(.crop = {.y = 1});
    OUTPUT(.n_mean = 1, .scale = {NAN});
#undef OUTPUT
    p = (struct pelton_open_params){.n_wanted = PELTON_MAX_WANTED + 1};
    assert_false(wire_wanted_valid(&p));
    p = (struct pelton_open_params){.n_wanted_us = PELTON_MAX_WANTED + 1};
    assert_false(wire_wanted_valid(&p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),         cmocka_unit_test(parts),
        cmocka_unit_test(blurs),           cmocka_unit_test(outputs),
        cmocka_unit_test(normalisation),   cmocka_unit_test(wanted),
        cmocka_unit_test(wanted_alone),    cmocka_unit_test(encoded),
        cmocka_unit_test(encoded_anew),    cmocka_unit_test(open_is_cut),
        cmocka_unit_test(unknown_values),  cmocka_unit_test(failures),
        cmocka_unit_test(controls),        cmocka_unit_test(status_lists),
        cmocka_unit_test(encoding_limits), cmocka_unit_test(batches),
        cmocka_unit_test(device_memory),   cmocka_unit_test(blur_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
