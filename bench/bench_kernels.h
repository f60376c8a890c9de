/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Figures of kernels as CSV.
 */
#ifndef PELTON_BENCH_KERNELS_H
#define PELTON_BENCH_KERNELS_H

#include "bench/kernels.h"

#include <stdio.h>

struct kernel_row {
    const struct kernel_family *family;
    const struct kernel_variant *variant;
    struct kernel_case c;
    struct kernel_result result;
};

/* One line each; copy: bytes a second that a copy moves, 0 where it is not known. */
void bench_csv_write(FILE *file, const char *device, double copy, const struct kernel_row *rows,
                     size_t count);
/* The columns that say what was measured, of every kernel with every case of its family, whatever
 * the device. */
void bench_csv_list(FILE *file);

#endif
