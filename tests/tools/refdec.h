/* SPDX-License-Identifier: BSD-2-Clause
 *
 * State of refdec, shared by refdec.c (decoding, command line) and refdec_output.c (frames).
 */
#ifndef PELTON_TESTS_REFDEC_H
#define PELTON_TESTS_REFDEC_H

#include "codec/h264.h"
#include "reference/recon_ref.h"
#include "tests/tools/md5.h"

#include <stdio.h>

#define SLOTS 64

/* A frame slot; held while its pictures live: a frame, two fields, or planes of these. */
struct slot {
    struct ref_frame *frame;
    unsigned users;
    bool done;
    unsigned sei_printed; /* lists of messages of the frame */
};

struct refdec {
    struct h264_stream *stream;
    struct h264_scratch *scratch;
    struct slot slots[SLOTS];
    struct ref_frame *unfiltered;
    struct h264_picture *waiting[SLOTS]; /* output order, not decoded yet */
    unsigned waiting_count;
    uint64_t frames_out;
    uint8_t view; /* that is written */
    FILE *out, *compare;
    struct md5 md5;
    bool print_md5, print_frames, print_sei, avcc, parse_alone, grey_chroma, mismatch, unsupported,
        failed;
};

/* Writes, hashes and compares, as asked for, the frame that pic stands for; it is decoded. */
void refdec_emit(struct refdec *d, const struct h264_picture *pic);

#endif
