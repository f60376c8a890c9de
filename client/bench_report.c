/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The figures of pelton bench, as a table and as JSON.
 */
#include "client/bench_model.h"
#include "client/connection.h"
#include "client/input_name.h"
#include "proto/json.h"
#include "client/memory_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const mode_names[BENCH_MODES] = {"left on the GPU", "read back to the host",
                                                    "delivered to one reader"};
static const char *const mode_keys[BENCH_MODES] = {"gpu", "readback", "delivered"};

struct stage {
    const char *name;
    double seconds;
};
enum { N_CPU = 6, N_GPU = 8 };

static void stages_of(const struct pelton_stats *s, struct stage cpu[N_CPU],
                      struct stage gpu[N_GPU])
{
    const struct stage c[N_CPU] = {{"demux", s->cpu_demux},   {"entropy", s->cpu_entropy},
                                   {"motion", s->cpu_motion}, {"submit", s->cpu_submit},
                                   {"device", s->cpu_device}, {"wait", s->cpu_wait}};
    const struct stage g[N_GPU] = {{"upload", s->gpu_upload},     {"classify", s->gpu_classify},
                                   {"residual", s->gpu_residual}, {"inter", s->gpu_inter},
                                   {"intra", s->gpu_intra},       {"deblock", s->gpu_deblock},
                                   {"deliver", s->gpu_deliver},   {"entropy", s->gpu_entropy}};
    memcpy(cpu, c, sizeof(c));
    memcpy(gpu, g, sizeof(g));
}

/* The part of the bytes that the GPU entropy-decoded. Its pictures are the small ones. */
static double gpu_share(const struct pelton_stats *s)
{
    return s->bytes_in ? (double)s->gpu_entropy_bytes / (double)s->bytes_in : 0;
}

static void print_stages(const struct bench *b)
{
    const struct bench_run *run = &b->runs[BENCH_DELIVERED];
    struct stage cpu[N_CPU], gpu[N_GPU];
    double frames = run->frames ? (double)run->frames : 1;
    stages_of(&run->total, cpu, gpu);
    printf("\n%-28s %10s %12s\n", "stages, delivered run", "seconds", "ms a frame");
    for (int i = 0; i < N_CPU; i++) {
        printf("  cpu %-22s %10.3f %12.3f\n", cpu[i].name, cpu[i].seconds,
               cpu[i].seconds * 1e3 / frames);
    }
    for (int i = 0; i < N_GPU; i++) {
        printf("  gpu %-22s %10.3f %12.3f\n", gpu[i].name, gpu[i].seconds,
               gpu[i].seconds * 1e3 / frames);
    }
    if (run->total.gpu_entropy_pictures) {
        printf("  entropy-decoded on the GPU: %llu pictures, %.1f %% of the bytes\n",
               (unsigned long long)run->total.gpu_entropy_pictures, 100 * gpu_share(&run->total));
    }
    printf("  %-26s %10.3f %12.3f\n", "passed (queues overlap)", run->seconds,
           run->seconds * 1e3 / frames);
    printf("  bytes in %.1f MB, uploaded %.1f MB, delivered %.1f MB, over the bus %.1f MB\n",
           (double)run->total.bytes_in * 1e-6, (double)run->total.bytes_uploaded * 1e-6,
           (double)run->total.bytes_delivered * 1e-6, (double)run->total.bytes_over_bus * 1e-6);
}

static void print_percentiles(const char *name, const struct percentiles *p)
{
    printf("%-36s %10.2f %10.2f %10.2f %10.2f\n", name, p->p50, p->p95, p->p99, p->most);
}

static void print_memory(const struct bench *b)
{
    const struct pelton_stats *s = &b->runs[BENCH_DELIVERED].total;
    double streams = (double)b->o->bench.streams * b->o->n_inputs;
    printf("\nmemory a stream, at most     host %.1f MB, device %.1f MB\n",
           (double)s->memory_host * 1e-6 / streams, (double)s->memory_gpu * 1e-6 / streams);
    memory_print("the worker's in all, at its end  ", s->worker_gpu, s->worker_host);
}

static void print_verified(const struct bench *b)
{
    unsigned long long checked = b->checked_frames;
    if (b->verified) {
        printf("\nverified %llu frames equal FFmpeg's MD5, and %llu frames of the delivered run "
               "equal these\n",
               (unsigned long long)b->verified_frames, checked);
        return;
    }
    printf("\n%s%s%s\n", checked ? "not compared with FFmpeg" : "not verified",
           b->verify_why[0] ? ": " : "", b->verify_why);
    if (checked) {
        printf(
            "verified %llu frames of the delivered run equal the same of other loops or streams\n",
            checked);
    }
}

static void print_run(const struct bench *b, int mode)
{
    const struct bench_run *r = &b->runs[mode];
    if (!r->measured)
        return;
    printf("%-28s %10llu %10.3f %10.1f", mode_names[mode], (unsigned long long)r->frames,
           r->seconds, r->fps);
    for (unsigned i = 0; b->o->bench.repeat > 1 && i < b->o->bench.repeat; i++)
        printf("%s%.1f", i ? ", " : "  median of ", b->fps[mode][i]);
    printf("\n");
    if (r->steady.known) {
        printf("%-28s %10s %10.3f %10.1f  windows within %.1f %%\n", "  steady, after ramp-up", "",
               r->steady.ramp, r->steady.fps, r->steady.percent);
    } else if (mode == BENCH_DELIVERED && !b->o->bench.live) {
        printf("  no steady state: the run is short, or no two windows are within %d %%\n",
               STEADY_PERCENT);
    }
}

void bench_print(const struct bench *b)
{
    printf("$ %s\n", b->command_line);
    if (b->device_known)
        printf("device  %s%s, %s\n", b->device.name, device_kind(&b->device), b->device.driver);
    printf("input   %s, %s, %ux%u %s; %u input%s, %u stream%s each\n\n", b->info.codec,
           b->info.profile, b->info.width, b->info.height, b->info.pix_fmt, b->o->n_inputs,
           b->o->n_inputs == 1 ? "" : "s", b->o->bench.streams,
           b->o->bench.streams == 1 ? "" : "s");
    printf("%-28s %10s %10s %10s\n", "", "frames", "seconds", "fps");
    if (b->first.frames) {
        printf("%-28s %10llu %10.3f %10.1f  first frame after %.3f s\n",
               b->o->connect.socket ? "first stream here" : "first stream of a process",
               (unsigned long long)b->first.frames, b->first.seconds,
               (double)b->first.frames / b->first.seconds, b->first.frame);
    }
    for (int m = 0; m < BENCH_MODES; m++)
        print_run(b, m);
    for (unsigned i = 0; i < b->n_peers; i++) {
        const struct bench_peer *p = &b->peers[i];
        if (p->why[0]) {
            printf("%-28s not measured: %s\n", p->name, p->why);
        } else {
            printf("%-28s %10llu %10.3f %10.1f\n", p->name, (unsigned long long)p->frames,
                   p->seconds, p->fps);
        }
    }
    printf("\n%-36s %10s %10s %10s %10s\n", "latency, delivered, ms", "p50", "p95", "p99", "most");
    print_percentiles("  read -> frame readable", &b->decoded);
    print_percentiles("  read -> taken by reader", &b->taken);
    if (b->o->bench.live) {
        printf("  the stream's reordering: %u picture%s\n", b->live.reordering,
               b->live.reordering == 1 ? "" : "s");
        print_percentiles("  last one needed -> frame readable", &b->live.decoded);
        print_percentiles("  last one needed -> taken by reader", &b->live.taken);
    }
    if (b->o->bench.trace)
        bench_trace_print(b);
    print_memory(b);
    if (b->o->bench.stages) {
        print_stages(b);
        bench_model_print(b);
    }
    print_verified(b);
    if (b->runs[BENCH_DELIVERED].corrupt)
        printf("%llu frames were damaged\n", (unsigned long long)b->runs[BENCH_DELIVERED].corrupt);
}

static void write_percentiles(struct json *j, const char *name, const struct percentiles *p)
{
    json_open(j, name, '{');
    json_number(j, "p50", p->p50);
    json_number(j, "p95", p->p95);
    json_number(j, "p99", p->p99);
    json_close(j, '}');
}

static void write_stages(struct json *j, const char *name, const struct stage *s, int n)
{
    json_open(j, name, '{');
    for (int i = 0; i < n; i++)
        json_number(j, s[i].name, s[i].seconds);
    json_close(j, '}');
}

static void write_head(const struct bench *b, struct json *j)
{
    json_text(j, "command", b->command_line);
    json_text(j, "version", pelton_version());
    json_text(j, "decoder", decoder_name(b->device.libavcodec));
    json_open(j, "device", '{');
    json_text(j, "name", b->device_known ? b->device.name : NULL);
    json_text(j, "uuid", b->device_known ? b->device.uuid : NULL);
    json_text(j, "driver", b->device_known ? b->device.driver : NULL);
    json_bool(j, "software", b->device.software);
    json_close(j, '}');
    json_open(j, "inputs", '[');
    for (unsigned i = 0; i < b->o->n_inputs; i++) {
        char name[1024];
        json_text(j, NULL, input_shown_name(b->o->inputs[i], name, sizeof(name)));
    }
    json_close(j, ']');
    json_int(j, "width", b->info.width);
    json_int(j, "height", b->info.height);
    json_int(j, "streams", (int64_t)b->o->bench.streams * b->o->n_inputs);
}

static void write_steady(const struct bench *b, struct json *j)
{
    const struct bench_steady *s = &b->runs[BENCH_DELIVERED].steady;
    double none = __builtin_nan("");
    json_open(j, "steady", '{');
    json_number(j, "fps", s->known ? s->fps : none);
    json_number(j, "ramp_seconds", s->known ? s->ramp : none);
    json_number(j, "windows_percent", s->known ? s->percent : none);
    json_close(j, '}');
    json_open(j, "first_stream", '{');
    json_bool(j, "new_process", b->o->connect.socket == NULL);
    json_int(j, "frames", (int64_t)b->first.frames);
    json_number(j, "seconds", b->first.frames ? b->first.seconds : none);
    json_number(j, "first_frame_seconds", b->first.frames ? b->first.frame : none);
    json_close(j, '}');
}

static void write_rounds(const struct bench *b, struct json *j)
{
    json_open(j, "fps_rounds", '{');
    for (int m = 0; m < BENCH_MODES; m++) {
        json_open(j, mode_keys[m], '[');
        for (unsigned i = 0; b->runs[m].measured && i < b->o->bench.repeat; i++)
            json_number(j, NULL, b->fps[m][i]);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void write_runs(const struct bench *b, struct json *j)
{
    json_open(j, "fps", '{');
    for (int m = 0; m < BENCH_MODES; m++)
        json_number(j, mode_keys[m], b->runs[m].measured ? b->runs[m].fps : __builtin_nan(""));
    json_close(j, '}');
    json_open(j, "seconds", '{');
    for (int m = 0; m < BENCH_MODES; m++)
        json_number(j, mode_keys[m], b->runs[m].measured ? b->runs[m].seconds : __builtin_nan(""));
    json_close(j, '}');
    write_rounds(b, j);
    write_steady(b, j);
    json_int(j, "frames", (int64_t)b->runs[BENCH_DELIVERED].frames);
    json_int(j, "corrupt", (int64_t)b->runs[BENCH_DELIVERED].corrupt);
    write_percentiles(j, "latency_ms", &b->decoded);
    write_percentiles(j, "latency_reader_ms", &b->taken);
    if (b->o->bench.live) {
        json_open(j, "live", '{');
        json_int(j, "reordering", b->live.reordering);
        write_percentiles(j, "latency_ms", &b->live.decoded);
        write_percentiles(j, "latency_reader_ms", &b->live.taken);
        json_number(j, "most_ms", b->live.decoded.most);
        json_number(j, "most_reader_ms", b->live.taken.most);
        json_close(j, '}');
    }
    struct stage cpu[N_CPU], gpu[N_GPU];
    const struct pelton_stats *s = &b->runs[BENCH_DELIVERED].total;
    stages_of(s, cpu, gpu);
    write_stages(j, "cpu_seconds", cpu, N_CPU);
    write_stages(j, "gpu_seconds", gpu, N_GPU);
    json_int(j, "gpu_entropy_pictures", (int64_t)s->gpu_entropy_pictures);
    json_number(j, "gpu_entropy_share", gpu_share(s)); /* of the bytes */
    json_open(j, "memory_bytes", '{'); /* sum over the streams of the most that each had */
    json_int(j, "host", (int64_t)s->memory_host);
    json_int(j, "device", (int64_t)s->memory_gpu);
    memory_json(j, "worker", s->worker_gpu, s->worker_host);
    json_close(j, '}');
    json_open(j, "bytes", '{');
    json_int(j, "in", (int64_t)s->bytes_in);
    json_int(j, "uploaded", (int64_t)s->bytes_uploaded);
    json_int(j, "delivered", (int64_t)s->bytes_delivered);
    json_int(j, "over_bus", (int64_t)s->bytes_over_bus);
    json_close(j, '}');
}

static void write_model(const struct bench *b, struct json *j)
{
    struct model_pass passes[MODEL_PASSES];
    if (!bench_model(b, passes))
        return;
    json_number(j, "device_bandwidth", b->runs[BENCH_DELIVERED].total.device_bandwidth);
    json_open(j, "model", '[');
    for (int i = 0; i < MODEL_PASSES; i++) {
        const struct model_pass *p = &passes[i];
        json_open(j, NULL, '{');
        json_text(j, "pass", p->name);
        json_number(j, "operations", p->operations);
        json_number(j, "bytes_in", p->bytes_in);
        json_number(j, "bytes_out", p->bytes_out);
        json_number(j, "floor_seconds", p->floor > 0 ? p->floor : __builtin_nan(""));
        json_number(j, "seconds", p->seconds);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_peers(const struct bench *b, struct json *j)
{
    json_open(j, "peers", '[');
    for (unsigned i = 0; i < b->n_peers; i++) {
        const struct bench_peer *p = &b->peers[i];
        json_open(j, NULL, '{');
        json_text(j, "name", p->name);
        json_text(j, "command", p->command);
        json_text(j, "not_measured", p->why[0] ? p->why : NULL);
        json_number(j, "fps", p->why[0] ? __builtin_nan("") : p->fps);
        json_number(j, "seconds", p->seconds);
        json_int(j, "frames", (int64_t)p->frames);
        json_close(j, '}');
    }
    json_close(j, ']');
}

int bench_write_json(const struct bench *b, struct failure *f)
{
    bool to_stdout = !strcmp(b->o->bench.json_file, "-");
    FILE *file = to_stdout ? stdout : fopen(b->o->bench.json_file, "we");
    if (!file)
        return fail_errno(f, X_OTHER, errno, b->o->bench.json_file);
    struct json j = {.file = file};
    json_open(&j, NULL, '{');
    write_head(b, &j);
    write_runs(b, &j);
    write_model(b, &j);
    json_bool(&j, "verified", b->verified);
    json_int(&j, "verified_frames", (int64_t)b->verified_frames);
    json_int(&j, "checked_frames", (int64_t)b->checked_frames); /* of the delivered run */
    json_text(&j, "not_verified",
              b->verified        ? NULL
              : b->verify_why[0] ? b->verify_why
                                 : "not asked for");
    write_peers(b, &j);
    json_close(&j, '}');
    int failed = to_stdout ? fflush(file) : fclose(file);
    return failed ? fail_errno(f, X_OTHER, errno, b->o->bench.json_file) : 0;
}
