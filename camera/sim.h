/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A simulated sensor: pictures of a clip become raw Bayer frames as a sensor behind a lens would
 * have taken them.
 *
 *   scene picture -> linear light -> bent by the lens, sampled under each colour filter (once a
 * scene picture)
 *   -> times light, exposure and analogue gain; lamps that flicker, rows one after the other ->
 * photon noise, read noise
 *   -> black level, conversion, packing (each frame)
 *
 * Light 1, 10 ms and gain 1 expose the scene's white to full scale. Exposure and gain take effect
 * two frames after they are set. Thread: one at a time.
 */
#ifndef PELTON_CAMERA_SIM_H
#define PELTON_CAMERA_SIM_H

#include "camera/camera_params.h"

struct sim;

/* params->width and height must be set. NULL: out of memory. */
struct sim *sim_create(const struct camera_params *params);
void sim_free(struct sim *sim); /* NULL allowed */

struct sim_picture { /* planar YUV of 8 bits */
    const uint8_t *plane[3];
    uint32_t stride[3], width, height;
    uint32_t shift_x, shift_y; /* of chroma: 1, 1 for 4:2:0 */
    bool bt709, full_range;
};
/* The scene's next picture; at most params->scene_frames. -1: out of memory. */
int sim_add_picture(struct sim *sim, const struct sim_picture *picture);

void sim_set(struct sim *sim, double time_us, double analogue);
/* The next frame, into `raw` (height rows of isp_row_bytes), and what it was exposed with. At least
 * one picture was added. */
void sim_frame(struct sim *sim, uint8_t *raw, struct ae_exposure *in_effect);
/* That frame has been captured: what is set from now on is for the one after. */
void sim_next(struct sim *sim);

#endif
