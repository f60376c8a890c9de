/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The figures of pelton bench --encode, as a table and as JSON.
 */
#include "client/bench_encode.h"
#include "client/input_name.h"
#include "proto/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of a picture */
static double each(const struct bench_encode *b, double sum)
{
    return b->figures.pictures ? sum / (double)b->figures.pictures : 0;
}

static double batch_width(const struct bench_encode *b)
{
    const struct gpu_encoder_counts *c = &b->figures.counts;
    return c->batches ? (double)c->pictures / (double)c->batches : 0;
}

static double rate_of(const struct encode_figures *figures)
{
    return figures->seconds > 0 ? (double)figures->pictures / figures->seconds : 0;
}

static void print_cell(double value, double factor)
{
    if (value > 0)
        printf(" %10.1f", value * factor);
    else
        printf(" %10s", "-");
}

static void print_model(const struct bench_encode *b)
{
    double floors = 0, sum = 0;
    printf("\nmodel of a picture; device memory %.0f GB/s, %.2f Top/s of integers\n",
           b->bandwidth * 1e-9, b->operations * 1e-12);
    printf("  %-20s %10s %10s %10s %12s %8s\n", "pass", "Mop", "MB", "floor, us", "measured, us",
           "ratio");
    for (unsigned i = 0; i < b->n_rows; i++) {
        const struct encode_row *r = &b->rows[i];
        printf("  %-20s", r->name);
        print_cell(r->operations, 1e-6);
        print_cell(r->bytes, 1e-6);
        print_cell(r->floor, 1e6);
        printf(" %12.1f", r->seconds * 1e6);
        if (r->floor > 0)
            printf(" %8.1f\n", r->seconds / r->floor);
        else
            printf(" %8s\n", "-");
        floors += r->floor;
        sum += r->seconds;
    }
    printf("  %-20s %10s %10s %10.1f %12.1f\n", "all", "", "", floors * 1e6, sum * 1e6);
}

static void print_peer(const struct bench_encode *b)
{
    const struct bench_peer *p = &b->peer;
    printf("\n$ %s\n", p->command);
    if (p->why[0])
        printf("%-28s not measured: %s\n", p->name, p->why);
    else
        printf("%-28s %10.1f pictures/s, %.1f kbit a picture\n", p->name, p->fps,
               b->peer_bits * 1e-3);
}

void encode_print(const struct bench_encode *b)
{
    const struct encode_figures *s = &b->figures;
    printf("$ %s\n", b->command_line);
    printf("device  %s, %s\n", gpu_info(b->gpu)->name, gpu_info(b->gpu)->driver);
    printf("input   %ux%u yuv420p, %u frames in memory; %u stream%s\n\n", b->clips[0].width,
           b->clips[0].height, b->clips[0].count, b->streams, b->streams == 1 ? "" : "s");
    printf("%-28s %10llu pictures in %.3f s, %.1f pictures/s\n", "encoded",
           (unsigned long long)s->pictures, s->seconds, rate_of(s));
    printf("%-28s %10.1f kbit\n", "a picture", encode_picture_bits(b) * 1e-3);
    printf("%-28s %10.2f ms p50, %.2f ms p95, %.2f ms p99, %.2f ms most\n", "frame to access unit",
           s->push.p50, s->push.p95, s->push.p99, s->push.most);
    printf("%-28s %10.3f ms a picture, of %ld CPUs\n", "CPU", 1e3 * each(b, s->cpu_seconds),
           sysconf(_SC_NPROCESSORS_ONLN));
    printf("%-28s %10.1f pictures, %.3f ms each\n", "batches", batch_width(b),
           s->counts.batches ? 1e3 * s->counts.decide_s / (double)s->counts.batches : 0);
    if (b->o->bench.stages)
        print_model(b);
    if (b->o->bench.against)
        print_peer(b);
}

/* ---- JSON ---- */

static double or_null(double value)
{
    return value > 0 ? value : NAN;
}

static void write_model(const struct bench_encode *b, struct json *j)
{
    json_number(j, "device_bandwidth", or_null(b->bandwidth));
    json_number(j, "device_operations", or_null(b->operations));
    json_open(j, "model", '[');
    for (unsigned i = 0; i < b->n_rows; i++) {
        const struct encode_row *r = &b->rows[i];
        json_open(j, NULL, '{');
        json_text(j, "pass", r->name);
        json_number(j, "operations", or_null(r->operations));
        json_number(j, "bytes", or_null(r->bytes));
        json_number(j, "floor_seconds", or_null(r->floor));
        json_number(j, "seconds", r->seconds);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_peer(const struct bench_encode *b, struct json *j)
{
    const struct bench_peer *p = &b->peer;
    json_open(j, "peers", '[');
    if (b->o->bench.against) {
        json_open(j, NULL, '{');
        json_text(j, "name", p->name);
        json_text(j, "command", p->command);
        json_text(j, "not_measured", p->why[0] ? p->why : NULL);
        json_number(j, "fps", or_null(p->fps));
        json_number(j, "bits", or_null(b->peer_bits));
        json_number(j, "seconds", p->seconds);
        json_int(j, "frames", (int64_t)p->frames);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_figures(const struct bench_encode *b, struct json *j)
{
    const struct encode_figures *s = &b->figures;
    json_int(j, "streams", b->streams);
    json_int(j, "pictures", (int64_t)s->pictures);
    json_number(j, "seconds", s->seconds);
    json_number(j, "fps", rate_of(s));
    json_number(j, "bits", encode_picture_bits(b));
    json_number(j, "cpu_ms", 1e3 * each(b, s->cpu_seconds));
    json_number(j, "batch", batch_width(b));
    json_open(j, "latency_ms", '{');
    json_number(j, "p50", s->push.p50);
    json_number(j, "p95", s->push.p95);
    json_number(j, "p99", s->push.p99);
    json_number(j, "most", s->push.most);
    json_close(j, '}');
}

static void write_head(const struct bench_encode *b, struct json *j)
{
    char name[1024];
    json_text(j, "command", b->command_line);
    json_text(j, "version", pelton_version());
    json_open(j, "device", '{');
    json_text(j, "name", gpu_info(b->gpu)->name);
    json_text(j, "driver", gpu_info(b->gpu)->driver);
    json_bool(j, "software", gpu_info(b->gpu)->software);
    json_close(j, '}');
    json_open(j, "inputs", '[');
    for (unsigned i = 0; i < b->o->n_inputs; i++)
        json_text(j, NULL, input_shown_name(b->o->inputs[i], name, sizeof(name)));
    json_close(j, ']');
    json_int(j, "width", b->clips[0].width);
    json_int(j, "height", b->clips[0].height);
}

int encode_write_json(const struct bench_encode *b, struct failure *f)
{
    bool to_stdout = !strcmp(b->o->bench.json_file, "-");
    FILE *file = to_stdout ? stdout : fopen(b->o->bench.json_file, "we");
    struct json j = {.file = file};
    if (!file)
        return fail_errno(f, X_OTHER, errno, b->o->bench.json_file);
    json_open(&j, NULL, '{');
    write_head(b, &j);
    write_figures(b, &j);
    if (b->o->bench.stages)
        write_model(b, &j);
    write_peer(b, &j);
    json_close(&j, '}');
    int failed = to_stdout ? fflush(file) : fclose(file);
    return failed ? fail_errno(f, X_OTHER, errno, b->o->bench.json_file) : 0;
}
