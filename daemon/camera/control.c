/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Exposure, white balance and the controls that users see. Digital gain makes up at once for what the sensor has been asked for but
 * has not done yet, within its limit.
 */
#include "daemon/camera/camera_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BALANCE_STEP 0.15 /* of the way to the grey world, each frame, in the log domain */
#define BALANCE_MOST 8.0

/* The frame rate bounds the exposure time. */
void control_start(struct camera *c)
{
    const struct camera_params *p = &c->params;
    struct ae_params ae = p->ae;
    double frame_us = 1e6 / p->fps;
    if (ae.time_max > frame_us)
        ae.time_max = frame_us > ae.time_min ? frame_us : ae.time_min;
    const struct ae_exposure first = {p->exposure_us, p->analogue_gain, 1};
    ae_init(&c->ae, &ae, &first);
    if (!p->ae_enable) {
        ae_lock(&c->ae, true);
        ae_set(&c->ae, &first);
    }
    c->awb = p->awb;
    c->metering = p->metering;
    c->red_gain = p->red_gain;
    c->blue_gain = p->blue_gain;
    c->period_ns = (int64_t)(1e9 / p->fps);
}

static double towards(double now, double wanted)
{
    double to = now * pow(wanted / now, BALANCE_STEP);
    return to < 1 / BALANCE_MOST ? 1 / BALANCE_MOST : to > BALANCE_MOST ? BALANCE_MOST : to;
}

void control_frame(struct camera *c, const struct isp_statistics *statistics, const struct ae_exposure *in_effect)
{
    uint8_t weights[ISP_ZONES * ISP_ZONES];
    struct isp_measures m;
    const struct isp_rect all = {0, 0, c->params.width, c->params.height};
    isp_metering_weights((enum isp_metering)c->metering, statistics, &all, c->params.width, c->params.height, weights);
    isp_measure(statistics, weights, &m);
    c->mean = m.mean;
    c->clipped = m.clipped;
    const struct ae_measure measure = {m.mean, m.clipped, *in_effect};
    ae_frame(&c->ae, &measure);
    if (c->awb && c->params.order != ISP_MONO && m.grey_red > 0 && m.grey_blue > 0) {
        c->red_gain = towards(c->red_gain, m.grey_red);
        c->blue_gain = towards(c->blue_gain, m.grey_blue);
    }
}

/* ---- the controls ---- */

enum control { AE_ENABLE, AE_LOCK, EXPOSURE_TIME, ANALOGUE_GAIN, DIGITAL_GAIN, EXPOSURE_VALUE, METERING, FLICKER_PERIOD, AWB_ENABLE,
               COLOUR_GAINS, CONTROLS };

static const struct {
    const char *name;
    uint32_t n;
    double least, most;
} table[CONTROLS] = {
    [AE_ENABLE] = {"AeEnable", 1, 0, 1},
    [AE_LOCK] = {"AeLocked", 1, 0, 1},
    [EXPOSURE_TIME] = {"ExposureTime", 1, 0, 0},   /* limits: of the device */
    [ANALOGUE_GAIN] = {"AnalogueGain", 1, 0, 0},
    [DIGITAL_GAIN] = {"DigitalGain", 1, 1, 0},
    [EXPOSURE_VALUE] = {"ExposureValue", 1, -8, 8},
    [METERING] = {"AeMeteringMode", 1, 0, 2},      /* 0 centre weighted, 1 spot, 2 matrix */
    [FLICKER_PERIOD] = {"AeFlickerPeriod", 1, 0, 100000}, /* us; 0: off */
    [AWB_ENABLE] = {"AwbEnable", 1, 0, 1},
    [COLOUR_GAINS] = {"ColourGains", 2, 1 / BALANCE_MOST, 64},
};
_Static_assert((int)CONTROLS <= (int)CAMERA_CONTROLS, "room for all");

static void limits(const struct camera *c, enum control id, double *least, double *most)
{
    const struct ae_params *p = &c->ae.params;
    *least = id == EXPOSURE_TIME ? p->time_min : id == ANALOGUE_GAIN ? p->analogue_min : table[id].least;
    *most = id == EXPOSURE_TIME ? p->time_max : id == ANALOGUE_GAIN ? p->analogue_max : id == DIGITAL_GAIN ? p->digital_max : table[id].most;
}

static void get(const struct camera *c, enum control id, struct pelton_control *out)
{
    static const double libcamera_metering[] = {[ISP_METER_MATRIX] = 2, [ISP_METER_CENTRE] = 0, [ISP_METER_SPOT] = 1};
    const struct ae *ae = &c->ae;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", table[id].name);
    out->n = table[id].n;
    limits(c, id, &out->least, &out->most);
    switch (id) {
    case AE_ENABLE: out->value[0] = !ae->locked; break;
    case AE_LOCK: out->value[0] = ae->locked; break;
    case EXPOSURE_TIME: out->value[0] = ae->asked.time_us; break;
    case ANALOGUE_GAIN: out->value[0] = ae->asked.analogue; break;
    case DIGITAL_GAIN: out->value[0] = ae->asked.digital; break;
    case EXPOSURE_VALUE: out->value[0] = ae->params.ev; break;
    case METERING: out->value[0] = libcamera_metering[c->metering]; break;
    case FLICKER_PERIOD: out->value[0] = ae->params.flicker_us; break;
    case AWB_ENABLE: out->value[0] = c->awb; break;
    case COLOUR_GAINS:
        out->value[0] = c->red_gain;
        out->value[1] = c->blue_gain;
        break;
    case CONTROLS: break;
    }
}

static void set_exposure(struct camera *c, enum control id, double value)
{
    struct ae_exposure e = c->ae.asked;
    if (id == EXPOSURE_TIME)
        e.time_us = value;
    else if (id == ANALOGUE_GAIN)
        e.analogue = value;
    else
        e.digital = value;
    ae_lock(&c->ae, true); /* a fixed value ends the control of it */
    ae_set(&c->ae, &e);
}

static void set_parameter(struct camera *c, double *field, double value)
{
    struct ae_params p = c->ae.params;
    *(double *)((char *)&p + ((char *)field - (char *)&c->ae.params)) = value;
    if (!ae_check(&p))
        ae_configure(&c->ae, &p);
}

static void set(struct camera *c, enum control id, const double *value)
{
    switch (id) {
    case AE_ENABLE: ae_lock(&c->ae, value[0] < 0.5); break;
    case AE_LOCK: ae_lock(&c->ae, value[0] >= 0.5); break;
    case EXPOSURE_TIME:
    case ANALOGUE_GAIN:
    case DIGITAL_GAIN: set_exposure(c, id, value[0]); break;
    case EXPOSURE_VALUE: set_parameter(c, &c->ae.params.ev, value[0]); break;
    case METERING: c->metering = value[0] < 0.5 ? ISP_METER_CENTRE : value[0] < 1.5 ? ISP_METER_SPOT : ISP_METER_MATRIX; break;
    case FLICKER_PERIOD: set_parameter(c, &c->ae.params.flicker_us, value[0]); break;
    case AWB_ENABLE: c->awb = value[0] >= 0.5; break;
    case COLOUR_GAINS:
        c->awb = false;
        c->red_gain = value[0];
        c->blue_gain = value[1];
        break;
    case CONTROLS: break;
    }
}

static int find(const struct camera *c, const struct pelton_control *wish, struct pelton_failure *failure)
{
    failure->code = PELTON_ERR_USAGE;
    for (int id = 0; id < CONTROLS; id++) {
        double least, most;
        if (strcmp(table[id].name, wish->name))
            continue;
        limits(c, (enum control)id, &least, &most);
        for (uint32_t i = 0; i < wish->n; i++)
            if (wish->n != table[id].n || !(wish->value[i] >= least && wish->value[i] <= most)) {
                snprintf(failure->cause, sizeof failure->cause, "%s: %u value%s from %g to %g", wish->name, table[id].n,
                         table[id].n > 1 ? "s" : "", least, most);
                return -1;
            }
        if (wish->n && !(id == FLICKER_PERIOD && wish->value[0] != 0 && wish->value[0] < 100)) {
            failure->code = 0;
            return id;
        }
        snprintf(failure->cause, sizeof failure->cause, "%s: a value that makes no sense", wish->name);
        return -1;
    }
    snprintf(failure->cause, sizeof failure->cause, "%.32s: this camera has no such control", wish->name);
    snprintf(failure->hint, sizeof failure->hint, "pelton get lists them");
    return -1;
}

int camera_controls(struct camera_reader *r, const struct pelton_control *wishes, uint32_t n, struct pelton_control out[CAMERA_CONTROLS],
                    uint32_t *n_out, struct pelton_failure *failure)
{
    struct camera *c = r->camera;
    struct camera_host *h = c->host;
    int ids[CAMERA_CONTROLS];
    *failure = (struct pelton_failure){0};
    uv_mutex_lock(&h->lock);
    if (!c->known) {
        *failure = (struct pelton_failure){.code = PELTON_ERR_USAGE, .cause = "the camera is not open yet"};
    } else if (n > CAMERA_CONTROLS) {
        *failure = (struct pelton_failure){.code = PELTON_ERR_USAGE, .cause = "more controls than there are"};
    }
    for (uint32_t i = 0; i < n && !failure->code; i++)
        ids[i] = find(c, &wishes[i], failure);
    for (uint32_t i = 0; i < n && !failure->code; i++)
        set(c, (enum control)ids[i], wishes[i].value);
    for (int id = 0; id < CONTROLS && !failure->code; id++)
        get(c, (enum control)id, &out[id]);
    uv_mutex_unlock(&h->lock);
    if (failure->code)
        return failure->code;
    *n_out = CONTROLS;
    return 0;
}
