/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From a wish to a table: checks, matrices, axes.
 */
#include "convert/conversion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* matrix_coefficients of H.273 */
enum { MATRIX_GBR = 0, MATRIX_709 = 1, MATRIX_UNSPECIFIED = 2, MATRIX_FCC = 4, MATRIX_240M = 7 };
enum { MATRIX_YCGCO = 8, MATRIX_2020 = 9, MATRIX_2020_CL = 10 };

#define HD_HEIGHT 720 /* from here on an unspecified matrix is that of BT.709 */

/* ---- checks ---- */

static bool size_valid(uint32_t size)
{
    return size >= 1 && size <= CONVERSION_MOST_SIZE;
}

static bool ratio_valid(uint32_t from, uint32_t to)
{
    return from <= CONVERSION_MOST_RATIO * to && to <= CONVERSION_MOST_RATIO * from;
}

/* Sizes that the wish leaves open. */
static void wish_settle(const struct conversion_source *s, struct conversion_wish *w)
{
    if (!w->crop.width)
        w->crop = (struct conversion_rect){0, 0, s->width, s->height};
    w->width = w->width ? w->width : w->crop.width;
    w->height = w->height ? w->height : w->crop.height;
}

static bool sizes_refused(const struct conversion_source *s, const struct conversion_wish *w,
                          char why[160])
{
    const struct conversion_rect *c = &w->crop;
    if (!c->width || !c->height || c->x >= s->width || c->y >= s->height ||
        c->width > s->width - c->x || c->height > s->height - c->y)
        snprintf(why, 160, "the crop %ux%u at %u,%u lies outside of the picture, %ux%u", c->width,
                 c->height, c->x, c->y, s->width, s->height);
    else if (!size_valid(w->width) || !size_valid(w->height))
        snprintf(why, 160, "frames of %ux%u: a side has 1 to %d samples", w->width, w->height,
                 CONVERSION_MOST_SIZE);
    else if (!ratio_valid(c->width, w->width) || !ratio_valid(c->height, w->height))
        snprintf(why, 160, "frames of %ux%u from %ux%u: a side changes by at most %d times",
                 w->width, w->height, c->width, c->height, CONVERSION_MOST_RATIO);
    else
        return false;
    return true;
}

static bool is_rgb(const struct conversion_source *s)
{
    return s->chroma == 3 && s->matrix == MATRIX_GBR;
}

static bool colours_refused(const struct conversion_source *s, const struct conversion_wish *w,
                            char why[160])
{
    bool pixels = w->kind == CONVERSION_PIXELS;
    if (!pixels && is_rgb(s))
        snprintf(why, 160, "the stream is RGB: it is not converted to YUV");
    else if (pixels && is_rgb(s) && !strcmp(w->order, "gray"))
        snprintf(why, 160, "the stream is RGB: it is not converted to gray");
    else if (pixels && (s->matrix == 3 || s->matrix > MATRIX_2020_CL))
        snprintf(why, 160, "the stream's matrix_coefficients %u are not supported", s->matrix);
    else
        return false;
    return true;
}

/* ---- the matrix ---- */

static uint8_t matrix_of(const struct conversion_source *s)
{
    if (s->chroma != 3 && s->matrix == MATRIX_GBR)
        return MATRIX_709; /* H.264 allows GBR for 4:4:4 alone */
    if (s->matrix == MATRIX_UNSPECIFIED)
        return s->height >= HD_HEIGHT ? MATRIX_709 : 6;
    return s->matrix;
}

/* Rows R, G, B of the full-range matrix, for planes Y, Cb, Cr. */
static void full_matrix(const struct conversion_source *s, double m[3][3])
{
    static const double direct[2][3][3] = {{{0, 0, 1}, {1, 0, 0}, {0, 1, 0}},     /* G, B, R */
                                           {{1, -1, 1}, {1, 1, 0}, {1, -1, -1}}}; /* Y, Cg, Co */
    uint8_t matrix = matrix_of(s);
    double kr = 0.299, kb = 0.114;
    if (matrix == MATRIX_GBR || matrix == MATRIX_YCGCO) {
        memcpy(m, direct[matrix == MATRIX_YCGCO], sizeof(direct[0]));
        return;
    }
    if (matrix == MATRIX_709)
        kr = 0.2126, kb = 0.0722;
    else if (matrix == MATRIX_FCC)
        kr = 0.30, kb = 0.11;
    else if (matrix == MATRIX_240M)
        kr = 0.212, kb = 0.087;
    else if (matrix == MATRIX_2020 || matrix == MATRIX_2020_CL)
        kr = 0.2627, kb = 0.0593;
    double kg = 1 - kr - kb;
    const double rows[3][3] = {{1, 0, 2 * (1 - kr)},
                               {1, -2 * kb * (1 - kb) / kg, -2 * kr * (1 - kr) / kg},
                               {1, 2 * (1 - kb), 0}};
    memcpy(m, rows, sizeof(rows));
}

/* Levels of 255 for each step of a plane, whose largest value is 65536. */
static double plane_gain(const struct conversion_source *s, bool chroma)
{
    double steps = 1 << s->depth[chroma];
    if (s->full_range)
        return 255 * steps / (256 * (steps - 1));
    return chroma ? 255.0 / 224 : 255.0 / 219;
}

static void table_matrix(struct conversion *c)
{
    const struct conversion_source *s = &c->source;
    const char *order = c->wish.order;
    bool gray = !strcmp(order, "gray"), direct = is_rgb(s);
    double m[3][3];
    full_matrix(s, m);
    for (int p = 0; p < 3; p++) {
        bool chroma = p && !direct;
        c->table[CONVERT_ZERO + p] = chroma ? 32768 : s->full_range ? 0 : 16 * 256;
        for (uint32_t i = 0; i < c->channels && i < 3; i++) {
            int row = order[i] == 'r' ? 0 : order[i] == 'g' ? 1 : 2;
            double value = gray ? p == 0 : m[row][p];
            value *= plane_gain(s, chroma) * (1 << CONVERT_MATRIX_BITS);
            c->table[CONVERT_MATRIX + 3 * i + p] = (uint32_t)(int32_t)lround(value);
        }
    }
}

static uint32_t float_bits(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* A float is sum * scale + add. */
static void table_floats(struct conversion *c)
{
    const struct conversion_wish *w = &c->wish;
    for (int i = 0; i < 4; i++) {
        double scale = w->normalise && i < 3 ? w->scale[i] : 1,
               mean = w->normalise && i < 3 ? w->mean[i] : 0;
        c->table[CONVERT_SCALE + i] = float_bits(scale / (255.0 * (1 << CONVERT_FLOAT_BITS)));
        c->table[CONVERT_ADD + i] = float_bits(-mean * scale);
    }
    c->table[CONVERT_FLOAT] = w->type != CONVERSION_U8;
    c->table[CONVERT_OPAQUE] = w->type == CONVERSION_U8    ? 255
                               : w->type == CONVERSION_F16 ? 0x3c00
                                                           : float_bits(1);
}

/* ---- axes ---- */

struct plane_axes {
    struct conversion_axis x, y;
};

/* Half luma samples from a luma sample to the chroma sample that belongs to it. */
static uint32_t siting_x(const struct conversion_source *s)
{
    return s->siting == 2 || s->siting == 4 || s->siting == 6; /* centre, top, bottom */
}

static uint32_t siting_y(const struct conversion_source *s)
{
    return s->siting >= 5 ? 2 : s->siting >= 3 ? 0 : 1;
}

static uint32_t step_of(uint8_t chroma_format, bool vertical, int plane)
{
    return plane && (vertical ? chroma_format == 1 : chroma_format < 3) ? 2 : 1;
}

static struct conversion_axis axis_of(const struct conversion *c, int plane, bool vertical)
{
    const struct conversion_source *s = &c->source;
    const struct conversion_wish *w = &c->wish;
    bool pixels = w->kind == CONVERSION_PIXELS;
    uint32_t begin = vertical ? w->crop.y : w->crop.x,
             from = vertical ? w->crop.height : w->crop.width, to = vertical ? w->height : w->width,
             step = step_of(s->chroma, vertical, plane),
             step_out = pixels ? 1 : step_of(w->chroma, vertical, plane),
             offset = vertical ? siting_y(s) : siting_x(s);
    return (struct conversion_axis){.from = from,
                                    .to = to,
                                    .crop = begin,
                                    .step = step,
                                    .offset = step == 2 ? offset : 0,
                                    .step_out = step_out,
                                    .offset_out = step_out == 2 ? offset : 0,
                                    .count = (to + step_out - 1) / step_out,
                                    .first = begin / step,
                                    .last = (begin + from - 1) / step,
                                    .filter = w->filter};
}

static uint32_t source_planes(const struct conversion_source *s, const struct conversion_wish *w)
{
    bool luma = s->chroma == 0 ||
                (w->kind == CONVERSION_PLANES ? w->chroma == 0 : !strcmp(w->order, "gray"));
    return luma ? 1 : 3;
}

/* The axes of a plane; returns the words behind them. */
static uint32_t plane_lay_out(struct conversion *c, int plane, uint32_t at, bool fill)
{
    uint32_t *p = &c->table[CONVERT_PLANES + plane * CONVERT_PLANE_WORDS];
    for (int v = 0; v < 2; v++) {
        struct conversion_axis axis = axis_of(c, plane, v);
        uint32_t taps = conversion_axis_taps(&axis);
        p[v ? CONVERT_HEIGHT : CONVERT_WIDTH] = axis.count;
        p[v ? CONVERT_Y : CONVERT_X] = at;
        p[v ? CONVERT_Y_TAPS : CONVERT_X_TAPS] = taps;
        if (fill)
            conversion_axis_fill(&axis, taps, c->table + at);
        at += CONVERT_ENTRY_WORDS(taps) * axis.count;
    }
    p[CONVERT_SHIFT] = c->source.depth[plane > 0] - 1u;
    return at;
}

/* Cb and Cr have the same axes. */
static uint32_t table_axes(struct conversion *c, bool fill)
{
    uint32_t at = plane_lay_out(c, 0, CONVERT_HEAD_WORDS, fill);
    uint32_t *planes = &c->table[CONVERT_PLANES];
    if (source_planes(&c->source, &c->wish) == 1)
        return at;
    at = plane_lay_out(c, 1, at, fill);
    memcpy(planes + 2 * CONVERT_PLANE_WORDS, planes + CONVERT_PLANE_WORDS,
           sizeof(*planes) * CONVERT_PLANE_WORDS);
    return at;
}

/* ---- making it ---- */

static void shape_plane(struct conversion_shape *out, uint32_t row_bytes, uint32_t rows)
{
    out->row_bytes[out->planes] = row_bytes;
    out->rows[out->planes++] = rows;
}

uint32_t conversion_channels(const struct conversion_wish *w)
{
    return w->kind != CONVERSION_PIXELS || !strcmp(w->order, "gray") ? 1
                                                                     : (uint32_t)strlen(w->order);
}

static uint32_t value_bytes(const struct conversion_wish *w)
{
    if (w->kind != CONVERSION_PIXELS)
        return w->depth > 8 ? 2 : 1;
    return w->type == CONVERSION_U8 ? 1 : w->type == CONVERSION_F16 ? 2 : 4;
}

void conversion_shape(const struct conversion_wish *w, struct conversion_shape *out)
{
    uint32_t bytes = value_bytes(w), channels = conversion_channels(w);
    out->planes = 0;
    if (w->kind == CONVERSION_PIXELS) {
        for (uint32_t i = 0; i < (w->packed ? 1 : channels); i++)
            shape_plane(out, w->width * bytes * (w->packed ? channels : 1), w->height);
        return;
    }
    uint32_t sx = step_of(w->chroma, false, 1), sy = step_of(w->chroma, true, 1),
             row = (w->width + sx - 1) / sx * bytes, rows = (w->height + sy - 1) / sy;
    shape_plane(out, w->width * bytes, w->height);
    if (w->pairs)
        shape_plane(out, 2 * row, rows);
    for (int i = 0; i < 2 && w->chroma && !w->pairs; i++)
        shape_plane(out, row, rows);
}

bool conversion_settle(const struct conversion_source *source, struct conversion_wish *wish,
                       char why[160])
{
    struct conversion_wish w = *wish;
    wish_settle(source, &w);
    if (sizes_refused(source, &w, why) || colours_refused(source, &w, why))
        return false;
    *wish = w;
    return true;
}

bool conversion_same_source(const struct conversion_source *a, const struct conversion_source *b)
{
    return a->width == b->width && a->height == b->height && a->chroma == b->chroma &&
           a->depth[0] == b->depth[0] && a->depth[1] == b->depth[1] && a->matrix == b->matrix &&
           a->siting == b->siting && a->full_range == b->full_range;
}

static bool same_output(const struct conversion_wish *a, const struct conversion_wish *b)
{
    bool same = a->kind == b->kind && a->chroma == b->chroma && a->depth == b->depth &&
                a->pairs == b->pairs && strncmp(a->order, b->order, sizeof(a->order)) == 0 &&
                a->packed == b->packed && a->type == b->type && a->normalise == b->normalise;
    for (int i = 0; i < 4 && same; i++)
        same = a->mean[i] == b->mean[i] && a->scale[i] == b->scale[i];
    return same;
}

bool conversion_same_wish(const struct conversion_wish *a, const struct conversion_wish *b)
{
    return a->crop.x == b->crop.x && a->crop.y == b->crop.y && a->crop.width == b->crop.width &&
           a->crop.height == b->crop.height && a->width == b->width && a->height == b->height &&
           a->filter == b->filter && same_output(a, b);
}

static void conversion_set(struct conversion *c, const struct conversion_source *source,
                           const struct conversion_wish *wish)
{
    const struct conversion_wish *w = &c->wish;
    c->source = *source;
    c->wish = *wish;
    bool pixels = w->kind == CONVERSION_PIXELS;
    c->channels = conversion_channels(w);
    c->bytes = value_bytes(w);
    conversion_shape(w, &c->shape);
    c->table[CONVERT_KIND] = pixels ? CONVERT_KIND_PIXELS : CONVERT_KIND_PLANES;
    c->table[CONVERT_SOURCES] = source_planes(source, w);
    c->table[CONVERT_CHANNELS] = c->channels;
    c->table[CONVERT_BYTES] = c->bytes;
    c->table[CONVERT_PACKED] = pixels && w->packed;
    c->table[CONVERT_DEPTH] = w->depth;
    c->table[CONVERT_PAIRS] = !pixels && w->pairs;
}

struct conversion *conversion_create(const struct conversion_source *source,
                                     const struct conversion_wish *wish, char why[160])
{
    struct conversion_wish w = *wish;
    why[0] = '\0';
    if (!conversion_settle(source, &w, why))
        return NULL;
    size_t head = sizeof(struct conversion) + 4 * CONVERT_HEAD_WORDS;
    struct conversion *sketch = calloc(1, head);
    if (!sketch)
        return NULL;
    conversion_set(sketch, source, &w);
    size_t words = table_axes(sketch, false);
    struct conversion *c = realloc(sketch, sizeof(*c) + 4 * words);
    if (!c) {
        free(sketch);
        return NULL;
    }
    c->words = words;
    table_axes(c, true);
    if (w.kind == CONVERSION_PIXELS) {
        table_matrix(c);
        table_floats(c);
    }
    return c;
}
