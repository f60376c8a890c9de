/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See unit_output.h.
 */
#include "client/unit_output.h"

#include "client/output.h"
#include "client/output_check.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/error.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

bool unit_output_wanted(const struct client_options *o)
{
    const struct unit_format *format = o->write.format ? format_named(o->write.format)
                                       : o->write.path ? format_of_path(o->write.path)
                                                       : NULL;
    return o->write.copy || o->encode.wanted || (format && !format->shared);
}

static int format_choose(struct unit_output *u)
{
    const char *wanted = u->o->write.format;
    u->format = wanted ? format_named(wanted) : format_of_path(u->path);
    if (u->format)
        return 0;
    return fail_with(u->f, X_USAGE, "-f is one of mp4, matroska (mkv), mpegts (ts), h264, rtsp",
                     "%s: no container for encoded video", wanted ? wanted : u->path);
}

const char *unit_output_format(const struct unit_output *u)
{
    return u->format->name;
}

bool unit_output_sets_apart(const struct unit_output *u)
{
    return !strcmp(u->format->name, "mp4") || !strcmp(u->format->name, "matroska");
}

/* ---- before the first unit ---- */

int unit_output_init(struct unit_output *u, const struct client_options *o, const char *path,
                     bool files, struct failure *f)
{
    const struct write_options *w = &o->write;
    *u = (struct unit_output){.o = o,
                              .f = f,
                              .path = path,
                              .files = files && (w->segment_us > 0 || !output_is_special(path)),
                              .out = {.path = path,
                                      .segments = w->segment_us > 0,
                                      .keep = w->keep,
                                      .max_size = w->max_size,
                                      .overwrite = w->overwrite,
                                      .sink = {.fd = files ? -1 : STDOUT_FILENO}}};
    return format_choose(u);
}

int unit_output_check(struct unit_output *u)
{
    return u->files                     ? record_files_begin(&u->out, u->f)
           : output_is_special(u->path) ? output_check_path(u->path, &u->out.overwrite, u->f)
                                        : 0;
}

int unit_output_protect(const struct unit_output *u, const struct stat *input)
{
    if (!u->files || !output_is_file(input, u->path))
        return 0;
    return fail_with(u->f, X_USAGE, "give the output another name",
                     "%s: is the input, and would be overwritten", u->path);
}

/* ---- bytes ---- */

static bool bytes_write(void *ctx, const uint8_t *bytes, size_t size)
{
    struct unit_output *u = ctx;
    return sink_write(&u->out.sink, bytes, size);
}

static int64_t bytes_seek(void *ctx, int64_t offset, int whence)
{
    const struct unit_output *u = ctx;
    return lseek(u->out.sink.fd, offset, whence);
}

static bool output_stopped(void *ctx)
{
    return interrupted() != 0;
}

static int output_fail(struct unit_output *u, int error)
{
    const char *name = u->files ? u->out.part : !strcmp(u->path, "-") ? "standard output" : u->path;
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    if (interrupted())
        return interrupted();
    if (u->out.sink.error)
        return fail_errno(u->f, X_OTHER, u->out.sink.error, name);
    av_strerror(error, text, sizeof(text));
    return fail_with(u->f, X_OTHER,
                     strcmp(u->format->name, "rtsp") ? "try another container"
                                                     : "check that the server runs and lets "
                                                       "streams be published at this address",
                     "%s: %s cannot be written: %s", name, u->format->name, text);
}

/* ---- files ---- */

/* A device or a named pipe, which waits for its reader. */
static int special_open(struct unit_output *u)
{
    do
        u->out.sink.fd = open(u->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    while (u->out.sink.fd < 0 && errno == EINTR && !interrupted());
    u->out.made += u->out.sink.fd >= 0;
    return u->out.sink.fd >= 0 ? 0
           : interrupted()     ? interrupted()
                               : fail_errno(u->f, X_OTHER, errno, u->path);
}

static int special_close(struct unit_output *u)
{
    int fd = u->out.sink.fd;
    if (u->files || fd < 0 || fd == STDOUT_FILENO)
        return 0;
    u->out.sink.fd = -1;
    return close(fd) < 0 ? fail_errno(u->f, X_OTHER, errno, u->path) : 0;
}

static int muxer_end(struct unit_output *u, bool complete)
{
    int64_t us = unit_output_us(u);
    int rc = u->muxer ? unit_muxer_end(u->muxer) : 0;
    bool good = rc >= 0 && !u->out.sink.error;
    int code = good || !complete ? 0 : output_fail(u, rc);
    u->done_us = us;
    u->bytes += u->out.sink.bytes;
    u->out.sink.bytes = 0;
    unit_muxer_free(u->muxer);
    u->muxer = NULL;
    int closed = u->files ? record_files_close(&u->out, complete && good, u->f) : 0;
    return code ? code : closed;
}

int unit_output_end(struct unit_output *u, bool complete)
{
    int ended = muxer_end(u, complete), closed = special_close(u);
    return ended ? ended : closed;
}

static int muxer_begin(struct unit_output *u, const struct pelton_frame *unit)
{
    bool rtsp = !strcmp(u->format->name, "rtsp");
    struct unit_muxer_params params = {.format = u->format->name,
                                       .address = rtsp ? u->path : NULL,
                                       .each_unit = !u->files,
                                       .rate = u->rate,
                                       .start_us = u->files ? 0 : u->done_us,
                                       .write = bytes_write,
                                       .seek = u->files ? bytes_seek : NULL,
                                       .stopped = output_stopped,
                                       .ctx = u};
    int rc = u->files ? record_files_open(&u->out, u->f) : u->out.sink.fd < 0 ? special_open(u) : 0;
    if (rc)
        return rc;
    int error = unit_muxer_new(&params, unit, &u->muxer);
    u->segment_us = params.start_us;
    return error < 0 ? output_fail(u, error) : 0;
}

/* A file ends at a key picture: after its time, and where the stream has become another one. */
static bool muxer_passed(const struct unit_output *u, const struct pelton_frame *unit)
{
    bool key = unit->flags & PELTON_FRAME_KEY;
    int64_t us = unit_muxer_next_us(u->muxer) - u->segment_us;
    return key &&
           (!unit_muxer_fits(u->muxer, unit) || (u->out.segments && us >= u->o->write.segment_us));
}

int unit_output_add(struct unit_output *u, const struct pelton_frame *unit)
{
    int rc = 0;
    if (u->muxer && muxer_passed(u, unit))
        rc = muxer_end(u, true);
    if (!rc && !u->muxer)
        rc = muxer_begin(u, unit);
    if (rc)
        return rc;
    int error = unit_muxer_add(u->muxer, unit);
    u->units++;
    u->dropped = unit->dropped_source + unit->dropped_decoder + unit->dropped_client;
    return error < 0 || u->out.sink.error ? output_fail(u, error) : 0;
}

int64_t unit_output_us(const struct unit_output *u)
{
    return u->done_us + (u->muxer ? unit_muxer_next_us(u->muxer) - u->segment_us : 0);
}

uint64_t unit_output_bytes(const struct unit_output *u)
{
    return u->bytes + u->out.sink.bytes;
}

bool unit_output_done(const struct unit_output *u)
{
    const struct read_options *read = &u->o->read;
    return (read->duration_us >= 0 && unit_output_us(u) >= read->duration_us) ||
           (read->max_frames && u->units >= read->max_frames);
}
