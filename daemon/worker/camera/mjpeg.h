/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JPEG frames of cameras, decoded on the CPU by libavcodec.
 */
#ifndef PELTON_CAMERA_MJPEG_H
#define PELTON_CAMERA_MJPEG_H

#include <stddef.h>
#include <stdint.h>

struct mjpeg;
struct mjpeg *mjpeg_create(void); /* NULL: out of memory */
void mjpeg_free(struct mjpeg *m); /* NULL allowed */
/* One picture of width x height, both even, into planes as ISP_PLANES_422 has them: rows of width
 * bytes, 3 * height of them. Chroma of other samplings is repeated or averaged. */
enum mjpeg_result { MJPEG_OK, MJPEG_DAMAGED /* or not a kind that is read */, MJPEG_OTHER_SIZE };
enum mjpeg_result mjpeg_decode(struct mjpeg *m, const uint8_t *data, size_t size, uint32_t width,
                               uint32_t height, uint8_t *planes);

#endif
