/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The luminance denoise of docs/design/isp.md, pixel by pixel in double precision.
 */
#include "tests/gpu/isp/ref.h"

#include <stdlib.h>
#include <string.h>

static double luma(const uint16_t v[3])
{
    return (54.0 * v[0] + 183.0 * v[1] + 19.0 * v[2]) / 256;
}

static int64_t inside(int64_t v, uint32_t size)
{
    return v < 0 ? 0 : v >= size ? size - 1 : v;
}

void ref_denoise(const struct isp_params *p, uint16_t (*rgb)[3])
{
    size_t bytes = (size_t)p->width * p->height * sizeof(*rgb);
    uint16_t(*from)[3] = malloc(bytes);
    if (!from)
        abort();
    memcpy(from, rgb, bytes);
    for (int64_t y = 0; y < p->height; y++) {
        for (int64_t x = 0; x < p->width; x++) {
            double sum = 0, squares = 0, here = luma(from[y * p->width + x]);
            for (int64_t v = y - 2; v <= y + 2; v++)
                for (int64_t u = x - 2; u <= x + 2; u++) {
                    double l = luma(from[inside(v, p->height) * p->width + inside(u, p->width)]);
                    sum += l;
                    squares += l * l;
                }
            double mean = sum / 25, variance = squares / 25 - mean * mean,
                   noise = (double)p->denoise * p->denoise * 65.535 * (mean + 64);
            double kept = variance > noise ? 1 - noise / variance : 0,
                   wanted = mean + kept * (here - mean), factor = (wanted + 1) / (here + 1);
            for (int i = 0; i < 3; i++) {
                double value = from[y * p->width + x][i] * factor + 0.5;
                rgb[y * p->width + x][i] = (uint16_t)(value > 65535 ? 65535 : value);
            }
        }
    }
    free(from);
}
