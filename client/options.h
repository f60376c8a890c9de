/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The values of the command line, in groups. Each command reads the groups that it needs.
 */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include "bench/kernel_command.h"
#include "client/exit_code.h"
#include "client/ui.h"
#include "encode/encoding.h"
#include "proto/option_line.h"
#include "proto/pelton.h"

#include <stdbool.h>
#include <stdint.h>

enum { MAX_INPUTS = 64, MAX_CONFIG = 32 };

enum overwrite { OVERWRITE_ASK, OVERWRITE_YES, OVERWRITE_NO };

/* Which daemon, and the settings of a private one. */
struct connect_options {
    const char *socket; /* NULL: the first that is found, or a private one */
    const char *device;
    bool device_given, lookahead_given, gpu_debug;
    const char *config[MAX_CONFIG]; /* "key=value" */
    unsigned n_config;
    char lookahead[48], tune_force[160]; /* "key=value" */
    double timeout;                      /* seconds; 0: for ever */
};

enum { MAX_FRAMES_AT = 256 };

/* Which frames of the input, and how a slow reader gets them. */
struct read_options {
    int64_t start_us, duration_us, end_us; /* -1: absent */
    uint64_t max_frames;                   /* 0: all */
    double max_fps;                        /* 0: all */
    enum pelton_skip skip;
    struct pelton_frame_range frames_at[MAX_FRAMES_AT];
    uint32_t n_frames_at;
    int64_t not_before_ns; /* CLOCK_MONOTONIC; earlier frames are left out; 0: none */
    enum pelton_policy policy;
    bool policy_given, fields, leave_unturned;
    uint32_t video;   /* 1: the first video stream; 0: the daemon's choice */
    int32_t loops;    /* further passes of the input; -1: without end */
    uint32_t waiting; /* of PELTON_FIFO; 0: the daemon's choice */
    uint32_t depth;   /* frames of the pool; 0: the daemon's choice */
    enum pelton_on_error on_error;
    uint32_t n_blur;
    struct pelton_rect blur[PELTON_MAX_BLURS];
    struct pelton_output output;
};

/* Where frames go. */
struct write_options {
    const char *path; /* "-": standard output; NULL: not given */
    const char *format, *pix_fmt;
    const char *second_view;            /* a file for it, or NULL */
    const char *side_data;              /* a file for it, or NULL */
    const char *verify;                 /* a reference file, or NULL */
    uint32_t quality;                   /* of JPEG, FFmpeg's -q:v */
    uint32_t sheet_columns, sheet_rows; /* 0: no contact sheet */
    bool copy;                          /* access units as they came */
    bool jpeg;                          /* -c:v mjpeg */
    int64_t segment_us;                 /* of a recording; 0: one file */
    uint32_t keep;                      /* segments; 0: all */
    uint64_t max_size;                  /* bytes of all segments; 0: no limit */
    enum overwrite overwrite;
    enum progress_kind progress;
    const char *progress_path; /* of PROGRESS_KV; "-": standard output; NULL: standard error */
};

enum coder { CODER_AUTO /* as the profile has it */, CODER_CAVLC, CODER_CABAC };

/* How pictures are encoded. Rates are bits a second. */
struct encode_options {
    bool wanted;       /* -c:v h264, or the command encode */
    const char *given; /* an option that means nothing otherwise; NULL: none */
    bool qp_given, crf_given;
    uint32_t qp, crf;
    uint64_t bit_rate, max_rate, buffer; /* 0: not given */
    enum encoding_profile profile;
    uint8_t level_idc; /* 0: the least that is enough */
    enum coder coder;
    uint32_t key_interval, references, slices;
    bool no_deblocking, no_scene_cuts;
    uint32_t adaptive; /* 1: QP of macroblocks follows their variance */
};

enum { BENCH_REPEATS = 99 }; /* rounds of runs at most */

struct bench_options {
    uint32_t streams, loops, repeat;
    bool stages, live, trace, verify, kernels, encode, min_fps_given;
    double min_fps;
    const char *against, *ffmpeg, *json_file, *chart;
};

struct camera_options {
    bool after_now, watch;
};

struct discover_options {
    bool yaml;
    const char *probe;                /* an address; NULL: all interfaces */
    const char *folder;               /* of device nodes; NULL: /dev */
    double seconds;                   /* 0: the preset */
    const char *user, *password_file; /* of network cameras; NULL: none */
};

struct calib_options {
    uint32_t width, height; /* 0: as the file says */
    uint32_t camera;        /* of a chain */
};

struct client_options {
    const struct command *command;
    const char *inputs[MAX_INPUTS];
    unsigned n_inputs;
    const char *topic;        /* first word of calib, help and completion */
    const char *detail;       /* second word of help */
    const char *const *words; /* a command line to complete, without its first word */
    int n_words;
    int log_level; /* enum log_level */
    bool json, man, help;
    bool exposure; /* info: of the next frame */
    struct connect_options connect;
    struct read_options read;
    struct write_options write;
    struct encode_options encode;
    struct bench_options bench;
    struct kernel_options kernels;
    struct camera_options camera;
    struct calib_options calib;
    struct discover_options discover;
};

/* Fills *o from argv. Returns 0, or an exit code with the failure. Strings stay argv's. */
int options_parse(int argc, char **argv, struct client_options *o, struct failure *f);
/* Adds an input, as far as the command takes one more. 0, or -1 with the fault. */
int options_add_input(struct client_options *o, const char *name, struct option_fault *fault);
/* Refuses options of an encoder where none was asked for. Returns an exit code. */
int options_check_encoding(const struct client_options *o, struct failure *f);
/* -to becomes a length. Returns an exit code. */
int options_settle_end(struct client_options *o, struct failure *f);

#endif
