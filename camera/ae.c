/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Auto-exposure: see ae.h. One measurement gives the total (time times gains) that would have met
 * the target; the step towards it is cut by the slew limit, the result split by the limits of the
 * sensor.
 */
#include "camera/ae.h"

#include <math.h>
#include <stddef.h>

#define LEAST_MEAN (1.0 / 65536) /* of a black frame: its light is unknown, but small */
/* from this share on the mean says little: what is clipped is taken for half as bright again */
#define MOSTLY_CLIPPED 0.5
#define CLIPPED_TRUST  0.8  /* of what clipped samples add to a step, at the target */
#define ROUNDING       1e-9 /* 30 ms are three times 10 ms whatever binary fractions say */

double ae_total(const struct ae_exposure *e)
{
    return e->time_us * e->analogue * e->digital;
}

void ae_defaults(struct ae_params *out)
{
    *out = (struct ae_params){.target = 0.18,
                              .dead_band = 0.03,
                              .leave_band = 0.15,
                              .slew = 2,
                              .time_min = 20,
                              .time_max = 33000,
                              .analogue_min = 1,
                              .analogue_max = 16,
                              .digital_max = 4};
}

static bool within(double value, double least, double most)
{
    return value >= least && value <= most; /* false for what is not a number */
}

const char *ae_check(const struct ae_params *p)
{
    if (!within(p->target, 0.001, 0.9))
        return "the target lies outside 0.001..0.9";
    if (!within(p->ev, -8, 8))
        return "ExposureValue lies outside -8..8";
    if (!within(p->dead_band, 0.001, 1) || !within(p->leave_band, p->dead_band, 4))
        return "the dead band lies outside 0.001..1, or is wider than the band that is left";
    if (!within(p->slew, 0.05, 16))
        return "the slew limit lies outside 0.05..16 stops";
    if (p->flicker_us != 0 && !within(p->flicker_us, 100, 100000))
        return "AeFlickerPeriod lies outside 100..100000";
    if (!within(p->time_min, 1, 1e8) || !within(p->time_max, p->time_min, 1e8))
        return "the limits of ExposureTime are not in order";
    if (!within(p->analogue_min, 1, 1000) || !within(p->analogue_max, p->analogue_min, 1000))
        return "the limits of AnalogueGain are not in order";
    if (!within(p->digital_max, 1, 64))
        return "the limit of DigitalGain lies outside 1..64";
    if (!within(p->time_step, 0, 1e6) || !within(p->analogue_step, 0, 10))
        return "a step lies outside its range";
    return NULL;
}

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* Downwards; what is lost goes into a later factor. */
static double to_steps(double value, double step)
{
    return step > 0 ? floor(value / step + ROUNDING) * step : value;
}

static double split_time(const struct ae_params *p, double total)
{
    double time = clamp(total / p->analogue_min, p->time_min, p->time_max);
    double steady = to_steps(time, p->flicker_us);
    if (p->flicker_us > 0 && steady >= p->time_min)
        return steady; /* shorter than one period: flicker cannot be avoided */
    double stepped = to_steps(time, p->time_step);
    return stepped >= p->time_min ? stepped : p->time_min;
}

struct ae_exposure ae_split(const struct ae_params *p, double total)
{
    struct ae_exposure e = {.time_us = split_time(p, total)};
    double analogue = clamp(total / e.time_us, p->analogue_min, p->analogue_max);
    double stepped = p->analogue_min + to_steps(analogue - p->analogue_min, p->analogue_step);
    e.analogue = clamp(stepped, p->analogue_min, p->analogue_max);
    e.digital = clamp(total / (e.time_us * e.analogue), 1, p->digital_max);
    return e;
}

static double largest_total(const struct ae_params *p)
{
    const struct ae_exposure e = ae_split(p, INFINITY);
    return ae_total(&e);
}

static double smallest_total(const struct ae_params *p)
{
    const struct ae_exposure e = ae_split(p, 0);
    return ae_total(&e);
}

static void update_state(struct ae *ae, enum ae_state state)
{
    ae->state = ae->locked ? AE_LOCKED : state;
}

void ae_configure(struct ae *ae, const struct ae_params *params)
{
    ae->params = *params;
    if (!ae->locked)
        ae->asked = ae_split(params, ae_total(&ae->asked));
    update_state(ae, AE_SEARCHING);
}

void ae_init(struct ae *ae, const struct ae_params *params, const struct ae_exposure *first)
{
    *ae = (struct ae){.asked = *first};
    ae_configure(ae, params);
}

void ae_lock(struct ae *ae, bool locked)
{
    if (ae->locked == locked)
        return;
    ae->locked = locked;
    if (!locked)
        ae->asked = ae_split(&ae->params, ae_total(&ae->asked));
    update_state(ae, AE_SEARCHING);
}

void ae_set(struct ae *ae, const struct ae_exposure *e)
{
    const struct ae_params *p = &ae->params;
    ae->asked.time_us = clamp(e->time_us, p->time_min, p->time_max);
    ae->asked.analogue = clamp(e->analogue, p->analogue_min, p->analogue_max);
    ae->asked.digital = clamp(e->digital, 1, p->digital_max);
    update_state(ae, AE_SEARCHING);
}

/* Stops that the frame lacks. */
static double error_stops(const struct ae_params *p, const struct ae_measure *m)
{
    double mean = clamp(m->mean, LEAST_MEAN, 1);
    if (m->clipped > MOSTLY_CLIPPED)
        mean += 0.5 * m->clipped;
    return log2(p->target / mean) + p->ev;
}

/* Clipped samples do not answer a step, so the others must answer for them. That holds near the
 * target only: further away, samples begin or cease to clip. */
static double step_stops(double error, const struct ae_measure *m)
{
    double silent = clamp(m->clipped / clamp(m->mean, LEAST_MEAN, 1), 0, 1);
    double near = clamp(1 - fabs(error), 0, CLIPPED_TRUST);
    return error / (1 - near * silent);
}

bool ae_frame(struct ae *ae, const struct ae_measure *m)
{
    const struct ae_params *p = &ae->params;
    double in_effect = ae_total(&m->in_effect), asked = ae_total(&ae->asked);
    if (ae->locked || !(in_effect > 0) || !isfinite(m->mean) || !isfinite(m->clipped))
        return false;
    double error = error_stops(p, m);
    bool current = fabs(log2(in_effect / asked)) < p->dead_band;
    bool at_limit = (error > 0 && asked >= largest_total(p) * (1 - ROUNDING)) ||
                    (error < 0 && asked <= smallest_total(p) * (1 + ROUNDING));
    if (current &&
        (at_limit || fabs(error) <= (ae->state == AE_CONVERGED ? p->leave_band : p->dead_band))) {
        ae->state = AE_CONVERGED;
        return false;
    }
    if (!current && ae->state == AE_CONVERGED)
        return false; /* a frame from before the last step */
    ae->state = AE_SEARCHING;
    double step = clamp(log2(in_effect / asked) + step_stops(error, m), -p->slew, p->slew);
    struct ae_exposure next = ae_split(p, asked * exp2(step));
    bool changed = next.time_us != ae->asked.time_us || next.analogue != ae->asked.analogue ||
                   next.digital != ae->asked.digital;
    ae->asked = next;
    return changed;
}
