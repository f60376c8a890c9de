/* SPDX-License-Identifier: BSD-2-Clause
 *
 * State of the program refdec, shared by refdec.c (command line) and refdec_output.c (frames).
 */
#ifndef PELTON_TESTS_REFDEC_COMMAND_H
#define PELTON_TESTS_REFDEC_COMMAND_H

#include "tests/tools/md5.h"
#include "tests/tools/refdec.h"

struct refdec_command {
    struct refdec d; /* first: its functions find the command */
    uint64_t frames_out;
    uint8_t view; /* that is written */
    FILE *out, *compare;
    struct md5 md5;
    bool print_md5, print_frames, print_sei, avcc, grey_chroma, mismatch, unsupported;
};

/* Writes, hashes and compares, as asked for, the frame that pic stands for; it is decoded. */
void refdec_emit(struct refdec_command *c, const struct h264_picture *pic);

#endif
