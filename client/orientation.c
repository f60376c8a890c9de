/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/orientation.h"

enum { QUARTER = 65536 / 4 };

/* The frame begins a coded video sequence. Recovery points are key frames as well. */
static bool begins_sequence(const struct pelton_frame *frame)
{
    return frame->flags & PELTON_FRAME_KEY &&
           !(frame->side && frame->side->has & PELTON_SIDE_RECOVERY_POINT);
}

/* Flips come first, then the turn (D.2.27). A flip of both sides is half a turn. */
static uint32_t orientation_told(bool hor_flip, bool ver_flip, uint32_t anticlockwise)
{
    static const uint8_t turned[4] = {PELTON_UPRIGHT, PELTON_TURNED_270, PELTON_TURNED_180,
                                      PELTON_TURNED_90},
                         flipped[4] = {PELTON_MIRRORED, PELTON_TRANSPOSED, PELTON_UPSIDE_DOWN,
                                       PELTON_ANTITRANSPOSED};
    uint32_t quarters = (anticlockwise + QUARTER / 2) / QUARTER + (ver_flip ? 2 : 0);
    return hor_flip != ver_flip ? flipped[quarters % 4] : turned[quarters % 4];
}

uint32_t orientation_of(struct orientation *o, const struct pelton_frame *frame)
{
    const struct pelton_side_data *side = frame->side;
    uint32_t own = 0;
    if (begins_sequence(frame))
        o->told = 0;
    if (side && side->has & PELTON_SIDE_DISPLAY_ORIENTATION) {
        o->told = 0;
        if (!side->display_orientation.cancel_flag)
            own = orientation_told(side->display_orientation.hor_flip,
                                   side->display_orientation.ver_flip,
                                   side->display_orientation.anticlockwise_rotation);
        if (side->display_orientation.repetition_period)
            o->told = own;
    } else {
        own = o->told;
    }
    return own ? own : frame->orientation;
}
