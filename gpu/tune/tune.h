/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which kernels the pipeline takes on a device: measured once, by `pelton tune` or when a daemon
 * first meets the device, and kept in $XDG_CACHE_HOME/pelton/tune-UUID.tsv (else
 * ~/.cache), for a device of that UUID and driver; else from a table of devices measured before;
 * else by kind of device. Any choice gives the same samples. Thread: any.
 */
#ifndef PELTON_TUNE_H
#define PELTON_TUNE_H

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
    uint8_t choice[TUNE_FAMILIES][TUNE_SIZES]; /* index of tune_variant */
    enum tune_source source[TUNE_FAMILIES];
};

/* By kind of device alone: what --no-tune means. */
void tune_preset(const struct gpu_device_info *info, struct tune *out);
#define TUNE_WHY 256
/* What the cache said: nothing is kept; it is of this device and driver; it is of another driver;
 * it is broken. */
enum tune_cache { TUNE_CACHE_NONE, TUNE_CACHE_GOOD, TUNE_CACHE_OLD, TUNE_CACHE_BROKEN };
/* The best that is known of the device. why: one line where the cache is old or broken; it is not
 * used then. */
enum tune_cache tune_load(const struct gpu_device_info *info, struct tune *out, char why[TUNE_WHY]);
/* Measure: a variant that is 3 % faster than the preset takes its place. budget: seconds after
 * which no further case is begun, 0: none; sizes that it leaves out take the choice of the next
 * smaller one, and so do those above one where a variant took twice the other's time. 0 or enum
 * gpu_error. */
int tune_measure(struct gpu *g, double budget, struct tune *out);
/* tune_load, and where nothing is known of device and driver tune_measure in about two seconds,
 * whose result is kept; broken caches are made again. Software devices are measured only with
 * `software`. One process at a time measures a device, the others wait for it, and nothing is
 * measured where it cannot be kept. Says what it did. Thread: that of the device. */
void tune_first_use(struct gpu *g, bool software, gpu_log_fn log, void *log_ctx, struct tune *out);
/* Into the cache; the path used, where that fails too. -1 with errno where it cannot be written. */
int tune_save(const struct gpu_device_info *info, const struct tune *tune, char *path, size_t size);
/* The folder, made where it is not there, and in it the file of a device with this ending. False:
 * no such folder. */
bool tune_path(const struct gpu_device_info *info, const char *ending, char *path, size_t size);
/* "family=variant": take it whatever was measured. Several with commas. False where there is no
 * such family or variant. */
bool tune_force(const char *text, struct tune *tune);

enum tune_size tune_size_of(uint32_t width, uint32_t height);
const char *tune_family_name(enum tune_family family);
const char *tune_variant_name(enum tune_family family, uint8_t choice);
const char *tune_source_text(enum tune_source source);
/* As recon_params takes them: wavefront and delivery. */
uint8_t tune_wavefront(const struct tune *tune, enum tune_size size);
uint8_t tune_delivery(const struct tune *tune, enum tune_size size);

#endif
