/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton record, and pelton pipe for access units: the bytes of an H.264 source as they came, in a
 * container. Nothing is decoded. With an encoder the units are made of the source's frames.
 *
 * The happy path is: open the input, the daemon and the stream; add each unit to the muxer; end the
 * file. The failure modes are those of the daemon and the encoder, a full disk, and a server that
 * goes. What was written can be played after each of them.
 */
#include "client/commands.h"
#include "client/frame_encoder.h"
#include "client/input.h"
#include "client/output_check.h"
#include "client/record_file.h"
#include "client/video_sync.h"
#include "muxer/unit_muxer.h"

#include <errno.h>
#include <libavutil/error.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SLICE_MS = 200 /* an interrupt is noticed at least so often */ };

struct unit_format {
    const char *name, *alias, *extensions; /* as output_format */
    bool shared;                           /* raw frames have it, too: -c copy chooses */
};

static const struct unit_format unit_formats[] = {
    {"mp4", NULL, "mp4 m4v mov", false}, {"matroska", "mkv", "mkv", true},
    {"mpegts", "ts", "ts m2ts", false},  {"h264", "264", "264 h264 avc", false},
    {"rtsp", NULL, "", false},
};
enum { N_FORMATS = sizeof(unit_formats) / sizeof(unit_formats[0]) };

struct record {
    struct client_options *o;
    struct failure *f;
    const struct unit_format *format;
    bool files; /* of their own; else standard output or a server */
    struct client_input source;
    struct pelton *conn;
    struct pelton_stream *stream;
    struct pelton_info info;
    struct record_files out;
    struct unit_muxer *muxer;
    struct frame_encoder *encoder; /* NULL: units are the source's */
    struct progress progress;      /* of the encoder */
    struct progress_state state;
    uint64_t units, dropped, bytes;
    int64_t done_us;    /* length of the files before */
    int64_t segment_us; /* time stamp at which the present one begins */
    int64_t begun_ns;
};

/* ---- formats ---- */

static const struct unit_format *format_named(const char *name)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (!strcmp(name, unit_formats[i].name) ||
            (unit_formats[i].alias && !strcmp(name, unit_formats[i].alias)))
            return &unit_formats[i];
    return NULL;
}

static const struct unit_format *format_of_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    if (!strncmp(path, "rtsp://", 7))
        return format_named("rtsp");
    for (int i = 0; dot && i < N_FORMATS; i++)
        if (output_name_in(unit_formats[i].extensions, dot + 1))
            return &unit_formats[i];
    return NULL;
}

bool record_wanted(const struct client_options *o)
{
    const struct unit_format *format = o->write.format ? format_named(o->write.format)
                                       : o->write.path ? format_of_path(o->write.path)
                                                       : NULL;
    return o->write.copy || o->encode.wanted || (format && !format->shared);
}

static int format_choose(struct record *r)
{
    const struct write_options *w = &r->o->write;
    r->format = w->format ? format_named(w->format) : format_of_path(w->path);
    if (r->format)
        return 0;
    return fail_with(r->f, X_USAGE, "-f is one of mp4, matroska (mkv), mpegts (ts), h264, rtsp",
                     "%s: no container for encoded video", w->format ? w->format : w->path);
}

/* ---- bytes ---- */

static bool bytes_write(void *ctx, const uint8_t *bytes, size_t size)
{
    struct record *r = ctx;
    return sink_write(&r->out.sink, bytes, size);
}

static int64_t bytes_seek(void *ctx, int64_t offset, int whence)
{
    const struct record *r = ctx;
    return lseek(r->out.sink.fd, offset, whence);
}

static bool record_stopped(void *ctx)
{
    return interrupted() != 0;
}

static int record_fail(struct record *r, int error)
{
    const char *name = r->files                         ? r->out.part
                       : !strcmp(r->o->write.path, "-") ? "standard output"
                                                        : r->o->write.path;
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    if (interrupted())
        return interrupted();
    if (r->out.sink.error)
        return fail_errno(r->f, X_OTHER, r->out.sink.error, name);
    av_strerror(error, text, sizeof(text));
    return fail_with(r->f, X_OTHER,
                     strcmp(r->format->name, "rtsp") ? "try another container"
                                                     : "check that the server runs and lets "
                                                       "streams be published at this address",
                     "%s: %s cannot be written: %s", name, r->format->name, text);
}

/* ---- files ---- */

static int muxer_end(struct record *r, bool complete)
{
    int rc = r->muxer ? unit_muxer_end(r->muxer) : 0;
    bool good = rc >= 0 && !r->out.sink.error;
    int code = good || !complete ? 0 : record_fail(r, rc);
    r->bytes += r->out.sink.bytes;
    r->out.sink.bytes = 0;
    unit_muxer_free(r->muxer);
    r->muxer = NULL;
    int closed = r->files ? record_files_close(&r->out, complete && good, r->f) : 0;
    return code ? code : closed;
}

static int muxer_begin(struct record *r, const struct pelton_frame *unit)
{
    bool rtsp = !strcmp(r->format->name, "rtsp");
    struct unit_muxer_params params = {.format = r->format->name,
                                       .address = rtsp ? r->o->write.path : NULL,
                                       .each_unit = !r->files,
                                       .rate = r->info.avg_frame_rate,
                                       .start_us = r->files ? 0 : r->done_us,
                                       .write = bytes_write,
                                       .seek = r->files ? bytes_seek : NULL,
                                       .stopped = record_stopped,
                                       .ctx = r};
    int rc = r->files ? record_files_open(&r->out, r->f) : 0;
    if (rc)
        return rc;
    int error = unit_muxer_new(&params, unit, &r->muxer);
    r->segment_us = params.start_us;
    return error < 0 ? record_fail(r, error) : 0;
}

/* A file ends at a key picture: after its time, and where the stream has become another one. */
static bool muxer_passed(const struct record *r, const struct pelton_frame *unit)
{
    bool key = unit->flags & PELTON_FRAME_KEY;
    int64_t us = unit_muxer_next_us(r->muxer) - r->segment_us;
    return key &&
           (!unit_muxer_fits(r->muxer, unit) || (r->out.segments && us >= r->o->write.segment_us));
}

static int record_unit(struct record *r, const struct pelton_frame *unit)
{
    int rc = 0;
    if (r->muxer && muxer_passed(r, unit)) {
        r->done_us += unit_muxer_next_us(r->muxer) - r->segment_us;
        rc = muxer_end(r, true);
    }
    if (!rc && !r->muxer)
        rc = muxer_begin(r, unit);
    if (rc)
        return rc;
    int error = unit_muxer_add(r->muxer, unit);
    r->units++;
    r->dropped = unit->dropped_source + unit->dropped_decoder + unit->dropped_client;
    return error < 0 || r->out.sink.error ? record_fail(r, error) : 0;
}

/* ---- the stream ---- */

/* A frame or a unit, as the stream was asked for. */
static int record_frame(struct record *r, const struct pelton_frame *frame)
{
    struct pelton_frame unit;
    int rc = r->encoder ? frame_encoder_push(r->encoder, frame, &unit, r->f) : 0;
    rc = rc ? rc : record_unit(r, r->encoder ? &unit : frame);
    if (rc || !r->encoder)
        return rc;
    r->state = (struct progress_state){.frames = r->units,
                                       .dropped = r->dropped,
                                       .bytes = r->bytes + r->out.sink.bytes,
                                       .media_s = (double)unit_muxer_next_us(r->muxer) * 1e-6};
    progress_update(&r->progress, &r->state);
    return 0;
}

/* All that was asked for has come. */
static bool record_is_done(const struct record *r)
{
    const struct read_options *read = &r->o->read;
    int64_t us = r->done_us + unit_muxer_next_us(r->muxer) - r->segment_us;
    return (read->duration_us >= 0 && us >= read->duration_us) ||
           (read->max_frames && r->units >= read->max_frames);
}

/* 1, 0 at the end, or a negative exit code. */
static int record_next(struct record *r, struct pelton_frame *unit)
{
    int64_t limit =
        timeout_ms(r->o) < 0 ? INT64_MAX : now_ns() + (int64_t)timeout_ms(r->o) * 1000000;
    for (;;) {
        int rc = interrupted() ? 0 : pelton_next(r->stream, SLICE_MS, unit);
        if (interrupted())
            return -interrupted();
        if (rc >= 0)
            return rc;
        if (rc != PELTON_ERR_TIMEOUT)
            return -fail_pelton(r->f, r->conn, r->source.name);
        if (now_ns() >= limit)
            return -fail_with(r->f, X_TIMEOUT, "--timeout allows more time; 0 waits for ever",
                              "%s: nothing within %g s", r->source.name, r->o->connect.timeout);
    }
}

/* An interrupt is how a recording of a live source ends. */
static int record_loop(struct record *r)
{
    struct pelton_frame unit;
    for (;;) {
        int rc = record_next(r, &unit);
        if (rc <= 0)
            return -rc;
        rc = record_frame(r, &unit);
        pelton_release(r->stream, &unit);
        if (rc)
            return rc;
        if (record_is_done(r))
            return 0;
    }
}

static int record_open_stream(struct record *r)
{
    struct pelton_open_params params;
    input_params(r->o, &r->source, &params);
    params.encoded = !r->o->encode.wanted;
    params.duration_us = -1; /* counted here, from the first unit */
    if (r->o->encode.wanted)
        frame_encoder_ask(r->o, &params);
    params.realtime = !strcmp(r->format->name, "rtsp");
    return input_subscribe(r->o, r->conn, &params, r->source.name, &r->info, &r->stream, r->f);
}

static int record_open_encoder(struct record *r)
{
    bool apart = !strcmp(r->format->name, "mp4") || !strcmp(r->format->name, "matroska");
    uint64_t most = r->o->read.max_frames;
    progress_start(&r->progress, r->o->write.progress, stderr);
    r->progress.total_frames = most ? (double)most : (double)r->info.frames;
    return frame_encoder_new(r->o, sync_frame_rate(&r->info), apart, &r->encoder, r->f);
}

/* A file that is read must not be written. */
static int record_protect_input(const struct record *r)
{
    struct stat input;
    if (r->source.fd < 0 || !r->files || fstat(r->source.fd, &input) < 0 ||
        !output_is_file(&input, r->out.path))
        return 0;
    return fail_with(r->f, X_USAGE, "give the output another name",
                     "%s: is the input, and would be overwritten", r->out.path);
}

static int record_open(struct record *r)
{
    int rc = format_choose(r);
    rc = rc || !r->o->encode.wanted ? rc : frame_encoder_check(r->o, r->f);
    if (rc == 0 && r->files)
        rc = r->out.segments ? record_files_begin(&r->out, r->f)
                             : output_check_path(r->out.path, &r->out.overwrite, r->f);
    rc = rc ? rc : input_open(r->o->inputs[0], &r->source, r->f);
    rc = rc ? rc : record_protect_input(r);
    rc = rc ? rc : connection_open(r->o, &r->conn, r->f);
    rc = rc ? rc : record_open_stream(r);
    return rc || !r->o->encode.wanted ? rc : record_open_encoder(r);
}

static void encoder_summary(const struct record *r)
{
    struct frame_encoder_sums sums = frame_encoder_sums(r->encoder);
    double s = (double)(now_ns() - r->begun_ns) * 1e-9,
           media = (double)(r->done_us + unit_muxer_next_us(r->muxer) - r->segment_us) * 1e-6;
    ui_log(LOG_INFO, "%llu pictures, %llu key, mean QP %.1f, %.1f kbit/s, %.1f fps, %llu corrupt",
           (unsigned long long)sums.pictures, (unsigned long long)sums.keys,
           (double)sums.qp / (double)sums.pictures, 8e-3 * (double)sums.bytes / media,
           (double)sums.pictures / s, (unsigned long long)sums.corrupt);
    if (sums.repeated)
        ui_log(LOG_WARNING, "%llu pictures repeat the one before: QP 51 was above the rate",
               (unsigned long long)sums.repeated);
}

static void record_summary(const struct record *r)
{
    double s = (double)(now_ns() - r->begun_ns) * 1e-9;
    char dropped[64] = "";
    if (r->dropped)
        snprintf(dropped, sizeof(dropped), ", %llu dropped", (unsigned long long)r->dropped);
    ui_log(LOG_INFO, "%llu access %s, %.2f MB, %u %s, %.2f s%s", (unsigned long long)r->units,
           r->units == 1 ? "unit" : "units", (double)r->bytes * 1e-6, r->out.made,
           ui_plural(r->out.made, "file"), s, dropped);
}

static int record_run(struct record *r)
{
    interrupts_catch();
    r->begun_ns = now_ns();
    int rc = record_open(r);
    rc = rc ? rc : record_loop(r);
    bool complete = rc == 0 || (interrupted() && !r->out.sink.error);
    if (r->encoder)
        progress_end(&r->progress, &r->state);
    if (r->encoder && r->muxer && complete)
        encoder_summary(r);
    int ended = muxer_end(r, complete && r->muxer);
    rc = rc ? rc : ended;
    if (complete && r->units && r->files)
        record_summary(r);
    frame_encoder_free(r->encoder);
    pelton_stream_close(r->stream);
    pelton_close(r->conn);
    input_close(&r->source);
    return rc;
}

int record_units(struct client_options *o, bool files, struct failure *f)
{
    struct record r = {.o = o,
                       .f = f,
                       .files = files,
                       .source = {.fd = -1},
                       .out = {.path = o->write.path,
                               .segments = o->write.segment_us > 0,
                               .keep = o->write.keep,
                               .max_size = o->write.max_size,
                               .overwrite = o->write.overwrite,
                               .sink = {.fd = files ? -1 : STDOUT_FILENO}}};
    return record_run(&r);
}

int cmd_record(struct client_options *o, struct failure *f)
{
    char name[512];
    if (!o->write.path || !strcmp(o->write.path, "-")) {
        return fail_with(f, X_USAGE,
                         "as in: pelton record front -o out.mp4; pelton pipe writes to "
                         "standard output",
                         "no output: -o FILE is missing");
    }
    if ((o->write.keep || o->write.max_size) && !o->write.segment_us) {
        return fail_with(f, X_USAGE, "as in: --segment 600 --keep 144",
                         "--keep and --max-size choose among segments, and there are none");
    }
    if (!o->read.policy_given)
        o->read.policy = PELTON_LOSSLESS;
    int rc = options_check_encoding(o, f);
    rc = rc ? rc : input_resolve_name(o, name, sizeof(name), f);
    return rc ? rc : record_units(o, true, f);
}
