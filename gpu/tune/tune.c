/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choices of kernels: the table of known devices and the cache. bench/bench_tune.c measures.
 */
#include "gpu/tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIANTS 2

/* variants[0] and [1] are 1 and 2 of recon_params. */
static const struct {
    const char *name, *variants[VARIANTS];
    uint8_t hardware, software; /* presets */
} families[TUNE_FAMILIES] = {
    [TUNE_WAVEFRONT] = {"wavefront", {"intra-diagonal", "intra-persistent"}, 1, 0},
    [TUNE_READBACK] = {"readback", {"memfd-linear", "memfd-copy"}, 0, 1},
};

static const char *const size_names[TUNE_SIZES] = {"small", "hd", "large"};

/* Devices measured before, by part of their name. */
static const struct {
    const char *name;
    struct tune tune;
} shipped[] = {
    {"NVIDIA H200", {.choice = {[TUNE_WAVEFRONT] = {1, 1, 1}, [TUNE_READBACK] = {0, 0, 0}}}},
};

void tune_preset(const struct gpu_device_info *info, struct tune *out)
{
    memset(out, 0, sizeof(*out));
    for (int f = 0; f < TUNE_FAMILIES; f++)
        memset(out->choice[f], info->software ? families[f].software : families[f].hardware,
               TUNE_SIZES);
}

static int name_index(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

static int family_index(const char *name)
{
    for (int f = 0; f < TUNE_FAMILIES; f++)
        if (!strcmp(families[f].name, name))
            return f;
    return -1;
}

static void file_name(const struct gpu_device_info *info, char name[64])
{
    snprintf(name, 64, "tune-%s.tsv", info->uuid);
}

static enum tune_cache cache_broken(const char *path, unsigned line, char why[TUNE_WHY])
{
    snprintf(why, TUNE_WHY, "%.180s: line %u is not what was written, the file is not used", path,
             line);
    return TUNE_CACHE_BROKEN;
}

/* Lines "family size variant" behind one that names the driver; a file of another driver, or with
 * anything else in it, is not used. */
static enum tune_cache cache_read(FILE *file, const char *path, const struct gpu_device_info *info,
                                  struct tune *tune, char why[TUNE_WHY])
{
    char line[512], driver[sizeof(info->driver) + 16], family[32], size[32], variant[32];
    unsigned found = 0, n = 1;
    snprintf(driver, sizeof(driver), "driver\t%s\n", info->driver);
    if (!fgets(line, sizeof(line), file) || strncmp(line, "driver\t", 7) != 0 ||
        !strchr(line, '\n'))
        return cache_broken(path, n, why);
    if (strcmp(line, driver) != 0) {
        snprintf(why, TUNE_WHY, "%.180s: of another driver", path);
        return TUNE_CACHE_OLD;
    }
    for (n++; fgets(line, sizeof(line), file); n++) {
        int end = 0;
        if (sscanf(line, "%31s %31s %31s %n", family, size, variant, &end) != 3 || line[end])
            return cache_broken(path, n, why);
        int f = family_index(family), s = name_index(size_names, TUNE_SIZES, size);
        int v = f < 0 ? -1 : name_index(families[f].variants, VARIANTS, variant);
        if (s < 0 || v < 0 || found & 1u << (f * TUNE_SIZES + s))
            return cache_broken(path, n, why);
        tune->choice[f][s] = (uint8_t)v;
        tune->source[f] = TUNE_MEASURED;
        found |= 1u << (f * TUNE_SIZES + s);
    }
    return found == (1u << (TUNE_FAMILIES * TUNE_SIZES)) - 1 ? TUNE_CACHE_GOOD
                                                             : cache_broken(path, n, why);
}

enum tune_cache tune_load(const struct gpu_device_info *info, struct tune *out, char why[TUNE_WHY])
{
    char name[64], path[CACHE_PATH];
    tune_preset(info, out);
    for (size_t i = 0; i < sizeof(shipped) / sizeof(*shipped); i++) {
        if (strstr(info->name, shipped[i].name)) {
            *out = shipped[i].tune;
            for (int f = 0; f < TUNE_FAMILIES; f++)
                out->source[f] = TUNE_SHIPPED;
        }
    }
    file_name(info, name);
    FILE *file = cache_file_path(name, path) ? fopen(path, "re") : NULL;
    if (!file)
        return TUNE_CACHE_NONE;
    struct tune measured = *out;
    enum tune_cache state = cache_read(file, path, info, &measured, why);
    if (state == TUNE_CACHE_GOOD)
        *out = measured;
    fclose(file);
    return state;
}

void tune_open(const struct gpu_device_info *info, gpu_log_fn log, void *log_ctx, struct tune *out)
{
    char why[TUNE_WHY], line[TUNE_WHY + 320];
    enum tune_cache state = tune_load(info, out, why);
    if (state == TUNE_CACHE_OLD || state == TUNE_CACHE_BROKEN)
        snprintf(line, sizeof(line), "%s; pelton tune makes it again", why);
    else if (state == TUNE_CACHE_NONE && !info->software && out->source[0] == TUNE_BY_KIND)
        snprintf(line, sizeof(line),
                 "kernels of %.200s are chosen by kind of device; pelton tune would measure them",
                 info->name);
    else
        return;
    log(log_ctx, 1, line);
}

int tune_save(const struct gpu_device_info *info, const struct tune *tune, char path[CACHE_PATH])
{
    char name[64], text[4096];
    size_t n = (size_t)snprintf(text, sizeof(text), "driver\t%s\n", info->driver);
    for (int f = 0; f < TUNE_FAMILIES; f++)
        for (int s = 0; s < TUNE_SIZES; s++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\t%s\t%s\n", families[f].name,
                                  size_names[s], families[f].variants[tune->choice[f][s]]);
    file_name(info, name);
    return cache_file_write(name, text, n, path);
}

bool tune_force(const char *text, struct tune *tune)
{
    char family[32], variant[32];
    while (*text) {
        int end = 0;
        if (sscanf(text, "%31[^=,]=%31[^=,]%n", family, variant, &end) != 2 ||
            (text[end] && text[end] != ','))
            return false;
        int f = family_index(family),
            v = f < 0 ? -1 : name_index(families[f].variants, VARIANTS, variant);
        if (v < 0)
            return false;
        memset(tune->choice[f], v, TUNE_SIZES);
        tune->source[f] = TUNE_FORCED;
        text += end + (text[end] == ',');
    }
    return true;
}

enum tune_size tune_size_of(uint32_t width, uint32_t height)
{
    uint64_t samples = (uint64_t)width * height;
    return samples <= 1280 * 720 ? TUNE_SMALL : samples <= 2560 * 1440 ? TUNE_HD : TUNE_LARGE;
}

const char *tune_family_name(enum tune_family family)
{
    return families[family].name;
}

const char *tune_variant_name(enum tune_family family, uint8_t choice)
{
    return families[family].variants[choice];
}

const char *tune_source_text(enum tune_source source)
{
    static const char *const texts[] = {"by kind of device", "from the table of known devices",
                                        "measured", "forced"};
    return texts[source];
}

uint8_t tune_wavefront(const struct tune *tune, enum tune_size size)
{
    return (uint8_t)(1 + tune->choice[TUNE_WAVEFRONT][size]);
}

uint8_t tune_delivery(const struct tune *tune, enum tune_size size)
{
    return (uint8_t)(1 + tune->choice[TUNE_READBACK][size]);
}
