/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma planes with margins, reduced sizes, and the half samples between. The motion search reads
 * them. Margins repeat the samples at the edges, as references do (8.4.2.2.1).
 */
#ifndef PELTON_PLANES_H
#define PELTON_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample_plane {
    uint16_t *memory;
    uint16_t *origin; /* sample (0, 0) */
    ptrdiff_t stride; /* in samples */
    int width, height, margin;
};

/* Whether there was memory. Free takes a zeroed plane, too. */
bool plane_create(struct sample_plane *plane, int width, int height, int margin);
void plane_free(struct sample_plane *plane);

static inline uint16_t *plane_at(const struct sample_plane *plane, int x, int y)
{
    return plane->origin + y * plane->stride + x;
}

/* Fill the margins from the samples at the edges. */
void plane_extend(struct sample_plane *plane);
/* Half of the size in each direction: rounded means of four samples. */
void plane_reduce(const struct sample_plane *from, struct sample_plane *to);

/* ---- a picture's luma at all sizes ---- */

/* Samples beyond the picture that vectors may reach, and what the filter needs around these */
#define PLANE_REACH  32
#define PLANE_MARGIN 40

enum { HALF_NONE, HALF_X, HALF_Y, HALF_XY, HALF_COUNT };

/* G, b, h and j of 8.4.2.2.1 at each sample, and the picture in half and a quarter of its size */
struct luma_planes {
    struct sample_plane full[HALF_COUNT];
    struct sample_plane half, quarter;
};

/* width, height: luma samples, multiples of 16. half_samples: as references need them. */
bool luma_planes_create(struct luma_planes *p, int width, int height, bool half_samples);
void luma_planes_free(struct luma_planes *p);
/* Take samples of the picture and make all the rest. */
void luma_planes_load(struct luma_planes *p, const uint16_t *samples, ptrdiff_t stride);

/* The prediction of a block (8.4.2.2.1): (x, y) in quarter samples, at most PLANE_REACH samples
 * outside of the picture. pred: stride w. */
void luma_planes_block(const struct luma_planes *p, int x, int y, int w, int h, uint16_t *pred);

#endif
