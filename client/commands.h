/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The commands of pelton. Each returns an exit code, with the failure where it is not 0.
 */
#ifndef CLIENT_COMMANDS_H
#define CLIENT_COMMANDS_H

#include "client/options.h"

enum command_bit {
    CMD_DECODE = 1,
    CMD_PROBE = 2,
    CMD_BENCH = 4,
    CMD_DOCTOR = 8,
    CMD_VERSION = 16,
    CMD_HELP = 32,
    CMD_COMPLETION = 64,
    CMD_CALIB = 128,
    CMD_PIPE = 256,
    CMD_SNAPSHOT = 512,
    CMD_VIEW = 1024,
    CMD_SOURCES = 2048,
    CMD_INFO = 4096,
    CMD_GET = 8192,
    CMD_SET = 16384,
    CMD_RECORD = 1048576,
    CMD_ENCODE = 4194304,
    CMD_FRAMES = CMD_PIPE | CMD_SNAPSHOT, /* frames of a source into a file or a pipe */
    CMD_ASKS = CMD_SOURCES | CMD_INFO | CMD_GET | CMD_SET,
    /* those that talk to a daemon */
    CMD_DAEMON = CMD_DECODE | CMD_PROBE | CMD_BENCH | CMD_DOCTOR | CMD_FRAMES | CMD_VIEW |
                 CMD_ASKS | CMD_RECORD | CMD_ENCODE,
    CMD_TUNE = 32768,
    CMD_RELOAD = 65536,
    CMD_STOP = 131072,
    CMD_STATS = 262144,
    CMD_TOP = 524288,
    CMD_ADMIN = CMD_RELOAD | CMD_STOP | CMD_STATS | CMD_TOP, /* about a daemon that others use */
    CMD_DISCOVER = 2097152,
    CMD_ALL = 8388607,
};

int cmd_decode(struct client_options *o, struct failure *f);
int cmd_probe(struct client_options *o, struct failure *f);
int cmd_bench(struct client_options *o, struct failure *f);
int cmd_bench_kernels(struct client_options *o, struct failure *f);
int cmd_tune(struct client_options *o, struct failure *f);
int cmd_doctor(struct client_options *o, struct failure *f);
int cmd_discover(struct client_options *o, struct failure *f);
int cmd_sources(struct client_options *o, struct failure *f);
int cmd_reload(struct client_options *o, struct failure *f);
int cmd_stop(struct client_options *o, struct failure *f);
int cmd_stats(struct client_options *o, struct failure *f);
int cmd_top(struct client_options *o, struct failure *f);
int cmd_info(struct client_options *o, struct failure *f);
int cmd_get(struct client_options *o, struct failure *f);
int cmd_set(struct client_options *o, struct failure *f);
int cmd_pipe(struct client_options *o, struct failure *f);
int cmd_snapshot(struct client_options *o, struct failure *f);
int cmd_encode(struct client_options *o, struct failure *f);
int cmd_record(struct client_options *o, struct failure *f);
int cmd_view(struct client_options *o, struct failure *f);
int cmd_calib(struct client_options *o, struct failure *f);
int cmd_version(struct client_options *o, struct failure *f);
int cmd_help(struct client_options *o, struct failure *f);
int cmd_completion(struct client_options *o, struct failure *f);

/* cmd_record.c: the options ask for access units, not for frames. They are the source's, or those
 * of an encoder (encode.wanted). */
bool record_wanted(const struct client_options *o);
/* Writes them to files of their own, or to standard output or a server. */
int record_units(struct client_options *o, bool files, struct failure *f);

/* FFmpeg and its libraries, one a line. */
void print_libraries(void);

#endif
