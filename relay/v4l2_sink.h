/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A V4L2 device that takes pictures, as v4l2loopback's do: by write(), else by mapped buffers.
 *
 * The happy path is v4l2_sink_open, v4l2_sink_prepare for each size, v4l2_sink_picture for
 * each frame, v4l2_sink_close. The failure modes are a device that is absent, another user's,
 * busy or no output, and one that goes. Thread: one at a time.
 */
#ifndef PELTON_V4L2_SINK_H
#define PELTON_V4L2_SINK_H

#include "client/exit_code.h"
#include "relay/picture_layout.h"

struct v4l2_sink;

/* An exit code. The caller ends *out by v4l2_sink_close. path: borrowed. */
int v4l2_sink_open(const char *path, struct v4l2_sink **out, struct failure *f);
void v4l2_sink_close(struct v4l2_sink *o); /* NULL allowed */

/* The first layout that the device lists. */
const struct picture_layout *v4l2_sink_likes(const struct v4l2_sink *o);
/* Asks the device for pictures of this layout and of the frame's size, rate and colour. A device
 * that others read may keep the format that it has: *plan tells what it takes. An exit code. */
int v4l2_sink_prepare(struct v4l2_sink *o, const struct picture_layout *layout,
                      const struct pelton_frame *frame, struct picture_plan *plan,
                      struct failure *f);
/* Gives it a frame of the plan. 1: it has it. 0: it takes none now. Negative: an exit code, and the
 * device is lost. */
int v4l2_sink_picture(struct v4l2_sink *o, const struct pelton_frame *frame, struct failure *f);

#endif
