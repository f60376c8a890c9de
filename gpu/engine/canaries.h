/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Canaries: bytes of a known pattern before and behind each piece of memory that the device has of
 * us, and between the parts of a shared buffer. Tests ask for them (gpu_params.canaries). A shader
 * that writes outside of its memory changes them. They are compared when the memory is released,
 * and whenever gpu_canaries_changed is called.
 *
 * Without them every function returns at once. Thread: any.
 */
#ifndef PELTON_GPU_CANARIES_H
#define PELTON_GPU_CANARIES_H

#include "gpu/engine/buffers.h"

struct gpu_canaries;

int gpu_canaries_open(struct gpu *g, uint32_t pattern);
void gpu_canaries_close(struct gpu *g); /* compares those that are left */
/* Write one into the buffer itself, whose usage allows copies both ways. */
int gpu_canaries_add_gap(struct gpu *g, const struct gpu_buffer *buffer, uint64_t at, uint64_t size,
                         const char *name);

#endif
