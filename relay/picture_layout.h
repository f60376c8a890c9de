/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures as V4L2 and PipeWire lay them out in one piece of memory, made of a daemon's frames.
 * Pure. Thread: any.
 */
#ifndef PELTON_PICTURE_LAYOUT_H
#define PELTON_PICTURE_LAYOUT_H

#include "proto/pelton.h"

enum picture_kind { PICTURE_YU12, PICTURE_NV12, PICTURE_YUYV, PICTURE_RGB3, PICTURE_GREY };

struct picture_layout {
    enum picture_kind kind;
    const char *fourcc;  /* of V4L2 */
    const char *pix_fmt; /* of the frames that it is made of */
};
enum { PICTURE_LAYOUTS = 5 };
/* By preference: those that most programs take come first. */
extern const struct picture_layout picture_layouts[PICTURE_LAYOUTS];

/* Where a picture lies. Chroma rows of YU12 are half of `stride`. */
struct picture_plan {
    const struct picture_layout *layout;
    uint32_t width, height, stride;
    size_t size; /* bytes of all rows */
};
/* stride: bytes from row to row of the first plane; 0, or less than a row: the least that is a
 * multiple of `align`. False: no such picture. */
bool picture_plan_make(const struct picture_layout *layout, uint32_t width, uint32_t height,
                       uint32_t stride, uint32_t align, struct picture_plan *out);
/* The frame has the plan's size and format. */
bool picture_planned(const struct picture_plan *plan, const struct pelton_frame *frame);
/* Copies a frame; YUYV takes each row of chroma twice. False: the frame is another one than
 * planned. */
bool picture_copy(const struct picture_plan *plan, const struct pelton_frame *frame, uint8_t *to);

#endif
