/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton record, and pelton pipe for access units: the bytes of an H.264 source as they came, in a
 * container. Nothing is decoded. Where an encoder is asked for, encode_run.c takes over.
 *
 * The happy path is: open the input, the daemon and the stream; add each unit to the output; end
 * it. The failure modes are those of the daemon, and of unit_output.h.
 */
#include "client/commands.h"
#include "client/encode_run.h"
#include "client/input.h"
#include "client/unit_output.h"

#include <stdio.h>
#include <string.h>

enum { SLICE_MS = 200 /* an interrupt is noticed at least so often */ };

struct record {
    struct client_options *o;
    struct failure *f;
    struct client_input source;
    struct pelton *conn;
    struct pelton_stream *stream;
    struct pelton_info info;
    struct unit_output out;
    int64_t begun_ns;
};

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
        rc = unit_output_add(&r->out, &unit);
        pelton_release(r->stream, &unit);
        if (rc)
            return rc;
        if (unit_output_done(&r->out))
            return 0;
    }
}

static int record_open_stream(struct record *r)
{
    struct pelton_open_params params;
    input_params(r->o, &r->source, &params);
    params.encoded = true;
    params.duration_us = -1; /* counted here, from the first unit */
    params.realtime = !strcmp(unit_output_format(&r->out), "rtsp");
    int rc = input_subscribe(r->o, r->conn, &params, r->source.name, &r->info, &r->stream, r->f);
    r->out.rate = r->info.avg_frame_rate;
    if (!rc)
        input_tell_sound(r->source.name, &r->info);
    return rc;
}

/* A file that is read must not be written. */
static int record_protect_input(const struct record *r)
{
    struct stat input;
    return r->source.fd >= 0 && fstat(r->source.fd, &input) == 0
               ? unit_output_protect(&r->out, &input)
               : 0;
}

static int record_open(struct record *r, bool files)
{
    int rc = unit_output_init(&r->out, r->o, r->o->write.path, files, r->f);
    rc = rc ? rc : unit_output_check(&r->out);
    rc = rc ? rc : input_open(r->o->inputs[0], &r->source, r->f);
    rc = rc ? rc : record_protect_input(r);
    rc = rc ? rc : connection_open(r->o, &r->conn, r->f);
    return rc ? rc : record_open_stream(r);
}

static void record_summary(const struct record *r)
{
    const struct unit_output *out = &r->out;
    double s = (double)(now_ns() - r->begun_ns) * 1e-9;
    char dropped[64] = "";
    if (out->dropped)
        snprintf(dropped, sizeof(dropped), ", %llu dropped", (unsigned long long)out->dropped);
    ui_log(LOG_INFO, "%llu access %s, %.2f MB, %u %s, %.2f s%s", (unsigned long long)out->units,
           out->units == 1 ? "unit" : "units", (double)unit_output_bytes(out) * 1e-6, out->out.made,
           ui_plural(out->out.made, "file"), s, dropped);
}

static int record_run(struct record *r, bool files)
{
    interrupts_catch();
    r->begun_ns = now_ns();
    int rc = record_open(r, files);
    rc = rc ? rc : record_loop(r);
    bool complete = rc == 0 || (interrupted() && !r->out.out.sink.error);
    int ended = unit_output_end(&r->out, complete && r->out.muxer);
    rc = rc ? rc : ended;
    if (complete && r->out.units && files)
        record_summary(r);
    pelton_stream_close(r->stream);
    pelton_close(r->conn);
    input_close(&r->source);
    return rc;
}

bool record_wanted(const struct client_options *o)
{
    return unit_output_wanted(o);
}

int record_units(struct client_options *o, bool files, struct failure *f)
{
    struct record r = {.o = o, .f = f, .source = {.fd = -1}};
    return o->encode.wanted ? encode_run(o, files, f) : record_run(&r, files);
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
