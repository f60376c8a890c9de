/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See placeholder_paint.h. The layout comes from a worker, so every plane is held against the slot
 * before it is written. The work is bounded: at most TAPS x TAPS pixels of the picture a sample.
 */
#include "daemon/broker/placeholder_paint.h"

#include <stdlib.h>
#include <string.h>

enum { TAPS = 4, PLANES = 4 };

/* Components of each plane, for pixel formats that begin so. */
static const struct paint_family {
    const char *name, *planes[3];
} families[] = {
    {"gray", {"Y"}},       {"yuv", {"Y", "U", "V"}},  {"nv12", {"Y", "UV"}}, {"nv16", {"Y", "UV"}},
    {"p010", {"Y", "UV"}}, {"gbrp", {"G", "B", "R"}}, {"rgb24", {"RGB"}},    {"bgr24", {"BGR"}},
    {"rgba", {"RGBA"}},    {"bgra", {"BGRA"}},
};

static const struct paint_family *family_of(const Pelton__FormatChanged *m)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (!m->layout && !m->type &&
            !strncmp(m->pix_fmt, families[i].name, strlen(families[i].name)))
            return &families[i];
    return NULL;
}

/* Bits that a sample of this format takes, from the lowest; FFmpeg's names. */
static unsigned sample_bits(const char *pix_fmt)
{
    size_t n = strlen(pix_fmt), end = n - 2;
    if (n < 4 || strcmp(pix_fmt + end, "le") != 0)
        return 8;
    size_t from = end;
    while (from > 0 && pix_fmt[from - 1] >= '0' && pix_fmt[from - 1] <= '9')
        from--;
    int bits = atoi(pix_fmt + from);
    /* p010le has its ten bits at the top; rgb48le says the bits of three samples */
    return pix_fmt[from] == '0' || bits > 16 || bits < 9 ? 16 : (unsigned)bits;
}

/* The middle of each sample's range is grey in Y, Cb, Cr as in R, G, B. */
void placeholder_gray(uint8_t *slot, const Pelton__FormatChanged *m)
{
    size_t size = m->slot_size;
    unsigned bits = sample_bits(m->pix_fmt);
    bool alpha = strcmp(m->pix_fmt, "rgba") == 0 || strcmp(m->pix_fmt, "bgra") == 0;
    memset(slot, bits > 8 || m->type /* floats */ ? 0 : 0x80, size);
    for (size_t i = 1; bits > 8 && !m->type && i < size; i += 2)
        slot[i] = (uint8_t)(1u << (bits - 9));
    for (size_t i = 3; alpha && i < size; i += 4)
        slot[i] = 0xff;
}

/* ---- places ---- */

/* Pixels of the picture that a row or column of samples shows; none: it is black. */
struct span {
    uint32_t from, count;
};

/* `shown` of `frame` are the picture's, in the middle. */
static void span_set(struct span *out, uint32_t i, uint32_t samples, uint32_t frame, uint32_t shown,
                     uint32_t pixels)
{
    int64_t begin = (int64_t)i * frame / samples - (frame - shown) / 2,
            end = (int64_t)(i + 1) * frame / samples - (frame - shown) / 2;
    *out = (struct span){0};
    if (begin < 0 || begin >= shown)
        return;
    int64_t from = begin * pixels / shown, to = end * pixels / shown;
    to = to > pixels ? pixels : to;
    out->from = (uint32_t)from;
    out->count = to > from ? (uint32_t)(to - from) : 1;
}

/* Pixels between two of those that are looked at. */
static uint32_t span_step(const struct span *s)
{
    return (s->count + TAPS - 1) / TAPS;
}

static void mean_of(const struct still_picture *p, const struct span *x, const struct span *y,
                    uint32_t rgb[3])
{
    uint32_t n = 0, sum[3] = {0};
    for (uint32_t j = 0; x->count && j < y->count; j += span_step(y))
        for (uint32_t i = 0; i < x->count; i += span_step(x), n++)
            for (unsigned c = 0; c < 3; c++)
                sum[c] += p->rgb[3 * ((size_t)(y->from + j) * p->width + x->from + i) + c];
    for (unsigned c = 0; c < 3; c++)
        rgb[c] = n ? (sum[c] + n / 2) / n : 0;
}

/* ---- colours ---- */

struct colours {
    double kr, kb;
    bool full;
};

static struct colours colours_of(const Pelton__FormatChanged *m)
{
    unsigned matrix = m->colour ? m->colour->matrix : 0;
    bool undescribed = matrix == 0 || matrix == 2, old = matrix == 5 || matrix == 6;
    struct colours c = {.kr = 0.2126, .kb = 0.0722, .full = m->colour && m->colour->range == 2};
    if (old || (undescribed && m->height < 720)) {
        c.kr = 0.299;
        c.kb = 0.114;
    } else if (matrix == 9 || matrix == 10) {
        c.kr = 0.2627;
        c.kb = 0.0593;
    }
    return c;
}

static uint32_t component(const struct colours *c, char name, const uint32_t rgb[3])
{
    double y = c->kr * rgb[0] + (1 - c->kr - c->kb) * rgb[1] + c->kb * rgb[2];
    double luma = c->full ? 1 : 219 / 255.0, chroma = c->full ? 1 : 224 / 255.0;
    switch (name) {
    case 'R':
        return rgb[0];
    case 'G':
        return rgb[1];
    case 'B':
        return rgb[2];
    case 'Y':
        return (uint32_t)((c->full ? 0 : 16) + luma * y + 0.5);
    case 'U':
        return (uint32_t)(128 + chroma * (rgb[2] - y) / (2 * (1 - c->kb)) + 0.5);
    case 'V':
        return (uint32_t)(128 + chroma * (rgb[0] - y) / (2 * (1 - c->kr)) + 0.5);
    default:
        return 255; /* alpha */
    }
}

/* ---- planes ---- */

static void sample_write(uint8_t *at, uint32_t value, unsigned bits)
{
    value = value > 255 ? 255 : value;
    at[0] = (uint8_t)(bits > 8 ? value << (bits - 8) : value);
    if (bits > 8)
        at[1] = (uint8_t)(value << (bits - 8) >> 8);
}

static bool plane_fits(const Pelton__Plane *plane, uint64_t slot_size)
{
    return plane->width && plane->height && plane->width <= plane->stride &&
           plane->offset <= slot_size &&
           (uint64_t)plane->stride * (plane->height - 1) + plane->width <=
               slot_size - plane->offset;
}

struct canvas {
    const Pelton__FormatChanged *m;
    const struct still_picture *picture;
    struct colours colours;
    uint32_t width, height; /* of the picture in the frame */
    unsigned bits;
};

static bool plane_paint(uint8_t *slot, const struct canvas *c, const Pelton__Plane *plane,
                        const char *order)
{
    uint32_t n = (uint32_t)strlen(order), bytes = c->bits > 8 ? 2 : 1,
             samples = plane->width / (n * bytes), rgb[3];
    struct span y, *x = samples ? malloc(samples * sizeof(*x)) : NULL;
    if (!x)
        return false;
    for (uint32_t i = 0; i < samples; i++)
        span_set(&x[i], i, samples, c->m->width, c->width, c->picture->width);
    for (uint32_t row = 0; row < plane->height; row++) {
        uint8_t *at = slot + plane->offset + (uint64_t)row * plane->stride;
        span_set(&y, row, plane->height, c->m->height, c->height, c->picture->height);
        for (uint32_t i = 0; i < samples; i++) {
            mean_of(c->picture, &x[i], &y, rgb);
            for (uint32_t k = 0; k < n; k++, at += bytes)
                sample_write(at, component(&c->colours, order[k], rgb), c->bits);
        }
    }
    free(x);
    return true;
}

bool placeholder_paint(uint8_t *slot, const Pelton__FormatChanged *m, const struct still_picture *p)
{
    const struct paint_family *f = family_of(m);
    struct canvas c = {
        .m = m, .picture = p, .colours = colours_of(m), .bits = sample_bits(m->pix_fmt)};
    if (!f || !m->width || !m->height || m->n_planes > 3)
        return false;
    for (size_t i = 0; i < m->n_planes; i++)
        if (!f->planes[i] || !plane_fits(m->planes[i], m->slot_size))
            return false;
    bool wide = (uint64_t)p->width * m->height > (uint64_t)m->width * p->height;
    c.width = wide ? m->width : (uint32_t)((uint64_t)p->width * m->height / p->height);
    c.height = wide ? (uint32_t)((uint64_t)p->height * m->width / p->width) : m->height;
    c.width += !c.width;
    c.height += !c.height;
    for (size_t i = 0; i < m->n_planes; i++)
        if (!plane_paint(slot, &c, m->planes[i], f->planes[i]))
            return false;
    return m->n_planes > 0;
}
