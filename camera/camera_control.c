/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Exposure, white balance and the controls that users see. See camera_control.h.
 */
#include "camera/camera_control.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BALANCE_STEP 0.15 /* of the way to the grey world, each frame, in the log domain */
#define BALANCE_MOST 8.0

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* Hands on what is set: what is manual has equal limits; with both manual, or locked, nothing
 * moves. */
static void control_apply(struct camera_control *c)
{
    struct ae_params p = c->limits;
    bool fixed = c->time_manual && c->gain_manual;
    if (c->time_manual) {
        p.time_min = p.time_max = c->manual.time_us;
        p.flicker_us = p.time_step = 0;
    }
    if (c->gain_manual)
        p.analogue_min = p.analogue_max = c->manual.analogue;
    ae_lock(&c->ae, fixed || c->locked);
    ae_configure(&c->ae, &p);
    if (fixed)
        ae_set(&c->ae, &c->manual);
}

static void control_set_manual(struct camera_control *c, const struct ae_exposure *e)
{
    const struct ae_params *p = &c->limits;
    c->manual = (struct ae_exposure){clamp(e->time_us, p->time_min, p->time_max),
                                     clamp(e->analogue, p->analogue_min, p->analogue_max),
                                     clamp(e->digital, 1, p->digital_max)};
}

/* The frame rate bounds the exposure time. */
void camera_control_start(struct camera_control *c, const struct camera_params *p)
{
    double frame_us = 1e6 / p->fps;
    const struct ae_exposure first = {p->exposure.time_us, p->exposure.analogue_gain, 1};
    *c = (struct camera_control){.settings = p, .limits = p->exposure.ae};
    if (c->limits.time_max > frame_us)
        c->limits.time_max = frame_us > c->limits.time_min ? frame_us : c->limits.time_min;
    control_set_manual(c, &first);
    c->time_manual = c->gain_manual = !p->exposure.ae_enable;
    ae_init(&c->ae, &c->limits, &first);
    control_apply(c);
    c->awb = p->awb;
    c->metering = p->exposure.metering;
    c->meter_region = p->exposure.meter_region;
    c->red_gain = p->red_gain;
    c->blue_gain = p->blue_gain;
    c->crop = p->region;
    memcpy(c->ccm, p->ccm, sizeof(c->ccm));
}

static double balance_step(double now, double wanted)
{
    double to = now * pow(wanted / now, BALANCE_STEP);
    return to < 1 / BALANCE_MOST ? 1 / BALANCE_MOST : to > BALANCE_MOST ? BALANCE_MOST : to;
}

/* Of the sensor's samples. */
static struct isp_rect control_metered(const struct camera_control *c)
{
    uint32_t w = c->settings->width, h = c->settings->height;
    if (c->metering == CAMERA_METER_REGION)
        return c->meter_region;
    return (struct isp_rect){w / 3, h / 3, w / 3, h / 3};
}

/* YUV is toned by the camera, about as BT.709 says. */
static double control_linear(const struct camera_control *c, double luminance)
{
    return c->settings->order == ISP_YUV ? pow(luminance, 1 / 0.45) : luminance;
}

static void control_histogram(struct camera_control *c, const uint32_t levels[256])
{
    memset(c->histogram, 0, sizeof(c->histogram));
    for (uint32_t i = 0; i < 256; i++) {
        double middle = control_linear(c, (i + 0.5) / 256);
        c->histogram[(uint32_t)(middle * PELTON_HISTOGRAM_BINS)] += levels[i];
    }
}

double camera_control_target(const struct camera_control *c)
{
    return c->limits.target * exp2(c->limits.ev);
}

void camera_control_frame(struct camera_control *c, const struct isp_statistics *statistics,
                          const struct ae_exposure *in_effect)
{
    uint8_t weights[ISP_ZONES * ISP_ZONES];
    struct isp_measures m;
    static const enum isp_metering kinds[] = {[CAMERA_METER_MATRIX] = ISP_METER_MATRIX,
                                              [CAMERA_METER_CENTRE] = ISP_METER_CENTRE,
                                              [CAMERA_METER_SPOT] = ISP_METER_SPOT,
                                              [CAMERA_METER_REGION] = ISP_METER_SPOT};
    const struct isp_rect region = control_metered(c);
    isp_metering_weights(kinds[c->metering], statistics, &region, c->settings->width,
                         c->settings->height, weights);
    isp_measure(statistics, weights, &m);
    control_histogram(c, statistics->histogram);
    m.mean = control_linear(c, m.mean);
    c->mean = m.mean;
    c->clipped = m.clipped;
    const struct ae_measure measure = {m.mean, m.clipped, *in_effect};
    if (in_effect->time_us > 0) /* else it is the camera's own business */
        ae_frame(&c->ae, &measure);
    if (c->awb && c->settings->order < ISP_MONO && m.grey_red > 0 && m.grey_blue > 0) {
        c->red_gain = balance_step(c->red_gain, m.grey_red);
        c->blue_gain = balance_step(c->blue_gain, m.grey_blue);
    }
}

double camera_control_digital(const struct camera_control *c, const struct ae_exposure *e)
{
    double digital = e->time_us > 0 ? ae_total(&c->ae.asked) / (e->time_us * e->analogue) : 1,
           most = c->ae.params.digital_max;
    return digital < 1 || !(digital <= most) ? (digital > most ? most : 1) : digital;
}

bool camera_control_uncrop(struct camera_control *c)
{
    const struct isp_rect *whole = &c->settings->region;
    if (memcmp(&c->crop, whole, sizeof(c->crop)) == 0)
        return false;
    c->crop = *whole;
    c->look++;
    return true;
}

/* ---- the controls ---- */

enum control {
    AE_ENABLE,
    AE_LOCK,
    TIME_MODE,
    GAIN_MODE,
    EXPOSURE_TIME,
    ANALOGUE_GAIN,
    DIGITAL_GAIN,
    EXPOSURE_VALUE,
    METERING,
    METER_REGION,
    FLICKER_PERIOD,
    AWB_ENABLE,
    COLOUR_GAINS,
    COLOUR_MATRIX,
    SCALER_CROP,
    CONTROLS
};

/* Values of flags and modes are whole. */
enum shape { WHOLE, REAL, RECTANGLE };

static const struct {
    const char *name;
    enum shape shape;
    uint32_t n;
    double least, most;
} table[CONTROLS] = {
    [AE_ENABLE] = {"AeEnable", WHOLE, 1, 0, 1},
    [AE_LOCK] = {"AeLocked", WHOLE, 1, 0, 1},
    [TIME_MODE] = {"ExposureTimeMode", WHOLE, 1, 0, 1}, /* 0 auto, 1 manual */
    [GAIN_MODE] = {"AnalogueGainMode", WHOLE, 1, 0, 1},
    [EXPOSURE_TIME] = {"ExposureTime", REAL, 1, 0, 0}, /* limits: of the device */
    [ANALOGUE_GAIN] = {"AnalogueGain", REAL, 1, 0, 0},
    [DIGITAL_GAIN] = {"DigitalGain", REAL, 1, 1, 0},
    [EXPOSURE_VALUE] = {"ExposureValue", REAL, 1, -8, 8},
    /* 0 centre weighted, 1 spot, 2 matrix, 3 custom: AeRegion */
    [METERING] = {"AeMeteringMode", WHOLE, 1, 0, 3},
    [METER_REGION] = {"AeRegion", RECTANGLE, 4, 0, 0},          /* no name of libcamera's */
    [FLICKER_PERIOD] = {"AeFlickerPeriod", REAL, 1, 0, 100000}, /* us; 0: off */
    [AWB_ENABLE] = {"AwbEnable", WHOLE, 1, 0, 1},
    [COLOUR_GAINS] = {"ColourGains", REAL, 2, 1 / BALANCE_MOST, 64},
    [COLOUR_MATRIX] = {"ColourCorrectionMatrix", REAL, 9, -64, 64},
    [SCALER_CROP] = {"ScalerCrop", RECTANGLE, 4, 0, 0},
};
_Static_assert((int)CONTROLS <= (int)CAMERA_CONTROLS, "room for all");

static void control_limits(const struct camera_control *c, enum control id, double *least,
                           double *most)
{
    const struct ae_params *p = &c->limits;
    double larger =
        c->settings->width > c->settings->height ? c->settings->width : c->settings->height;
    *least = id == EXPOSURE_TIME   ? p->time_min
             : id == ANALOGUE_GAIN ? p->analogue_min
                                   : table[id].least;
    *most = id == EXPOSURE_TIME            ? p->time_max
            : id == ANALOGUE_GAIN          ? p->analogue_max
            : id == DIGITAL_GAIN           ? p->digital_max
            : table[id].shape == RECTANGLE ? larger
                                           : table[id].most;
}

static void rect_values(const struct isp_rect *r, double out[4])
{
    const double values[] = {r->x, r->y, r->width, r->height};
    memcpy(out, values, sizeof(values));
}

static void control_matrix(const struct camera_control *c, double out[9])
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    bool any = false;
    for (int i = 0; i < 9; i++)
        any |= c->ccm[i] != 0;
    memcpy(out, any ? c->ccm : identity, sizeof(identity));
}

/* Controls with one number; false: id has more than one. */
static bool control_read_number(const struct camera_control *c, enum control id, double *value)
{
    static const double libcamera_metering[] = {[CAMERA_METER_MATRIX] = 2,
                                                [CAMERA_METER_CENTRE] = 0,
                                                [CAMERA_METER_SPOT] = 1,
                                                [CAMERA_METER_REGION] = 3};
    const struct ae *ae = &c->ae;
    const double values[CONTROLS] = {
        [AE_ENABLE] = !(c->time_manual && c->gain_manual),
        [AE_LOCK] = ae->locked,
        [TIME_MODE] = c->time_manual,
        [GAIN_MODE] = c->gain_manual,
        [EXPOSURE_TIME] = ae->asked.time_us,
        [ANALOGUE_GAIN] = ae->asked.analogue,
        [DIGITAL_GAIN] = ae->asked.digital,
        [EXPOSURE_VALUE] = c->limits.ev,
        [METERING] = libcamera_metering[c->metering],
        [FLICKER_PERIOD] = c->limits.flicker_us,
        [AWB_ENABLE] = c->awb,
    };
    if (id == METER_REGION || id == COLOUR_GAINS || id == COLOUR_MATRIX || id == SCALER_CROP)
        return false;
    *value = values[id];
    return true;
}

static void control_read(const struct camera_control *c, enum control id,
                         struct pelton_control *out)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "%s", table[id].name);
    out->n = table[id].n;
    control_limits(c, id, &out->least, &out->most);
    if (control_read_number(c, id, out->value))
        return;
    if (id == METER_REGION)
        rect_values(&c->meter_region, out->value);
    else if (id == SCALER_CROP)
        rect_values(&c->crop, out->value);
    else if (id == COLOUR_MATRIX)
        control_matrix(c, out->value);
    else {
        out->value[0] = c->red_gain;
        out->value[1] = c->blue_gain;
    }
}

/* A fixed value ends the control of it; what is not named stays what it is now. */
static void control_set_modes(struct camera_control *c, bool time_manual, bool gain_manual,
                              const struct ae_exposure *e)
{
    c->time_manual = time_manual;
    c->gain_manual = gain_manual;
    control_set_manual(c, e);
    control_apply(c);
}

static void control_set_exposure(struct camera_control *c, enum control id, double value)
{
    struct ae_exposure e = c->ae.asked;
    if (id == EXPOSURE_TIME)
        e.time_us = value;
    else if (id == ANALOGUE_GAIN)
        e.analogue = value;
    else
        e.digital = value;
    bool all = id == DIGITAL_GAIN;
    control_set_modes(c, c->time_manual || id == EXPOSURE_TIME || all,
                      c->gain_manual || id == ANALOGUE_GAIN || all, &e);
}

static void control_set_lock(struct camera_control *c, bool locked)
{
    c->locked = locked;
    if (!locked && c->time_manual && c->gain_manual)
        c->time_manual = c->gain_manual = false; /* there is nothing else to unlock */
    control_apply(c);
}

static void control_set_limit(struct camera_control *c, double *limit, double value)
{
    *limit = value;
    control_apply(c);
}

static struct isp_rect rect_of(const double v[4])
{
    return (struct isp_rect){(uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2], (uint32_t)v[3]};
}

static void control_write(struct camera_control *c, enum control id, const double *value)
{
    const struct ae_exposure now = c->ae.asked;
    bool on = value[0] != 0;
    switch (id) {
    case AE_ENABLE:
        c->locked &= !on;
        control_set_modes(c, !on, !on, &now);
        break;
    case AE_LOCK:
        control_set_lock(c, on);
        break;
    case TIME_MODE:
        control_set_modes(c, on, c->gain_manual, &now);
        break;
    case GAIN_MODE:
        control_set_modes(c, c->time_manual, on, &now);
        break;
    case EXPOSURE_TIME:
    case ANALOGUE_GAIN:
    case DIGITAL_GAIN:
        control_set_exposure(c, id, value[0]);
        break;
    case EXPOSURE_VALUE:
        control_set_limit(c, &c->limits.ev, value[0]);
        break;
    case METERING:
        c->metering = value[0] == 0   ? CAMERA_METER_CENTRE
                      : value[0] == 1 ? CAMERA_METER_SPOT
                      : value[0] == 2 ? CAMERA_METER_MATRIX
                                      : CAMERA_METER_REGION;
        break;
    case METER_REGION:
        c->meter_region = rect_of(value);
        c->metering = CAMERA_METER_REGION;
        break;
    case FLICKER_PERIOD:
        control_set_limit(c, &c->limits.flicker_us, value[0]);
        break;
    case AWB_ENABLE:
        c->awb = on;
        break;
    case COLOUR_GAINS:
        c->awb = false;
        c->red_gain = value[0];
        c->blue_gain = value[1];
        break;
    case COLOUR_MATRIX:
        memcpy(c->ccm, value, sizeof(c->ccm));
        c->look++;
        break;
    case SCALER_CROP:
        c->crop = rect_of(value);
        c->look++;
        break;
    case CONTROLS:
        break;
    }
}

static bool values_whole(const struct pelton_control *wish)
{
    for (uint32_t i = 0; i < wish->n; i++)
        if (wish->value[i] != floor(wish->value[i]))
            return false;
    return true;
}

/* Rules beyond the range of a single value. NULL: the wish keeps them. */
static const char *control_objection(const struct camera_control *c, enum control id,
                                     const struct pelton_control *wish)
{
    const double *v = wish->value;
    if (table[id].shape != REAL && !values_whole(wish))
        return "whole numbers only";
    if (table[id].shape == RECTANGLE && (v[2] < 1 || v[3] < 1 || v[0] + v[2] > c->settings->width ||
                                         v[1] + v[3] > c->settings->height))
        return "x, y, width and height of a rectangle within the sensor's picture";
    if (id == FLICKER_PERIOD && v[0] != 0 && v[0] < 100)
        return "0, or from 100 to 100000";
    if (id == METERING && v[0] == 3 && !c->meter_region.width)
        return "3 (custom) needs AeRegion first";
    return NULL;
}

/* PELTON_ERR_USAGE with the control, what was asked for, and what is allowed. */
static void control_refuse(const struct camera_control *c, enum control id,
                           const struct pelton_control *wish, const char *why,
                           struct pelton_failure *failure)
{
    char asked[100] = "nothing";
    double least, most;
    size_t at = 0;
    for (uint32_t i = 0; i < wish->n && at < sizeof(asked) - 24; i++)
        at +=
            (size_t)snprintf(asked + at, sizeof(asked) - at, "%s%g", i ? "," : "", wish->value[i]);
    control_limits(c, id, &least, &most);
    failure->code = PELTON_ERR_USAGE;
    if (why)
        snprintf(failure->cause, sizeof(failure->cause), "%s=%s: %s (sensor: %u x %u)",
                 table[id].name, asked, why, c->settings->width, c->settings->height);
    else
        snprintf(failure->cause, sizeof(failure->cause), "%s=%s: %u value%s from %g to %g",
                 table[id].name, asked, table[id].n, table[id].n > 1 ? "s" : "", least, most);
}

/* The control of a wish that may be granted; -1 with the failure. */
static int control_check(const struct camera_control *c, const struct pelton_control *wish,
                         bool crop_fixed, struct pelton_failure *failure)
{
    int id = 0;
    double least, most;
    while (id < CONTROLS && strcmp(table[id].name, wish->name) != 0)
        id++;
    if (id == CONTROLS) {
        failure->code = PELTON_ERR_USAGE;
        snprintf(failure->cause, sizeof(failure->cause), "%.32s: this camera has no such control",
                 wish->name);
        snprintf(failure->hint, sizeof(failure->hint), "pelton get lists them");
        return -1;
    }
    if (id == SCALER_CROP && crop_fixed) {
        failure->code = PELTON_ERR_PERMISSION;
        snprintf(failure->cause, sizeof(failure->cause),
                 "ScalerCrop: parts of this picture are blurred, so it stays as it is");
        return -1;
    }
    control_limits(c, (enum control)id, &least, &most);
    bool good = wish->n == table[id].n;
    for (uint32_t i = 0; i < wish->n; i++)
        good &= wish->value[i] >= least && wish->value[i] <= most;
    const char *why = good ? control_objection(c, (enum control)id, wish) : NULL;
    if (good && !why)
        return id;
    control_refuse(c, (enum control)id, wish, why, failure);
    return -1;
}

int camera_control_set(struct camera_control *c, const struct pelton_control *wishes, uint32_t n,
                       bool crop_fixed, struct pelton_failure *failure)
{
    int ids[CAMERA_CONTROLS];
    *failure = (struct pelton_failure){0};
    if (n > CAMERA_CONTROLS)
        *failure = (struct pelton_failure){.code = PELTON_ERR_USAGE,
                                           .cause = "more controls than there are"};
    for (uint32_t i = 0; i < n && !failure->code; i++)
        ids[i] = control_check(c, &wishes[i], crop_fixed, failure);
    for (uint32_t i = 0; i < n && !failure->code; i++)
        control_write(c, (enum control)ids[i], wishes[i].value);
    return failure->code;
}

uint32_t camera_control_list(const struct camera_control *c,
                             struct pelton_control out[CAMERA_CONTROLS])
{
    for (int id = 0; id < CONTROLS; id++)
        control_read(c, (enum control)id, &out[id]);
    return CONTROLS;
}
