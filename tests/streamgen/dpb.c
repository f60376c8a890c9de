/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference marking (8.2.5) and picture numbers (8.2.4.1): the pictures that may be referred to,
 * and the allowed memory management operations.
 */
#include "gen.h"

static uint32_t max_frame_num(const struct gen *g)
{
    return 1u << g->sps.log2_max_frame_num;
}

/* 8-27 */
static int32_t frame_num_wrap(const struct gen *g, const struct dpb_frame *f)
{
    return f->frame_num > g->pic.frame_num ? (int32_t)f->frame_num - (int32_t)max_frame_num(g)
                                           : (int32_t)f->frame_num;
}

static bool is_current(const struct gen *g, const struct dpb_frame *f)
{
    return g->pic.second_field && f->id == g->frame_count;
}

static void remove_unused(struct dpb *d)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->count; i++)
        if (d->frames[i].short_term | d->frames[i].long_term)
            d->frames[n++] = d->frames[i];
    d->count = n;
}

/* Another frame with this LongTermFrameIdx is no longer marked. */
static void free_long_term_idx(struct dpb *d, unsigned idx, const struct dpb_frame *but)
{
    for (unsigned i = 0; i < d->count; i++)
        if (&d->frames[i] != but && d->frames[i].long_term && d->frames[i].long_term_idx == idx)
            d->frames[i].long_term = 0;
}

/* PicNum or LongTermPicNum of a frame (parity 0, frame pictures) or of its field (8-28 to 8-33) */
static int32_t pic_num(const struct gen *g, const struct dpb_frame *f, bool long_term,
                       unsigned parity)
{
    int32_t n = long_term ? f->long_term_idx : frame_num_wrap(g, f);
    if (g->pic.structure == REC_FRAME)
        return n;
    return 2 * n + (parity == (g->pic.structure == REC_BOTTOM));
}

static int32_t curr_pic_num(const struct gen *g)
{
    return g->pic.structure == REC_FRAME ? (int32_t)g->pic.frame_num
                                         : 2 * (int32_t)g->pic.frame_num + 1;
}

/* What the frame (structure REC_FRAME) or its fields are marked as in this picture's terms. */
static void list_refs(struct gen *g)
{
    struct picture *p = &g->pic;
    p->ref_count = 0;
    p->list_gaps = false;
    /* of an IDR picture: none (H.8.2, non_idr_flag 0) */
    for (unsigned i = 0; i < g->dpb.count && !p->idr; i++) {
        const struct dpb_frame *f = &g->dpb.frames[i];
        p->list_gaps |= f->non_existing;
        for (unsigned parity = 0; parity < 2 && !f->non_existing; parity++) {
            uint8_t bits = p->structure == REC_FRAME ? 3 : (uint8_t)(1 << parity);
            bool is_long = (f->long_term & bits) == bits;
            if ((f->short_term & bits) == bits || is_long)
                p->refs[p->ref_count++] =
                    (struct ref_choice){is_long, (uint8_t)parity, pic_num(g, f, is_long, parity)};
            if (p->structure == REC_FRAME)
                break;
        }
    }
}

bool dpb_allows_temporal(const struct gen *g)
{
    uint64_t whole = 0, needed = 0;
    for (unsigned i = 0; i < g->dpb.count; i++) {
        const struct dpb_frame *f = &g->dpb.frames[i];
        if (!f->non_existing && (f->short_term == 3 || f->long_term == 3 || is_current(g, f)))
            whole |= (uint64_t)1 << f->id % 64;
        needed |= f->refers;
    }
    return !g->pic.list_gaps && !(needed & ~whole);
}

bool dpb_has_reset(const struct gen *g)
{
    for (unsigned i = 0; i < g->dpb.count; i++)
        if (g->dpb.frames[i].reset)
            return true;
    return false;
}

bool dpb_has_sliced(const struct gen *g)
{
    for (unsigned i = 0; i < g->dpb.count; i++)
        if (g->dpb.frames[i].sliced)
            return true;
    return false;
}

/* Operation 2 or 1 on the field, or frame, of f. */
static void unmark(struct gen *g, struct dpb_frame *f, unsigned parity)
{
    struct picture *p = &g->pic;
    uint8_t bits = p->structure == REC_FRAME ? 3 : (uint8_t)(1 << parity);
    bool is_long = (f->long_term & bits) == bits;
    int32_t n = pic_num(g, f, is_long, parity);
    p->mmco[p->mmco_count++] = is_long
                                   ? (struct h264_mmco){2, (uint32_t)n, 0}
                                   : (struct h264_mmco){1, (uint32_t)(curr_pic_num(g) - n - 1), 0};
    if (is_long)
        f->long_term &= (uint8_t)~bits;
    else
        f->short_term &= (uint8_t)~bits;
}

/* Whether operations 1 to 3 can name the frame, or (field pictures) one of its fields. */
static bool nameable(const struct gen *g, const struct dpb_frame *f)
{
    if (is_current(g, f) || !(f->short_term | f->long_term))
        return false;
    return g->pic.structure != REC_FRAME || f->short_term == 3 || f->long_term == 3;
}

bool dpb_can_clear(const struct gen *g)
{
    for (unsigned i = 0; i < g->dpb.count; i++)
        if (!nameable(g, &g->dpb.frames[i]))
            return false;
    return true;
}

static struct dpb_frame *choose_frame(struct gen *g, struct dpb *d)
{
    struct dpb_frame *fit[18];
    unsigned n = 0;
    for (unsigned i = 0; i < d->count; i++)
        if (nameable(g, &d->frames[i]))
            fit[n++] = &d->frames[i];
    return n ? fit[rng_below(&g->pic.rng, n)] : NULL;
}

/* Both fields, or one of them where both is false */
static void remove_frame(struct gen *g, struct dpb_frame *f, bool both)
{
    unsigned first = rng_below(&g->pic.rng, 2);
    both |= !g->odd;
    gen_not_ffmpeg(g, !both && g->pic.structure != REC_FRAME, "mmco-one-field");
    if (g->pic.structure == REC_FRAME) {
        unmark(g, f, 0);
        return;
    }
    if (!((f->short_term | f->long_term) >> first & 1))
        first ^= 1;
    unmark(g, f, first);
    if (both && (f->short_term | f->long_term) >> (first ^ 1) & 1)
        unmark(g, f, first ^ 1);
}

/* Operation 3: a short-term frame, both of its fields in field pictures. */
static void make_long_term(struct gen *g, struct dpb *d, struct dpb_frame *f)
{
    struct picture *p = &g->pic;
    unsigned idx = rng_below(&p->rng, (unsigned)d->max_long_term_idx + 1);
    if (f->long_term || f->non_existing)
        return;
    free_long_term_idx(d, idx, f);
    for (unsigned parity = 0; parity < 2; parity++) {
        uint8_t bits = p->structure == REC_FRAME ? 3 : (uint8_t)(1 << parity);
        if (!(f->short_term & bits))
            continue;
        p->mmco[p->mmco_count++] = (struct h264_mmco){
            3, (uint32_t)(curr_pic_num(g) - pic_num(g, f, false, parity) - 1), idx};
        f->short_term &= (uint8_t)~bits;
        f->long_term |= bits;
    }
    f->long_term_idx = (uint8_t)idx;
    g->used |= F_LONGTERM;
}

static void set_max_long_term(struct gen *g, struct dpb *d)
{
    unsigned plus1 =
        rng_one_in(&g->pic.rng, 5) ? 0 : 1 + rng_below(&g->pic.rng, g->sps.max_num_ref_frames);
    g->pic.mmco[g->pic.mmco_count++] = (struct h264_mmco){4, plus1, 0};
    d->max_long_term_idx = (int)plus1 - 1;
    for (unsigned i = 0; i < d->count; i++)
        if (d->frames[i].long_term_idx >= plus1 && !is_current(g, &d->frames[i]))
            d->frames[i].long_term = 0;
}

static unsigned frames_but_current(const struct gen *g, const struct dpb *d)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->count; i++)
        n += (d->frames[i].short_term | d->frames[i].long_term) && !is_current(g, &d->frames[i]);
    return n;
}

/* Operation 6 on this picture; returns the index. */
static void choose_current_long(struct gen *g, struct dpb *d, bool first_is_long,
                                unsigned first_idx)
{
    struct picture *p = &g->pic;
    unsigned idx =
        first_is_long ? first_idx : rng_below(&p->rng, (unsigned)d->max_long_term_idx + 1);
    for (unsigned i = 0; i < d->count; i++)
        if (!is_current(g, &d->frames[i]) && d->frames[i].long_term &&
            d->frames[i].long_term_idx == idx)
            d->frames[i].long_term = 0;
    p->mmco[p->mmco_count++] = (struct h264_mmco){6, idx, 0};
    g->used |= F_LONGTERM;
}

static void choose_operations(struct gen *g, struct dpb *d)
{
    struct picture *p = &g->pic;
    struct rng *r = &p->rng;
    struct dpb_frame *f;
    if (g->must_reset || (g->may_reset && rng_one_in(r, 6))) {
        p->mmco[p->mmco_count++].op = 5;
        p->mmco5 = 1;
        d->count = 0;
        d->max_long_term_idx = -1;
    }
    if (gen_has(g, F_LONGTERM) && rng_one_in(r, d->max_long_term_idx < 0 ? 1 : 4))
        set_max_long_term(g, d);
    for (unsigned n = rng_below(r, 3); n--;) {
        f = choose_frame(g, d);
        if (f && d->max_long_term_idx >= 0 && f->short_term && rng_one_in(r, 2))
            make_long_term(g, d, f);
        else if (f)
            remove_frame(g, f, !rng_one_in(r, 3));
    }
}

/* Entry of the current frame's first field, NULL: none is marked. */
static struct dpb_frame *first_field(struct gen *g, struct dpb *d)
{
    for (unsigned i = 0; i < d->count; i++)
        if (is_current(g, &d->frames[i]))
            return &d->frames[i];
    return NULL;
}

/* dec_ref_pic_marking() of an anchor picture that is not IDR: what follows must not refer to what
 * was before (H.3). */
static void choose_clearing(struct gen *g)
{
    struct picture *p = &g->pic;
    struct dpb d = g->dpb;
    p->adaptive_marking = d.count > 0;
    for (unsigned i = 0; i < d.count; i++)
        unmark(g, &d.frames[i], 0);
    if (d.count)
        g->used |= F_MMCO;
}

/* dec_ref_pic_marking() of a reference picture that is not IDR. */
static void choose_marking(struct gen *g)
{
    struct picture *p = &g->pic;
    struct dpb d = g->dpb;
    struct dpb_frame *first = first_field(g, &d), *f;
    unsigned most = g->sps.max_num_ref_frames, shorts = 0;
    bool first_long = first && first->long_term;
    for (unsigned i = 0; i < d.count; i++)
        shorts += d.frames[i].short_term && !is_current(g, &d.frames[i]);
    if (!gen_has(g, F_MMCO) || (!first_long && !g->must_reset && !rng_one_in(&p->rng, 2) &&
                                (shorts || frames_but_current(g, &d) < most)))
        return;
    p->adaptive_marking = 1;
    g->used |= F_MMCO;
    if (!first)
        choose_operations(g, &d);
    if (first_long ||
        (!first && d.max_long_term_idx >= 0 && gen_has(g, F_LONGTERM) && rng_one_in(&p->rng, 3)))
        choose_current_long(g, &d, first_long, first_long ? first->long_term_idx : 0);
    while (!first && frames_but_current(g, &d) >= most && (f = choose_frame(g, &d)))
        remove_frame(g, f, true);
    /* the only field of a frame, which this frame cannot name: it slides out */
    if (!first && frames_but_current(g, &d) >= most)
        p->adaptive_marking = p->mmco_count = 0;
    gen_not_ffmpeg(g, first_long, "long-term-second-field");
}

void dpb_prepare(struct gen *g)
{
    struct picture *p = &g->pic;
    list_refs(g);
    p->adaptive_marking = p->mmco_count = p->mmco5 = p->long_term_reference = 0;
    if (p->idr)
        p->long_term_reference = gen_use(g, &p->rng, F_LONGTERM, 3);
    else if (p->anchor)
        choose_clearing(g);
    else if (p->nal_ref_idc)
        choose_marking(g);
}

/* 8.2.5.3 */
static void slide(struct gen *g)
{
    struct dpb_frame *oldest = NULL;
    unsigned most = g->sps.max_num_ref_frames > 1 ? g->sps.max_num_ref_frames : 1;
    if (g->dpb.count < most)
        return;
    for (unsigned i = 0; i < g->dpb.count; i++) {
        struct dpb_frame *f = &g->dpb.frames[i];
        if (f->short_term && (!oldest || frame_num_wrap(g, f) < frame_num_wrap(g, oldest)))
            oldest = f;
    }
    if (oldest)
        oldest->short_term = oldest->long_term = 0;
    remove_unused(&g->dpb);
}

/* The frame or fields that operations 1 to 3 name. */
static struct dpb_frame *named(struct gen *g, bool long_term, int32_t number, uint8_t *bits)
{
    for (unsigned i = 0; i < g->dpb.count; i++) {
        struct dpb_frame *f = &g->dpb.frames[i];
        for (unsigned parity = 0; parity < 2; parity++) {
            *bits = g->pic.structure == REC_FRAME ? 3 : (uint8_t)(1 << parity);
            if (((long_term ? f->long_term : f->short_term) & *bits) == *bits &&
                pic_num(g, f, long_term, parity) == number)
                return f;
        }
    }
    return NULL;
}

/* 8.2.5.4; returns the long-term index of the current picture, -1: short-term. */
static int apply_operations(struct gen *g)
{
    int idx = -1;
    uint8_t bits;
    for (unsigned i = 0; i < g->pic.mmco_count; i++) {
        const struct h264_mmco *m = &g->pic.mmco[i];
        struct dpb_frame *f;
        switch (m->op) {
        case 1:
        case 3:
            f = named(g, false, curr_pic_num(g) - (int32_t)m->a - 1, &bits);
            f->short_term &= (uint8_t)~bits;
            if (m->op == 3) {
                free_long_term_idx(&g->dpb, m->b, f);
                f->long_term |= bits;
                f->long_term_idx = (uint8_t)m->b;
            }
            break;
        case 2:
            f = named(g, true, (int32_t)m->a, &bits);
            f->long_term &= (uint8_t)~bits;
            break;
        case 4:
            g->dpb.max_long_term_idx = (int)m->a - 1;
            for (unsigned k = 0; k < g->dpb.count; k++)
                if (g->dpb.frames[k].long_term_idx >= m->a)
                    g->dpb.frames[k].long_term = 0;
            break;
        case 5:
            g->dpb.count = 0;
            g->dpb.max_long_term_idx = -1;
            break;
        default:
            idx = (int)m->a;
            free_long_term_idx(&g->dpb, m->a, first_field(g, &g->dpb));
        }
    }
    remove_unused(&g->dpb);
    return idx;
}

void dpb_finish(struct gen *g)
{
    struct picture *p = &g->pic;
    struct dpb_frame *f = first_field(g, &g->dpb);
    uint64_t refers = 0;
    int idx = -1;
    if (!p->nal_ref_idc)
        return;
    for (unsigned i = 0; i < g->dpb.count; i++)
        refers |= (uint64_t)1 << g->dpb.frames[i].id % 64;
    if (!p->predicts)
        refers = 0;
    if (p->idr) {
        g->dpb.count = 0;
        g->dpb.max_long_term_idx = p->long_term_reference ? 0 : -1;
        idx = p->long_term_reference ? 0 : -1;
    } else if (p->adaptive_marking) {
        idx = apply_operations(g);
    } else if (!f) {
        slide(g);
    }
    f = first_field(g, &g->dpb);
    if (!f) {
        f = &g->dpb.frames[g->dpb.count++];
        *f = (struct dpb_frame){.id = g->frame_count, .frame_num = p->mmco5 ? 0 : p->frame_num};
    }
    f->refers |= refers;
    f->reset |= p->mmco5;
    f->sliced |= p->several_slices;
    if (idx >= 0) {
        f->long_term |= p->structure;
        f->long_term_idx = (uint8_t)idx;
    } else {
        f->short_term |= p->structure;
    }
}

void dpb_gap(struct gen *g, unsigned frames)
{
    for (unsigned i = 0; i < frames; i++) {
        g->pic.frame_num = (g->prev_ref_frame_num + 1) % max_frame_num(g);
        slide(g);
        g->dpb.frames[g->dpb.count++] = (struct dpb_frame){.id = g->frame_count + 63,
                                                           .frame_num = g->pic.frame_num,
                                                           .short_term = 3,
                                                           .non_existing = 1};
        g->prev_ref_frame_num = g->pic.frame_num;
    }
}
