/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device of the model: batches, outputs, slots, and the ends of windows.
 */
#include "model.h"

#include <string.h>

/* The device's thread has tended to those that were noted. */
static void windows_tended(void)
{
    for (struct window *w; (w = window_take_noted(&m.s));)
        window_due(w);
}

/* All that may leave are of windows that are due. */
static void outputs_with(const struct batch *b)
{
    for (uint32_t i = 0; i < WINDOWS; i++) {
        const struct window *w = &m.windows[i];
        struct output *out = NULL;
        while ((out = batch_next_output(w, b, w->has_pool, out))) {
            CHECK(w->due.listed);
            out->state = OUTPUT_COMPLETE;
        }
        CHECK(!batch_leaves_output(w, b)); /* there is but one store */
    }
    while (m.s.due)
        window_not_due(&m.s, &m.s.due);
}

bool model_submit(void)
{
    struct batch *b = &m.batches[m.in_flight];
    if (m.in_flight >= batches_most(&m.s))
        return false;
    b->entries = m.entries[b - m.batches];
    b->width = WIDTH;
    windows_tended();
    batch_collect(&m.s, &m.slots, b);
    for (uint32_t i = 0; i < b->count; i++) {
        struct picture *p = b->entries[i].picture;
        if (!p)
            continue;
        CHECK(book_of(p)->stage == PICTURE_READY && !p->window->abort);
        for (uint32_t k = 0; k < p->pic->refs_held_count; k++) {
            const struct picture *ref = p->pic->refs_held[k]->holder.user;
            CHECK(ref->stage >= PICTURE_SUBMITTED && ref->slot.batch < b->serial);
        }
        book_of(p)->placed = true;
        model_moved(p, PICTURE_SUBMITTED);
        if (model_chance(5))
            picture_spoil(p);
        book_of(p)->copy |= p->outcome == OUTCOME_COPY;
    }
    outputs_with(b);
    if (!b->count)
        return false;
    m.s.serial++;
    m.in_flight++;
    m.slots.in_flight++;
    return true;
}

bool model_complete(void)
{
    struct batch b = m.batches[0];
    if (!m.in_flight)
        return false;
    m.in_flight--;
    m.slots.in_flight--;
    for (uint32_t i = 0; i < b.count; i++)
        if (m.entries[0][i].picture) {
            struct picture *p = m.entries[0][i].picture;
            picture_move(p, EDGE_COMPLETE);
            model_done(p);
        }
    memmove(&m.batches[0], &m.batches[1], sizeof(m.batches[0]) * (BATCHES - 1));
    memmove(&m.entries[0], &m.entries[1], sizeof(m.entries[0]) * (BATCHES - 1));
    return true;
}

bool model_tend(struct window *w)
{
    bool any = false;
    struct h264_picture *pic;
    if (w->starves)
        window_abort(w);
    if (w->abort)
        any = window_discard(w);
    for (struct picture *p = w->first; p && w->abort; p = p->next)
        if (p->stage == PICTURE_DONE && book_of(p)->stage == PICTURE_READY)
            model_done(p);
    struct output *out;
    while (w->abort && (out = window_drop_output(w))) {
        book_of(out->pic->holder.user)->output = false;
        model_forget_if_free(out->pic->holder.user);
        any = true;
    }
    while (w->outputs && w->outputs->state == OUTPUT_COMPLETE) {
        out = w->outputs;
        const struct picture *p = out->pic->holder.user;
        w->outputs = out->next;
        if (!w->outputs)
            w->outputs_tail = &w->outputs;
        book_of(p)->output = false;
        model_forget_if_free(out->pic->holder.user);
        any = true;
    }
    while ((pic = window_retire(w))) {
        book_of(pic->holder.user)->retired = true;
        model_forget_if_free(pic->holder.user);
        any = true;
    }
    return any;
}

void model_attach(struct window *w)
{
    struct slots_wish wish = slots_wish_of(w, &m.sps);
    struct slots *found = NULL;
    if (w->slots.of || !w->waiting || w->waiting->stage != PICTURE_READY)
        return;
    enum slots_found how = slots_find(w, &wish, m.now, &found);
    CHECK(how != SLOTS_FOUND || found == &m.slots);
    /* there is no second store here: a small one is shared all the same */
    if (how == SLOTS_FOUND || m.slots.free_count >= m.slots.owed_to_all + wish.base)
        slots_attach(w, &m.slots, &wish);
}

bool model_device_event(void)
{
    struct window *w = &m.windows[model_pick(WINDOWS)];
    uint32_t what = model_pick(8);
    model_attach(w);
    if (what < 3)
        return model_submit();
    return what < 5 ? model_complete() : model_tend(w);
}
