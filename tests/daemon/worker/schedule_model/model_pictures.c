/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures of the model: admitted with random references, fields and outputs; forgotten when
 * nobody holds them.
 */
#include "model.h"

void model_moved(struct picture *p, enum picture_stage stage)
{
    book_of(p)->stage = stage;
}

/* Its arrays are gone and it waits again, but not for the GPU. */
void model_requeued(struct picture *p)
{
    struct book *b = book_of(p);
    *b = (struct book){.alive = true, .output = b->output, .readers = b->readers};
    b->left = p->pic->slice_count;
}

void model_dropped(struct picture *p)
{
    struct book *b = book_of(p);
    b->stage = PICTURE_READY;
    b->copy = true;
}

/* Coders may have dropped pictures of aborted windows on the way. */
void model_notice_drops(void)
{
    for (uint32_t i = 0; i < PICTURES; i++) {
        struct picture *p = &m.pictures[i];
        const struct book *b = &m.books[i];
        bool may = b->alive && p->window->abort && b->stage != p->stage;
        if (may && p->stage == PICTURE_READY &&
            (b->stage == PICTURE_QUEUED || b->stage == PICTURE_DECODED))
            model_dropped(p);
    }
}

void model_forget_if_free(struct picture *p)
{
    struct book *b = book_of(p);
    if (!b->alive || !b->retired || b->output || b->readers)
        return;
    b->alive = false;
    window_forget(p);
    if (p->owner == p)
        return;
    book_of(p->owner)->readers--;
    model_forget_if_free(p->owner);
}

/* It is DONE: the pictures that it read are held no longer. */
void model_done(struct picture *p)
{
    book_of(p)->stage = PICTURE_DONE;
    for (uint32_t i = 0; i < p->pic->refs_held_count; i++) {
        struct picture *ref = p->pic->refs_held[i]->holder.user;
        book_of(ref)->readers--;
        model_forget_if_free(ref);
    }
    p->pic->refs_held_count = 0;
}

static void add_reference(struct picture *p, struct picture_facts *facts)
{
    struct window *w = p->window;
    for (uint32_t i = 0; i < PICTURES; i++) {
        struct picture *ref = &m.pictures[i];
        if (!m.books[i].alive || ref == p || ref->window != w || m.books[i].retired ||
            !model_chance(40))
            continue;
        p->pic->refs_held[p->pic->refs_held_count++] = ref->pic;
        m.books[i].readers++;
        if (ref->owner == ref && model_chance(50))
            facts->colocated[facts->colocated_count++] = ref->pic;
    }
}

/* The second field of the newest picture of the window, if that is a lonely first field. */
static void maybe_join(struct picture *p, const struct window *w)
{
    struct picture *last = NULL;
    for (struct picture *q = w->first; q; q = q->next)
        last = q;
    p->pic->structure = model_chance(20) ? REC_TOP : REC_FRAME;
    if (!last || last->pic->structure != REC_TOP || last->pic->paired || last->owner != last ||
        book_of(last)->output)
        return;
    p->pic->structure = REC_BOTTOM;
    p->pic->first_field = last->pic;
    last->pic->paired = 1;
    book_of(last)->readers++; /* as long as it lives: its slot is there */
}

void model_admit(uint32_t at)
{
    struct window *w = &m.windows[at];
    uint32_t i = 0;
    struct picture_facts facts = {0};
    while (i < PICTURES && m.books[i].alive)
        i++;
    if (i == PICTURES || w->abort || w->source_ended || !window_has_room(w))
        return;
    struct picture *p = &m.pictures[i];
    struct h264_picture *pic = &m.pics[i];
    uint32_t slices = model_pick(16) ? 1 + model_pick(3) : 0;
    *p = (struct picture){.pic = pic, .window = w};
    pic->id = m.id++;
    pic->sps = &m.sps;
    pic->slices = m.slices[i];
    pic->slice_count = slices;
    pic->non_existing = slices == 0;
    pic->mb_count = MBS;
    pic->bytes_size = 100 + model_pick(1000);
    pic->refs_held_count = 0;
    pic->first_field = NULL;
    pic->paired = 0;
    pic->holder.user = p;
    pic->holder.slot = -1;
    p->entropy.bytes = pic->bytes_size;
    p->entropy.slices_left = slices;
    p->entropy.slice_chunk = 1 + model_pick(2);
    p->pace = window_pace(w, slices);
    if (p->pace == PACE_LIVE)
        p->records = p->coeffs = LIVES_HOST;
    m.books[i] = (struct book){.alive = true, .left = slices};
    maybe_join(p, w);
    add_reference(p, &facts);
    facts.entropy_gpu = slices && model_chance(80);
    facts.motion_gpu = model_chance(80);
    facts.largest_slice = pic->bytes_size;
    m.books[i].may_entropy = facts.entropy_gpu;
    m.books[i].may_motion = facts.entropy_gpu && facts.motion_gpu;
    m.books[i].records = m.books[i].coeffs = m.books[i].on_host = p->pace == PACE_LIVE;
    window_add(w, p, &facts, m.now);
    if (!slices)
        model_dropped(p);
    if (p->owner == p && model_chance(80)) { /* output order is decoding order here */
        m.outputs[i] = (struct output){.pic = pic, .structure = REC_FRAME};
        m.books[i].output = true;
        window_output(w, &m.outputs[i]);
    }
}
