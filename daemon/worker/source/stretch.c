/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which stretch a picture belongs to, and whose that is. A second field and the other colour planes
 * belong to their first; what frame_num gaps infer, to what is there.
 */
#include "daemon/worker/source/stretch.h"

static char left_out; /* its address marks h264_picture.user */

static bool begins_stretch(const struct part *p, const struct h264_picture *pic)
{
    return (pic->idr || p->fresh) && !pic->first_field && !pic->plane0 && !pic->non_existing;
}

bool part_leaves_out(struct part *p, struct h264_picture *pic)
{
    if (p->count < 2)
        return false;
    if (begins_stretch(p, pic)) {
        p->stretch++;
        p->fresh = false;
    }
    if (p->stretch % p->count == p->index)
        return false;
    pic->holder.user = &left_out;
    return true;
}

bool part_left_out(const struct h264_picture *pic)
{
    return pic->holder.user == &left_out;
}

void part_restart(struct part *p)
{
    p->fresh = true;
}
