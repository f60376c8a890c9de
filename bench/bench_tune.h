/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Measures which kernels are fastest on a device, for `pelton tune`.
 */
#ifndef PELTON_BENCH_TUNE_H
#define PELTON_BENCH_TUNE_H

#include "gpu/tune/tune.h"

/* Measures each family at each size. A variant replaces the preset where it is 3 % faster. A size
 * takes the choice of the next smaller one where a variant took twice the other's time there.
 * Takes a few seconds. Returns 0 or enum gpu_error. Thread: that of the device. */
int tune_measure(struct gpu *g, struct tune *out);

#endif
