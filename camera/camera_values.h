/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values of camera settings as text. Each function takes the whole text. False: it is no such
 * value, or outside of [least, most]; then *out is untouched. Plain C, no I/O.
 */
#ifndef PELTON_CAMERA_VALUES_H
#define PELTON_CAMERA_VALUES_H

#include "camera/camera_params.h"

/* yes, no, true, false, on, off, 1, 0 */
bool camera_parse_flag(const char *text, bool *out);
bool camera_parse_number(const char *text, double least, double most, double *out);
bool camera_parse_count(const char *text, double least, double most, uint32_t *out);
bool camera_parse_big(const char *text, double most, uint64_t *out);
/* Microseconds: 100, 100us, 20ms, 1s */
bool camera_parse_time(const char *text, double least, double most, double *out);
/* The place in words, whose end is NULL. */
bool camera_parse_word(const char *text, const char *const *words, uint32_t *out);
/* WxH: out has both */
bool camera_parse_size(const char *text, double least, double most, uint32_t *out);
/* x,y,w,h; least is of w and h */
bool camera_parse_rect(const char *text, double least, double most, struct isp_rect *out);
/* 50Hz: microseconds of half a period; off: 0 */
bool camera_parse_mains(const char *text, double *out);
/* NAME=NUMBER with commas between (camera_listed_control); room: bytes of out */
bool camera_parse_controls(const char *text, size_t room, char *out);

/* Into the settings themselves. */

bool camera_parse_format(const char *text, struct camera_params *p);
bool camera_parse_light(const char *text, struct camera_params *p);
bool camera_parse_lens(const char *text, struct camera_params *p);
bool camera_parse_black(const char *text, double least, double most, struct camera_params *p);
bool camera_parse_ccm(const char *text, double least, double most, struct camera_params *p);
bool camera_parse_tone_table(const char *text, struct camera_params *p);

#endif
