/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The least cost of a picture, pass by pass, beside the measured time.
 */
#ifndef CLIENT_BENCH_MODEL_H
#define CLIENT_BENCH_MODEL_H

#include "client/bench.h"

enum { MODEL_PASSES = 7 };

/* Of one frame, on average. */
struct model_pass {
    const char *name;
    double operations, bytes_in, bytes_out;
    bool bus;       /* its bytes cross the bus to the host, so device memory sets no floor */
    double seconds; /* measured */
    /* seconds that its bytes take at the bandwidth of device memory; 0: bus, or unknown */
    double floor;
};

/* False: the GPU was not measured (no timestamps), or the format is not 8-bit 4:2:0, for which the
 * numbers hold. */
bool bench_model(const struct bench *b, struct model_pass passes[MODEL_PASSES]);
void bench_model_print(const struct bench *b);
int bench_chart(const struct bench *b, const char *path, struct failure *f); /* SVG */

#endif
