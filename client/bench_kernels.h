/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench --kernels: its figures, and their drawing.
 */
#ifndef CLIENT_BENCH_KERNELS_H
#define CLIENT_BENCH_KERNELS_H

#include "gpu/kernels/kernels.h"

#include <stdio.h>

struct kernel_row {
    const struct kernel_family *family;
    const struct kernel_variant *variant;
    struct kernel_case c;
    struct kernel_result result;
};

/* One panel for each family, size and format (of the axis at hand), a line for each variant: microseconds a run over the axis. */
void bench_plot(FILE *file, const char *device, const struct kernel_row *rows, size_t count);

#endif
