/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton decode: frames of a stream into a file, a pipe, or a comparison.
 *
 * The happy path is: open input, daemon, stream and output; receive, write and release each frame;
 * finish the file. The failure modes are those of the input, the daemon, the output and the
 * comparison. The file is finished after any of them. An interrupt ends the loop and leaves a
 * finished file.
 */
#include "client/commands.h"
#include "client/decode.h"
#include "proto/frame_rate.h"
#include "proto/start_trace.h"

#include <stdio.h>
#include <string.h>

/* Waits for the next frame, in slices so that an interrupt is noticed. Returns 1, 0 at the end, or
 * a negative exit code. */
static int decode_next_frame(struct decode *d, struct pelton_frame *frame)
{
    int64_t limit =
        timeout_ms(d->o) < 0 ? INT64_MAX : now_ns() + (int64_t)timeout_ms(d->o) * 1000000;
    for (;;) {
        if (interrupted())
            return -interrupted();
        int rc = pelton_next(d->stream, DECODE_SLICE_MS, frame);
        if (rc >= 0)
            return rc;
        if (rc != PELTON_ERR_TIMEOUT) {
            if (interrupted()) /* a terminal's SIGINT also ends a private daemon */
                return -interrupted();
            return -fail_pelton(d->f, d->conn, d->source.name);
        }
        if (now_ns() >= limit) {
            return -fail_with(d->f, X_TIMEOUT, "--timeout allows more time; 0 waits for ever",
                              "%s: no frame within %g s", d->source.name, d->o->connect.timeout);
        }
        progress_update(&d->progress, &d->state);
    }
}

static int decode_loop(struct decode *d)
{
    struct pelton_frame frame;
    for (;;) {
        int rc = decode_next_frame(d, &frame);
        if (rc <= 0)
            return -rc;
        START_TRACE_FIRST("first frame");
        if (frame.received_ns < d->o->read.not_before_ns) {
            pelton_release(d->stream, &frame);
            continue;
        }
        rc = decode_frame(d, &frame);
        pelton_release(d->stream, &frame);
        if (rc)
            return rc;
        progress_update(&d->progress, &d->state);
        if (decode_done(d))
            return 0;
    }
}

/* ---- after the last frame ---- */

static void decode_print_summary(const struct decode *d)
{
    double s = (double)(now_ns() - d->start_ns) * 1e-9;
    char verified[64] = "", dropped[64] = "";
    if (d->state.dropped > 0)
        snprintf(dropped, sizeof(dropped), ", %llu dropped", (unsigned long long)d->state.dropped);
    if (d->verify) {
        snprintf(verified, sizeof(verified), ", %llu verified",
                 (unsigned long long)verify_frames(d->verify));
    }
    struct pelton_rational rate = info_frame_rate(&d->info);
    double media = (double)d->state.frames * rate.den / rate.num;
    ui_log(LOG_INFO, "%llu %s, %ux%u, %.2f s, %.1f fps (%.2fx)%s, %llu corrupt%s, %s%s",
           (unsigned long long)d->state.frames, ui_plural(d->state.frames, "frame"),
           d->width ? d->width : d->info.width, d->height ? d->height : d->info.height, s,
           (double)d->state.frames / s, media / s, dropped, (unsigned long long)d->corrupt,
           verified, d->device.name[0] ? d->device.name : "unknown device",
           device_kind(&d->device));
}

/* Faults of the input that cost no frame. */
static void decode_print_warnings(struct decode *d)
{
    struct pelton_stats stats = {0};
    if (d->sync.jumps > 0) {
        ui_log(LOG_WARNING, "%s: the clock jumps %lld %s; the frames follow each other",
               d->source.name, (long long)d->sync.jumps,
               ui_plural((uint64_t)d->sync.jumps, "time"));
    }
    if (d->mended > 0) {
        ui_log(LOG_WARNING, "%s: the time of %llu %s goes back, and is mended", d->source.name,
               (unsigned long long)d->mended, ui_plural(d->mended, "frame"));
    }
    if (!d->stream || interrupted() || pelton_stats(d->stream, DECODE_SLICE_MS, &stats) < 0)
        return;
    if (stats.warnings & PELTON_WARN_TRUNCATED) {
        ui_log(LOG_WARNING, "%s: cut off: the file ends before its container says so",
               d->source.name);
    }
    if (stats.warnings & PELTON_WARN_VUI)
        ui_log(LOG_WARNING, "%s: its VUI is broken, and left out", d->source.name);
}

/* A start beyond the end is a mistake of its own. Within the file options may leave no frame. */
static int decode_check_start(const struct decode *d)
{
    int64_t start_us = d->o->read.start_us, length_us = d->info.duration_us;
    bool partial = d->o->read.duration_us > 0 || d->o->read.skip || d->o->read.max_fps > 0 ||
                   d->o->read.on_error == PELTON_ON_ERROR_DROP;
    char hint[80] = "pelton probe tells the duration";
    if (d->state.frames > 0 || start_us <= 0)
        return 0;
    if (partial && (length_us <= 0 || start_us < length_us))
        return 0;
    if (length_us > 0)
        snprintf(hint, sizeof(hint), "the stream lasts %.3f s", (double)length_us * 1e-6);
    return fail_with(d->f, X_INPUT, hint, "%s: no frame at or after -ss %g", d->source.name,
                     (double)start_us * 1e-6);
}

static int decode_run(struct decode *d)
{
    int rc = decode_open_files(d);
    start_trace("files are open");
    rc = rc ? rc : connection_open(d->o, &d->conn, d->f);
    rc = rc ? rc : decode_open_stream(d);
    start_trace("the stream is open");
    rc = rc ? rc : decode_open_outputs(d);
    if (rc)
        return rc;
    d->start_ns = now_ns();
    progress_start(&d->progress, d->o->write.progress,
                   d->progress_file ? d->progress_file : stderr);
    decode_set_goal(d);
    rc = decode_loop(d);
    start_trace("last frame");
    if (rc == 0)
        rc = decode_check_start(d);
    if (rc == 0 && d->verify)
        rc = verify_end(d->verify, d->f);
    int sheet = decode_write_sheet(d), header = decode_begin_without_frame(d);
    rc = rc ? rc : sheet ? sheet : header;
    int finish = output_close(d->out, d->f), second = output_close(d->second, d->f);
    d->out = NULL;
    finish = finish ? finish : second;
    if (rc == 0 && finish == 0 && d->o->write.second_view && d->second_frames == 0) {
        finish = fail_with(d->f, X_INPUT, "leave --second-view out",
                           "%s: there is no second view in it", d->source.name);
    }
    d->second = NULL;
    int side = side_file_close(d->side, d->f);
    d->side = NULL;
    finish = finish ? finish : side;
    progress_end(&d->progress, &d->state);
    decode_print_warnings(d);
    rc = rc ? rc : finish;
    if (rc != X_SIGPIPE)
        decode_print_summary(d);
    return rc;
}

int cmd_decode(struct client_options *o, struct failure *f)
{
    struct decode d = {.o = o,
                       .f = f,
                       .source = {.fd = -1},
                       .wanted = AV_PIX_FMT_NONE,
                       .first_pts = INT64_MIN,
                       .picture = av_frame_alloc()};
    int rc = d.picture ? decode_check_options(&d)
                       : fail_with(f, X_OTHER, "close other programs", "out of memory");
    if (rc == 0) {
        interrupts_catch();
        rc = decode_run(&d);
    }
    struct failure ignored = {0};
    output_close(d.out, &ignored);
    output_close(d.second, &ignored);
    side_file_close(d.side, &ignored);
    pelton_stream_close(d.stream);
    start_trace("the stream is closed");
    pelton_close(d.conn);
    start_trace("the connection is closed");
    input_close(&d.source);
    verify_close(d.verify);
    convert_free(d.convert);
    turn_clear(&d.turn);
    if (d.progress_file && d.progress_file != stdout)
        fclose(d.progress_file);
    contact_sheet_close(d.sheet);
    if (d.picture)
        memset(d.picture->data, 0, sizeof(d.picture->data)); /* borrowed */
    av_frame_free(&d.picture);
    return rc;
}
