/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The files that camera settings name: calibration and tone table. Any thread.
 */
#ifndef PELTON_CAMERA_FILES_H
#define PELTON_CAMERA_FILES_H

#include "camera/camera_params.h"
#include "proto/pelton.h"

/* The values of a tone table; NULL: none. */
struct camera_tone {
    uint16_t *values;
    uint32_t count;
};

/* Replaces the calibration file by its lens. The size of the frames is known. Returns 0, or enum
 * pelton_error with the failure. */
int camera_calibrate(struct camera_params *params, struct pelton_failure *failure);
/* Loads the tone table; free out->values. Without one *out is untouched. Returns as above. */
int camera_tone_load(const struct camera_params *params, struct camera_tone *out,
                     struct pelton_failure *failure);

#endif
