/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench --encode: frames by a daemon, which then ends; the device; the timed run; x264.
 */
#include "client/bench_encode.h"
#include "client/commands.h"
#include "client/input_name.h"
#include "client/output_check.h"
#include "client/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALIKE = 64 /* streams that share buffers */, MOST_STREAMS = 256 };

static void word_add(struct bench_encode *b, const char *word)
{
    size_t n = strlen(b->command_line);
    snprintf(b->command_line + n, sizeof(b->command_line) - n, " %s", word);
}

static void number_add(struct bench_encode *b, const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof(text), "%s %g", name, value);
    word_add(b, text);
}

static void command_describe(struct bench_encode *b)
{
    const struct client_options *o = b->o;
    const struct encode_options *e = &o->encode;
    char name[1024];
    snprintf(b->command_line, sizeof(b->command_line), "pelton bench --encode");
    for (unsigned i = 0; i < o->n_inputs; i++) {
        word_add(b, "-i");
        word_add(b, input_shown_name(o->inputs[i], name, sizeof(name)));
    }
    if (o->connect.device_given) {
        word_add(b, "--device");
        word_add(b, o->connect.device);
    }
    number_add(b, "--streams", o->bench.streams);
    if (o->read.duration_us > 0)
        number_add(b, "-t", (double)o->read.duration_us * 1e-6);
    else
        number_add(b, "--loop", o->bench.loops);
    if (e->crf_given)
        number_add(b, "-crf", e->crf);
    if (e->qp_given)
        number_add(b, "-qp", e->qp);
    number_add(b, "-refs", e->references);
    number_add(b, "-slices", e->slices);
    if (o->bench.stages)
        word_add(b, "--stages");
    if (o->bench.against)
        word_add(b, "--against ffmpeg");
}

static int options_check(const struct client_options *o, struct failure *f)
{
    enum overwrite yes = OVERWRITE_YES;
    if (o->bench.live || o->bench.verify || o->bench.trace || o->bench.chart)
        return fail_with(f, X_USAGE, "leave them out, or leave out --encode",
                         "--live, --trace, --verify and --chart are about decoding");
    if (o->encode.bit_rate || (o->encode.crf_given && o->encode.qp_given))
        return fail_with(f, X_USAGE, "take -qp or -crf",
                         "--encode measures at a constant QP or quality");
    if (o->bench.streams * o->n_inputs > MOST_STREAMS)
        return fail_with(f, X_USAGE, "fewer inputs or fewer --streams", "more than %d streams",
                         MOST_STREAMS);
    return o->bench.json_file ? output_check_path(o->bench.json_file, &yes, f) : 0;
}

static int device_fail(const struct bench_encode *b, int err)
{
    return fail_with(b->f, err == GPU_ERR_NO_DEVICE ? X_NO_DEVICE : X_OTHER,
                     "pelton doctor says what is there", "--device %s: %s",
                     b->o->connect.device_given ? b->o->connect.device : "auto",
                     gpu_error_text(err));
}

static int device_open(struct bench_encode *b)
{
    struct gpu_params params = {.device = b->o->connect.device_given ? b->o->connect.device : NULL,
                                .keep_pipelines = true,
                                .timestamps = b->o->bench.stages};
    struct gpu_encoder_params encoder = {.streams =
                                             b->streams < MOST_ALIKE ? b->streams : MOST_ALIKE};
    int err = gpu_open(&params, &b->gpu);
    if (err == GPU_OK && b->o->bench.stages) {
        gpu_bandwidth(b->gpu, &b->bandwidth); /* a device without timestamps has no floors */
        gpu_operations(b->gpu, &b->operations);
    }
    if (err == GPU_OK)
        err = gpu_encoder_create(b->gpu, &encoder, &b->encoder);
    return err < 0 ? device_fail(b, err) : 0;
}

static int bench_judge(const struct bench_encode *b)
{
    const struct encode_figures *s = &b->figures;
    double fps = s->seconds > 0 ? (double)s->pictures / s->seconds : 0;
    if (b->o->bench.min_fps_given && fps < b->o->bench.min_fps)
        return fail_with(b->f, X_THRESHOLD, "--stages shows where the time goes",
                         "%.1f pictures per second were encoded, %g wanted", fps,
                         b->o->bench.min_fps);
    return 0;
}

static int bench_run_all(struct bench_encode *b)
{
    int rc = encode_clips_read(b);
    rc = rc ? rc : device_open(b);
    rc = rc ? rc : encode_streams_run(b);
    if (rc)
        return rc;
    if (b->o->bench.stages)
        encode_model(b);
    if (b->o->bench.against)
        encode_against_ffmpeg(b);
    if (!b->o->bench.json_file || strcmp(b->o->bench.json_file, "-") != 0)
        encode_print(b);
    rc = b->o->bench.json_file ? encode_write_json(b, b->f) : 0;
    return rc ? rc : bench_judge(b);
}

int cmd_bench_encode(struct client_options *o, struct failure *f)
{
    struct bench_encode *b;
    int rc = options_check(o, f);
    if (rc)
        return rc;
    b = calloc(1, sizeof(*b));
    if (!b)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    b->o = o;
    b->f = f;
    b->streams = o->bench.streams * o->n_inputs;
    command_describe(b);
    interrupts_catch();
    rc = bench_run_all(b);
    gpu_encoder_free(b->encoder);
    if (b->gpu)
        gpu_close(b->gpu);
    encode_clips_free(b);
    free(b);
    return rc;
}
