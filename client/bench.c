/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench: the order of the runs. One daemon serves them all: the first stream, a short
 * warm-up, the verification, the three timed runs. With --repeat each round begins with another
 * run. Then the peers run, so no two programs share the machine.
 */
#include "client/output_check.h"
#include "client/bench_encode.h"
#include "client/bench_model.h"
#include "client/commands.h"
#include "client/input.h"
#include "client/input_name.h"
#include "client/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends a word as a shell needs it. */
static void append_word(char *line, size_t size, const char *word)
{
    size_t n = strlen(line);
    bool plain =
        word[0] &&
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+%@") ==
            strlen(word);
    snprintf(line + n, size - n, plain ? " %s" : " '%s'", word);
}

static void bench_describe_command(struct bench *b)
{
    const struct client_options *o = b->o;
    char number[48], name[1024], *line = b->command_line;
    size_t size = sizeof(b->command_line);
    snprintf(line, size, "pelton bench");
    for (unsigned i = 0; i < o->n_inputs; i++) {
        append_word(line, size, "-i");
        append_word(line, size, input_shown_name(o->inputs[i], name, sizeof(name)));
    }
    const struct {
        bool given;
        const char *name, *value;
    } words[] = {
        {o->connect.device_given, "--device", o->connect.device},
        {o->connect.socket != NULL, "--socket", o->connect.socket},
        {o->connect.lookahead_given, "-c", o->connect.lookahead},
        {o->bench.stages, "--stages", NULL},
        {o->bench.against != NULL, "--against", "ffmpeg"},
        {o->bench.ffmpeg != NULL, "--ffmpeg", o->bench.ffmpeg},
        {o->bench.verify, "--verify", NULL},
        {o->bench.live, "--live", NULL},
        {o->bench.trace, "--trace", NULL},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].given) {
            append_word(line, size, words[i].name);
            if (words[i].value)
                append_word(line, size, words[i].value);
        }
    }
    for (unsigned i = 0; i < o->connect.n_config; i++) {
        append_word(line, size, "-c");
        append_word(line, size, o->connect.config[i]);
    }
    size_t n = strlen(line);
    snprintf(number, sizeof(number), " -t %g", (double)o->read.duration_us * 1e-6);
    snprintf(line + n, size - n, "%s", o->read.duration_us > 0 ? number : "");
    n = strlen(line);
    snprintf(number, sizeof(number), " --streams %u --loop %u", o->bench.streams, o->bench.loops);
    snprintf(line + n, size - n, "%s", number);
    n = strlen(line);
    snprintf(number, sizeof(number), " --repeat %u", o->bench.repeat);
    snprintf(line + n, size - n, "%s", o->bench.repeat > 1 ? number : "");
}

static int compare_runs(const void *a, const void *b)
{
    const struct bench_run *x = a, *y = b;
    return (x->fps > y->fps) - (x->fps < y->fps);
}

static void keep_median(struct bench_run *runs, unsigned n, struct bench_run *out)
{
    uint64_t corrupt = 0;
    qsort(runs, n, sizeof(*runs), compare_runs);
    for (unsigned i = 0; i < n; i++)
        corrupt = runs[i].corrupt > corrupt ? runs[i].corrupt : corrupt;
    *out = runs[(n - 1) / 2];
    out->corrupt = corrupt;
}

/* What runs first has the coldest machine, so each round begins with another mode. */
static int bench_rounds(struct bench *b)
{
    unsigned n = b->o->bench.repeat, first = b->o->bench.live ? BENCH_DELIVERED : 0;
    unsigned modes = BENCH_MODES - first;
    struct bench_run *runs = calloc((size_t)BENCH_MODES * n, sizeof(*runs));
    if (!runs)
        return fail_with(b->f, X_OTHER, "close other programs", "out of memory");
    int rc = 0;
    for (unsigned i = 0; i < modes * n && rc == 0; i++) {
        unsigned round = i / modes, mode = first + (i + round) % modes;
        struct bench_run *run = &runs[mode * n + round];
        rc = bench_measure(b, (enum bench_mode)mode, run);
        b->fps[mode][round] = run->fps;
    }
    for (unsigned mode = first; mode < BENCH_MODES && rc == 0; mode++)
        keep_median(&runs[mode * n], n, &b->runs[mode]);
    free(runs);
    return rc;
}

static int bench_all_runs(struct bench *b)
{
    int64_t asked_ns = now_ns();
    int rc = connection_open(b->o, &b->conn, b->f);
    if (rc == 0 && !b->o->bench.live)
        rc = bench_first_stream(b, asked_ns);
    rc = rc ? rc : bench_warm_up(b);
    if (rc == 0 && b->verify_wanted)
        rc = bench_verify(b);
    rc = rc ? rc : bench_rounds(b);
    pelton_close(b->conn);
    b->conn = NULL;
    if (rc == 0 && b->o->bench.against)
        bench_against_ffmpeg(b);
    return rc;
}

static int bench_judge(struct bench *b)
{
    const struct bench_run *run = &b->runs[BENCH_DELIVERED];
    if (b->o->bench.min_fps_given && run->fps < b->o->bench.min_fps) {
        return fail_with(b->f, X_THRESHOLD, "--stages shows where the time goes",
                         "%.1f frames per second were delivered, %g wanted", run->fps,
                         b->o->bench.min_fps);
    }
    return 0;
}

int cmd_bench(struct client_options *o, struct failure *f)
{
    if (o->bench.kernels)
        return cmd_bench_kernels(o, f);
    if (o->n_inputs == 0)
        return fail_with(f, X_USAGE, "as in: pelton bench -i clip.mp4", "no input: -i is missing");
    for (unsigned i = 0; i < o->n_inputs; i++) {
        if (!strcmp(o->inputs[i], "-")) {
            return fail_with(f, X_USAGE, "name a file",
                             "standard input cannot be measured: it is read more than once");
        }
    }
    if (o->bench.encode)
        return cmd_bench_encode(o, f);
    if (o->encode.given)
        return fail_with(f, X_USAGE, "add --encode", "-%s: nothing is encoded", o->encode.given);
    if (o->bench.live && (o->bench.against || o->bench.min_fps_given)) {
        return fail_with(f, X_USAGE, "measure frames per second without --live",
                         "--live measures latency: --against and --min-fps have no meaning");
    }
    if (o->bench.trace && !o->bench.live)
        return fail_with(f, X_USAGE, "add --live", "--trace follows the frames of --live");
    enum overwrite yes = OVERWRITE_YES;
    const char *const reports[] = {o->bench.json_file, o->bench.chart};
    for (unsigned i = 0; i < 2; i++)
        if (reports[i] && output_check_path(reports[i], &yes, f))
            return f->code;
    struct bench *b = calloc(1, sizeof(*b));
    struct bench_pass *passes = calloc(o->n_inputs, sizeof(*passes));
    if (!b || !passes) {
        free(b);
        free(passes);
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    }
    b->o = o;
    b->f = f;
    b->passes = passes;
    b->verify_wanted = o->bench.verify || o->bench.against;
    bench_describe_command(b);
    interrupts_catch();
    int rc = bench_all_runs(b);
    if (rc == 0 && !(o->bench.json_file && !strcmp(o->bench.json_file, "-")))
        bench_print(b);
    if (rc == 0 && o->bench.chart)
        rc = bench_chart(b, o->bench.chart, f);
    if (rc == 0 && o->bench.json_file)
        rc = bench_write_json(b, f);
    rc = rc ? rc : bench_judge(b);
    for (unsigned i = 0; i < o->n_inputs; i++)
        free(passes[i].hash);
    free(passes);
    free(b->samples);
    free(b);
    return rc;
}
