/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the codec gets memory for pictures.
 */
#ifndef PELTON_H264_ALLOCATOR_H
#define PELTON_H264_ALLOCATOR_H

#include <stddef.h>

/* Memory for picture arrays. Both functions are called on any thread. */
struct h264_allocator {
    /* 64-byte-aligned memory of undefined content, or NULL */
    void *(*get)(void *ctx, size_t size);
    void (*put)(void *ctx, void *memory, size_t size);
    void *ctx;
    /* Allocator of NAL units, which only step 2 reads and whose sizes vary. NULL: this one. */
    const struct h264_allocator *bytes;
};

#endif
