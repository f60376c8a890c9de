/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Decoded reference picture marking (8.2.5). Marks are kept per field; frames carry both.
 */
#include "codec/dpb.h"
#include "codec/h264_error.h"

void h264_entry_add(struct h264_dpb_entry *e, struct h264_picture *pic)
{
    e->others[e->other_count++] = h264_picture_ref(pic);
    for (unsigned i = 0; i < 2; i++)
        if (pic->planes[i])
            e->others[e->other_count++] = h264_picture_ref(pic->planes[i]);
}

void h264_entry_hold(struct h264_dpb_entry *e)
{
    h264_picture_ref(e->pic);
    for (unsigned i = 0; i < 2; i++)
        if (e->pic->planes[i])
            e->others[e->other_count++] = h264_picture_ref(e->pic->planes[i]);
}

void h264_entry_drop(struct h264_dpb_entry *e)
{
    while (e->other_count > 0)
        h264_picture_unref(e->others[--e->other_count]);
    h264_picture_unref(e->pic);
    e->pic = NULL;
}

void h264_dpb_sweep(struct h264_dpb *dpb)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < dpb->count; i++) {
        struct h264_dpb_entry *e = &dpb->entries[i];
        if (h264_entry_marked(e) || e->waiting)
            dpb->entries[kept++] = *e;
        else
            h264_entry_drop(e);
    }
    dpb->count = kept;
}

void h264_dpb_unmark_all(struct h264_dpb *dpb)
{
    for (unsigned i = 0; i < dpb->count; i++)
        dpb->entries[i].short_term = dpb->entries[i].long_term = 0;
}

void h264_dpb_clear(struct h264_dpb *dpb)
{
    for (unsigned i = 0; i < dpb->count; i++)
        h264_entry_drop(&dpb->entries[i]);
    dpb->count = 0;
    dpb->max_long_term = 0;
}

static unsigned marked_count(const struct h264_dpb *dpb, const struct h264_dpb_entry *own)
{
    unsigned n = 0;
    for (unsigned i = 0; i < dpb->count; i++)
        n += &dpb->entries[i] != own && h264_entry_marked(&dpb->entries[i]) != 0;
    return n;
}

/* The short-term entry of smallest FrameNumWrap, or NULL. */
static struct h264_dpb_entry *oldest_short_term(struct h264_dpb *dpb, uint32_t frame_num,
                                                const struct h264_dpb_entry *own)
{
    struct h264_dpb_entry *oldest = NULL;
    for (unsigned i = 0; i < dpb->count; i++) {
        struct h264_dpb_entry *e = &dpb->entries[i];
        if (e != own && e->short_term &&
            (!oldest ||
             h264_frame_num_wrap(dpb, e, frame_num) < h264_frame_num_wrap(dpb, oldest, frame_num)))
            oldest = e;
    }
    return oldest;
}

void h264_dpb_slide(struct h264_dpb *dpb, uint32_t frame_num, const struct h264_dpb_entry *own)
{
    while (marked_count(dpb, own) >= dpb->max_refs) {
        struct h264_dpb_entry *e = oldest_short_term(dpb, frame_num, own);
        /* Long-term frames alone may not fill the window; where they do, the first makes room. */
        for (unsigned i = 0; !e && i < dpb->count; i++)
            if (&dpb->entries[i] != own && dpb->entries[i].long_term)
                e = &dpb->entries[i];
        if (!e)
            break;
        e->short_term = e->long_term = 0;
    }
}

/* For fields, numbers are doubled and odd ones have the parity of the current field (8.2.4.1). */
static unsigned fields_of(const struct h264_slice_header *h, int64_t number)
{
    unsigned own = h->bottom_field_flag ? REC_BOTTOM : REC_TOP;
    return !h->field_pic_flag ? REC_FRAME : number & 1 ? own : REC_FRAME - own;
}

struct h264_dpb_named h264_dpb_short_term(struct h264_dpb *dpb, const struct h264_slice_header *h,
                                          int64_t pic_num)
{
    unsigned fields = fields_of(h, pic_num);
    /* The shift of a negative number rounds down, as needed. */
    int64_t wrap = h->field_pic_flag ? pic_num >> 1 : pic_num;

    for (unsigned i = 0; i < dpb->count; i++) {
        struct h264_dpb_entry *e = &dpb->entries[i];
        if ((e->short_term & fields) == fields && h264_frame_num_wrap(dpb, e, h->frame_num) == wrap)
            return (struct h264_dpb_named){e, fields};
    }
    return (struct h264_dpb_named){NULL, fields};
}

struct h264_dpb_named h264_dpb_long_term(struct h264_dpb *dpb, const struct h264_slice_header *h,
                                         uint32_t long_term_pic_num)
{
    unsigned fields = fields_of(h, long_term_pic_num);
    uint32_t index = h->field_pic_flag ? long_term_pic_num >> 1 : long_term_pic_num;
    for (unsigned i = 0; i < dpb->count; i++) {
        struct h264_dpb_entry *e = &dpb->entries[i];
        if ((e->long_term & fields) == fields && e->long_term_frame_idx == index)
            return (struct h264_dpb_named){e, fields};
    }
    return (struct h264_dpb_named){NULL, fields};
}

/* The picture of difference_of_pic_nums_minus1 (8.2.5.4.1) */
static struct h264_dpb_named at_difference(struct h264_dpb *dpb, const struct h264_slice_header *h,
                                           uint32_t difference_minus1)
{
    int64_t current = h->field_pic_flag ? 2 * (int64_t)h->frame_num + 1 : h->frame_num;
    return h264_dpb_short_term(dpb, h, current - ((int64_t)difference_minus1 + 1));
}

/* A LongTermFrameIdx that is about to be given away leaves its holder, unless that is `keep`, whose
 * other field it is. */
static void free_long_term_idx(struct h264_dpb *dpb, uint32_t index,
                               const struct h264_dpb_entry *keep)
{
    for (unsigned i = 0; i < dpb->count; i++) {
        struct h264_dpb_entry *e = &dpb->entries[i];
        if (e != keep && e->long_term && e->long_term_frame_idx == index)
            e->long_term = 0;
    }
}

static int assign_long_term(struct h264_dpb *dpb, const struct h264_slice_header *h,
                            const struct h264_mmco *m)
{
    struct h264_dpb_named n = at_difference(dpb, h, m->a);
    if (!n.entry || m->b >= 2 * H264_DPB_MAX)
        return H264_ERR_DATA;
    free_long_term_idx(dpb, m->b, n.entry);
    if (n.entry->long_term && n.entry->long_term_frame_idx != m->b)
        n.entry->long_term = 0;
    n.entry->short_term &= (uint8_t)~n.fields;
    n.entry->long_term |= (uint8_t)n.fields;
    n.entry->long_term_frame_idx = m->b;
    return m->b < dpb->max_long_term ? H264_OK : H264_ERR_DATA;
}

static void limit_long_term(struct h264_dpb *dpb, uint32_t max_plus1)
{
    for (unsigned i = 0; i < dpb->count; i++)
        if (dpb->entries[i].long_term_frame_idx >= max_plus1)
            dpb->entries[i].long_term = 0;
    dpb->max_long_term = max_plus1;
}

static int apply(struct h264_dpb *dpb, const struct h264_slice_header *h, const struct h264_mmco *m,
                 const struct h264_dpb_entry *own, uint32_t *long_term_idx)
{
    struct h264_dpb_named n;
    switch (m->op) {
    case 1: /* 8.2.5.4.1 */
        n = at_difference(dpb, h, m->a);
        if (!n.entry)
            return H264_ERR_DATA;
        n.entry->short_term &= (uint8_t)~n.fields;
        return H264_OK;
    case 2: /* 8.2.5.4.2 */
        n = h264_dpb_long_term(dpb, h, m->a);
        if (!n.entry)
            return H264_ERR_DATA;
        n.entry->long_term &= (uint8_t)~n.fields;
        return H264_OK;
    case 3: /* 8.2.5.4.3 */
        return assign_long_term(dpb, h, m);
    case 4: /* 8.2.5.4.4 */
        limit_long_term(dpb, m->a);
        return H264_OK;
    case 5: /* 8.2.5.4.5 */
        h264_dpb_unmark_all(dpb);
        dpb->max_long_term = 0;
        *long_term_idx = H264_NO_LONG_TERM;
        return H264_OK;
    default: /* 8.2.5.4.6 */
        if (m->a >= 2 * H264_DPB_MAX)
            return H264_ERR_DATA;
        free_long_term_idx(dpb, m->a, own);
        *long_term_idx = m->a;
        return m->a < dpb->max_long_term ? H264_OK : H264_ERR_DATA;
    }
}

int h264_dpb_adapt(struct h264_dpb *dpb, const struct h264_slice_header *h,
                   const struct h264_dpb_entry *own, uint32_t *long_term_idx, bool *reset)
{
    int result = H264_OK;
    for (unsigned i = 0; i < h->mmco_count; i++) {
        if (apply(dpb, h, &h->mmco[i], own, long_term_idx))
            result = H264_ERR_DATA;
        if (h->mmco[i].op == 5)
            *reset = true;
    }
    if (marked_count(dpb, own) >= dpb->max_refs) {
        /* the operations made no room for the current picture */
        h264_dpb_slide(dpb, h->frame_num, own);
        result = H264_ERR_DATA;
    }
    return result;
}
