/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Exposure, white balance and the controls of one camera. Pure: the owner locks, and hands in what
 * was measured.
 */
#ifndef PELTON_CAMERA_CONTROL_H
#define PELTON_CAMERA_CONTROL_H

#include "camera/camera_params.h"
#include "proto/pelton.h"

struct camera_control {
    const struct camera_params *settings; /* constant from camera_control_start on */
    struct ae ae;
    struct ae_params limits; /* as set; those of ae are narrower where time or gain are manual */
    struct ae_exposure manual;
    bool time_manual, gain_manual, locked;
    bool awb;
    uint32_t metering; /* enum camera_metering */
    struct isp_rect meter_region;
    double ccm[9];
    struct isp_rect crop;
    uint32_t look;              /* counts the changes of ccm and crop */
    double red_gain, blue_gain; /* as they are now */
    double mean, clipped;       /* of the last frame measured */
    uint32_t histogram[PELTON_HISTOGRAM_BINS];
};

/* The mean that exposure control aims at. */
double camera_control_target(const struct camera_control *c);
/* The values that the settings ask for. settings stays valid. */
void camera_control_start(struct camera_control *c, const struct camera_params *settings);
/* A frame was measured: moves exposure and white balance. */
void camera_control_frame(struct camera_control *c, const struct isp_statistics *statistics,
                          const struct ae_exposure *in_effect);
/* Digital gain makes up for what the sensor was asked for but has not done yet, within its limit.
 */
double camera_control_digital(const struct camera_control *c, const struct ae_exposure *in_effect);
/* The whole picture again, as configured. True: that is a change. */
bool camera_control_uncrop(struct camera_control *c);

/* libcamera's names. */
enum { CAMERA_CONTROLS = PELTON_MAX_CONTROLS };
/* Sets all or none. crop_fixed: ScalerCrop is refused. Returns 0, or enum pelton_error with the
 * failure, which names the control. */
int camera_control_set(struct camera_control *c, const struct pelton_control *wishes, uint32_t n,
                       bool crop_fixed, struct pelton_failure *failure);
/* All controls as they are now; their number. */
uint32_t camera_control_list(const struct camera_control *c,
                             struct pelton_control out[CAMERA_CONTROLS]);

#endif
