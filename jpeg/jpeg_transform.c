/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples to levels: colours, forward DCT (A.3.3), quantiser (A.3.4). gpu/shaders/jpeg/ repeats
 * it: keep both alike.
 */
#include "jpeg/jpeg_blocks.h"

/* Colours have 14 bits behind the point. The first transform leaves 6, the second one 3. */
enum { COLOUR_BITS = 14, ROW_SHIFT = 8, COLUMN_SHIFT = 17, STEP_BITS = 3 };

static int32_t rounded(int32_t v, int shift)
{
    return (v + (1 << (shift - 1))) >> shift;
}

static int32_t clip8(int32_t v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Beyond an edge its samples repeat. */
static int32_t sample_at(const struct jpeg_shape *shape, const struct jpeg_planes *planes,
                         uint32_t c, uint32_t x, uint32_t y)
{
    x = smaller(x, shape->plane_size[c][0] - 1);
    y = smaller(y, shape->plane_size[c][1] - 1);
    return planes->data[c][y * planes->stride[c] + x];
}

/* In the colours of JFIF. Luma takes the chroma sample that covers it. */
static int32_t colour_at(const struct jpeg_settings *s, const struct jpeg_shape *shape,
                         const struct jpeg_planes *planes, uint32_t c, uint32_t x, uint32_t y)
{
    const struct jpeg_colours *k = &s->colours;
    uint32_t chroma_x = c ? x : smaller(x, s->width - 1) / shape->sampling[0];
    uint32_t chroma_y = c ? y : smaller(y, s->height - 1) / shape->sampling[1];
    int32_t sum = 0, cb, cr;
    if (c == 0)
        sum = k->luma[0] * (sample_at(shape, planes, 0, x, y) - k->black);
    if (shape->components == 3) {
        cb = sample_at(shape, planes, 1, chroma_x, chroma_y) - 128;
        cr = sample_at(shape, planes, 2, chroma_x, chroma_y) - 128;
        sum += c ? k->chroma[c - 1][0] * cb + k->chroma[c - 1][1] * cr
                 : k->luma[1] * cb + k->luma[2] * cr;
    }
    return clip8(rounded(sum, COLOUR_BITS) + (c ? 128 : 0));
}

/* Eight values at a distance of `step` */
static void transform_line(int32_t *v, int step, int shift)
{
    int32_t in[8];
    for (int x = 0; x < 8; x++)
        in[x] = v[x * step];
    for (int u = 0; u < 8; u++) {
        int32_t sum = 0;
        for (int x = 0; x < 8; x++)
            sum += jpeg_cosines[u][x] * in[x];
        v[u * step] = rounded(sum, shift);
    }
}

/* The nearest level; half a step goes away from 0. */
static int16_t quantise(int32_t v, int32_t step)
{
    int32_t magnitude = v < 0 ? -v : v;
    int32_t level = (magnitude + (step << STEP_BITS) / 2) / (step << STEP_BITS);
    return (int16_t)(v < 0 ? -level : level);
}

void jpeg_block_levels(const struct jpeg_settings *s, const struct jpeg_shape *shape,
                       const struct jpeg_planes *planes, const uint16_t quantiser[2][64],
                       struct jpeg_place place, int16_t levels[64])
{
    uint32_t c = place.component;
    int32_t v[64];
    for (uint32_t i = 0; i < 64; i++)
        v[i] = colour_at(s, shape, planes, c, place.x + i % 8, place.y + i / 8) - 128;
    for (int y = 0; y < 8; y++)
        transform_line(v + 8 * y, 1, ROW_SHIFT);
    for (int x = 0; x < 8; x++)
        transform_line(v + x, 8, COLUMN_SHIFT);
    for (int k = 0; k < 64; k++)
        levels[k] = quantise(v[jpeg_zigzag[k]], quantiser[c > 0][k]);
}
