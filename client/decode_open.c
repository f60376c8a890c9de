/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton decode before the first frame: options are checked, then files, stream and outputs opened.
 * A refusal costs no decoding.
 */
#include "client/decode.h"
#include "proto/frame_rate.h"
#include "proto/near_name.h"
#include "client/output_check.h"
#include "client/output_image.h"

#include <errno.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    /* -t counts from the first frame, which may lie after -ss; the daemon counts from -ss */
    DURATION_MARGIN_US = 1000000
};

enum { OUTPUTS = 4 };

/* NULL: none. */
static void decode_list_outputs(const struct decode *d, const char *out[OUTPUTS])
{
    out[0] = d->format->kind == OUTPUT_NULL ? NULL : d->o->write.path;
    out[1] = d->o->write.second_view;
    out[2] = d->o->write.side_data;
    out[3] = d->o->write.progress_path;
}

/* Standard output takes only one output. */
static bool decode_uses_stdout_twice(const struct decode *d)
{
    const char *paths[OUTPUTS];
    unsigned taken = 0;
    decode_list_outputs(d, paths);
    for (unsigned i = 0; i < OUTPUTS; i++)
        taken += paths[i] && !strcmp(paths[i], "-");
    return taken > 1;
}

static int decode_check_outputs(struct decode *d)
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
    if (rc == 0 && o->write.sheet_columns &&
        (format->kind != OUTPUT_IMAGES || o->write.second_view)) {
        return fail_with(d->f, X_USAGE, "as in: --sheet 4x3 -o sheet.jpg",
                         "a contact sheet is one PNG or JPEG file, without a second view");
    }
    if (rc == 0 && decode_uses_stdout_twice(d)) {
        return fail_with(d->f, X_USAGE, "give one of them a file",
                         "two outputs go to standard output");
    }
    return rc;
}

static int refuse_pix_fmt(const char *typed, struct failure *f)
{
    char hint[160];
    const AVPixFmtDescriptor *format = NULL;
    struct near_name near = near_name_of(typed, strlen(typed));
    while ((format = av_pix_fmt_desc_next(format)) != NULL)
        near_name_try_name(&near, format->name);
    return fail_with(f, X_USAGE,
                     near_name_hint(&near, "ffmpeg -pix_fmts lists the names", hint, sizeof(hint)),
                     "--pix-fmt %s: no such pixel format", typed);
}

int decode_check_options(struct decode *d)
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
        if (d->wanted == AV_PIX_FMT_NONE)
            return refuse_pix_fmt(o->write.pix_fmt, d->f);
    }
    int rc = options_settle_end(o, d->f);
    rc = rc ? rc : output_format_choose(o->write.format, o->write.path, &d->format, d->f);
    return rc ? rc : decode_check_outputs(d);
}

/* Refuses an output that is an input: it would be emptied before it is read. */
static int decode_protect_inputs(const struct decode *d)
{
    const char *outputs[OUTPUTS];
    struct stat input, reference;
    bool is_open = d->source.fd >= 0 && fstat(d->source.fd, &input) == 0,
         verifies = d->o->write.verify && stat(d->o->write.verify, &reference) == 0;
    decode_list_outputs(d, outputs);
    for (unsigned i = 0; i < OUTPUTS; i++) {
        const char *path = outputs[i];
        if (path && ((is_open && output_is_file(&input, path)) ||
                     (verifies && output_is_file(&reference, path)))) {
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

static bool decode_single_picture(const struct client_options *o)
{
    return o->read.max_frames == 1 || o->write.sheet_columns > 0;
}

static int decode_check_paths(struct decode *d)
{
    const struct client_options *o = d->o;
    d->overwrite = d->second_overwrite = o->write.overwrite;
    int rc = output_check(d->format, o->write.path, decode_single_picture(o), &d->overwrite, d->f);
    if (rc || !o->write.second_view)
        return rc;
    return output_check(d->format, o->write.second_view, o->read.max_frames == 1,
                        &d->second_overwrite, d->f);
}

static int decode_open_progress(struct decode *d)
{
    const char *path = d->o->write.progress_path;
    if (!path)
        return 0;
    d->progress_file = !strcmp(path, "-") ? stdout : fopen(path, "we");
    return d->progress_file ? 0 : fail_errno(d->f, X_OTHER, errno, path);
}

int decode_open_files(struct decode *d)
{
    const struct client_options *o = d->o;
    int rc = input_open(o->inputs[0], &d->source, d->f);
    rc = rc ? rc : decode_protect_inputs(d);
    rc = rc ? rc : decode_check_paths(d);
    if (rc == 0 && o->write.verify)
        rc = verify_open(o->write.verify, &d->verify, d->f);
    if (rc == 0 && o->write.side_data)
        rc = side_file_open(o->write.side_data, o->write.overwrite, &d->side, d->f);
    return rc ? rc : decode_open_progress(d);
}

/* While our output waits, a question and its answer keep the connection alive. */
static void decode_keep_alive(void *ctx)
{
    struct decode *d = ctx;
    struct pelton_stats unused;
    if (d->stream)
        pelton_stats(d->stream, DECODE_SLICE_MS, &unused);
}

int decode_open_outputs(struct decode *d)
{
    struct output_params params = {.format = d->format,
                                   .path = d->o->write.path,
                                   .overwrite = d->overwrite,
                                   .single = decode_single_picture(d->o),
                                   .quality = d->o->write.quality,
                                   .idle = decode_keep_alive,
                                   .idle_ctx = d};
    int rc = output_open(&params, &d->out, d->f);
    if (rc == 0 && d->o->write.sheet_columns)
        rc = contact_sheet_open(d->o->write.sheet_columns, d->o->write.sheet_rows, &d->sheet, d->f);
    if (rc || !d->o->write.second_view)
        return rc;
    params.path = d->o->write.second_view;
    params.overwrite = d->second_overwrite;
    return output_open(&params, &d->second, d->f);
}

/* The daemon makes JPEG files where nothing else is wanted of the frames. */
static bool decode_wants_files(const struct decode *d)
{
    const struct client_options *o = d->o;
    static const enum AVPixelFormat taken[] = {AV_PIX_FMT_NONE, AV_PIX_FMT_GRAY8,
                                               AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P,
                                               AV_PIX_FMT_YUV444P};
    bool other = o->write.second_view || o->write.sheet_columns || d->side || d->verify ||
                 o->read.fields || d->format->kind != OUTPUT_IMAGES ||
                 !output_images_jpeg(d->format, o->write.path);
    bool pixels = false;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        pixels |= taken[i] == d->wanted;
    return !other && pixels && d->device.encodes_jpeg && input_opens_again(&d->source);
}

static void decode_fill_params(const struct decode *d, bool known, struct pelton_open_params *out)
{
    const struct read_options *read = &d->o->read;
    input_params(d->o, &d->source, out);
    out->pix_fmt = d->wanted != AV_PIX_FMT_NONE ? av_get_pix_fmt_name(d->wanted) : NULL;
    out->any_pix_fmt = true; /* the client converts to other formats */
    out->fields = read->fields;
    out->views = d->o->write.second_view ? PELTON_VIEWS_BOTH : PELTON_VIEW_BASE;
    out->side_data = d->side                ? PELTON_SIDE_ALL
                     : read->leave_unturned ? PELTON_SIDE_NONE
                                            : PELTON_SIDE_KNOWN;
    out->devices = known ? d->device.devices : 1;
    out->loop = read->loops != 0;
    out->loops = read->loops > 0 ? (uint32_t)read->loops + 1 : 0;
    if (out->duration_us >= 0)
        out->duration_us += DURATION_MARGIN_US;
    if (!d->files)
        return;
    out->side_data = PELTON_SIDE_NONE;
    out->devices = 1;
    out->encoded = true;
    out->encode = (struct pelton_encoding){.wanted = true,
                                           .codec = PELTON_CODEC_MJPEG,
                                           .quality = output_images_quality(d->o->write.quality)};
}

/* Where the daemon makes no files of these frames, they come, and this program does. */
static int decode_subscribe(struct decode *d, bool known)
{
    struct pelton_open_params params;
    d->files = known && decode_wants_files(d);
    decode_fill_params(d, known, &params);
    int rc = input_subscribe(d->o, d->conn, &params, d->source.name, &d->info, &d->stream, d->f);
    if (!d->files || rc != X_UNSUPPORTED)
        return rc;
    ui_log(LOG_VERBOSE, "%s: this program makes the JPEG files", d->f->cause);
    *d->f = (struct failure){0};
    d->files = false;
    decode_fill_params(d, known, &params);
    return input_subscribe(d->o, d->conn, &params, d->source.name, &d->info, &d->stream, d->f);
}

/* Without a GPU the software device decodes what libavcodec cannot, or may not. */
static void decode_name_device(struct decode *d)
{
    struct pelton_stats stats = {0};
    if (!d->device.libavcodec || pelton_stats(d->stream, DECODE_SLICE_MS, &stats) < 0 ||
        stats.libavcodec)
        return;
    d->device.libavcodec = false;
    snprintf(d->device.name, sizeof(d->device.name), "Vulkan device");
}

int decode_open_stream(struct decode *d)
{
    /* otherwise opening gives the reason */
    bool known = pelton_device(d->conn, &d->device) == 0 && d->device.name[0];
    int rc = decode_subscribe(d, known);
    if (rc)
        return rc;
    if (d->files)
        ui_log(LOG_VERBOSE, "%s makes the JPEG files", d->device.name);
    if (known) {
        decode_name_device(d);
        announce_device(&d->device);
    }
    sync_init(&d->sync, &d->info, d->o->read.start_us, d->source.uri != NULL);
    d->second_sync = d->sync;
    ui_log(LOG_VERBOSE, "%s: %s, %s %s, %s, %ux%u", d->source.name, d->info.container,
           d->info.codec, d->info.profile, d->info.pix_fmt, d->info.width, d->info.height);
    return 0;
}

/* What the progress is measured against. */
void decode_set_goal(struct decode *d)
{
    const struct client_options *o = d->o;
    struct pelton_rational rate = info_frame_rate(&d->info);
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
