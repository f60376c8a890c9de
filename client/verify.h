/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Comparing frames with a reference: a framemd5 file (one MD5 for each frame), a file with one MD5
 * of all frames, or the frames (y4m, or raw planes).
 */
#ifndef CLIENT_VERIFY_H
#define CLIENT_VERIFY_H

#include "client/exit_code.h"

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct verify;

int verify_open(const char *path, struct verify **out, struct failure *f);

/* Compares a frame. Returns exit code 10 at the first frame that differs. */
int verify_frame(struct verify *v, const AVFrame *frame, struct failure *f);

/* Checks after the last frame that none is missing, and compares one MD5 of all. */
int verify_end(struct verify *v, struct failure *f);
uint64_t verify_frames(const struct verify *v);
void verify_close(struct verify *v); /* NULL allowed */

/* Reads the next MD5 of a framemd5 text, and skips other lines. False: the text has ended. */
bool framemd5_next(FILE *text, char md5[33]);

#endif
