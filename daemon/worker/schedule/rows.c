/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules for rows of LIVE pictures.
 *
 * A picture may begin when it is the oldest of its window and all that it reads was submitted, as
 * for a batch. It takes its slot then.
 */
#include "daemon/worker/schedule/rows.h"

#include "codec/conceal.h"
#include "daemon/worker/schedule/batch.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/slots.h"

#define NAL_PARTITION_A 2

/* One whole slice of a frame of 8 bits and 4:2:0. Others have passes of their own. */
static bool picture_is_simple(const struct h264_picture *pic)
{
    const struct h264_sps *sps = pic->sps;
    const struct h264_slice *slice = pic->slices;
    return pic->slice_count == 1 && pic->structure == REC_FRAME && sps->frame_mbs_only_flag &&
           h264_chroma_array_type(sps) == 1 && sps->bit_depth[0] == 8 && sps->bit_depth[1] == 8 &&
           (slice->hdr.type == H264_P || slice->hdr.type == H264_B || slice->hdr.type == H264_I) &&
           slice->hdr.first_mb == 0 && (slice->nal[0] & 31) != NAL_PARTITION_A;
}

void rows_begin(const struct schedule *s, struct picture *p)
{
    uint32_t parts = tuned(s->setting.tuning.rows, LIVE_ROWS_PARTS), height = p->pic->mb_height;
    bool pays =
        s->setting.tuning.rows || (!s->setting.software && p->pic->mb_count >= LIVE_ROWS_MBS);
    if (parts > 1 && pays && picture_is_simple(p->pic))
        p->rows.step = height > parts ? height / parts : 1;
}

/* An error takes macroblocks back, in these rows. */
static uint32_t rows_behind(const struct h264_picture *pic)
{
    return (CONCEAL_DOUBTED_MOST + pic->mb_width - 1) / pic->mb_width;
}

uint32_t rows_more(const struct schedule *s, const struct picture *p, uint32_t mbs)
{
    uint32_t whole = mbs / p->pic->mb_width, step = p->rows.step, next = p->rows.ready + step;
    uint32_t behind = rows_behind(p->pic);
    if (!step || whole < next + behind)
        return 0;
    uint32_t rows = s->setting.software ? next : whole - behind;
    return rows + step <= p->pic->mb_height ? rows : 0; /* the device is free at the end */
}

void rows_ready(struct schedule *s, struct picture *p, uint32_t rows, const struct rec_seen *seen)
{
    p->rows.ready = rows;
    p->rows.seen = *seen;
    wake_device(s);
}

bool rows_awaited(const struct schedule *s, const struct picture *p)
{
    return s->setting.software && p->rows.ready > p->rows.submitted && !p->rows.refused &&
           !p->window->abort;
}

/* References without samples are the business of the picture's own batch. */
static bool references_submitted(const struct picture *p)
{
    bool intra = p->pic->slices[0].hdr.type == H264_I;
    for (uint32_t i = 0; i < p->pic->refs_held_count; i++) {
        const struct picture *ref = p->pic->refs_held[i]->holder.user;
        if (!ref || ref->stage < PICTURE_SUBMITTED || !frame_submitted(ref->owner) ||
            !picture_may_read(p, ref) || ref->outcome != OUTCOME_WHOLE)
            return false;
    }
    return intra || p->pic->refs_held_count;
}

static bool picture_may_begin(const struct window *w, const struct picture *p,
                              const struct slots *st)
{
    return p && p->stage == PICTURE_ENTROPY && p->owner == p && !w->abort && !p->rows.refused &&
           p->rows.ready > p->rows.submitted && w->slots.of == st && slots_serve(w, p->pic->sps) &&
           references_submitted(p);
}

struct picture *rows_take(struct schedule *s, struct slots *st)
{
    if (s->live.pictures > 1) /* others come between parts, and each would begin at row 0 again */
        return NULL;
    for (struct window *w = s->at_work; w; w = w->work.next) {
        struct picture *p = w->waiting;
        if (!picture_may_begin(w, p, st) || (!p->slot.slots && !st->free_count))
            continue; /* without a free one slots_claim would find that the window starves */
        st->owed = st->owed_to_all;
        if (!p->slot.slots && !slots_claim(w, st, true, 0))
            continue;
        if (!p->slot.slots)
            slots_take(st, p);
        return p;
    }
    return NULL;
}
