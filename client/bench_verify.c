/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Verification, outside the timed part. Each input is decoded once more, and the MD5 of every frame
 * is compared with that of the ffmpeg program's own decoder.
 */
#include "client/bench.h"
#include "client/bench_child.h"
#include "client/av_picture.h"
#include "client/input.h"
#include "client/ui.h"
#include "client/verify.h"

#include <libavutil/frame.h>
#include <stdio.h>
#include <string.h>

static int compare_frame(struct bench *b, const char *input, const struct pelton_frame *frame,
                         AVFrame *picture, FILE *reference, uint64_t number)
{
    char got[33], expected[33];
    int rc = picture_borrow(frame, picture, b->f);
    if (rc)
        return rc;
    picture_md5(picture, got);
    if (!framemd5_next(reference, expected))
        strcpy(expected, "no further frame");
    if (strcmp(got, expected)) {
        return fail_with(b->f, X_MISMATCH, "pelton decode --verify with a reference of your own",
                         "%s: frame %llu differs from FFmpeg's: expected %s, got %s", input,
                         (unsigned long long)number, expected, got);
    }
    return 0;
}

static int compare_stream(struct bench *b, const char *input, struct pelton_stream *stream,
                          FILE *reference, struct bench_pass *pass)
{
    AVFrame *picture = av_frame_alloc();
    uint64_t n = 0;
    char expected[33];
    int rc = picture ? 0 : fail_with(b->f, X_OTHER, "close other programs", "out of memory");
    while (rc == 0) {
        struct pelton_frame frame;
        int got = pelton_next(stream, timeout_ms(b->o), &frame);
        if (got < 0) {
            rc = fail_pelton(b->f, b->conn, input);
        } else if (got == 0) {
            break;
        } else {
            rc = interrupted() ? interrupted()
                               : compare_frame(b, input, &frame, picture, reference, n);
            bench_pass_add(pass, n++, &frame);
            pelton_release(stream, &frame);
        }
    }
    if (rc == 0 && framemd5_next(reference, expected)) {
        rc = fail_with(b->f, X_MISMATCH, "pelton decode --verify with a reference of your own",
                       "%s: %llu frames, FFmpeg has more", input, (unsigned long long)n);
    }
    if (picture)
        memset(picture->data, 0, sizeof(picture->data));
    av_frame_free(&picture);
    b->verified_frames += n;
    pass->frames = n;
    return rc;
}

static int verify_input(struct bench *b, const char *input, struct bench_pass *pass)
{
    const char *const command[] = {
        bench_ffmpeg(b), "-v",          "error",      "-nostdin", "-flags",
        "unaligned",     "-i",          input,        "-map",     "0:v:0",
        "-fps_mode",     "passthrough", "-autoscale", "0",        "-f",
        "framemd5",      "-",           NULL};
    struct child child;
    struct client_input source = {.fd = -1};
    struct pelton_stream *stream = NULL;
    if (!child_start(command, &child)) {
        snprintf(b->verify_why, sizeof(b->verify_why), "%s cannot be started", command[0]);
        return 0;
    }
    int rc = input_open(input, &source, b->f);
    if (rc == 0) {
        struct pelton_open_params params;
        input_params(b->o, &source, &params);
        params.output = (struct pelton_output){0}; /* FFmpeg's are not converted */
        params.duration_us = -1;
        rc = pelton_open(b->conn, &params, timeout_ms(b->o), NULL, &stream) < 0
                 ? fail_pelton(b->f, b->conn, source.name)
                 : 0;
    }
    uint64_t before = b->verified_frames;
    rc = rc ? rc : compare_stream(b, source.name, stream, child.out, pass);
    pelton_stream_close(stream);
    int status = child_wait(&child, rc != 0);
    if (rc == 0 && status != 0 && b->verified_frames == before)
        snprintf(b->verify_why, sizeof(b->verify_why), "%s gave no frames of %s", command[0],
                 source.name);
    input_close(&source);
    return rc;
}

int bench_verify(struct bench *b)
{
    for (unsigned i = 0; i < b->o->n_inputs; i++) {
        int rc = verify_input(b, b->o->inputs[i], &b->passes[i]);
        if (rc || b->verify_why[0])
            return rc;
    }
    b->file_frames = b->verified_frames;
    b->verified = b->verified_frames > 0;
    return 0;
}
