/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton decode, in three steps: open (decode_open.c), write frames (decode_frames.c), and the loop
 * and the end (cmd_decode.c).
 */
#ifndef CLIENT_DECODE_H
#define CLIENT_DECODE_H

#include "client/contact_sheet.h"
#include "client/convert.h"
#include "client/input.h"
#include "client/orientation.h"
#include "client/output.h"
#include "client/side_data_json.h"
#include "client/turn.h"
#include "client/verify.h"
#include "client/video_sync.h"

enum { DECODE_SLICE_MS = 200 /* an interrupt is noticed at least so often */ };

struct decode {
    struct client_options *o;
    struct failure *f;
    struct client_input source;
    struct pelton *conn;
    struct pelton_stream *stream;
    struct pelton_info info;
    struct pelton_device device;
    const struct output_format *format;
    enum overwrite overwrite, second_overwrite; /* after the question */
    struct client_output *out, *second;
    struct verify *verify;
    struct side_file *side;
    struct contact_sheet *sheet; /* takes the place of the pictures; NULL: none */
    uint64_t second_frames;
    struct convert *convert;
    struct turn turn;
    struct orientation orientation, second_orientation;
    FILE *progress_file;       /* ours; NULL: none */
    enum AVPixelFormat wanted; /* AV_PIX_FMT_NONE: as delivered */
    AVFrame *picture;
    struct sync sync, second_sync;
    struct progress progress;
    struct progress_state state;
    uint64_t corrupt, mended;
    int64_t first_pts, start_ns;
    bool files;                 /* the daemon makes the JPEG files: they come in place of frames */
    bool passed, second_passed; /* -t has */
    unsigned behind;            /* base frames after the end, since the second view's last frame */
    uint32_t width, height;
};

/* ---- before the first frame; these return exit codes ---- */

/* Completes the options and chooses the format. */
int decode_check_options(struct decode *d);
/* Opens the input, the reference and the file of side data. Looks at the other outputs, without
 * creating them. Overwrites no input. */
int decode_open_files(struct decode *d);
int decode_open_stream(struct decode *d);
int decode_open_outputs(struct decode *d);
/* Sets the end that the progress is measured against. */
void decode_set_goal(struct decode *d);

/* ---- frames ---- */

/* Converts, compares and writes a frame. Returns an exit code. */
int decode_frame(struct decode *d, const struct pelton_frame *frame);
/* Writes the contact sheet, where one was asked for. Returns an exit code. */
int decode_write_sheet(struct decode *d);
/* True: every output has all its frames. */
bool decode_done(const struct decode *d);
/* Writes the header of an output that got no frame. Returns an exit code. */
int decode_begin_without_frame(struct decode *d);

#endif
