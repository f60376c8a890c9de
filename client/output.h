/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Destinations of frames: one file by a muxer of libavformat, numbered PNG files, or none.
 */
#ifndef CLIENT_OUTPUT_H
#define CLIENT_OUTPUT_H

#include "client/options.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

enum output_kind { OUTPUT_MUXER, OUTPUT_IMAGES, OUTPUT_NULL };

struct output_format {
    const char *name;       /* FFmpeg's */
    const char *alias;      /* ours, or NULL */
    const char *extensions; /* separated by spaces */
    enum output_kind kind;
    bool text;     /* a terminal may show it */
    bool synced;   /* time stamps as the ffmpeg command gives them, see video_sync.h */
    bool one_kind; /* all pictures have the size and the pixel format of the header */
    const char *hint;
};

/* Chooses by -f, otherwise by the name's extension. */
int output_format_choose(const char *name, const char *path, const struct output_format **out,
                         struct failure *f);

/* A word of a list that is separated by spaces, in either case. */
bool output_name_in(const char *words, const char *word);

struct output_params {
    const struct output_format *format;
    const char *path; /* "-": standard output */
    enum overwrite overwrite;
    bool single;          /* one frame at most: an image needs no number in its name */
    uint32_t quality;     /* of JPEG, 1 to 31 */
    void (*idle)(void *); /* called while a write waits, see sink.h */
    void *idle_ctx;
};

struct client_output;

/* Opens the file, and writes nothing yet. */
int output_open(const struct output_params *params, struct client_output **out, struct failure *f);

/* The format of the first frame, or of the stream where no frame came. */
struct output_stream {
    enum AVPixelFormat pix_fmt;
    int width, height;
    AVRational time_base, frame_rate, sar;
    enum AVColorPrimaries primaries;
    enum AVColorTransferCharacteristic transfer;
    enum AVColorSpace matrix;
    enum AVColorRange range;
    enum AVChromaLocation siting;
    enum AVFieldOrder field_order; /* of the first frame */
};
int output_begin(struct client_output *out, const struct output_stream *stream, struct failure *f);
bool output_begun(const struct client_output *out);

/* frame->pts counts in the stream's time_base. */
int output_frame(struct client_output *out, const AVFrame *frame, struct failure *f);
/* An image that is made already. Returns an exit code. */
int output_file(struct client_output *out, const uint8_t *file, size_t size, struct failure *f);

uint64_t output_bytes(const struct client_output *out);

/* Finishes the file and frees it, also after a failure: frames written so far are flushed. NULL
 * allowed. */
int output_close(struct client_output *out, struct failure *f);

#endif
