/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Access units into files of their own, standard output, or a server: what pelton record, pipe and
 * encode write. One thread at a time.
 *
 * The failure modes are a container that cannot hold the units, a full disk, and a server that
 * goes. What was written can be played after each of them.
 */
#ifndef CLIENT_UNIT_OUTPUT_H
#define CLIENT_UNIT_OUTPUT_H

#include "client/record_file.h"
#include "muxer/unit_muxer.h"

#include <sys/stat.h>

struct unit_format;

struct unit_output {
    const struct client_options *o;
    struct failure *f;
    const char *path;            /* as o->write.path, of this output */
    bool files;                  /* of their own; else standard output, a device or a server */
    struct pelton_rational rate; /* frames a second that a container tells; 0/0: unknown */
    const struct unit_format *format;
    struct record_files out;
    struct unit_muxer *muxer;
    uint64_t units, dropped, bytes; /* bytes: of the files before */
    int64_t done_us;                /* length of the files before */
    int64_t segment_us;             /* time stamp at which the present one begins */
};

/* Whether the options' container is of access units alone. */
bool unit_output_wanted(const struct client_options *o);

/* These return exit codes. */
int unit_output_init(struct unit_output *u, const struct client_options *o, const char *path,
                     bool files, struct failure *f);
/* Whether the output may be written; asks before a file is overwritten. */
int unit_output_check(struct unit_output *u);
/* Refuses to overwrite this file, which is read. */
int unit_output_protect(const struct unit_output *u, const struct stat *input);
int unit_output_add(struct unit_output *u, const struct pelton_frame *unit);
/* At last. complete: the file gets its name. */
int unit_output_end(struct unit_output *u, bool complete);

/* The format's name, as FFmpeg has it. */
const char *unit_output_format(const struct unit_output *u);
/* Parameter sets stand in the container's header. */
bool unit_output_sets_apart(const struct unit_output *u);
/* All that the options asked for has come. */
bool unit_output_done(const struct unit_output *u);
int64_t unit_output_us(const struct unit_output *u);     /* length of all that was added */
uint64_t unit_output_bytes(const struct unit_output *u); /* written */

#endif
