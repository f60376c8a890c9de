/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which kernels the pipeline takes on a device: measured once by `pelton tune` and kept in $XDG_CACHE_HOME/pelton/tune-UUID.tsv (else
 * ~/.cache), for a device of that UUID and driver; else from a table of devices measured before; else by kind of device. Any choice
 * gives the same samples. Thread: any.
 */
#ifndef PELTON_TUNE_H
#define PELTON_TUNE_H

#include "gpu/gpu.h"

enum tune_family { TUNE_WAVEFRONT, TUNE_READBACK, TUNE_FAMILIES };
enum tune_size { TUNE_SMALL /* up to 1280 x 720 */, TUNE_HD /* up to 2560 x 1440 */, TUNE_LARGE, TUNE_SIZES };
enum tune_source { TUNE_BY_KIND, TUNE_SHIPPED, TUNE_MEASURED, TUNE_FORCED };

struct tune {
    uint8_t choice[TUNE_FAMILIES][TUNE_SIZES]; /* index of tune_variant */
    enum tune_source source[TUNE_FAMILIES];
};

/* By kind of device alone: what --no-tune means. */
void tune_preset(const struct gpu_device_info *info, struct tune *out);
/* The best that is known of the device. */
void tune_load(const struct gpu_device_info *info, struct tune *out);
/* Measure, in a second or two on a GPU: a variant that is 3 % faster than the preset takes its place. 0 or enum gpu_error. */
int tune_measure(struct gpu *g, struct tune *out);
/* Into the cache; the path used, where that fails too. -1 with errno where it cannot be written. */
int tune_save(const struct gpu_device_info *info, const struct tune *tune, char *path, size_t size);
/* "family=variant": take it whatever was measured. Several with commas. False where there is no such family or variant. */
bool tune_force(const char *text, struct tune *tune);

enum tune_size tune_size_of(uint32_t width, uint32_t height);
const char *tune_family_name(enum tune_family family);
const char *tune_variant_name(enum tune_family family, uint8_t choice);
const char *tune_source_text(enum tune_source source);
/* As recon_params takes them: wavefront and delivery. */
uint8_t tune_wavefront(const struct tune *tune, enum tune_size size);
uint8_t tune_delivery(const struct tune *tune, enum tune_size size);

#endif
