/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice of kernels for a device. `pelton tune` measures and keeps its result in
 * $XDG_CACHE_HOME/pelton/tune-UUID.tsv (else ~/.cache); the file is valid for one UUID and driver.
 * Without such a file the choice comes from a table of known devices, else from the kind of
 * device. Nothing here measures. Every choice gives the same samples. Thread: any.
 */
#ifndef PELTON_TUNE_H
#define PELTON_TUNE_H

#include "gpu/engine/cache_file.h"
#include "gpu/engine/gpu.h"

enum tune_family { TUNE_WAVEFRONT, TUNE_READBACK, TUNE_FAMILIES };
enum tune_size {
    TUNE_SMALL /* up to 1280 x 720 */,
    TUNE_HD /* up to 2560 x 1440 */,
    TUNE_LARGE,
    TUNE_SIZES
};
enum tune_source { TUNE_BY_KIND, TUNE_SHIPPED, TUNE_MEASURED, TUNE_FORCED };

struct tune {
    uint8_t choice[TUNE_FAMILIES][TUNE_SIZES]; /* index of a variant */
    enum tune_source source[TUNE_FAMILIES];
};

/* The choice by kind of device. --no-tune takes it. */
void tune_preset(const struct gpu_device_info *info, struct tune *out);
#define TUNE_WHY 256
/* State of the cache: no file; a good one; one of another driver; a broken one. */
enum tune_cache { TUNE_CACHE_NONE, TUNE_CACHE_GOOD, TUNE_CACHE_OLD, TUNE_CACHE_BROKEN };
/* The best known choice. An old or broken cache is not used; `why` then holds one line about it. */
enum tune_cache tune_load(const struct gpu_device_info *info, struct tune *out, char why[TUNE_WHY]);
/* tune_load for a daemon that opens the device. Logs one line at level 1 where `pelton tune` would
 * help: the cache is old or broken, or the device is a GPU that nobody has measured. */
void tune_open(const struct gpu_device_info *info, gpu_log_fn log, void *log_ctx, struct tune *out);
/* Write the cache. `path` gets the file's path, after a failure too; it is empty where no folder is
 * known. Returns 0, or -1 with errno. */
int tune_save(const struct gpu_device_info *info, const struct tune *tune, char path[CACHE_PATH]);
/* Force "family=variant", whatever was measured; several with commas. False: no such family or
 * variant. */
bool tune_force(const char *text, struct tune *tune);

enum tune_size tune_size_of(uint32_t width, uint32_t height);
const char *tune_family_name(enum tune_family family);
const char *tune_variant_name(enum tune_family family, uint8_t choice);
const char *tune_source_text(enum tune_source source);
/* Values for recon_params.wavefront and recon_params.delivery. */
uint8_t tune_wavefront(const struct tune *tune, enum tune_size size);
uint8_t tune_delivery(const struct tune *tune, enum tune_size size);

#endif
