/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules for batches.
 *
 * A picture may go when it is READY and every picture it reads was submitted in an earlier batch,
 * as batches execute in the order of submission. So a batch holds pictures that do not refer to
 * each other, of any window and any GOP of the store.
 */
#include "daemon/worker/schedule/batch.h"

#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/slots.h"

static bool batch_has_room(const struct batch *b)
{
    return b->count < b->width;
}

static void batch_add(struct batch *b, struct picture *p, struct batch_copy copy)
{
    b->entries[b->count++] = (struct batch_entry){.picture = p, .copy = copy};
}

/* ---- what a picture reads ---- */

bool picture_may_read(const struct picture *p, const struct picture *ref)
{
    return ref->slot.slots && ref->slot.era == p->slot.era;
}

/* A reference that cannot be read from this store makes the picture a copy. One that is not
 * submitted blocks the picture, so that nobody looks at it again before that. */
static bool references_submitted(struct picture *p, const struct batch *b)
{
    for (uint32_t i = 0; i < p->pic->refs_held_count; i++) {
        struct picture *ref = p->pic->refs_held[i]->holder.user;
        if (!ref) {
            picture_spoil(p);
            continue;
        }
        /* concealment holds one picture of a frame and reads all */
        const struct picture *owner = ref->owner;
        if (ref->stage < PICTURE_SUBMITTED) {
            picture_block(p, ref);
            return false;
        }
        if (ref->slot.batch == b->serial)
            return false;
        if (owner != p->owner && (!frame_submitted(owner) || owner->frame.batch == b->serial))
            return false;
        if (!picture_may_read(p, ref))
            picture_spoil(p);
    }
    return true;
}

/* The rows of a single field stand for both. */
static void fill_other_field(struct batch *b, struct picture *owner)
{
    uint32_t slot = (uint32_t)owner->pic->holder.slot;
    uint8_t field = owner->pic->structure;
    batch_add(
        b, NULL,
        (struct batch_copy){
            .slot = slot, .from = slot, .rows = (uint8_t)(REC_FRAME - field), .rows_from = field});
    owner->frame.filled = true;
    owner->frame.batch = b->serial;
    window_due(owner->window);
}

/* Damaged pictures may read both fields of a frame that has but one. They go after a batch that
 * fills in the other one, so they never see what the slot held before. No field can follow any
 * more, as this picture did. Only one of the other view may come between two fields, and it reads
 * no other parity than its own (codec/stream_mvc.c). */
static bool fields_filled(const struct picture *p, struct batch *b)
{
    bool filled = true;
    for (uint32_t i = 0; i < p->pic->refs_held_count; i++) {
        const struct h264_picture *pic = p->pic->refs_held[i];
        const struct picture *ref = pic->holder.user;
        if (!ref || ref->owner == p->owner || pic->view != p->pic->view ||
            ref->slot.slots != b->slots || !frame_is_single_field(ref->owner))
            continue;
        if (!ref->owner->frame.filled && batch_has_room(b))
            fill_other_field(b, ref->owner);
        filled &= ref->owner->frame.filled && ref->owner->frame.batch < b->serial;
    }
    return filled;
}

/* A damaged stream's P or B picture without any reference reads its own slot (h264_picture_view).
 * That holds whatever was there before, perhaps a frame of another stream. So its slot becomes grey
 * first, by a batch before its own. */
static bool picture_needs_grey(const struct picture *p)
{
    if (p->slot.slots || p->outcome == OUTCOME_COPY || p->pic->refs_held_count)
        return false;
    for (uint32_t i = 0; i < p->pic->slice_count; i++)
        if (p->pic->slices[i].hdr.type != H264_I)
            return true;
    return false;
}

/* A copy writes what the picture itself would: the rows of its field, its plane. */
static struct batch_copy copy_to(const struct picture *p)
{
    const struct h264_picture *pic = p->pic;
    struct batch_copy copy = {.slot = (uint32_t)pic->holder.slot, .from = BATCH_GREY};
    copy.rows = copy.rows_from = pic->structure == REC_FRAME ? 0 : pic->structure;
    if (pic->sps->separate_colour_plane_flag && !pic->non_existing)
        copy.planes = (uint8_t)(1 << pic->colour_plane);
    return copy;
}

/* The samples of its first reference that an earlier batch wrote. */
static struct batch_copy copy_of_reference(const struct picture *p)
{
    struct batch_copy copy = copy_to(p);
    for (uint32_t i = 0; i < p->pic->refs_held_count; i++) {
        const struct h264_picture *from = p->pic->refs_held[i];
        const struct picture *ref = from->holder.user;
        if (!ref || !picture_may_read(p, ref) || ref->slot.batch == p->slot.batch)
            continue;
        copy.from = (uint32_t)from->holder.slot;
        if (copy.rows && from->structure != REC_FRAME)
            copy.rows_from = from->structure;
        break;
    }
    return copy;
}

/* ---- pictures ---- */

/* The entry does not name the picture: it may be discarded before the batch is done. */
static void batch_make_grey(struct batch *b, struct picture *p)
{
    p->slot.batch = b->serial;
    batch_add(b, NULL, copy_to(p));
}

static void batch_take(struct batch *b, struct picture *p)
{
    p->slot.batch = p->owner->frame.batch = b->serial;
    picture_move(p, EDGE_SUBMIT);
    slots_recount(p->window);
    p->window->slots.pictures++;
    window_due(p->window);
    batch_add(b, p, copy_of_reference(p));
}

enum verdict { TAKEN, NOT_YET, ENOUGH };

/* ENOUGH: no later picture of the window can go before this one. older: frames before it that will
 * need a slot. */
static enum verdict batch_consider(struct window *w, struct picture *p, uint32_t older,
                                   struct batch *b)
{
    const struct picture *owner = p->owner;
    bool oldest = p == w->waiting;
    if (p->slot.era != w->waiting->slot.era || !slots_serve(w, p->pic->sps))
        return ENOUGH;
    if (!references_submitted(p, b) || (b->slots->key.interlaced && !fields_filled(p, b)))
        return NOT_YET;
    if (p->slot.batch == b->serial)
        return ENOUGH;
    if (owner->slot.slots ? owner->slot.slots != b->slots : owner != p)
        return NOT_YET; /* the first picture of the frame goes first */
    bool grey = picture_needs_grey(p);
    if (!owner->slot.slots && !slots_claim(w, b->slots, oldest, older)) {
        b->short_of_slots = true;
        return ENOUGH;
    }
    if (grey && !oldest)
        return ENOUGH;
    if (!p->slot.slots)
        slots_take(b->slots, p);
    if (!grey) {
        batch_take(b, p);
        return TAKEN;
    }
    batch_make_grey(b, p);
    return ENOUGH;
}

static bool needs_slot(const struct picture *p)
{
    return p->owner == p && !p->slot.slots && p->stage < PICTURE_SUBMITTED;
}

/* True: it may have more than that many. Most pictures of a long window are blocked, and the others
 * are at its front, so the walk is short. */
static bool collect_window(struct window *w, struct batch *b, uint32_t most)
{
    uint32_t open = w->ready - w->blocked, look = BATCH_LOOK, older = 0;
    most = most > b->width - b->count ? b->width : b->count + most;
    for (struct picture *p = w->waiting; p && open && look; p = p->next, look--) {
        if (p->stage != PICTURE_READY || p->blocked) {
            older += needs_slot(p);
            continue;
        }
        if (b->count == most)
            return true;
        uint32_t blocked = w->blocked;
        if (batch_consider(w, p, older, b) == ENOUGH)
            return false;
        older += needs_slot(p);
        /* the picture itself, and later ones that waited for it */
        open += w->blocked < blocked ? blocked - w->blocked - 1 : -1u;
    }
    return false;
}

/* ---- single fields ---- */

/* By a batch after the field's own and before the delivery. */
static bool output_needs_field(const struct output *out, const struct batch *b)
{
    const struct picture *p = out->pic->holder.user;
    return out->state == OUTPUT_QUEUED && out->structure == REC_FRAME && frame_is_single_field(p) &&
           !p->frame.filled && frame_submitted(p) && p->slot.slots == b->slots &&
           p->frame.batch < b->serial;
}

static void collect_single_fields(struct window *w, struct batch *b)
{
    for (struct output *out = w->outputs; out && w->has_pool && batch_has_room(b); out = out->next)
        if (output_needs_field(out, b))
            fill_other_field(b, out->pic->holder.user);
}

/* ---- the batch ---- */

uint32_t batches_most(const struct schedule *s)
{
    bool fewer = s->setting.software || s->live.windows;
    uint32_t most = tuned(s->setting.tuning.flight, BATCHES_IN_FLIGHT);
    return most > 1 ? most - fewer : most;
}

static bool window_takes_part(const struct window *w, const struct slots *st)
{
    return w->slots.of == st && !w->abort;
}

/* Each window its share, beginning with another one each time. Then whoever has more. */
static void collect_shares(struct schedule *s, struct batch *b, uint32_t count)
{
    uint32_t share = (b->width + count - 1) / count, first = s->turn++ % count;
    for (int pass = 0; pass < 3 && batch_has_room(b); pass++) {
        uint32_t at = 0;
        for (struct window *w = s->open, *next; w && batch_has_room(b); w = next) {
            next = w->open.next; /* it may leave the list */
            if (!window_takes_part(w, b->slots))
                continue;
            bool mine = pass == 0 ? at >= first : pass == 1 ? at < first : w->slots.more;
            at++;
            if (mine)
                w->slots.more = collect_window(w, b, pass == 2 ? b->width : share);
        }
    }
}

void batch_collect(struct schedule *s, struct slots *st, struct batch *b)
{
    uint32_t count = 0;
    b->slots = st;
    b->count = 0;
    b->serial = s->serial + 1;
    b->ready = s->ready;
    b->blocked = s->blocked;
    b->free_slots = st->free_count;
    b->short_of_slots = false;
    for (struct window *w = s->open; w; w = w->open.next)
        count += window_takes_part(w, st);
    /* also of a window that has gone on to another store */
    for (struct window *w = st->key.interlaced ? s->at_work : NULL; w; w = w->work.next)
        if (!w->abort)
            collect_single_fields(w, b);
    if (!count)
        return;
    st->owed = st->owed_to_all;
    collect_shares(s, b, count);
}

/* The next one that nobody has taken. */
static struct output *next_queued(const struct window *w, struct output *after)
{
    struct output *out = after ? after->next : w->outputs;
    while (out && out->state != OUTPUT_QUEUED)
        out = out->next;
    return w->abort ? NULL : out;
}

bool batch_leaves_output(const struct window *w, const struct batch *b)
{
    const struct output *out = next_queued(w, NULL);
    const struct picture *p = out ? out->pic->holder.user : NULL;
    return p && frame_submitted(p) && p->slot.slots != b->slots;
}

struct output *batch_next_output(const struct window *w, const struct batch *b, bool memory,
                                 struct output *after)
{
    struct output *out = next_queued(w, after);
    if (!out)
        return NULL;
    const struct picture *p = out->pic->holder.user;
    if (!frame_submitted(p) || p->slot.slots != b->slots)
        return NULL;
    bool single = out->structure == REC_FRAME && frame_is_single_field(p);
    return memory && single && !p->frame.filled ? NULL : out;
}
