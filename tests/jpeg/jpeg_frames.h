/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Built pictures for tests of JPEG files, in one piece of memory.
 */
#ifndef PELTON_TESTS_JPEG_FRAMES_H
#define PELTON_TESTS_JPEG_FRAMES_H

#include "jpeg/jpeg_blocks.h"

#include <stdlib.h>
#include <string.h>

enum frame_kind { FRAME_FLAT, FRAME_RAMP, FRAME_NOISE, FRAME_EXTREMES, FRAME_SCENE, FRAME_KINDS };

struct built_frame {
    struct jpeg_settings settings;
    uint32_t offset[3], stride[3], size;
    uint8_t *data;
};

static uint64_t frame_seed = 1;

static inline uint32_t frame_random(uint32_t n)
{
    frame_seed = frame_seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(frame_seed >> 33) % n;
}

static inline uint8_t frame_sample(enum frame_kind kind, uint32_t c, uint32_t x, uint32_t y)
{
    switch (kind) {
    case FRAME_FLAT:
        return (uint8_t)(40 + 60 * c);
    case FRAME_RAMP:
        return (uint8_t)(x * 3 + y * (c + 1));
    case FRAME_NOISE:
        return (uint8_t)frame_random(256);
    case FRAME_EXTREMES:
        return frame_random(2) ? 255 : 0;
    default: /* smooth parts, edges, some noise */
        return (uint8_t)(((x / 37 + y / 29) % 2 ? 50 : 170) + (x + 2 * y) / 16 % 32 +
                         frame_random(8));
    }
}

/* Planes lie one after the other, with `gap` bytes between rows, from byte `first` on. */
static inline void frame_layout(struct built_frame *f, uint32_t first, uint32_t gap)
{
    struct jpeg_shape shape;
    jpeg_shape_of(&f->settings, &shape);
    f->size = first;
    for (uint32_t c = 0; c < shape.components; c++) {
        f->offset[c] = f->size;
        f->stride[c] = shape.plane_size[c][0] + gap;
        f->size += f->stride[c] * shape.plane_size[c][1];
    }
}

static inline void frame_draw(struct built_frame *f, enum frame_kind kind, uint8_t *data)
{
    struct jpeg_shape shape;
    jpeg_shape_of(&f->settings, &shape);
    f->data = data;
    memset(data, 77, f->size);
    for (uint32_t c = 0; c < shape.components; c++)
        for (uint32_t y = 0; y < shape.plane_size[c][1]; y++)
            for (uint32_t x = 0; x < shape.plane_size[c][0]; x++)
                data[f->offset[c] + y * f->stride[c] + x] = frame_sample(kind, c, x, y);
}

static inline struct jpeg_planes frame_planes(const struct built_frame *f)
{
    struct jpeg_planes p = {{0}, {0}};
    for (int c = 0; c < (f->settings.sampling == JPEG_GREY ? 1 : 3); c++) {
        p.data[c] = f->data + f->offset[c];
        p.stride[c] = f->stride[c];
    }
    return p;
}

/* Any size up to `side`, and any settings */
static inline void frame_settings_random(struct jpeg_settings *s, uint32_t side)
{
    static const uint8_t matrices[] = {1, 2, 4, 5, 6, 7, 9};
    *s = (struct jpeg_settings){.width = 1 + frame_random(side),
                                .height = 1 + frame_random(side),
                                .sampling = frame_random(JPEG_SAMPLINGS),
                                .quality = 1 + frame_random(100),
                                .aspect = {(uint16_t)frame_random(3), (uint16_t)frame_random(3)}};
    jpeg_colours_of(matrices[frame_random(sizeof(matrices))], frame_random(2), s->height,
                    &s->colours);
}

#endif
