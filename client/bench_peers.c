/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ffmpeg program on the same inputs: with one thread, with all threads, and with NVIDIA's
 * fixed-function decoder where ffmpeg has it. One process runs for each stream. Their time includes
 * the start of a process, some hundredths of a second.
 */
#include "client/bench.h"
#include "client/bench_child.h"
#include "client/input_name.h"
#include "client/ui.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *bench_ffmpeg(const struct bench *b)
{
    return b->o->bench.ffmpeg ? b->o->bench.ffmpeg : "ffmpeg";
}

bool child_start(const char *const *command, struct child *out)
{
    int ends[2];
    posix_spawn_file_actions_t files;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    bool ready = posix_spawn_file_actions_init(&files) == 0;
    pid_t pid = -1;
    int error = !ready ||
                posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ||
                posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO) ||
                posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ||
                posix_spawnp(&pid, command[0], &files, NULL, (char *const *)command, environ);
    if (ready)
        posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    FILE *file = error ? NULL : fdopen(ends[0], "r");
    if (!file) {
        close(ends[0]);
        if (!error) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        return false;
    }
    *out = (struct child){.pid = pid, .out = file};
    return true;
}

int child_wait(struct child *c, bool end_it)
{
    int status = 0;
    if (end_it)
        kill(c->pid, SIGTERM);
    char rest[4096];
    while (!end_it && fread(rest, 1, sizeof(rest), c->out) > 0) {
    }
    fclose(c->out);
    while (waitpid(c->pid, &status, 0) < 0) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Reads frame=N of ffmpeg -progress; the last one counts. */
static uint64_t read_frames(FILE *file)
{
    char line[256];
    uint64_t frames = 0;
    while (fgets(line, sizeof(line), file))
        if (!strncmp(line, "frame=", 6))
            frames = strtoull(line + 6, NULL, 10);
    return frames;
}

struct peer_kind {
    const char *name, *option, *value;
};

static unsigned peer_command(const struct bench *b, const struct peer_kind *kind, const char *input,
                             const char *loops, const char **argv)
{
    unsigned n = 0;
    argv[n++] = bench_ffmpeg(b);
    argv[n++] = "-v";
    argv[n++] = "error";
    argv[n++] = "-nostdin";
    argv[n++] = kind->option;
    argv[n++] = kind->value;
    if (strcmp(loops, "0")) {
        argv[n++] = "-stream_loop";
        argv[n++] = loops;
    }
    argv[n++] = "-i";
    argv[n++] = input;
    argv[n++] = "-map";
    argv[n++] = "0:v:0";
    argv[n++] = "-fps_mode";
    argv[n++] = "passthrough";
    argv[n++] = "-stats_period";
    argv[n++] = "3600";
    argv[n++] = "-progress";
    argv[n++] = "-";
    argv[n++] = "-f";
    argv[n++] = "null";
    argv[n++] = "/dev/null";
    argv[n] = NULL;
    return n;
}

/* The number of times that a peer repeats its input, after the first, to do as much as the
 * delivered run. */
static uint64_t extra_loops(const struct bench *b)
{
    if (b->o->read.duration_us <= 0)
        return b->o->bench.loops - 1;
    uint64_t once = b->file_frames * b->o->bench.streams;
    uint64_t passes = once ? (b->runs[BENCH_DELIVERED].frames + once - 1) / once : 1;
    return passes ? passes - 1 : 0;
}

static void measure_peer(const struct bench *b, const struct peer_kind *kind,
                         struct bench_peer *peer)
{
    const char *argv[32];
    char loops[24], name[512];
    unsigned n = b->o->n_inputs * b->o->bench.streams, started = 0;
    struct child *children = calloc(n, sizeof(*children));
    bool failed = !children;
    snprintf(loops, sizeof(loops), "%llu", (unsigned long long)extra_loops(b));
    snprintf(peer->name, sizeof(peer->name), "%s", kind->name);
    int64_t start = now_ns();
    for (; !failed && started < n; started += !failed) {
        unsigned words = peer_command(b, kind, b->o->inputs[started % b->o->n_inputs], loops, argv);
        for (unsigned i = 0; started == 0 && i < words; i++) {
            size_t at = strlen(peer->command);
            snprintf(peer->command + at, sizeof(peer->command) - at, "%s%s", i ? " " : "",
                     input_shown_name(argv[i], name, sizeof(name)));
        }
        failed = !child_start(argv, &children[started]);
    }
    for (unsigned i = 0; i < started; i++) {
        peer->frames += failed ? 0 : read_frames(children[i].out);
        failed |= child_wait(&children[i], failed) != 0;
    }
    peer->seconds = (double)(now_ns() - start) * 1e-9;
    peer->fps = (double)peer->frames / peer->seconds;
    if (failed || peer->frames == 0) {
        snprintf(peer->why, sizeof(peer->why), started < n ? "%s cannot be started" : "%s failed",
                 bench_ffmpeg(b));
    }
    free(children);
}

static bool has_decoder(const struct bench *b, const char *decoder)
{
    const char *const argv[] = {bench_ffmpeg(b), "-v", "quiet", "-hide_banner", "-decoders", NULL};
    struct child child;
    char line[512];
    bool found = false;
    if (!child_start(argv, &child))
        return false;
    while (fgets(line, sizeof(line), child.out))
        found = found || strstr(line, decoder);
    child_wait(&child, false);
    return found;
}

void bench_against_ffmpeg(struct bench *b)
{
    static const struct peer_kind kinds[MAX_PEERS] = {
        {"ffmpeg, one thread", "-threads", "1"},
        {"ffmpeg, all threads", "-threads", "0"},
        {"ffmpeg, h264_cuvid", "-c:v", "h264_cuvid"},
    };
    for (unsigned i = 0; i < MAX_PEERS && !interrupted(); i++) {
        struct bench_peer *peer = &b->peers[b->n_peers++];
        if (i < 2 || has_decoder(b, kinds[i].value)) {
            measure_peer(b, &kinds[i], peer);
        } else {
            snprintf(peer->name, sizeof(peer->name), "%s", kinds[i].name);
            snprintf(peer->why, sizeof(peer->why), "%s has no %s", bench_ffmpeg(b), kinds[i].value);
        }
    }
}
