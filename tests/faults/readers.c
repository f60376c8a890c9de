/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Many readers of a clip in shared memory, each a client of its own that wants the newest frame.
 *
 *   readers -s SOCKET -c CLIP -t TRUTH [-n STREAMS] [-r READS] [-d SECONDS] [-f FPS]
 *
 * A read takes the MD5 of a frame's samples, which is that of TRUTH for its time: lines of framemd5
 * of the whole clip. With -f the clip is read at its own pace, so many frames a second. Else the
 * source runs ahead of its readers: each holds frames for a while and reads them again and again,
 * while newer ones are written and left out. The end is after so many reads, or seconds. A frame
 * that has not the MD5 of its time is torn. Exit codes: 0, 1 torn or failed.
 */
#include "tests/tools/md5.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pelton.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HELD = 8, POOL = 12, STREAMS_MOST = 2000, FRAMES_MOST = 1000, PATIENCE_MS = 120000 };

struct reader {
    struct pelton *conn;
    struct pelton_stream *stream;
    struct pelton_frame held[HELD];
    unsigned n_held;
    uint32_t epoch;
};

struct run {
    const char *socket, *clip;
    unsigned streams;
    uint64_t reads_wanted;
    double seconds, fps;
    struct reader readers[STREAMS_MOST];
    struct pollfd polls[STREAMS_MOST];
    char truth[FRAMES_MOST][33];
    unsigned n_truth;
    uint64_t reads, frames, left_out, epochs, torn;
    uint64_t random;
};

static struct run run = {.streams = 1, .random = 88172645463325252u};

static unsigned random_below(unsigned n)
{
    run.random ^= run.random << 13;
    run.random ^= run.random >> 7;
    run.random ^= run.random << 17;
    return (unsigned)(run.random % n);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int truth_load(const char *path)
{
    char line[256];
    FILE *f = fopen(path, "r");
    while (f && run.n_truth < FRAMES_MOST && fgets(line, sizeof(line), f))
        if (line[0] != '#' && sscanf(line, "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,], %32[0-9a-f]",
                                     run.truth[run.n_truth]) == 1)
            run.n_truth++;
    if (f)
        fclose(f);
    return run.n_truth ? 0 : -1;
}

/* Of a clip that is read again and again; it has 25 frames a second unless -f says otherwise. */
static const char *truth_of(const struct pelton_frame *f)
{
    double fps = run.fps > 0 ? run.fps : 25;
    double frame = (double)f->pts * f->time_base.num * fps / f->time_base.den;
    return run.truth[(uint64_t)(frame + 0.5) % run.n_truth];
}

static void frame_read(const struct pelton_frame *f)
{
    struct md5 sum;
    char text[33];
    md5_init(&sum);
    for (unsigned p = 0; p < f->planes; p++)
        for (uint32_t y = 0; y < f->plane_height[p]; y++)
            md5_update(&sum, f->data[p] + (size_t)y * f->stride[p], f->plane_width[p]);
    md5_finish(&sum, text);
    run.reads++;
    if (strcmp(text, truth_of(f)) == 0)
        return;
    if (run.torn++ < 5)
        fprintf(stderr, "torn: sequence %" PRIu64 ", epoch %u, slot %u: %s, not %s\n", f->sequence,
                f->epoch, f->slot, text, truth_of(f));
}

/* One of the held frames is read once more and goes. */
static void reader_let_go(struct reader *r, unsigned at)
{
    frame_read(&r->held[at]);
    pelton_release(r->stream, &r->held[at]);
    r->held[at] = r->held[--r->n_held];
}

static void reader_take(struct reader *r, const struct pelton_frame *f)
{
    run.frames++;
    run.epochs += f->epoch != r->epoch;
    r->epoch = f->epoch;
    frame_read(f);
    if (run.fps > 0) {
        pelton_release(r->stream, f);
        return;
    }
    if (r->n_held == HELD)
        reader_let_go(r, random_below(HELD));
    r->held[r->n_held++] = *f;
    for (int again = 0; again < 2; again++)
        frame_read(&r->held[random_below(r->n_held)]);
    if (random_below(2))
        reader_let_go(r, random_below(r->n_held));
}

static int complain(const struct pelton *conn, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, pelton_failure(conn)->cause);
    return -1;
}

/* A source that is read again and again at its pace; else one pass. */
static int reader_open(struct reader *r)
{
    struct pelton_open_params params;
    pelton_open_params_init(&params);
    params.fd = open(run.clip, O_RDONLY | O_CLOEXEC);
    params.policy = PELTON_LATEST;
    params.depth = POOL;
    params.loop = params.realtime = run.fps > 0;
    int rc = pelton_open_start(r->conn, &params, &r->stream);
    close(params.fd);
    return rc < 0 ? complain(r->conn, "open") : 0;
}

static int readers_open(void)
{
    for (unsigned i = 0; i < run.streams; i++) {
        if (pelton_connect(run.socket, PATIENCE_MS, &run.readers[i].conn) < 0)
            return complain(NULL, "connect");
        if (reader_open(&run.readers[i]) < 0)
            return -1;
        run.polls[i] = (struct pollfd){.fd = pelton_fd(run.readers[i].conn), .events = POLLIN};
    }
    return 0;
}

static void reader_close(struct reader *r)
{
    while (r->n_held) {
        run.left_out += r->n_held == 1 ? r->held[0].dropped_client : 0;
        reader_let_go(r, 0);
    }
    pelton_stream_close(r->stream);
    r->stream = NULL;
    r->epoch = 0;
}

/* All that has come. */
static int reader_turn(struct reader *r)
{
    struct pelton_frame frame;
    int rc;
    while ((rc = pelton_next(r->stream, 0, &frame)) > 0)
        reader_take(r, &frame);
    if (rc == 0) {
        reader_close(r);
        return reader_open(r);
    }
    return rc == PELTON_ERR_TIMEOUT ? 0 : complain(r->conn, "stream");
}

static int readers_turn(void)
{
    poll(run.polls, run.streams, 100);
    for (unsigned i = 0; i < run.streams; i++)
        if (run.polls[i].revents && reader_turn(&run.readers[i]) < 0)
            return -1;
    return 0;
}

/* The time begins when each stream has given a frame; epochs counts the streams' first ones, too.
 */
static int readers_run(void)
{
    while (run.epochs < run.streams)
        if (readers_turn() < 0)
            return -1;
    puts("all read");
    fflush(stdout);
    double end = now_s() + (run.seconds > 0 ? run.seconds : 1e9);
    while (now_s() < end && (!run.reads_wanted || run.reads < run.reads_wanted))
        if (readers_turn() < 0)
            return -1;
    return 0;
}

static void usage(void)
{
    fputs("readers -s SOCKET -c CLIP -t TRUTH [-n STREAMS] [-r READS] [-d SECONDS] [-f FPS]\n",
          stderr);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *truth = NULL;
    for (int o; (o = getopt(argc, argv, "s:c:t:n:r:d:f:")) != -1;) {
        switch (o) {
        case 's':
            run.socket = optarg;
            break;
        case 'c':
            run.clip = optarg;
            break;
        case 't':
            truth = optarg;
            break;
        case 'n':
            run.streams = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'r':
            run.reads_wanted = strtoull(optarg, NULL, 10);
            break;
        case 'd':
            run.seconds = strtod(optarg, NULL);
            break;
        case 'f':
            run.fps = strtod(optarg, NULL);
            break;
        default:
            usage();
        }
    }
    if (!run.socket || !run.clip || !truth || run.streams < 1 || run.streams > STREAMS_MOST)
        usage();
    if (truth_load(truth) < 0) {
        fprintf(stderr, "%s: no lines of framemd5\n", truth);
        return 1;
    }
    if (readers_open() < 0)
        return 1;
    int rc = readers_run();
    for (unsigned i = 0; i < run.streams; i++)
        if (run.readers[i].stream)
            reader_close(&run.readers[i]);
    printf("%" PRIu64 " reads, %" PRIu64 " frames, %" PRIu64 " left out, %" PRIu64
           " epochs, %" PRIu64 " torn\n",
           run.reads, run.frames, run.left_out, run.epochs, run.torn);
    return rc < 0 || run.torn;
}
