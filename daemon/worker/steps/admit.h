/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures enter the schedule, and get their arrays.
 */
#ifndef PELTON_ADMIT_H
#define PELTON_ADMIT_H

#include "daemon/worker/engine/session_internal.h"

/* Source thread, without the lock; takes the caller's reference on success. 0 or enum
 * pelton_error. */
int picture_admit(struct session *s, struct h264_picture *pic);

/* Unreferences them, and forgets those that nobody holds any more all at once. With the lock,
 * dropped meanwhile. */
void pictures_unref(struct engine *e, struct h264_picture **pictures, uint32_t count);

/* For the one thread that has the picture in work, without the lock. enum h264_error. */
int picture_alloc(struct picture *p); /* arrays in host memory */
int picture_make_arrays(struct picture *p, bool *per_slice);
/* *per_slice: motion of its slices may be derived one by one. The caller sets CAN_PER_SLICE, with
 * the lock where others know the picture already. */
int picture_begin_following(struct picture *p, bool *per_slice);

#endif
