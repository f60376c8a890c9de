/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The one table of options and the table of commands: parsing, help, man page and shell completion
 * come from them.
 */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include "client/exit_code.h"
#include "proto/pelton.h"

#include <stdbool.h>
#include <stdint.h>

enum { MAX_INPUTS = 64, MAX_CONFIG = 32 };

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
    CMD_FRAMES = CMD_PIPE | CMD_SNAPSHOT, /* frames of a source into a file or a pipe */
    CMD_ASKS = CMD_SOURCES | CMD_INFO | CMD_GET | CMD_SET,
    /* those that talk to one */
    CMD_DAEMON = CMD_DECODE | CMD_PROBE | CMD_BENCH | CMD_DOCTOR | CMD_FRAMES | CMD_VIEW | CMD_ASKS,
    CMD_TUNE = 32768,
    CMD_RELOAD = 65536,
    CMD_STOP = 131072,
    CMD_STATS = 262144,
    CMD_TOP = 524288,
    CMD_ADMIN = CMD_RELOAD | CMD_STOP | CMD_STATS | CMD_TOP, /* about a daemon that others use */
    CMD_ALL = 1048575,
};

enum progress_kind { PROGRESS_AUTO, PROGRESS_NONE, PROGRESS_BAR, PROGRESS_KV };
enum overwrite { OVERWRITE_ASK, OVERWRITE_YES, OVERWRITE_NO };

/* FFmpeg's numbers */
enum log_level {
    LOG_QUIET = -8,
    LOG_PANIC = 0,
    LOG_FATAL = 8,
    LOG_ERROR = 16,
    LOG_WARNING = 24,
    LOG_INFO = 32,
    LOG_VERBOSE = 40,
    LOG_DEBUG = 48,
    LOG_TRACE = 56
};

struct options {
    const struct command *command;
    const char *inputs[MAX_INPUTS];
    unsigned n_inputs;
    const char *output, *format, *pix_fmt;
    const char *socket, *device, *config[MAX_CONFIG];
    unsigned n_config;
    bool device_given, lookahead_given, gpu_debug;
    const char *second_view; /* a file for it */
    const char *side_data;   /* a file for it */
    const char *verify;      /* a reference file; for bench "" */
    const char *against, *ffmpeg, *json_file, *chart, *topic;
    bool json, stages, live, trace, man, help, min_fps_given, fields;
    const char *variant, *csv, *plot, *figures; /* of the kernel bench */
    bool list;
    char kernel_format[16];
    uint32_t kernel_width, kernel_height, kernel_taps, rounds;
    bool kernels;
    enum overwrite overwrite;
    enum progress_kind progress;
    int log_level, on_error;
    int64_t start_us, duration_us; /* -1: absent */
    uint64_t max_frames;
    enum pelton_policy policy; /* of the reader */
    uint32_t waiting;          /* of PELTON_FIFO; 0: the daemon's choice */
    bool policy_given, after_now, watch;
    int64_t not_before_ns; /* CLOCK_MONOTONIC: frames captured earlier are left out; 0: none */
    double timeout, min_fps, max_fps; /* seconds; timeout 0: for ever */
    uint32_t streams, loops, depth;
    uint32_t n_blur;
    struct pelton_rect blur[PELTON_MAX_BLURS];
    /* calib: of the pictures, 0 as the file says; which of a chain */
    uint32_t width, height, camera;
    char lookahead[48], tune_force[160];
};

enum option_id {
    OPT_INPUT,
    OPT_OUTPUT,
    OPT_FORMAT,
    OPT_YES,
    OPT_NO,
    OPT_START,
    OPT_DURATION,
    OPT_FRAMES,
    OPT_PIX_FMT,
    OPT_VERIFY,
    OPT_BENCH_VERIFY,
    OPT_SIDE_DATA,
    OPT_FIELDS,
    OPT_BLUR,
    OPT_SECOND_VIEW,
    OPT_ON_ERROR,
    OPT_PROGRESS,
    OPT_DEVICE,
    OPT_SOCKET,
    OPT_CONFIG,
    OPT_LOOKAHEAD,
    OPT_TIMEOUT,
    OPT_LOG_LEVEL,
    OPT_JSON,
    OPT_JSON_FILE,
    OPT_STREAMS,
    OPT_LOOP,
    OPT_STAGES,
    OPT_LIVE,
    OPT_TRACE,
    OPT_CHART,
    OPT_KERNELS,
    OPT_NO_TUNE,
    OPT_GPU_DEBUG,
    OPT_TUNE_FORCE,
    OPT_VARIANT,
    OPT_KERNEL_SIZE,
    OPT_KERNEL_FORMAT,
    OPT_TAPS,
    OPT_ROUNDS,
    OPT_CSV,
    OPT_PLOT,
    OPT_FIGURES,
    OPT_LIST,
    OPT_AGAINST,
    OPT_FFMPEG,
    OPT_DEPTH,
    OPT_MIN_FPS,
    OPT_MAN,
    OPT_HELP,
    OPT_SIZE,
    OPT_CAMERA,
    OPT_POLICY,
    OPT_AFTER_NOW,
    OPT_WATCH,
    OPT_MAX_FPS,
};

struct option_row {
    enum option_id id;
    const char *name;     /* long name; accepted with one dash or two, with _ for - */
    const char *aliases;  /* further names, separated by spaces; NULL: none */
    const char *arg;      /* name of the argument in the help text; NULL: none */
    const char *fallback; /* what happens without the option; NULL: nothing to say */
    /* words for completion, separated by spaces; "FILE": file names; NULL: none */
    const char *choices;
    unsigned commands;
    const char *help;
};

struct command {
    unsigned bit;
    const char *name, *usage, *summary;
    const char *text;     /* paragraphs of the help */
    const char *examples; /* one a line */
    int (*run)(struct options *o, struct failure *f);
};

extern const struct option_row option_rows[];
extern const unsigned n_option_rows;
extern const struct command commands[];
extern const unsigned n_commands;

/* Fill *o from argv; an exit code, and the failure, where it makes no sense. */
int options_parse(int argc, char **argv, struct options *o, struct failure *f);
const struct command *command_find(const char *name);

/* "-i", "-frames:v", "--pix-fmt": how an option is best written. */
const char *option_spelling(const struct option_row *row, char *buffer, size_t size);

/* FFmpeg and its libraries, one a line. */
void print_libraries(void);

int cmd_decode(struct options *o, struct failure *f);
int cmd_probe(struct options *o, struct failure *f);
int cmd_bench(struct options *o, struct failure *f);
int cmd_tune(struct options *o, struct failure *f);
int cmd_doctor(struct options *o, struct failure *f);
int cmd_sources(struct options *o, struct failure *f);
int cmd_reload(struct options *o, struct failure *f);
int cmd_stop(struct options *o, struct failure *f);
int cmd_stats(struct options *o, struct failure *f);
int cmd_top(struct options *o, struct failure *f);
int cmd_info(struct options *o, struct failure *f);
int cmd_get(struct options *o, struct failure *f);
int cmd_set(struct options *o, struct failure *f);
int cmd_pipe(struct options *o, struct failure *f);
int cmd_snapshot(struct options *o, struct failure *f);
int cmd_view(struct options *o, struct failure *f);
int cmd_calib(struct options *o, struct failure *f);
int cmd_version(struct options *o, struct failure *f);
int cmd_help(struct options *o, struct failure *f);
int cmd_completion(struct options *o, struct failure *f);

#endif
