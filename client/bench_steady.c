/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The steady state of a run. See bench_steady.h.
 */
#include "client/bench_steady.h"

#include <math.h>
#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Frames a second between two of the sorted times; 0 where they are too near to each other. */
static double rate(const int64_t *times_ns, size_t from, size_t to)
{
    int64_t ns = times_ns[to] - times_ns[from];
    return ns >= STEADY_WINDOW_MS * INT64_C(1000000) ? (double)(to - from) * 1e9 / (double)ns : 0;
}

struct bench_steady bench_steady_find(int64_t start_ns, int64_t *times_ns, size_t n)
{
    struct bench_steady s = {0};
    size_t width = (n ? n - 1 : 0) / STEADY_WINDOWS;
    if (width < STEADY_WINDOW_FRAMES)
        return s;
    qsort(times_ns, n, sizeof(*times_ns), compare_times);
    for (size_t i = 0; i + 2 < STEADY_WINDOWS; i++) {
        double a = rate(times_ns, i * width, (i + 1) * width);
        double b = rate(times_ns, (i + 1) * width, (i + 2) * width);
        double most = a > b ? a : b;
        if (a <= 0 || b <= 0 || fabs(a - b) * 100 > STEADY_PERCENT * most)
            continue;
        s = (struct bench_steady){
            .known = true,
            .fps = rate(times_ns, i * width, (STEADY_WINDOWS - 1) * width),
            .ramp = (double)(times_ns[i * width] - start_ns) * 1e-9,
            .percent = fabs(a - b) * 100 / most,
        };
        break;
    }
    return s;
}
