/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which frames max_fps of Open leaves out. Worker and broker apply the same rule: the worker saves
 * the decoding, and the broker sees what is left.
 */
#ifndef PELTON_FRAME_SPACING_H
#define PELTON_FRAME_SPACING_H

#include <stdbool.h>

struct frame_spacing {
    double due_s; /* when the next frame may come */
    bool timed;   /* due_s is valid */
};

/* For each frame in its order, at now_s of the source's time. A frame may come a quarter of the
 * period early, so that uneven times do not cost every second one. The due time grows by whole
 * periods, so that the mean is kept. */
static inline bool frame_spacing_leaves_out(struct frame_spacing *f, double max_fps, double now_s)
{
    double period = 1 / max_fps;
    /* the first, or times have jumped */
    bool far = !f->timed || now_s < f->due_s - 2 * period || now_s > f->due_s + period;
    if (!far && now_s < f->due_s - period / 4)
        return true;
    f->due_s = (far ? now_s : f->due_s) + period;
    f->timed = true;
    return false;
}

#endif
