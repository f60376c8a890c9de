/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Files of a recording. A file has its name once it is complete; until then ".part" follows it.
 * Segments are named by the time at which they begin, and the oldest ones go.
 */
#ifndef CLIENT_RECORD_FILE_H
#define CLIENT_RECORD_FILE_H

#include "client/options.h"
#include "client/sink.h"

struct record_files {
    const char *path;  /* as typed: out.mp4 */
    bool segments;     /* their names: out-20260131T235959.250Z.mp4 */
    uint32_t keep;     /* segments; 0: all */
    uint64_t max_size; /* bytes of all segments; 0: no limit */
    enum overwrite overwrite;
    unsigned made;
    struct sink sink; /* of the present file; fd -1: none */
    int64_t last_ms;  /* the newest stamp */
    bool told;        /* that the clock is behind it */
    char name[4096], part[4096 + 8];
};

/* These return exit codes. */
/* Once: whether files may be written, and what another recorder has left. */
int record_files_begin(struct record_files *r, struct failure *f);
int record_files_open(struct record_files *r, struct failure *f); /* the next file */
/* complete: it gets its name, and segments beyond the limits go. */
int record_files_close(struct record_files *r, bool complete, struct failure *f);

#endif
