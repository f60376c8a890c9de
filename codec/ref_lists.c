/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference picture lists (8.2.4): initialisation for frames, modification, and what a slice keeps of them.
 */
#include "codec/dpb.h"

/* Longest initial list or list under modification: REC_MAX_REFS and the temporary element. */
#define LIST_MAX (REC_MAX_REFS + 1)

struct list {
    const struct h264_dpb_entry *items[LIST_MAX];
    unsigned count;
};

/* Sorts items from `from` on by rising key. */
static void sort_tail(struct list *l, unsigned from,
                      int64_t (*key)(const struct h264_dpb *, const struct h264_dpb_entry *, int64_t),
                      const struct h264_dpb *dpb, int64_t context)
{
    for (unsigned i = from + 1; i < l->count; i++) {
        const struct h264_dpb_entry *e = l->items[i];
        unsigned j = i;

        for (; j > from && key(dpb, l->items[j - 1], context) > key(dpb, e, context); j--)
            l->items[j] = l->items[j - 1];
        l->items[j] = e;
    }
}

static int64_t key_pic_num_falling(const struct h264_dpb *dpb, const struct h264_dpb_entry *e, int64_t frame_num)
{
    return -(int64_t)h264_frame_num_wrap(dpb, e, (uint32_t)frame_num);
}

static int64_t key_long_term(const struct h264_dpb *dpb, const struct h264_dpb_entry *e, int64_t context)
{
    return e->long_term_frame_idx;
}

static int64_t key_poc(const struct h264_dpb *dpb, const struct h264_dpb_entry *e, int64_t sign)
{
    return sign * h264_frame_poc(e->poc);
}

static void append_long_term(const struct h264_dpb *dpb, struct list *l)
{
    unsigned from = l->count;

    for (unsigned i = 0; i < dpb->count; i++)
        if (dpb->entries[i].long_term == REC_FRAME)
            l->items[l->count++] = &dpb->entries[i];
    sort_tail(l, from, key_long_term, dpb, 0);
}

/* 8.2.4.2.1 */
static void init_p(const struct h264_dpb *dpb, uint32_t frame_num, struct list *l)
{
    for (unsigned i = 0; i < dpb->count; i++)
        if (dpb->entries[i].short_term == REC_FRAME)
            l->items[l->count++] = &dpb->entries[i];
    sort_tail(l, 0, key_pic_num_falling, dpb, frame_num);
    append_long_term(dpb, l);
}

/* Short-term frames before (sign -1, falling) or after (sign 1, rising) the current one in output order. */
static void append_by_poc(const struct h264_dpb *dpb, int32_t current_poc, bool with_non_existing, int sign, struct list *l)
{
    unsigned from = l->count;

    for (unsigned i = 0; i < dpb->count; i++) {
        const struct h264_dpb_entry *e = &dpb->entries[i];
        int32_t poc = h264_frame_poc(e->poc);

        if (e->short_term == REC_FRAME && (with_non_existing || !e->pic->non_existing) &&
            (sign < 0 ? poc <= current_poc : poc > current_poc))
            l->items[l->count++] = e;
    }
    sort_tail(l, from, key_poc, dpb, sign);
}

/* 8.2.4.2.3. With POC type 0, inferred frames have no POC and stay out of the lists. */
static void init_b(const struct h264_dpb *dpb, int32_t current_poc, bool with_non_existing, struct list lists[2])
{
    for (unsigned i = 0; i < 2; i++) {
        append_by_poc(dpb, current_poc, with_non_existing, i ? 1 : -1, &lists[i]);
        append_by_poc(dpb, current_poc, with_non_existing, i ? -1 : 1, &lists[i]);
        append_long_term(dpb, &lists[i]);
    }
    if (lists[1].count > 1 && !memcmp(lists[0].items, lists[1].items, lists[1].count * sizeof(lists[1].items[0]))) {
        const struct h264_dpb_entry *e = lists[1].items[0];

        lists[1].items[0] = lists[1].items[1];
        lists[1].items[1] = e;
    }
}

static const struct h264_dpb_entry *find_short_term(const struct h264_dpb *dpb, uint32_t frame_num, int64_t pic_num)
{
    for (unsigned i = 0; i < dpb->count; i++)
        if (dpb->entries[i].short_term == REC_FRAME && h264_frame_num_wrap(dpb, &dpb->entries[i], frame_num) == pic_num)
            return &dpb->entries[i];
    return NULL;
}

static const struct h264_dpb_entry *find_long_term(const struct h264_dpb *dpb, uint32_t long_term_pic_num)
{
    for (unsigned i = 0; i < dpb->count; i++)
        if (dpb->entries[i].long_term == REC_FRAME && dpb->entries[i].long_term_frame_idx == long_term_pic_num)
            return &dpb->entries[i];
    return NULL;
}

/* Puts e (NULL: the picture is lost, its place stays empty) at index and closes the gap where it stood (8.2.4.3.1, 8.2.4.3.2).
 */
static void move_to(struct list *l, unsigned index, const struct h264_dpb_entry *e)
{
    unsigned to = index + 1;

    for (unsigned i = l->count; i > index; i--)
        l->items[i] = l->items[i - 1];
    l->items[index] = e;
    for (unsigned i = index + 1; i <= l->count; i++)
        if (!e || l->items[i] != e)
            l->items[to++] = l->items[i];
}

/* 8.2.4.3; l->count entries are in use and one more exists. */
static int modify(const struct h264_dpb *dpb, const struct h264_slice_header *h, unsigned list, struct list *l)
{
    int64_t max_pic_num = dpb->max_frame_num, pred = h->frame_num;
    int result = H264_OK;
    unsigned index = 0;

    for (unsigned i = 0; i < h->list_mod_count[list]; i++) {
        const struct h264_list_mod *m = &h->list_mod[list][i];
        const struct h264_dpb_entry *e;

        if (index == l->count)
            return H264_ERR_DATA;
        if (m->op == 2) {
            e = find_long_term(dpb, m->value);
        } else {
            if (m->value >= max_pic_num)
                return H264_ERR_DATA;
            pred += m->op == 0 ? -((int64_t)m->value + 1) : (int64_t)m->value + 1;
            pred = (pred + max_pic_num) % max_pic_num;
            e = find_short_term(dpb, h->frame_num, pred > h->frame_num ? pred - max_pic_num : pred);
        }
        if (!e)
            result = H264_ERR_DATA;
        move_to(l, index++, e);
    }
    return result;
}

static void store(struct h264_slice *slice, unsigned list, const struct list *l)
{
    slice->num_ref[list] = (uint8_t)l->count;
    for (unsigned i = 0; i < l->count; i++) {
        const struct h264_dpb_entry *e = l->items[i];

        slice->ref[list][i].structure = REC_FRAME;
        if (!e) {
            slice->ref[list][i].id = UINT32_MAX;
            continue;
        }
        slice->ref[list][i].pic = e->pic;
        slice->ref[list][i].long_term = e->long_term != 0;
        slice->ref[list][i].poc = h264_frame_poc(e->poc);
        slice->ref[list][i].id = e->pic->id * 4 + REC_FRAME;
    }
}

int h264_ref_lists(const struct h264_dpb *dpb, int32_t current_poc, struct h264_slice *slice)
{
    const struct h264_slice_header *h = &slice->hdr;
    struct list lists[2] = {{.count = 0}};
    int result = H264_OK;

    if (h->type == H264_B)
        init_b(dpb, current_poc, slice->sps->poc_type != 0, lists);
    else if (h->type == H264_P || h->type == H264_SP)
        init_p(dpb, h->frame_num, &lists[0]);
    for (unsigned list = 0; list < 2; list++) {
        struct list *l = &lists[list];

        /* Entries past the initial list are "no reference picture", entries past num_ref_idx_active are cut (8.2.4.2). */
        for (unsigned i = l->count; i <= h->num_ref[list]; i++)
            l->items[i] = NULL;
        l->count = h->num_ref[list];
        if (modify(dpb, h, list, l))
            result = H264_ERR_DATA;
        store(slice, list, l);
    }
    return result;
}
