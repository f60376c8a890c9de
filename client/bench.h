/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench: its measurements and their results.
 */
#ifndef CLIENT_BENCH_H
#define CLIENT_BENCH_H

#include "client/bench_steady.h"
#include "client/options.h"

enum bench_mode { BENCH_GPU, BENCH_READBACK, BENCH_DELIVERED, BENCH_MODES };

/* Of --repeat runs the one with the median of fps. */
struct bench_run {
    bool measured;
    uint64_t frames, corrupt; /* corrupt: the most of all runs */
    double seconds, fps;
    struct bench_steady steady; /* of BENCH_DELIVERED */
    struct pelton_stats total;  /* of all streams */
};

struct percentiles {
    double p50, p95, p99, most; /* ms */
};

/* One delivered frame. Samples of one stream are in output order. */
struct bench_sample {
    uint32_t stream;
    /* access unit read; frame readable; frame in the reader's hands */
    int64_t received_ns, decoded_ns, taken_ns;
    int64_t trace_ns[PELTON_TRACE_POINTS];
};

/* Streams read at their own pace: the delay that the decoder adds to the delay of reordering. */
struct bench_live {
    unsigned
        reordering; /* pictures that a frame waits for, in the stream with the most reordering */
    /* since the last access unit that the frame had to wait for */
    struct percentiles decoded, taken;
};

/* The frames of an input, by their number in one pass over it. */
struct bench_pass {
    uint64_t *hash; /* 0: not known */
    size_t room;
    uint64_t frames; /* 0: not known */
};

/* The place of a stream in its input. */
struct bench_place {
    uint64_t next, sequence;
    unsigned loop;
    bool lost; /* frames were dropped */
    bool held; /* a thread hashes a frame of it */
};

/* The first stream that the daemon of this bench decodes. */
struct bench_first {
    uint64_t frames; /* 0: not measured */
    double seconds,
        frame; /* since before the daemon was asked for: the last frame, the first one */
};

enum { MAX_PEERS = 3 };

struct bench_peer {
    char name[48], command[512], why[160]; /* why: the reason why it was not measured */
    uint64_t frames;
    double seconds, fps;
};

struct bench {
    struct client_options *o;
    struct failure *f;
    struct pelton *conn;
    struct pelton_device device;
    bool device_known;
    struct pelton_info info; /* of the first input */
    char command_line[2048];
    struct bench_first first;
    struct bench_run runs[BENCH_MODES];
    double fps[BENCH_MODES][BENCH_REPEATS]; /* in the order of the rounds */
    /* since the reading of the access unit: frame readable; frame in the reader's hands */
    struct percentiles decoded, taken;
    struct bench_live live;
    struct bench_sample *samples;
    size_t n_samples, room_samples;
    struct bench_peer peers[MAX_PEERS];
    unsigned n_peers;
    uint64_t file_frames; /* of one pass over all inputs; 0: not known */
    bool verify_wanted, verified;
    uint64_t verified_frames;
    struct bench_pass *passes;     /* of each input */
    uint64_t checked_frames;       /* of the delivered run */
    struct bench_hashers *hashers; /* while that lasts */
    char verify_why[320];          /* why not verified */
};

/* Decodes the beginning of the first input. asked_ns: when the daemon was asked for. */
int bench_first_stream(struct bench *b, int64_t asked_ns);
int bench_warm_up(struct bench *b);
/* One run of a mode. Of several rounds the median becomes b->runs[mode]. */
int bench_measure(struct bench *b, enum bench_mode mode, struct bench_run *result);
int bench_verify(struct bench *b);
/* Records that frame n of a pass is right. */
void bench_pass_add(struct bench_pass *pass, uint64_t n, const struct pelton_frame *frame);
/* Checks frames of the delivered run. bench_check_begin starts. bench_check_frame takes each frame
 * over and gives it back to its stream, at the latest in bench_check_end. bench_check_done handles
 * finished hashes in between. bench_check_end waits for the rest; it returns rc, the failure so
 * far, or its own failure. A result other than 0 means that a frame differs. */
int bench_check_begin(struct bench *b);
int bench_check_frame(struct bench *b, unsigned input, struct bench_place *place,
                      struct pelton_stream *stream, const struct pelton_frame *frame);
int bench_check_done(struct bench *b);
int bench_check_end(struct bench *b, int rc);
/* Percentiles of the samples; with --live also bench.live. */
void bench_latency(struct bench *b);
/* Computes percentiles of n values, and sorts them. */
void bench_percentiles(double *ms, size_t n, struct percentiles *out);
void bench_trace_print(const struct bench *b); /* prints the steps of the samples */
void bench_against_ffmpeg(struct bench *b);
const char *bench_ffmpeg(const struct bench *b); /* the program's path */
void bench_print(const struct bench *b);
int bench_write_json(const struct bench *b, struct failure *f);

#endif
