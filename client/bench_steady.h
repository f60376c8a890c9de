/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The steady state of a run, apart from its ramp-up.
 */
#ifndef CLIENT_BENCH_STEADY_H
#define CLIENT_BENCH_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run is cut into windows of equally many frames. Its ramp-up ends with the first two windows in
 * a row whose rates differ by STEADY_PERCENT at most. The last window is left out, as streams end
 * in it. Windows of less than STEADY_WINDOW_MS count for nothing: frames that lay ready leave at
 * once, and that rate is not the decoder's. */
enum { STEADY_WINDOWS = 8, STEADY_WINDOW_FRAMES = 100, STEADY_WINDOW_MS = 100, STEADY_PERCENT = 3 };

struct bench_steady {
    bool known;     /* else the run was too short, or no two windows agree */
    double fps;     /* from the end of ramp-up to the last window */
    double ramp;    /* seconds from the start of the run */
    double percent; /* by which the two windows differ */
};

/* start_ns: of the run. times_ns: when frames were taken, in any order; it gets sorted. */
struct bench_steady bench_steady_find(int64_t start_ns, int64_t *times_ns, size_t n);

#endif
