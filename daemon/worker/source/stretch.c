/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which stretch a picture belongs to, and whose that is. A second field and the other colour planes
 * belong to their first; what frame_num gaps infer, to what is there.
 */
#include "daemon/worker/source/stretch.h"
#include "codec/h264.h"

static char left_out; /* its address marks h264_picture.user */

static bool begins_stretch(const struct stretch *st, const struct h264_picture *pic)
{
    return (pic->idr || st->fresh) && !pic->first_field && !pic->plane0 && !pic->non_existing;
}

bool stretch_leaves_out(struct stretch *st, struct h264_picture *pic)
{
    if (st->count < 2)
        return false;
    if (begins_stretch(st, pic)) {
        st->number++;
        st->fresh = false;
    }
    if (st->number % st->count == st->index)
        return false;
    stretch_mark(pic);
    return true;
}

void stretch_mark(struct h264_picture *pic)
{
    pic->holder.user = &left_out;
}

bool stretch_left_out(const struct h264_picture *pic)
{
    return pic->holder.user == &left_out;
}

void stretch_restart(struct stretch *st)
{
    st->fresh = true;
}
