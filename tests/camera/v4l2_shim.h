/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the parts of the shim: v4l2_shim.c, which describes it, and v4l2_shim_draw.c.
 */
#ifndef V4L2_SHIM_H
#define V4L2_SHIM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

enum { BUFFERS = 8, PLANES = 3, DELAY = 2, CODED_BYTES = 1 << 20 };

struct shim_device {
    int fd, memory;
    char path[PATH_MAX];
    unsigned fourcc, memory_type, width, height, stride, timed_width, timed_height;
    bool automatic, subscribed, told;
    unsigned char *frames, *user[BUFFERS];
    size_t frame_bytes, plane_at[PLANES];
    unsigned count, queued[BUFFERS], n_queued, sequence;
    long stream_at;
    int exposure[DELAY + 1], gain[DELAY + 1];
};
extern struct shim_device device;

/* Of the description. */
bool text_of(const char *path, const char *key, char *out, size_t size);
double number(const char *key, double fallback);
bool lies(const char *about);

bool is_coded(void);
bool is_apart(void); /* Cb and Cr, from each other */
unsigned stride_of(void);
unsigned stride_of_width(unsigned width); /* as described */
unsigned memory_planes(void);
size_t offset_of(void);             /* bytes before the picture, of each piece of memory */
size_t image_bytes(unsigned plane); /* of a piece of memory, without those */
size_t draw(unsigned char *memory); /* the next frame; bytes in its first piece of memory */

#endif
