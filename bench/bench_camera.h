/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the families of the camera pipeline, demosaic and undistort, share.
 */
#ifndef PELTON_KERNELS_CAMERA_H
#define PELTON_KERNELS_CAMERA_H

#include "gpu/isp/isp.h"
#include "bench/kernel_bench.h"

enum kernel_demosaic { KERNEL_BILINEAR, KERNEL_MALVAR, KERNEL_EDGE, KERNEL_DEMOSAICS };

/* Rows that references hold: all of a small picture; of a large one pairs of rows at the borders
 * and here and there. */
bool kernel_row_is_checked(const struct kernel_case *c, uint32_t y);
uint32_t kernel_rows_checked(const struct kernel_case *c);

/* bench_demosaic_reference.c: level[height][width], whole numbers 0..65535, to rows that are
 * checked, [KERNEL_DEMOSAICS][rows][width][3]. */
int kernel_demosaic_reference(const struct kernel_case *c, const uint16_t *level, uint16_t **out);

/* One variant by the pipeline itself, through gpu/isp/isp.h. raw: rows of isp_row_bytes. Output:
 * ISP_RGB48, [height][width][3]. */
struct kernel_isp {
    struct isp_params params;
    const uint8_t *raw;
    float gain[3];
    enum isp_stage stage; /* whose time counts */
};
int kernel_isp_run(struct kernel_bench *b, const struct kernel_isp *how,
                   double (*compare)(struct kernel_bench *b, const uint16_t *rgb), double allowed,
                   struct kernel_result *out, char why[KERNEL_WHY]);

#endif
