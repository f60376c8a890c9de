/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which stretch a picture belongs to, and whose that is. A second field and the other colour planes
 * belong to their first; what frame_num gaps infer, to what is there.
 */
#include "daemon/worker/source/stretch.h"
#include "codec/h264.h"
#include "daemon/stretch_table.h"

static char left_out; /* its address marks h264_picture.user */

static bool begins_stretch(const struct stretch *st, const struct h264_picture *pic)
{
    return (pic->idr || st->fresh) && !pic->first_field && !pic->plane0 && !pic->non_existing;
}

/* A part joins at the first stretch that is open, if that is worth it. Others may have written
 * meanwhile that the stretch is theirs. */
static bool stretch_is_mine(const struct stretch *st, uint64_t left)
{
    if (!st->table)
        return st->number % st->count == st->index;
    if (stretch_table_owner(st->table, st->number) == STRETCH_NOBODY &&
        !stretch_table_joined(st->table, st->index)) {
        if (left < st->join_bytes)
            return false;
        stretch_table_join(st->table, st->index);
    }
    return stretch_table_assign(st->table, st->number) == (int)st->index;
}

void stretch_begin(struct stretch *st)
{
    st->left_out = st->count > 1 && st->index > 0;
}

bool stretch_leaves_out(struct stretch *st, struct h264_picture *pic, uint64_t left)
{
    if (st->count < 2)
        return false;
    if (begins_stretch(st, pic)) {
        st->number++;
        st->fresh = false;
        st->left_out = !stretch_is_mine(st, left);
    }
    if (st->left_out)
        stretch_mark(pic);
    return st->left_out;
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
