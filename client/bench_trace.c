/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench --live --trace: the time of each step from the arrival of an access unit to the
 * frame in the reader's hands, and the slowest frames step by step. A step may begin before the one
 * above it has ended (motion follows entropy decoding). Its line counts from that end.
 */
#include "client/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 10, SLOWEST = 5 };

static const char *const step_names[STEPS] = {
    "headers",           "to a worker", "entropy",          "to motion",  "motion",
    "to the GPU thread", "submit",      "GPU, and noticed", "to be sent", "to the reader"};

/* Milliseconds of each step. They add up to the time from reading to taking. */
static void steps_of(const struct bench_sample *s, double ms[STEPS])
{
    const int64_t times[STEPS + 1] = {s->received_ns,
                                      s->trace_ns[PELTON_TRACE_PARSED],
                                      s->trace_ns[PELTON_TRACE_ENTROPY_BEGIN],
                                      s->trace_ns[PELTON_TRACE_ENTROPY_END],
                                      s->trace_ns[PELTON_TRACE_MOTION_BEGIN],
                                      s->trace_ns[PELTON_TRACE_MOTION_END],
                                      s->trace_ns[PELTON_TRACE_SUBMIT_BEGIN],
                                      s->trace_ns[PELTON_TRACE_SUBMIT_END],
                                      s->decoded_ns,
                                      s->trace_ns[PELTON_TRACE_SENT],
                                      s->taken_ns};
    int64_t before = times[0];
    for (int i = 0; i < STEPS; i++) {
        int64_t now = times[i + 1] > before ? times[i + 1] : before;
        ms[i] = (double)(now - before) * 1e-6;
        before = now;
    }
}

static int slower(const void *a, const void *b)
{
    const struct bench_sample *x = *(const struct bench_sample *const *)a,
                              *y = *(const struct bench_sample *const *)b;
    int64_t s = x->taken_ns - x->received_ns, t = y->taken_ns - y->received_ns;
    return (s < t) - (s > t);
}

static void print_slowest(const struct bench *b, const struct bench_sample **order)
{
    size_t n = b->n_samples;
    for (size_t i = 0; i < n; i++)
        order[i] = &b->samples[i];
    qsort(order, n, sizeof(*order), slower);
    printf("  the slowest: frame, ms until it was taken, its steps, its batch on the GPU\n");
    for (size_t i = 0; i < n && i < SLOWEST; i++) {
        double ms[STEPS];
        steps_of(order[i], ms);
        printf("  %6zu %6.2f =", (size_t)(order[i] - b->samples),
               (double)(order[i]->taken_ns - order[i]->received_ns) * 1e-6);
        for (int k = 0; k < STEPS; k++)
            printf(" %.2f", ms[k]);
        printf("; GPU %.2f\n", (double)order[i]->trace_ns[PELTON_TRACE_GPU] * 1e-6);
    }
}

static void print_row(const char *name, const struct percentiles *p)
{
    printf("  %-34s %10.3f %10.3f %10.3f %10.3f\n", name, p->p50, p->p95, p->p99, p->most);
}

void bench_trace_print(const struct bench *b)
{
    size_t n = b->n_samples;
    double *ms = malloc((n + 1) * sizeof(*ms));
    const struct bench_sample **order = malloc((n + 1) * sizeof(struct bench_sample *));
    if (ms && order && n) {
        struct percentiles p;
        printf("\n%-36s %10s %10s %10s %10s\n", "steps, ms", "p50", "p95", "p99", "most");
        for (int step = 0; step < STEPS; step++) {
            for (size_t i = 0; i < n; i++) {
                double steps[STEPS];
                steps_of(&b->samples[i], steps);
                ms[i] = steps[step];
            }
            bench_percentiles(ms, n, &p);
            print_row(step_names[step], &p);
        }
        for (size_t i = 0; i < n; i++)
            ms[i] = (double)b->samples[i].trace_ns[PELTON_TRACE_GPU] * 1e-6;
        bench_percentiles(ms, n, &p);
        print_row("of these the batch on the GPU", &p);
        print_slowest(b, order);
    }
    free(ms);
    free(order);
}
