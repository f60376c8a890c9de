/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Auto-exposure: from the measured brightness of a frame to the exposure time, analogue gain and
 * digital gain of later ones.
 *
 * Works in stops (log2). A frame tells the light of the scene: its mean divided by the exposure
 * that was in effect for it. So the sensor's delay does not matter: frames taken with an older
 * exposure ask for the same thing as newer ones, and nothing swings.
 *
 *   SEARCHING -> CONVERGED   a frame exposed as asked lies within `dead_band` of the target, or the
 * limits allow no more CONVERGED -> SEARCHING   a frame leaves `leave_band`, or a setting changes
 *   any       -> LOCKED      locked, or switched off: nothing is changed until it is unlocked
 *
 * Times are microseconds, gains factors, as in libcamera. Pure C, no threads, no I/O.
 */
#ifndef PELTON_CAMERA_AE_H
#define PELTON_CAMERA_AE_H

#include <stdbool.h>
#include <stdint.h>

enum ae_state { AE_SEARCHING, AE_CONVERGED, AE_LOCKED };

struct ae_exposure {
    double time_us, analogue, digital;
};
/* Microseconds times gains. */
double ae_total(const struct ae_exposure *e);

struct ae_params {
    double target;                /* mean of linear luminance, 0..1 */
    double ev;                    /* stops above the target */
    double dead_band, leave_band; /* stops */
    double slew;                  /* most stops from one frame to the next */
    double flicker_us; /* half a period of the mains, 10000 or 8333.3; 0: any exposure time */
    double time_min, time_max;         /* microseconds; at least 1 */
    double time_step;                  /* the sensor's line time; 0: any time */
    double analogue_min, analogue_max; /* at least 1 */
    double analogue_step;              /* 0: any gain */
    double digital_max;                /* at least 1 */
};
void ae_defaults(struct ae_params *out);
/* NULL, or what makes no sense: a constant string. */
const char *ae_check(const struct ae_params *params);

struct ae_measure {
    double mean;                  /* weighted mean of linear luminance, after digital gain, 0..1 */
    double clipped;               /* share that is at its largest */
    struct ae_exposure in_effect; /* for this frame */
};

struct ae {
    struct ae_params params;
    enum ae_state state;
    struct ae_exposure asked; /* what the sensor is to do next */
    bool locked;
};

/* Starts with `first`, cut to the limits. params have passed ae_check. */
void ae_init(struct ae *ae, const struct ae_params *params, const struct ae_exposure *first);
/* After a change of settings; params have passed ae_check. */
void ae_configure(struct ae *ae, const struct ae_params *params);
/* Locked: ae->asked stays, or becomes what ae_set says. */
void ae_lock(struct ae *ae, bool locked);
void ae_set(struct ae *ae, const struct ae_exposure *e);
/* One frame's measurement; true where ae->asked has changed. */
bool ae_frame(struct ae *ae, const struct ae_measure *m);
/* Exposure first, then analogue gain, then digital gain: the split of a total that the limits
 * allow. */
struct ae_exposure ae_split(const struct ae_params *params, double total);

#endif
