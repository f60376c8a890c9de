/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What gpuenc prints: rates, where the time of pictures and of threads went, and what passes take.
 */
#include "tests/gpu/encode/gpuenc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLOWEST 8 /* pictures that are told of */

static int by_time(const void *a, const void *b)
{
    double x = ((const struct pushed *)a)->seconds, y = ((const struct pushed *)b)->seconds;
    return (x > y) - (x < y);
}

/* In milliseconds. passes: of running, the device's own, where times are wanted */
static void print_slowest(const struct pushed *all, size_t count)
{
    printf("slowest  stream picture   kbit analysis waiting recording submits running passes  rest "
           "coding faults switches\n");
    for (size_t i = 0; i < SLOWEST && i < count; i++) {
        const struct pushed *p = &all[count - 1 - i];
        printf("%7.2f %7u %7u %6.0f %8.2f %7.2f %9.2f %7.2f %7.2f %6.2f %5.2f %6.2f %6ld %8ld\n",
               1e3 * p->seconds, p->stream, p->picture, 8e-3 * (double)p->bytes, 1e3 * p->analysed,
               1e3 * p->spent.waited, 1e3 * p->spent.recorded, 1e3 * p->spent.submits,
               1e3 * p->spent.ran, 1e3 * p->spent.passes, 1e3 * p->spent.rest,
               1e3 * (p->seconds - p->analysed - p->decided), p->faults, p->switches);
    }
}

static void print_thread(const char *name, struct spent t, double count)
{
    printf("  %-22s %8.1f us a picture, %8.1f us of a CPU\n", name, 1e6 * t.passed / count,
           1e6 * t.ran / count);
}

/* Where the streams' threads were */
static void print_threads(const struct stream *all, uint32_t streams, double count)
{
    struct spent push = {0}, analyse = {0}, decide = {0}, accept = {0};
    for (uint32_t i = 0; i < streams; i++) {
        push.passed += all[i].push.passed, push.ran += all[i].push.ran;
        analyse.passed += all[i].analyse.passed, analyse.ran += all[i].analyse.ran;
        decide.passed += all[i].decide.passed, decide.ran += all[i].decide.ran;
        accept.passed += all[i].accept.passed, accept.ran += all[i].accept.ran;
    }
    print_thread("analyse", analyse, count);
    print_thread("decide", decide, count);
    print_thread("accept", accept, count);
    print_thread(
        "coding",
        (struct spent){.passed = push.passed - analyse.passed - decide.passed - accept.passed,
                       .ran = push.ran - analyse.ran - decide.ran - accept.ran},
        count);
}

bool times_wanted(void)
{
    const char *env = getenv("GPUENC_TIMES");
    return !env || strcmp(env, "no") != 0;
}

void print_result(struct shared *s, const struct stream *all, uint32_t streams, struct spent end)
{
    double elapsed = end.passed - s->begun.passed, ran = end.ran - s->begun.ran;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct gpu_encoder_counts c;
    size_t n = (size_t)streams * (s->pictures - 1);
    double sum = 0;
    gpu_encoder_count(s->encoder, &c);
    qsort(s->pushed, n, sizeof(*s->pushed), by_time);
    double count = (double)(c.pictures - s->first.pictures);
    printf("%ux%u, %u streams, %zu pictures: %.1f pictures/s, %.0f kbit a picture\n", s->width,
           s->height, streams, n, (double)n / elapsed, 8e-3 * (double)s->bytes / (double)n);
    printf("frame to access unit: p50 %.2f ms, p99 %.2f ms\n", 1e3 * s->pushed[n / 2].seconds,
           1e3 * s->pushed[n * 99 / 100].seconds);
    printf("CPU: %.2f ms a picture in all threads, so %.0f pictures/s at most with %ld cores\n",
           1e3 * ran / (double)n, (double)cores * (double)n / ran, cores);
    printf("batches of %.1f pictures: %.2f ms each\n",
           count / (double)(c.batches - s->first.batches),
           1e3 * (c.decide_s - s->first.decide_s) / (double)(c.batches - s->first.batches));
    print_threads(all, streams, (double)n);
    print_slowest(s->pushed, n);
    for (int i = 0; c.pass[i] && times_wanted(); i++) {
        double seconds = c.pass_s[i] - s->first.pass_s[i];
        printf("  %-22s %8.1f us a picture\n", c.pass[i], 1e6 * seconds / count);
        sum += seconds;
    }
    if (times_wanted())
        printf("  %-22s %8.1f us a picture\n", "all passes", 1e6 * sum / count);
}
