/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton decode: frames of a stream into a file, a pipe, or a comparison.
 *
 * The happy path is: input opened, output opened (so that a refusal costs no decoding), daemon,
 * stream, then for each frame receive, convert, compare, write, release; at the end the file is
 * finished whatever happened. The failure modes are those of the input, the daemon, the output and
 * the comparison; an interrupt ends the loop and leaves a finished file.
 */
#include "client/commands.h"
#include "client/convert.h"
#include "client/output.h"
#include "client/av_picture.h"
#include "client/side_data_json.h"
#include "client/input.h"
#include "client/video_sync.h"
#include "client/ui.h"
#include "client/verify.h"

#include <libavutil/avutil.h>
#include <libavutil/mathematics.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SLICE_MS = 200, /* how soon an interrupt is noticed while no frame comes */
    /* -t counts from the first frame, which may lie after -ss; the daemon counts from -ss */
    DURATION_MARGIN_US = 1000000,
    /* base frames that come before the second view's of an access unit at the most: more than a DPB
     * holds */
    SECOND_BEHIND = 64,
};

struct decode {
    struct client_options *o;
    struct failure *f;
    struct client_input source;
    struct pelton *conn;
    struct pelton_stream *stream;
    struct pelton_info info;
    struct pelton_device device;
    const struct output_format *format;
    struct client_output *out, *second;
    struct verify *verify;
    struct side_file *side;
    uint64_t second_frames;
    struct convert *convert;
    enum AVPixelFormat wanted; /* AV_PIX_FMT_NONE: as delivered */
    AVFrame *picture;
    struct sync sync, second_sync;
    struct progress progress;
    struct progress_state state;
    uint64_t corrupt, left_out;
    int64_t first_pts, start_ns;
    bool passed, second_passed; /* -t has */
    unsigned behind;            /* base frames, not wanted, since the second view's last one */
    uint32_t width, height;
};

/* ---- before the first frame ---- */

enum { OUTPUTS = 3 };

/* NULL: none. */
static void list_outputs(const struct decode *d, const char *out[OUTPUTS])
{
    out[0] = d->format->kind == OUTPUT_NULL ? NULL : d->o->write.path;
    out[1] = d->o->write.second_view;
    out[2] = d->o->write.side_data;
}

/* Standard output takes one thing. */
static bool stdout_taken_twice(const struct decode *d)
{
    const char *paths[OUTPUTS];
    unsigned taken = 0;
    list_outputs(d, paths);
    for (unsigned i = 0; i < OUTPUTS; i++)
        taken += paths[i] && !strcmp(paths[i], "-");
    return taken > 1;
}

static int check_outputs(struct decode *d)
{
    const struct client_options *o = d->o;
    const struct output_format *format = d->format;
    int rc = o->write.second_view
                 ? output_format_choose(o->write.format, o->write.second_view, &format, d->f)
                 : 0;
    if (rc == 0 && format != d->format) {
        return fail_with(d->f, X_USAGE,
                         "both views are written in one format; -o names the base view's file",
                         "--second-view %s: not in the format of the output, %s",
                         o->write.second_view, d->format->name);
    }
    if (rc == 0 && stdout_taken_twice(d)) {
        return fail_with(d->f, X_USAGE, "give one of them a file",
                         "two outputs go to standard output");
    }
    return rc;
}

static int check_options(struct decode *d)
{
    struct client_options *o = d->o;
    if (o->n_inputs == 0) {
        return fail_with(d->f, X_USAGE, "as in: pelton decode -i clip.mp4 -o out.y4m",
                         "no input: -i is missing");
    }
    if (!o->write.path && !o->write.format && !o->write.verify && !o->write.side_data)
        return fail_with(d->f, X_USAGE, "-o FILE, or -f framemd5 -, or -f null -", "no output");
    if (!o->write.path) {
        o->write.path = "-";
        o->write.format = o->write.format ? o->write.format : "null";
    }
    if (o->write.pix_fmt) {
        d->wanted = av_get_pix_fmt(o->write.pix_fmt);
        if (d->wanted == AV_PIX_FMT_NONE) {
            return fail_with(d->f, X_USAGE, "ffmpeg -pix_fmts lists the names",
                             "--pix-fmt %s: no such pixel format", o->write.pix_fmt);
        }
    }
    int rc = output_format_choose(o->write.format, o->write.path, &d->format, d->f);
    return rc ? rc : check_outputs(d);
}

static bool is_file(const struct stat *file, const char *path)
{
    struct stat other;
    return stat(path, &other) == 0 && S_ISREG(other.st_mode) && file->st_dev == other.st_dev &&
           file->st_ino == other.st_ino;
}

/* An output that is an input would be emptied before it is read. */
static int keep_inputs(const struct decode *d)
{
    const char *outputs[OUTPUTS];
    struct stat input, reference;
    bool is_open = d->source.fd >= 0 && fstat(d->source.fd, &input) == 0,
         verifies = d->o->write.verify && stat(d->o->write.verify, &reference) == 0;
    list_outputs(d, outputs);
    for (unsigned i = 0; i < OUTPUTS; i++) {
        const char *path = outputs[i];
        if (path &&
            ((is_open && is_file(&input, path)) || (verifies && is_file(&reference, path)))) {
            return fail_with(d->f, X_USAGE, "give the output another name",
                             "%s: is an input, and would be overwritten", path);
        }
        for (unsigned k = 0; path && strcmp(path, "-") != 0 && k < i; k++) {
            if (outputs[k] && strcmp(path, outputs[k]) == 0) {
                return fail_with(d->f, X_USAGE, "give each output a name of its own",
                                 "%s: two outputs", path);
            }
        }
    }
    return 0;
}

static int open_files(struct decode *d)
{
    const struct client_options *o = d->o;
    int rc = input_open(o->inputs[0], &d->source, d->f);
    rc = rc ? rc : keep_inputs(d);
    if (rc == 0 && o->write.verify)
        rc = verify_open(o->write.verify, &d->verify, d->f);
    if (rc == 0 && o->write.side_data)
        rc = side_file_open(o->write.side_data, o->write.overwrite, &d->side, d->f);
    return rc;
}

/* While our output waits: an answered question keeps the daemon from taking us for dead. */
static void keep_alive(void *ctx)
{
    struct decode *d = ctx;
    struct pelton_stats unused;
    if (d->stream)
        pelton_stats(d->stream, SLICE_MS, &unused);
}

static int open_output(struct decode *d)
{
    struct output_params params = {.format = d->format,
                                   .path = d->o->write.path,
                                   .overwrite = d->o->write.overwrite,
                                   .single = d->o->read.max_frames == 1,
                                   .idle = keep_alive,
                                   .idle_ctx = d};
    int rc = output_open(&params, &d->out, d->f);
    if (rc || !d->o->write.second_view)
        return rc;
    params.path = d->o->write.second_view;
    return output_open(&params, &d->second, d->f);
}

static int open_stream(struct decode *d)
{
    struct pelton_open_params params;
    /* where not, opening says why */
    bool known = pelton_device(d->conn, &d->device) == 0 && d->device.name[0];
    input_params(d->o, &d->source, &params);
    params.pix_fmt = d->wanted != AV_PIX_FMT_NONE ? av_get_pix_fmt_name(d->wanted) : NULL;
    params.any_pix_fmt = true; /* what the daemon cannot give out is converted here */
    params.fields = d->o->read.fields;
    params.views = d->o->write.second_view ? PELTON_VIEWS_BOTH : PELTON_VIEW_BASE;
    params.side_data = d->side ? PELTON_SIDE_ALL : PELTON_SIDE_NONE;
    params.devices = known ? d->device.devices : 1;
    if (d->format->synced)
        params.max_frames = 0; /* sync_frame may leave frames out */
    if (params.duration_us >= 0)
        params.duration_us += DURATION_MARGIN_US;
    int rc = input_subscribe(d->o, d->conn, &params, d->source.name, &d->info, &d->stream, d->f);
    if (rc)
        return rc;
    if (known)
        announce_device(&d->device);
    sync_init(&d->sync, &d->info, d->o->read.start_us);
    d->second_sync = d->sync;
    ui_log(LOG_VERBOSE, "%s: %s, %s %s, %s, %ux%u", d->source.name, d->info.container,
           d->info.codec, d->info.profile, d->info.pix_fmt, d->info.width, d->info.height);
    return 0;
}

/* What the progress is measured against. */
static void set_goal(struct decode *d)
{
    const struct client_options *o = d->o;
    struct pelton_rational rate = sync_frame_rate(&d->info);
    double duration = d->info.duration_us > 0 ? (double)d->info.duration_us * 1e-6 : 0;
    if (o->read.start_us > 0 && duration > 0) {
        duration -= (double)o->read.start_us * 1e-6;
        duration = duration > 0 ? duration : 0;
    }
    if (o->read.duration_us >= 0 &&
        (duration <= 0 || (double)o->read.duration_us * 1e-6 < duration))
        duration = (double)o->read.duration_us * 1e-6;
    double frames = d->info.frames > 0 && o->read.start_us < 0 && o->read.duration_us < 0
                        ? (double)d->info.frames
                        : duration * rate.num / rate.den;
    if (o->read.max_frames > 0 && (frames <= 0 || (double)o->read.max_frames < frames))
        frames = (double)o->read.max_frames;
    d->progress.total_frames = frames;
    d->progress.total_s = duration;
}

/* ---- frames ---- */

static void describe_frame(const struct decode *d, const AVFrame *frame, struct output_stream *s)
{
    struct pelton_rational rate = sync_frame_rate(&d->info);
    AVRational tick = {rate.den, rate.num};
    *s = (struct output_stream){
        .pix_fmt = frame->format,
        .width = frame->width,
        .height = frame->height,
        .time_base =
            d->format->synced || !strcmp(d->format->name, "yuv4mpegpipe") ? tick : frame->time_base,
        .frame_rate = {rate.num, rate.den},
        .sar = frame->sample_aspect_ratio,
        .primaries = frame->color_primaries,
        .transfer = frame->color_trc,
        .matrix = frame->colorspace,
        .range = frame->color_range,
        .siting = frame->chroma_location,
        .field_order = !frame->interlaced_frame ? AV_FIELD_PROGRESSIVE
                       : frame->top_field_first ? AV_FIELD_TB
                                                : AV_FIELD_BT,
    };
    s->sar = s->sar.num > 0 && s->sar.den > 0 ? s->sar : (AVRational){0, 1};
}

/* A stream without frames still has a header. */
static int begin_without_frame(struct decode *d)
{
    enum AVPixelFormat format =
        d->wanted != AV_PIX_FMT_NONE ? d->wanted : av_get_pix_fmt(d->info.pix_fmt);
    if (!d->out || output_begun(d->out) || format == AV_PIX_FMT_NONE || d->info.width == 0 ||
        d->info.width > 65536 || d->info.height > 65536) {
        return 0;
    }
    AVFrame *p = d->picture;
    p->format = format;
    p->width = (int)d->info.width;
    p->height = (int)d->info.height;
    p->time_base = (AVRational){d->info.time_base.num, d->info.time_base.den};
    p->sample_aspect_ratio = (AVRational){d->info.sar.num, d->info.sar.den};
    struct output_stream s;
    describe_frame(d, p, &s);
    return output_begin(d->out, &s, d->f);
}

/* -t, counted from the first frame as ffmpeg counts it. */
static bool duration_passed(const struct decode *d, const struct pelton_frame *frame)
{
    if (d->o->read.duration_us < 0 || frame->pts == INT64_MIN || d->first_pts == INT64_MIN ||
        frame->time_base.num <= 0 || frame->time_base.den <= 0) {
        return false;
    }
    AVRational tb = {frame->time_base.num, frame->time_base.den};
    return frame->pts - d->first_pts >= av_rescale_q(d->o->read.duration_us, AV_TIME_BASE_Q, tb);
}

/* When the frame is written, in the muxer's time base for synced formats, else in the frame's own.
 * count: frames before it. */
static bool frame_time(struct decode *d, struct sync *sync, uint64_t count,
                       const struct pelton_frame *in, int64_t *out)
{
    if (d->format->synced)
        return sync_frame(sync, in->pts, in->duration, out);
    if (!strcmp(d->format->name, "matroska")) {
        /* equal ones are moved apart by output_frame */
        *out = in->pts == INT64_MIN ? 0 : in->pts + sync->offset;
    } else {
        *out = (int64_t)count;
    }
    return true;
}

static int write_picture(struct decode *d, struct client_output *out, const AVFrame *picture)
{
    if (!output_begun(out)) {
        struct output_stream s;
        describe_frame(d, picture, &s);
        int rc = output_begin(out, &s, d->f);
        if (rc)
            return rc;
    }
    return output_frame(out, picture, d->f);
}

static void account(struct decode *d, const struct pelton_frame *frame)
{
    d->state.frames++;
    d->state.dropped =
        frame->dropped_source + frame->dropped_decoder + frame->dropped_client + d->left_out;
    d->corrupt += (frame->flags & PELTON_FRAME_CORRUPT) != 0;
    d->width = frame->width;
    d->height = frame->height;
    d->state.bytes = d->out ? output_bytes(d->out) : 0;
    struct pelton_rational rate = sync_frame_rate(&d->info);
    double media = (double)d->state.frames * rate.den / rate.num;
    if (frame->pts != INT64_MIN && frame->time_base.den > 0 && d->first_pts != INT64_MIN) {
        double at =
            (double)(frame->pts - d->first_pts) * frame->time_base.num / frame->time_base.den;
        media = at > d->state.media_s ? at : d->state.media_s;
    }
    d->state.media_s = media;
}

/* As the user wants its pixels: *picture becomes d->picture or another one. */
static int in_wanted_format(struct decode *d, const struct pelton_frame *frame,
                            const AVFrame **picture)
{
    *picture = d->picture;
    if (d->wanted == AV_PIX_FMT_NONE || d->picture->format == d->wanted)
        return 0;
    if (!d->convert)
        ui_log(LOG_INFO, "%s is converted to %s in the client", frame->pix_fmt,
               d->o->write.pix_fmt);
    return convert_frame(&d->convert, d->picture, d->wanted, picture, d->f);
}

/* Whether an output has all it is to have. */
static bool base_done(const struct decode *d)
{
    return d->passed || (d->o->read.max_frames > 0 && d->state.frames >= d->o->read.max_frames);
}

static bool second_done(const struct decode *d)
{
    return !d->second || d->second_passed ||
           (d->o->read.max_frames > 0 && d->second_frames >= d->o->read.max_frames);
}

static int take_second(struct decode *d, const struct pelton_frame *frame)
{
    const AVFrame *picture;
    int64_t at;
    d->behind = 0;
    d->second_passed |= duration_passed(d, frame);
    if (second_done(d))
        return 0;
    int rc = picture_borrow(frame, d->picture, d->f);
    if (rc || !frame_time(d, &d->second_sync, d->second_frames, frame, &at))
        return rc;
    rc = in_wanted_format(d, frame, &picture);
    if (rc == 0) {
        ((AVFrame *)picture)->pts = at;
        rc = write_picture(d, d->second, picture);
    }
    if (rc == 0 && d->side)
        rc = side_file_frame(d->side, d->second_frames, frame, d->f);
    d->second_frames += rc == 0;
    d->corrupt += rc == 0 && (frame->flags & PELTON_FRAME_CORRUPT);
    return rc;
}

static int take_base(struct decode *d, const struct pelton_frame *frame)
{
    const AVFrame *picture;
    int64_t at;
    if (d->first_pts == INT64_MIN)
        d->first_pts = frame->pts;
    d->passed |= duration_passed(d, frame);
    if (base_done(d)) {
        d->behind++;
        return 0;
    }
    int rc = picture_borrow(frame, d->picture, d->f);
    if (rc)
        return rc;
    if (!frame_time(d, &d->sync, d->state.frames, frame, &at)) {
        d->left_out++;
        return 0;
    }
    rc = in_wanted_format(d, frame, &picture);
    if (rc == 0 && d->verify)
        rc = verify_frame(d->verify, picture, d->f);
    if (rc == 0) {
        ((AVFrame *)picture)->pts = at;
        rc = write_picture(d, d->out, picture);
    }
    if (rc == 0 && d->side)
        rc = side_file_frame(d->side, d->state.frames, frame, d->f);
    if (rc == 0)
        account(d, frame);
    return rc;
}

/* The next frame, in slices of time so that an interrupt is noticed: 1, 0 at the end, or an exit
 * code below 0. */
static int next_frame(struct decode *d, struct pelton_frame *frame)
{
    int64_t limit =
        timeout_ms(d->o) < 0 ? INT64_MAX : now_ns() + (int64_t)timeout_ms(d->o) * 1000000;
    for (;;) {
        if (interrupted())
            return -interrupted();
        int rc = pelton_next(d->stream, SLICE_MS, frame);
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
        int rc = next_frame(d, &frame);
        if (rc <= 0)
            return -rc;
        if (frame.received_ns < d->o->read.not_before_ns) {
            pelton_release(d->stream, &frame);
            continue;
        }
        rc = frame.view && d->second ? take_second(d, &frame) : take_base(d, &frame);
        pelton_release(d->stream, &frame);
        if (rc)
            return rc;
        progress_update(&d->progress, &d->state);
        if (base_done(d) && (second_done(d) || d->behind >= SECOND_BEHIND))
            return 0;
    }
}

/* ---- after the last frame ---- */

static void summary(const struct decode *d)
{
    double s = (double)(now_ns() - d->start_ns) * 1e-9;
    char verified[64] = "";
    if (d->verify) {
        snprintf(verified, sizeof(verified), ", %llu verified",
                 (unsigned long long)verify_frames(d->verify));
    }
    struct pelton_rational rate = sync_frame_rate(&d->info);
    double media = (double)d->state.frames * rate.den / rate.num;
    ui_log(LOG_INFO, "%llu frames, %ux%u, %.2f s, %.1f fps (%.2fx), %llu corrupt%s, %s%s",
           (unsigned long long)d->state.frames, d->width ? d->width : d->info.width,
           d->height ? d->height : d->info.height, s, (double)d->state.frames / s, media / s,
           (unsigned long long)d->corrupt, verified,
           d->device.name[0] ? d->device.name : "unknown device",
           d->device.software ? " (software)" : "");
}

static int run(struct decode *d)
{
    int rc = open_files(d);
    rc = rc ? rc : connection_open(d->o, &d->conn, d->f);
    rc = rc ? rc : open_stream(d);
    rc = rc ? rc : open_output(d);
    if (rc)
        return rc;
    d->start_ns = now_ns();
    progress_start(&d->progress, d->o->write.progress);
    set_goal(d);
    rc = decode_loop(d);
    if (rc == 0 && d->verify)
        rc = verify_end(d->verify, d->f);
    int header = begin_without_frame(d);
    rc = rc ? rc : header;
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
    if (d->left_out > 0) {
        ui_log(LOG_WARNING, "%llu frames left out: their time had passed",
               (unsigned long long)d->left_out);
    }
    summary(d);
    return rc ? rc : finish;
}

int cmd_decode(struct client_options *o, struct failure *f)
{
    struct decode d = {.o = o,
                       .f = f,
                       .source = {.fd = -1},
                       .wanted = AV_PIX_FMT_NONE,
                       .first_pts = INT64_MIN,
                       .picture = av_frame_alloc()};
    int rc = d.picture ? check_options(&d)
                       : fail_with(f, X_OTHER, "close other programs", "out of memory");
    if (rc == 0) {
        interrupts_catch();
        rc = run(&d);
    }
    struct failure ignored = {0};
    output_close(d.out, &ignored);
    output_close(d.second, &ignored);
    side_file_close(d.side, &ignored);
    pelton_stream_close(d.stream);
    pelton_close(d.conn);
    input_close(&d.source);
    verify_close(d.verify);
    convert_free(d.convert);
    if (d.picture)
        memset(d.picture->data, 0, sizeof(d.picture->data)); /* borrowed */
    av_frame_free(&d.picture);
    return rc;
}
