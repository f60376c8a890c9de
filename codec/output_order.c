/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Output order: the bumping process (C.4.5). Every frame is output: no_output_of_prior_pics_flag is
 * ignored, as a file's frames are all wanted.
 */
#include "codec/output_order.h"
#include "codec/h264_error.h"

#include <stdlib.h>

int h264_queue_reserve(struct h264_queue *q, size_t n)
{
    struct h264_picture **items;
    size_t capacity = q->capacity ? q->capacity : 32;
    if (q->capacity - q->count >= n)
        return H264_OK;
    while (capacity - q->count < n)
        capacity *= 2;
    items = malloc(capacity * sizeof(*items));
    if (!items)
        return H264_ERR_NOMEM;
    for (size_t i = 0; i < q->count; i++)
        items[i] = q->items[(q->head + i) % q->capacity];
    free(q->items);
    q->items = items;
    q->capacity = capacity;
    q->head = 0;
    return H264_OK;
}

void h264_queue_push(struct h264_queue *q, struct h264_picture *pic)
{
    q->items[(q->head + q->count++) % q->capacity] = h264_picture_ref(pic);
}

struct h264_picture *h264_queue_pop(struct h264_queue *q)
{
    struct h264_picture *pic;
    if (!q->count)
        return NULL;
    pic = q->items[q->head];
    q->head = (q->head + 1) % q->capacity;
    q->count--;
    return pic;
}

void h264_queue_free(struct h264_queue *q)
{
    struct h264_picture *pic;
    while ((pic = h264_queue_pop(q)))
        h264_picture_unref(pic);
    free(q->items);
    *q = (struct h264_queue){0};
}

static struct h264_dpb_entry *first_waiting(struct h264_dpb *dpb)
{
    struct h264_dpb_entry *first = NULL;
    for (unsigned i = 0; i < dpb->count; i++) {
        struct h264_dpb_entry *e = &dpb->entries[i];
        if (e->waiting && (!first || h264_frame_poc(e->poc) < h264_frame_poc(first->poc)))
            first = e;
    }
    return first;
}

static void output(struct h264_dpb_entry *e, struct h264_queue *out)
{
    h264_queue_push(out, e->pic);
    e->waiting = 0;
}

void h264_output_flush(struct h264_dpb *dpb, struct h264_queue *out)
{
    struct h264_dpb_entry *e;
    while ((e = first_waiting(dpb)))
        output(e, out);
    h264_dpb_sweep(dpb);
}

void h264_output_trim(struct h264_dpb *dpb, unsigned reorder, struct h264_queue *out)
{
    unsigned waiting = 0;
    for (unsigned i = 0; i < dpb->count; i++)
        waiting += dpb->entries[i].waiting;
    for (; waiting > reorder; waiting--)
        output(first_waiting(dpb), out);
    h264_dpb_sweep(dpb);
}

void h264_output_store(struct h264_dpb *dpb, struct h264_dpb_entry *e, struct h264_queue *out)
{
    h264_dpb_sweep(dpb);
    while (dpb->count >= dpb->size) {
        struct h264_dpb_entry *first = first_waiting(dpb);
        /* C.4.5.2: a non-reference picture that is first in output order needs no buffer. */
        if (!h264_entry_marked(e) &&
            (!first || h264_frame_poc(e->poc) < h264_frame_poc(first->poc))) {
            if (e->waiting)
                h264_queue_push(out, e->pic);
            h264_entry_drop(e);
            return;
        }
        if (!first) /* cannot be while marking keeps within max_refs <= size */
            break;
        output(first, out);
        h264_dpb_sweep(dpb);
    }
    if (dpb->count == sizeof(dpb->entries) / sizeof(dpb->entries[0])) {
        h264_entry_drop(e);
        return;
    }
    dpb->entries[dpb->count++] = *e;
    e->pic = NULL;
    e->other_count = 0;
}
