/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pairing of the frames of two views.
 */
#include "daemon/worker/source/second_view.h"
#include "codec/h264.h"

#include <string.h>

void second_view_note(struct second_view *v, const struct packet_times *times, bool keep)
{
    v->ring[(uint64_t)times->tag % SECOND_VIEW_RING] =
        (struct second_view_base){true, keep, *times};
}

const struct second_view_base *second_view_base(const struct second_view *v, int64_t tag)
{
    const struct second_view_base *base = &v->ring[(uint64_t)tag % SECOND_VIEW_RING];
    return base->known && base->times.tag == tag ? base : NULL;
}

bool second_view_hold(struct second_view *v, struct h264_picture *pic)
{
    if (v->held_count == SECOND_VIEW_HELD)
        return false;
    v->held[v->held_count++] = pic;
    return true;
}

struct h264_picture *second_view_take(struct second_view *v, int64_t tag, bool any)
{
    for (unsigned i = 0; i < v->held_count; i++) {
        struct h264_picture *pic = v->held[i];
        if (!any && pic->tag != tag)
            continue;
        v->held_count--;
        memmove(&v->held[i], &v->held[i + 1], (v->held_count - i) * sizeof(v->held[0]));
        return pic;
    }
    return NULL;
}
