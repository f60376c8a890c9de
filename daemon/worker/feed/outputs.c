/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Conversions as readers name them: see outputs.h.
 */
#include "daemon/worker/feed/outputs.h"

#include <stdio.h>
#include <string.h>

#define ROW_ALIGN    256u /* of pixel formats, as of frames that are not converted */
#define TENSOR_ALIGN 4u

_Static_assert((int)PELTON_NEAREST == (int)CONVERSION_NEAREST &&
                   (int)PELTON_F32 == (int)CONVERSION_F32 &&
                   PELTON_MOST_SIZE == CONVERSION_MOST_SIZE &&
                   PELTON_MOST_RATIO == CONVERSION_MOST_RATIO,
               "the reader's numbers are those of conversions");

static const struct {
    const char *name, *order;
    bool packed;
} names[] = {{"rgb24", "rgb", true}, {"bgr24", "bgr", true}, {"rgba", "rgba", true},
             {"bgra", "bgra", true}, {"gbrp", "gbr", false}, {"gray", "gray", false}};
enum { NAMES = sizeof(names) / sizeof(*names), PACKED = 4 /* the first ones */ };

bool output_is_rgb(const char *pix_fmt)
{
    for (int i = 0; pix_fmt && i < PACKED; i++)
        if (!strcmp(pix_fmt, names[i].name))
            return true;
    return false;
}

static bool is_tensor(const struct pelton_output *o)
{
    return o->layout || o->type;
}

static void wish_pixels(const struct pelton_output *o, int name, struct conversion_wish *w)
{
    w->kind = CONVERSION_PIXELS;
    strcpy(w->order, names[name].order);
    w->packed = o->layout == PELTON_LAYOUT_FORMAT ? names[name].packed : o->layout == PELTON_NHWC;
    w->type = (enum conversion_type)o->type;
    w->normalise = o->n_mean > 0;
    memcpy(w->mean, o->mean, sizeof(w->mean));
    memcpy(w->scale, o->scale, sizeof(w->scale));
}

static void wish_planes(const struct pixels *pixels, struct conversion_wish *w)
{
    w->kind = CONVERSION_PLANES;
    w->depth = pixels->depth;
    w->pairs = pixels->planes == RECON_NV12;
    w->chroma = pixels->planes == RECON_GRAY   ? 0
                : pixels->planes == RECON_I422 ? 2
                : pixels->planes == RECON_I444 ? 3
                                               : 1;
}

bool output_wish(const char *pix_fmt, const struct pelton_output *o, const struct pixels *own,
                 struct conversion_wish *out, char why[OUTPUT_WHY])
{
    struct conversion_wish w = {.crop = {o->crop.x, o->crop.y, o->crop.width, o->crop.height},
                                .width = o->width,
                                .height = o->height,
                                .filter = (enum conversion_filter)o->filter};
    const char *name = pix_fmt ? pix_fmt : is_tensor(o) ? "rgb24" : own->rgb ? "gbrp" : own->name;
    struct pixels pixels;
    int i = 0;
    while (i < NAMES && strcmp(name, names[i].name) != 0)
        i++;
    bool gray_plane = i < NAMES && !strcmp(name, "gray") && !is_tensor(o);
    if (i < NAMES && !gray_plane)
        wish_pixels(o, i, &w);
    else if (is_tensor(o) || !pixels_by_name(name, &pixels) || pixels.rgb) {
        snprintf(why, OUTPUT_WHY,
                 is_tensor(o)
                     ? "a layout or a type is for rgb24, bgr24, rgba, bgra, gbrp and gray, "
                       "not for %.40s"
                     : "frames are not converted to %.40s",
                 name);
        return false;
    } else {
        wish_planes(&pixels, &w);
    }
    if (o->n_mean && !o->type) {
        snprintf(why, OUTPUT_WHY, "mean and scale are for floats");
        return false;
    }
    if (o->n_mean && o->n_mean != conversion_channels(&w)) {
        snprintf(why, OUTPUT_WHY, "%u means for %u channels", o->n_mean, conversion_channels(&w));
        return false;
    }
    *out = w;
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a ? a : 1;
}

/* Pixels that are not scaled alike in both directions change their shape. */
static void aspect_scale(struct feed_format *f)
{
    const struct conversion_wish *w = &f->wish;
    if (f->sar.num <= 0 || f->sar.den <= 0)
        return;
    int64_t across = (int64_t)w->crop.width * w->height, down = (int64_t)w->crop.height * w->width,
            most = common_divisor(across, down);
    across /= most;
    down /= most;
    most = common_divisor(f->sar.num, down);
    int64_t num = f->sar.num / most, other = common_divisor(across, f->sar.den);
    down /= most;
    num *= across / other;
    int64_t den = f->sar.den / other * down;
    while (num > INT32_MAX || den > INT32_MAX) {
        num /= 2;
        den /= 2;
    }
    f->sar = (struct pelton_rational){(int32_t)(num ? num : 1), (int32_t)(den ? den : 1)};
}

static const char *name_of(const struct conversion_wish *w)
{
    int i = 0;
    while (strcmp(w->order, names[i].order) != 0)
        i++;
    return names[i].name;
}

/* Of planes: family and depth. */
static void name_planes(const struct conversion_wish *w, char out[16])
{
    static const char *const families[4] = {"gray", "yuv420p", "yuv422p", "yuv444p"};
    if (w->depth > 8)
        snprintf(out, 16, "%s%dle", families[w->chroma], w->depth);
    else
        snprintf(out, 16, "%s", w->pairs ? "nv12" : families[w->chroma]);
}

void output_format(const struct pelton_output *o, struct feed_format *f)
{
    const struct conversion_wish *w = &f->wish;
    struct conversion_shape shape;
    bool pixels = w->kind == CONVERSION_PIXELS;
    conversion_shape(w, &shape);
    f->planes = 0;
    f->slot_size = 0;
    for (uint32_t p = 0; p < shape.planes; p++)
        feed_format_plane(f, shape.row_bytes[p], shape.rows[p],
                          is_tensor(o) ? TENSOR_ALIGN : ROW_ALIGN);
    if (!is_tensor(o) || o->batch < 2) /* tensors of a batch have no gap between them */
        feed_format_close(f);
    f->width = w->width;
    f->height = w->height;
    f->layout = o->layout;
    f->type = o->type;
    f->channels = is_tensor(o) ? conversion_channels(w) : 0;
    aspect_scale(f);
    if (!pixels) {
        name_planes(w, f->pix_fmt);
        return;
    }
    snprintf(f->pix_fmt, sizeof(f->pix_fmt), "%s", name_of(w));
    f->colour.matrix = 0;
    f->colour.range = PELTON_RANGE_FULL;
}
