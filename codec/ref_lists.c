/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference picture lists (8.2.4): initialisation for frames and for fields, modification, and the
 * entries that a slice keeps.
 */
#include "codec/ref_lists.h"
#include "codec/h264_error.h"

/* Longest initial list (both fields of every entry, another view) or list under modification
 * (REC_MAX_REFS and the temporary element). */
#define LIST_MAX (2 * (H264_DPB_MAX + 1) + 2)

struct item {
    const struct h264_dpb_entry *entry; /* NULL: "no reference picture" */
    unsigned fields;
};

struct list {
    struct item items[LIST_MAX];
    unsigned count;
};

/* What initialisation needs of the current picture. */
struct current {
    const struct h264_dpb *dpb;
    uint32_t frame_num;
    int32_t poc;
    unsigned structure;
    /* with POC type 0, inferred frames have no POC and stay out of B lists */
    bool with_non_existing;
};

/* Marks that an entry needs to enter a list: a frame both fields; with fields, refFrameList holds
 * frames with any. */
static bool listed(const struct current *c, unsigned marks)
{
    return c->structure == REC_FRAME ? marks == REC_FRAME : marks != 0;
}

typedef int64_t (*sort_key)(const struct current *c, const struct h264_dpb_entry *e);

/* Sorts items from `from` on by rising sign * key. */
static void sort_tail(struct list *l, unsigned from, sort_key key, int sign,
                      const struct current *c)
{
    for (unsigned i = from + 1; i < l->count; i++) {
        struct item item = l->items[i];
        unsigned j = i;
        for (; j > from && sign * key(c, l->items[j - 1].entry) > sign * key(c, item.entry); j--)
            l->items[j] = l->items[j - 1];
        l->items[j] = item;
    }
}

static int64_t key_frame_num(const struct current *c, const struct h264_dpb_entry *e)
{
    return h264_frame_num_wrap(c->dpb, e, c->frame_num);
}

static int64_t key_long_term(const struct current *c, const struct h264_dpb_entry *e)
{
    return e->long_term_frame_idx;
}

static int64_t key_poc(const struct current *c, const struct h264_dpb_entry *e)
{
    return h264_frame_poc(e->poc);
}

static void append(struct list *l, const struct h264_dpb_entry *e)
{
    l->items[l->count++] = (struct item){e, REC_FRAME};
}

static void append_long_term(const struct current *c, struct list *l)
{
    unsigned from = l->count;
    for (unsigned i = 0; i < c->dpb->count; i++)
        if (listed(c, c->dpb->entries[i].long_term))
            append(l, &c->dpb->entries[i]);
    sort_tail(l, from, key_long_term, 1, c);
}

/* 8.2.4.2.1, 8.2.4.2.2 */
static void append_by_frame_num(const struct current *c, struct list *l)
{
    for (unsigned i = 0; i < c->dpb->count; i++)
        if (listed(c, c->dpb->entries[i].short_term))
            append(l, &c->dpb->entries[i]);
    sort_tail(l, 0, key_frame_num, -1, c);
}

/* Short-term frames before (sign -1, falling) or after (sign 1, rising) the current one in output
 * order (8.2.4.2.3, 8.2.4.2.4).
 */
static void append_by_poc(const struct current *c, int sign, struct list *l)
{
    unsigned from = l->count;
    for (unsigned i = 0; i < c->dpb->count; i++) {
        const struct h264_dpb_entry *e = &c->dpb->entries[i];
        int32_t poc = h264_frame_poc(e->poc);
        if (listed(c, e->short_term) && (c->with_non_existing || !e->pic->non_existing) &&
            (sign < 0 ? poc <= c->poc : poc > c->poc))
            append(l, e);
    }
    sort_tail(l, from, key_poc, sign, c);
}

/* The next entry of `frames` at or after *at that has the field marked; frames->count: none. */
static unsigned next_of_parity(const struct list *frames, unsigned at, unsigned parity,
                               bool long_term)
{
    for (; at < frames->count; at++) {
        const struct h264_dpb_entry *e = frames->items[at].entry;
        if ((long_term ? e->long_term : e->short_term) & parity)
            break;
    }
    return at;
}

/* 8.2.4.2.5: fields of frames in turn, first one of the current parity; when one parity runs out,
 * the rest of the other. */
static void alternate(const struct current *c, const struct list *frames, bool long_term,
                      struct list *l)
{
    unsigned parity[2] = {c->structure, REC_FRAME - c->structure}, at[2], turn = 0;
    for (unsigned i = 0; i < 2; i++)
        at[i] = next_of_parity(frames, 0, parity[i], long_term);
    while (at[0] < frames->count || at[1] < frames->count) {
        if (at[turn] < frames->count) {
            l->items[l->count++] = (struct item){frames->items[at[turn]].entry, parity[turn]};
            at[turn] = next_of_parity(frames, at[turn] + 1, parity[turn], long_term);
        }
        if (at[turn ^ 1] < frames->count)
            turn ^= 1;
    }
}

/* Short-term frames are in l; completes the list. */
static void init_rest(const struct current *c, struct list *l)
{
    struct list short_term, long_term = {.count = 0};
    if (c->structure == REC_FRAME) {
        append_long_term(c, l);
        return;
    }
    short_term = *l;
    append_long_term(c, &long_term);
    l->count = 0;
    alternate(c, &short_term, false, l);
    alternate(c, &long_term, true, l);
}

static bool same_item(const struct item *a, const struct item *b)
{
    return a->entry == b->entry && a->fields == b->fields;
}

/* RefPicList1 of more than one entry must not equal RefPicList0. */
static void tell_apart(const struct list *l0, struct list *l1)
{
    struct item first = l1->items[0];
    for (unsigned i = 0; i < l1->count; i++)
        if (!same_item(&l0->items[i], &l1->items[i]))
            return;
    if (l1->count > 1) {
        l1->items[0] = l1->items[1];
        l1->items[1] = first;
    }
}

static void init_lists(const struct current *c, unsigned slice_type, struct list lists[2])
{
    if (slice_type == H264_P || slice_type == H264_SP) {
        append_by_frame_num(c, &lists[0]);
        init_rest(c, &lists[0]);
    } else if (slice_type == H264_B) {
        for (int i = 0; i < 2; i++) {
            append_by_poc(c, i ? 1 : -1, &lists[i]);
            append_by_poc(c, i ? -1 : 1, &lists[i]);
            init_rest(c, &lists[i]);
        }
        tell_apart(&lists[0], &lists[1]);
    }
}

/* Puts item (without entry: the picture is lost, its place stays empty) at index and closes the gap
 * where it stood (8.2.4.3.1, 8.2.4.3.2). */
static void move_to(struct list *l, unsigned index, struct item item)
{
    unsigned to = index + 1;
    for (unsigned i = l->count; i > index; i--)
        l->items[i] = l->items[i - 1];
    l->items[index] = item;
    for (unsigned i = index + 1; i <= l->count; i++)
        if (!item.entry || !same_item(&l->items[i], &item))
            l->items[to++] = l->items[i];
}

/* 8.2.4.3; l->count entries are in use and one more exists. */
static int modify(struct h264_dpb *dpb, const struct h264_slice_header *h, unsigned list,
                  struct list *l)
{
    int64_t max_pic_num = (int64_t)dpb->max_frame_num << h->field_pic_flag;
    int64_t current = h->field_pic_flag ? 2 * (int64_t)h->frame_num + 1 : h->frame_num,
            pred = current;
    int result = H264_OK;
    unsigned index = 0, fields = !h->field_pic_flag     ? REC_FRAME
                                 : h->bottom_field_flag ? REC_BOTTOM
                                                        : REC_TOP;
    for (unsigned i = 0; i < h->list_mod_count[list]; i++) {
        const struct h264_list_mod *m = &h->list_mod[list][i];
        struct h264_dpb_named n;
        if (index == l->count)
            return H264_ERR_DATA;
        if (m->op >= 4) { /* H.8.2.2.3: there is one inter-view reference */
            n = (struct h264_dpb_named){dpb->inter_view.pic ? &dpb->inter_view : NULL, fields};
        } else if (m->op == 2) {
            n = h264_dpb_long_term(dpb, h, m->value);
        } else {
            if (m->value >= max_pic_num)
                return H264_ERR_DATA;
            pred += m->op == 0 ? -((int64_t)m->value + 1) : (int64_t)m->value + 1;
            pred = (pred + max_pic_num) % max_pic_num;
            n = h264_dpb_short_term(dpb, h, pred > current ? pred - max_pic_num : pred);
        }
        if (!n.entry)
            result = H264_ERR_DATA;
        move_to(l, index++, (struct item){n.entry, n.fields});
    }
    return result;
}

static void list_store(struct h264_slice *slice, unsigned list, const struct list *l)
{
    slice->num_ref[list] = (uint8_t)l->count;
    for (unsigned i = 0; i < l->count; i++) {
        const struct h264_dpb_entry *e = l->items[i].entry;
        unsigned fields = l->items[i].fields;
        slice->ref[list][i].structure = (uint8_t)fields;
        if (!e) {
            slice->ref[list][i].id = UINT32_MAX;
            continue;
        }
        slice->ref[list][i].pic = e->pic;
        slice->ref[list][i].long_term = (e->long_term & fields) != 0;
        slice->ref[list][i].poc =
            fields == REC_FRAME ? h264_frame_poc(e->poc) : e->poc[fields == REC_BOTTOM];
        slice->ref[list][i].field_poc[0] = e->poc[0];
        slice->ref[list][i].field_poc[1] = e->poc[1];
        slice->ref[list][i].id = e->pic->id * 4 + fields;
    }
}

int h264_ref_lists(struct h264_dpb *dpb, int32_t current_poc, struct h264_slice *slice)
{
    const struct h264_slice_header *h = &slice->hdr;
    struct current current = {dpb, h->frame_num, current_poc, slice->pic->structure,
                              slice->sps->poc_type != 0};
    struct list lists[2] = {{.count = 0}};
    int result = H264_OK;
    init_lists(&current, h->type, lists);
    for (unsigned list = 0; list < 2; list++) {
        struct list *l = &lists[list];
        if (dpb->inter_view.pic && dpb->inter_view_lists >> list & 1) /* H.8.2.1 */
            l->items[l->count++] = (struct item){&dpb->inter_view, slice->pic->structure};
        /* Entries past the initial list are "no reference picture", entries past num_ref_idx_active
         * are cut (8.2.4.2). */
        for (unsigned i = l->count; i <= h->num_ref[list]; i++)
            l->items[i] = (struct item){NULL, slice->pic->structure};
        l->count = h->num_ref[list];
        if (modify(dpb, h, list, l))
            result = H264_ERR_DATA;
        list_store(slice, list, l);
    }
    return result;
}
