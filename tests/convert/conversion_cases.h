/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures and wishes at random, and their comparison with the slow reference.
 */
#ifndef PELTON_TESTS_CONVERSION_CASES_H
#define PELTON_TESTS_CONVERSION_CASES_H

#include "convert/conversion.h"
#include "reference/ref_convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conversion_case {
    uint64_t random;
    struct conversion_source source;
    struct conversion_wish wish;
    uint16_t *plane[3];
    uint8_t *bytes[3]; /* the same as the decoder has it */
    uint32_t width[3], height[3];
};

struct conversion_case_output {
    uint8_t *memory;
    uint8_t *plane[4];
    size_t stride[4], size;
};

static inline uint32_t conversion_case_below(struct conversion_case *k, uint32_t n)
{
    k->random = k->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(k->random >> 33) % n;
}

static inline void conversion_case_clear(struct conversion_case *k)
{
    for (int p = 0; p < 3; p++) {
        free(k->plane[p]);
        free(k->bytes[p]);
        k->plane[p] = NULL;
        k->bytes[p] = NULL;
    }
}

static inline bool conversion_case_wide(const struct conversion_case *k)
{
    return k->source.depth[0] > 8 || k->source.depth[1] > 8;
}

/* Samples of the present source: noise, or flat parts with hard edges. */
static inline void conversion_case_paint(struct conversion_case *k)
{
    const struct conversion_source *s = &k->source;
    conversion_case_clear(k);
    for (int p = 0; p < (s->chroma ? 3 : 1); p++) {
        uint32_t sx = p && s->chroma < 3, sy = p && s->chroma == 1, level = 0;
        bool noise = conversion_case_below(k, 2);
        k->width[p] = (s->width + sx) >> sx;
        k->height[p] = (s->height + sy) >> sy;
        size_t count = (size_t)k->width[p] * k->height[p];
        k->plane[p] = malloc(2 * count);
        k->bytes[p] = malloc(2 * count);
        for (size_t i = 0; i < count; i++) {
            if (noise || conversion_case_below(k, 5) == 0)
                level = conversion_case_below(k, 4)
                            ? conversion_case_below(k, 1u << s->depth[p > 0])
                        : conversion_case_below(k, 2) ? (1u << s->depth[p > 0]) - 1
                                                      : 0;
            k->plane[p][i] = (uint16_t)level;
            if (conversion_case_wide(k))
                memcpy(k->bytes[p] + 2 * i, &k->plane[p][i], 2);
            else
                k->bytes[p][i] = (uint8_t)level;
        }
    }
}

static inline void conversion_case_picture(struct conversion_case *k, uint32_t width,
                                           uint32_t height)
{
    static const uint8_t matrices[] = {0, 1, 2, 4, 5, 6, 7, 8, 9, 10};
    struct conversion_source *s = &k->source;
    uint8_t depth = conversion_case_below(k, 2) ? 8 : (uint8_t)(8 + conversion_case_below(k, 7));
    *s = (struct conversion_source){.width = width,
                                    .height = height,
                                    .chroma = (uint8_t)conversion_case_below(k, 4),
                                    .depth = {depth, depth},
                                    .matrix = matrices[conversion_case_below(k, 10)],
                                    .siting = (uint8_t)conversion_case_below(k, 7),
                                    .full_range = conversion_case_below(k, 2)};
    if (depth > 8 && conversion_case_below(k, 4) == 0)
        s->depth[1] = (uint8_t)(8 + conversion_case_below(k, 7));
    conversion_case_paint(k);
}

static inline void conversion_case_floats(struct conversion_case *k)
{
    struct conversion_wish *w = &k->wish;
    w->type = (enum conversion_type)conversion_case_below(k, 3);
    w->normalise = w->type != CONVERSION_U8 && conversion_case_below(k, 2);
    for (int i = 0; i < 4; i++) {
        w->mean[i] = (float)conversion_case_below(k, 1000) / 1000;
        w->scale[i] = (float)conversion_case_below(k, 1000) / 100 - 2;
    }
}

/* Of the present picture; no side longer than `most`. */
static inline void conversion_case_wish(struct conversion_case *k, uint32_t most)
{
    static const char orders[6][5] = {"rgb", "bgr", "rgba", "bgra", "gbr", "gray"};
    const struct conversion_source *s = &k->source;
    struct conversion_wish *w = &k->wish;
    bool rgb = s->chroma == 3 && s->matrix == 0;
    *w = (struct conversion_wish){.filter = (enum conversion_filter)conversion_case_below(k, 4)};
    if (conversion_case_below(k, 2)) {
        w->crop.x = conversion_case_below(k, s->width);
        w->crop.y = conversion_case_below(k, s->height);
        w->crop.width = 1 + conversion_case_below(k, s->width - w->crop.x);
        w->crop.height = 1 + conversion_case_below(k, s->height - w->crop.y);
    }
    if (conversion_case_below(k, 4)) {
        uint32_t width = w->crop.width ? w->crop.width : s->width,
                 height = w->crop.width ? w->crop.height : s->height;
        w->width = 1 + conversion_case_below(k, most < 64 * width ? most : 64 * width);
        w->height = 1 + conversion_case_below(k, most < 64 * height ? most : 64 * height);
    }
    if (!rgb && conversion_case_below(k, 2)) {
        w->chroma = s->chroma ? (uint8_t)conversion_case_below(k, 4) : 0;
        w->depth = conversion_case_below(k, 2) ? 8 : (uint8_t)(8 + conversion_case_below(k, 7));
        w->pairs = w->chroma == 1 && w->depth == 8 && conversion_case_below(k, 2);
        return;
    }
    w->kind = CONVERSION_PIXELS;
    strcpy(w->order, orders[conversion_case_below(k, rgb ? 5 : 6)]);
    w->packed = conversion_case_below(k, 2);
    conversion_case_floats(k);
}

/* Memory for the output, with gaps of 0xa5 behind the rows. Strides and offsets are multiples of 8.
 */
static inline void conversion_case_room(const struct conversion *c,
                                        struct conversion_case_output *out)
{
    size_t at = 0, offset[4];
    for (uint32_t p = 0; p < c->shape.planes; p++) {
        out->stride[p] = (c->shape.row_bytes[p] + 7) / 8 * 8;
        offset[p] = at;
        at += out->stride[p] * c->shape.rows[p];
    }
    out->size = at;
    out->memory = malloc(at);
    memset(out->memory, 0xa5, at);
    for (uint32_t p = 0; p < c->shape.planes; p++)
        out->plane[p] = out->memory + offset[p];
}

static inline void conversion_case_input(const struct conversion_case *k,
                                         struct conversion_input *in)
{
    for (int p = 0; p < 3; p++) {
        in->plane[p] = k->bytes[p];
        in->stride[p] = k->width[p] * (conversion_case_wide(k) ? 2u : 1u);
    }
}

static inline void conversion_case_reference(const struct conversion_case *k,
                                             const struct conversion *c, struct ref_convert *r)
{
    const struct conversion_source *s = &k->source;
    const struct conversion_wish *w = &c->wish; /* sizes are filled in */
    *r = (struct ref_convert){.width = s->width,
                              .height = s->height,
                              .chroma_format = s->chroma,
                              .depth = {s->depth[0], s->depth[1]},
                              .matrix = s->matrix,
                              .siting = s->siting,
                              .full_range = s->full_range,
                              .plane = {k->plane[0], k->plane[1], k->plane[2]},
                              .crop_x = w->crop.x,
                              .crop_y = w->crop.y,
                              .crop_width = w->crop.width,
                              .crop_height = w->crop.height,
                              .out_width = w->width,
                              .out_height = w->height,
                              .filter = "clan"[w->filter]};
}

static inline uint32_t conversion_case_read(const uint8_t *at, uint32_t bytes)
{
    uint32_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

/* What the reference has for channel i of a pixel. */
static inline uint32_t conversion_case_channel(const struct ref_convert *r,
                                               const struct conversion_wish *w, uint32_t i,
                                               uint32_t x, uint32_t y)
{
    char channel = !strcmp(w->order, "gray") ? 'y' : w->order[i];
    if (w->type == CONVERSION_U8)
        return channel == 'a' ? 255 : ref_convert_level(r, channel, x, y);
    float value = channel == 'a' ? 1
                                 : ref_convert_float(r, channel, w->normalise ? w->mean[i] : 0,
                                                     w->normalise ? w->scale[i] : 1, x, y);
    return w->type == CONVERSION_F16 ? ref_convert_half(value)
                                     : conversion_case_read((const uint8_t *)&value, 4);
}

static inline uint32_t conversion_case_expected(const struct ref_convert *r,
                                                const struct conversion *c, uint32_t plane,
                                                uint32_t i, uint32_t y)
{
    const struct conversion_wish *w = &c->wish;
    if (w->kind == CONVERSION_PIXELS)
        return w->packed ? conversion_case_channel(r, w, i % c->channels, i / c->channels, y)
                         : conversion_case_channel(r, w, plane, i, y);
    bool pairs = w->pairs && plane;
    return ref_convert_sample(r, pairs ? 1 + (int)(i & 1) : (int)plane, w->chroma, w->depth,
                              pairs ? i / 2 : i, y);
}

static inline bool conversion_case_equal(const struct conversion_case *k,
                                         const struct conversion *c,
                                         const struct conversion_case_output *out, char why[160])
{
    struct ref_convert r;
    conversion_case_reference(k, c, &r);
    for (uint32_t p = 0; p < c->shape.planes; p++)
        for (uint32_t y = 0; y < c->shape.rows[p]; y++)
            for (uint32_t i = 0; i < c->shape.row_bytes[p] / c->bytes; i++) {
                uint32_t want = conversion_case_expected(&r, c, p, i, y),
                         got = conversion_case_read(
                             out->plane[p] + y * out->stride[p] + i * c->bytes, c->bytes);
                if (want == got)
                    continue;
                snprintf(why, 160,
                         "plane %u, value %u of row %u: %x instead of %x (%ux%u to %ux%u, chroma "
                         "%u, depth %u, %s, filter %d, matrix %u, type %d)",
                         p, i, y, got, want, c->wish.crop.width, c->wish.crop.height, c->wish.width,
                         c->wish.height, k->source.chroma, k->source.depth[0],
                         c->wish.kind ? c->wish.order : "planes", c->wish.filter, k->source.matrix,
                         c->wish.type);
                return false;
            }
    return true;
}

#endif
