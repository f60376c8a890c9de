/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Formats between the entities of a media controller ("Media Bus Pixel Codes" of Linux' user space
 * API), a sensor's lines as time, and the meaning of its gain. Pure.
 */
#ifndef PELTON_MEDIA_BUS_H
#define PELTON_MEDIA_BUS_H

#include <stdbool.h>
#include <stdint.h>

enum media_class { MEDIA_OTHER, MEDIA_RAW, MEDIA_YUV };

struct media_code {
    uint32_t code;
    enum media_class class;
    uint32_t order, depth; /* enum isp_order; bits of a sample */
};
/* class MEDIA_OTHER: none of those that can be read */
struct media_code media_code_of(uint32_t code);
/* SRGGB10, Y12, YUYV; else the number */
void media_code_name(uint32_t code, char out[16]);
/* Which of the codes that an entity gives leads on: one of the class, first the one that comes in;
 * else the one that comes in; else the first. 0: there is none. */
uint32_t media_code_pick(const uint32_t *codes, uint32_t n, uint32_t incoming,
                         enum media_class wanted);

/* A sensor's clock, as its controls say it. */
struct media_timing {
    int64_t pixel_rate; /* a second */
    uint32_t width, height;
    int64_t hblank, vblank; /* samples after a line, lines after a frame */
};
/* Microseconds of a line; 0: the timing makes no sense. */
double media_line_us(const struct media_timing *t);
/* Frames a second; 0: the same. */
double media_fps(const struct media_timing *t);
/* The vertical blanking that comes closest to fps, within limits. */
int64_t media_vblank(const struct media_timing *t, double fps, int64_t least, int64_t most);

/* Analogue gain as a factor: of the control's number.
 * RATIO: of (of - number); STEPS: number / of; DECIBELS: number * of dB. */
enum media_gain_kind {
    MEDIA_GAIN_UNKNOWN,
    MEDIA_GAIN_RATIO,
    MEDIA_GAIN_STEPS,
    MEDIA_GAIN_DECIBELS
};
struct media_gain {
    enum media_gain_kind kind;
    double of;
};
/* By the beginning of a sensor's name ("imx219 10-0010"), as data sheets have it. */
struct media_gain media_gain_of(const char *sensor);
double media_gain_factor(const struct media_gain *g, int64_t number);
/* Unlimited: the control's range is the caller's. */
int64_t media_gain_number(const struct media_gain *g, double factor);

#endif
