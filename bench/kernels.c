/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The families, and names for what they are measured with.
 */
#include "bench/kernels_internal.h"

#include <stdio.h>
#include <string.h>

static const struct kernel_family *const families[] = {
    &kernel_reduce,   &kernel_blur,      &kernel_demosaic, &kernel_undistort,
    &kernel_readback, &kernel_wavefront, &kernel_inter};
#define FAMILIES (sizeof(families) / sizeof(*families))

static const char *const format_names[KERNEL_FORMATS] = {"rgba8",   "rgba32f", "nv12",  "bayer8",
                                                         "bayer12", "rgb16",   "luma8", "yuv420"};

uint32_t kernel_family_count(void)
{
    return FAMILIES;
}

const struct kernel_family *kernel_family(uint32_t index)
{
    return index < FAMILIES ? families[index] : NULL;
}

const struct kernel_family *kernel_family_find(const char *name)
{
    for (uint32_t i = 0; i < FAMILIES; i++)
        if (!strcmp(families[i]->name, name))
            return families[i];
    return NULL;
}

const char *kernel_family_name(const struct kernel_family *family)
{
    return family->name;
}

enum kernel_axis kernel_family_axis(const struct kernel_family *family)
{
    return family->axis;
}

uint32_t kernel_variant_count(const struct kernel_family *family)
{
    return family->variant_count;
}

const struct kernel_variant *kernel_variant(const struct kernel_family *family, uint32_t index)
{
    return index < family->variant_count ? &family->variants[index] : NULL;
}

const struct kernel_variant *kernel_variant_find(const struct kernel_family *family,
                                                 const char *name)
{
    for (uint32_t i = 0; i < family->variant_count; i++)
        if (!strcmp(family->variants[i].name, name))
            return &family->variants[i];
    return NULL;
}

const char *kernel_variant_name(const struct kernel_variant *variant)
{
    return variant->name;
}

uint32_t kernel_case_count(const struct kernel_family *family, bool quick)
{
    return quick ? 1 : family->case_count;
}

void kernel_case_get(const struct kernel_family *family, bool quick, uint32_t index,
                     struct kernel_case *out)
{
    *out = quick || index >= family->case_count ? family->quick : family->cases[index];
}

const char *kernel_not_for(const struct kernel_family *family, const struct kernel_variant *v,
                           const struct kernel_case *c)
{
    if (!(v->formats & 1u << c->format))
        return "not for this format";
    if (v->box_only && c->gauss)
        return "only for equal weights";
    if (c->width % 8 || c->height % 8 || c->width < 16 || c->height < 16 || c->width > 8192 ||
        c->height > 8192)
        return "sizes are multiples of 8 from 16 to 8192";
    if (family->whole_blocks &&
        (c->width % 16 || c->height % 16 || c->pictures < 1 || c->pictures > 128))
        return "1 to 128 pictures of whole macroblocks";
    if (family->axis == KERNEL_AXIS_TAPS &&
        (c->taps < 3 || c->taps > BENCH_MAX_TAPS || c->taps % 2 == 0))
        return "widths of blurs are odd, 3 to 19";
    return NULL;
}

const char *kernel_format_name(enum kernel_format format)
{
    return format_names[format];
}

bool kernel_format_find(const char *name, enum kernel_format *out)
{
    for (uint32_t i = 0; i < KERNEL_FORMATS; i++) {
        if (!strcmp(format_names[i], name)) {
            *out = (enum kernel_format)i;
            return true;
        }
    }
    return false;
}

void kernel_case_text(const struct kernel_family *family, const struct kernel_case *c, char *out,
                      size_t size)
{
    char more[48] = "";
    if (family->axis == KERNEL_AXIS_TAPS)
        snprintf(more, sizeof(more), " %s %u", c->gauss ? "gauss" : "box", c->taps);
    else if (family->axis == KERNEL_AXIS_PICTURES)
        snprintf(more, sizeof(more), " x%u", c->pictures);
    snprintf(out, size, "%ux%u %s%s", c->width, c->height, format_names[c->format], more);
}

/* xorshift64* (Vigna 2016): its upper half. */
uint32_t kernel_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * 2685821657736338717ull >> 32);
}

uint32_t kernel_format_bytes(enum kernel_format format, uint32_t width, uint32_t height)
{
    uint32_t samples = width * height;
    switch (format) {
    case KERNEL_RGBA8:
        return 4 * samples;
    case KERNEL_RGBA32F:
        return 16 * samples;
    case KERNEL_RGB16:
        return 8 * samples;
    case KERNEL_NV12:
    case KERNEL_YUV420:
    case KERNEL_BAYER12:
        return samples / 2 * 3;
    default:
        return samples;
    }
}
