/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Feeds damaged streams (mutate.c has the same ones by seed and number) through a daemon, and holds
 * each frame and its mark against the slow reference.
 *
 *   mutate_service --socket PATH --reference PROGRAM [--seed S] [--count N] [--from N] [--jobs N]
 *                  [--macroblocks N] [--seconds N] STREAM...
 *
 * After so many seconds no further stream begins. The daemon serves as many streams at once as
 * --jobs says. PROGRAM is session_reference: the worker's engine with the slow reference in a
 * device's place. The daemon's frames must be the reference's, in number and order, with equal MD5
 * and equal marks.
 *
 * Exit: 0, 1 something failed, 2 usage.
 */
#include "proto/pelton.h"
#include "tests/damage/mutate_command.h"
#include "tests/tools/grow.h"
#include "tests/tools/md5.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 120000, SUM_CHARS = 33 };

/* A frame in output order. */
struct frame_sum {
    char md5[SUM_CHARS];
    bool marked;
};

struct frame_list {
    struct frame_sum *at;
    unsigned count, capacity;
};

/* What one process has seen. */
struct tally {
    uint64_t streams, failed, frames, marked, unsupported, without_frames;
    uint64_t gpu_entropy_pictures, access_units;
};

static struct mutate_options opt = {
    .seed = 1, .count = 100, .jobs = 4, .macroblocks = 1200, .kind = MUTATION_KINDS};

static struct sources sources;
static struct tally *tallies; /* of all processes, shared */

__attribute__((format(printf, 3, 4))) static void stream_failed(struct tally *t,
                                                                const struct damaged *d,
                                                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    damaged_failed(d, opt.seed, format, args);
    va_end(args);
    t->failed++;
}

static struct frame_sum *frame_list_add(struct frame_list *list)
{
    return grow_by_one(&list->at, list->count, &list->capacity, sizeof(*list->at))
               ? &list->at[list->count++]
               : NULL;
}

/* ---- the reference ---- */

static void reference_line(const char *line, struct frame_list *frames, bool *good)
{
    char md5[SUM_CHARS];
    unsigned flags;
    if (sscanf(line, "%*u %*d %*d %u %32s", &flags, md5) != 2)
        return; /* the sum of all frames, or a message */
    struct frame_sum *sum = frame_list_add(frames);
    *good &= sum != NULL;
    if (!sum)
        return;
    memcpy(sum->md5, md5, sizeof(md5));
    sum->marked = flags & PELTON_FRAME_CORRUPT;
}

/* Returns minus its exit code, which is the failure of a session, or PELTON_ERR_OTHER. */
static int reference_decode(const char *path, struct frame_list *frames)
{
    char command[PATH_MAX], line[256];
    bool good = true;
    snprintf(command, sizeof(command), "'%s' --frames --threads 1 --fd '%s' 2>/dev/null",
             opt.reference, path);
    FILE *out = popen(command, "r");
    while (out && fgets(line, sizeof(line), out))
        reference_line(line, frames, &good);
    int status = out ? pclose(out) : -1;
    return good && WIFEXITED(status) ? -WEXITSTATUS(status) : PELTON_ERR_OTHER;
}

/* ---- the daemon ---- */

static void frame_md5(const struct pelton_frame *f, char text[SUM_CHARS])
{
    struct md5 md5;
    md5_init(&md5);
    for (uint32_t p = 0; p < f->planes; p++)
        for (uint32_t y = 0; y < f->plane_height[p]; y++)
            md5_update(&md5, f->data[p] + (size_t)y * f->stride[p], f->plane_width[p]);
    md5_finish(&md5, text);
}

/* All frames of the stream. Returns the result of the last call. */
static int served_frames(struct pelton_stream *stream, struct frame_list *frames)
{
    struct pelton_frame frame;
    int rc;
    while ((rc = pelton_next(stream, WAIT_MS, &frame)) == 1) {
        struct frame_sum *sum = frame_list_add(frames);
        if (sum) {
            frame_md5(&frame, sum->md5);
            sum->marked = frame.flags & PELTON_FRAME_CORRUPT;
        }
        pelton_release(stream, &frame);
        if (!sum)
            return PELTON_ERR_NOMEM;
    }
    return rc;
}

static int served_decode(struct pelton *conn, const char *path, int fd, struct frame_list *frames,
                         struct tally *t)
{
    struct pelton_open_params params;
    struct pelton_stream *stream;
    struct pelton_stats stats;
    pelton_open_params_init(&params);
    params.fd = fd;
    params.name = path;
    int rc = pelton_open(conn, &params, WAIT_MS, NULL, &stream);
    if (rc < 0)
        return rc;
    rc = served_frames(stream, frames);
    if (pelton_stats(stream, WAIT_MS, &stats) == 0) {
        t->gpu_entropy_pictures += stats.gpu_entropy_pictures;
        t->access_units += stats.access_units;
        if (stats.worker_restarts)
            rc = PELTON_ERR_WORKER_LOST;
    }
    pelton_stream_close(stream);
    return rc;
}

/* ---- comparison ---- */

static void compare(struct tally *t, const struct damaged *d, const struct frame_list *want,
                    const struct frame_list *got)
{
    if (want->count != got->count) {
        stream_failed(t, d, "%u frames, the reference has %u", got->count, want->count);
        return;
    }
    for (unsigned i = 0; i < want->count; i++) {
        const struct frame_sum *w = &want->at[i], *g = &got->at[i];
        if (strcmp(w->md5, g->md5) != 0 || w->marked != g->marked) {
            stream_failed(t, d, "frame %u: %s%s, the reference has %s%s", i, g->md5,
                          g->marked ? " marked" : "", w->md5, w->marked ? " marked" : "");
            return;
        }
        t->marked += w->marked;
    }
    t->frames += want->count;
}

static void run_stream(struct pelton *conn, struct tally *t, const struct damaged *d,
                       const char *path, int fd)
{
    struct frame_list got = {.count = 0}, want = {.count = 0};
    int rc = served_decode(conn, path, fd, &got, t), should = reference_decode(path, &want);
    t->unsupported += rc == PELTON_ERR_UNSUPPORTED;
    t->without_frames += want.count == 0 && got.count == 0;
    if (rc != should)
        stream_failed(t, d, "%s after %u frames, the reference ends with %s after %u: %s",
                      pelton_error_name(rc), got.count, pelton_error_name(should), want.count,
                      pelton_failure(conn)->cause);
    else
        compare(t, d, &want, &got);
    free(want.at);
    free(got.at);
}

static void run_number(struct pelton *conn, struct tally *t, uint64_t number)
{
    struct damaged d;
    char path[] = "/tmp/pelton-damaged-XXXXXX.264";
    int fd = mkstemps(path, 4);
    FILE *file = fd >= 0 ? fdopen(fd, "r+") : NULL;
    t->streams++;
    if (!damaged_make(&d, opt.seed, number, &sources) || !file || !damaged_write(&d, file) ||
        fflush(file) || fseek(file, 0, SEEK_SET))
        stream_failed(t, &d, "it cannot be written");
    else
        run_stream(conn, t, &d, path, fd);
    units_free(&d.units);
    if (file)
        fclose(file);
    if (fd >= 0)
        unlink(path);
}

/* Every jobs-th mutation, on a connection of its own. */
static bool run_job(unsigned job)
{
    struct pelton *conn;
    if (pelton_connect(opt.socket, WAIT_MS, &conn)) {
        printf("FAILED: %s\n", pelton_failure(NULL)->cause);
        return false;
    }
    for (uint64_t i = job; i < opt.count && (!opt.end || time(NULL) < opt.end); i += opt.jobs)
        if (mutate_wanted(&opt, opt.from + i))
            run_number(conn, &tallies[job], opt.from + i);
    pelton_close(conn);
    return true;
}

static bool run_all(void)
{
    bool good = true;
    for (unsigned j = 0; j < opt.jobs; j++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid < 0)
            return false;
        if (!pid) {
            bool done = run_job(j);
            fflush(stdout);
            _exit(!done);
        }
    }
    for (unsigned j = 0; j < opt.jobs; j++) {
        int status = 1;
        good &= wait(&status) > 0 && status == 0;
    }
    return good;
}

static bool print_sum(void)
{
    struct tally sum = {.streams = 0};
    for (unsigned j = 0; j < opt.jobs; j++) {
        const struct tally *t = &tallies[j];
        sum.streams += t->streams;
        sum.failed += t->failed;
        sum.frames += t->frames;
        sum.marked += t->marked;
        sum.unsupported += t->unsupported;
        sum.without_frames += t->without_frames;
        sum.gpu_entropy_pictures += t->gpu_entropy_pictures;
        sum.access_units += t->access_units;
    }
    printf("seed %" PRIu64 ": %" PRIu64 " streams of %u, %" PRIu64 " failed; %" PRIu64
           " frames and marks equal, %" PRIu64 " marked\n",
           opt.seed, sum.streams, sources.count, sum.failed, sum.frames, sum.marked);
    printf("%" PRIu64 " streams end at what is not supported, %" PRIu64
           " have no frame; of %" PRIu64 " access units the GPU entropy-decoded %" PRIu64 "\n",
           sum.unsupported, sum.without_frames, sum.access_units, sum.gpu_entropy_pictures);
    return sum.streams == mutate_wanted_count(&opt) && !sum.failed && sum.frames;
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "mutate_service --socket PATH --reference PROGRAM [--seed S]\n"
        "           [--count N] [--from N] [--jobs N] [--macroblocks N] [--kind NAME]\n"
        "           [--seconds N] STREAM...\n";
    int code = mutate_command(&opt, &sources, usage, argc, argv);
    if (code)
        return code;
    if (!opt.socket) {
        fprintf(stderr, "usage: %s", usage);
        return 2;
    }
    tallies = mutate_shared(opt.jobs, sizeof(*tallies));
    bool good = tallies && run_all();
    good = good && print_sum();
    sources_free(&sources);
    return !good;
}
