/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Built pictures for tests of the encoder.
 */
#ifndef PELTON_TESTS_SCENE_H
#define PELTON_TESTS_SCENE_H

#include "encode/reference/decide.h"

#include <stdlib.h>

static uint32_t scene_seed = 7;

static inline int scene_random(int n)
{
    scene_seed = scene_seed * 1664525u + 1013904223u;
    return (int)((scene_seed >> 8) % (uint32_t)n);
}

/* A picture of waves and noise that moves by (3, 1) quarter samples each time, and a still part */
struct scene {
    uint32_t width, height;
    int noise;
    uint8_t *plane[3];
};

static inline void scene_open(struct scene *s, uint32_t width, uint32_t height)
{
    *s = (struct scene){.width = width, .height = height, .noise = scene_random(12)};
    for (int c = 0; c < 3; c++)
        assert_non_null(s->plane[c] = malloc((size_t)width * height));
}

static inline void scene_close(struct scene *s)
{
    for (int c = 0; c < 3; c++)
        free(s->plane[c]);
}

static inline int scene_wave(int v)
{
    v &= 127;
    return v < 64 ? v : 127 - v;
}

static inline void scene_draw(struct scene *s, int time)
{
    for (int c = 0; c < 3; c++) {
        int width = (int)(c ? (s->width + 1) / 2 : s->width);
        int height = (int)(c ? (s->height + 1) / 2 : s->height);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                int t = x * 5 < width ? 0 : time; /* the left part stands still */
                int v = 60 + scene_wave((4 * x + 3 * t) * 2) + scene_wave((4 * y + t) * (3 + c));
                s->plane[c][y * width + x] = (uint8_t)(v + scene_random(s->noise + 1));
            }
    }
}

static inline struct decider_source scene_source(const struct scene *s)
{
    struct decider_source source = {.stride = {s->width, (s->width + 1) / 2, (s->width + 1) / 2}};
    for (int c = 0; c < 3; c++)
        source.plane[c] = s->plane[c];
    return source;
}

#endif
