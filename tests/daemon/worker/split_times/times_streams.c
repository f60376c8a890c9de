/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams of the simulation: pictures with the sizes and the order of a clip, read ahead.
 */
#include "times.h"

#include <string.h>

static void picture_let_go(struct sim_picture *q)
{
    if (q->readers || !q->retired)
        return;
    window_forget(&q->p);
    q->next = sim.spare;
    sim.spare = q;
}

void picture_unread(struct sim_picture *q)
{
    q->readers--;
    picture_let_go(q);
}

void pictures_retire(void)
{
    struct h264_picture *pic;
    for (uint32_t i = 0; i < sim.streams_used; i++)
        while ((pic = window_retire(&sim.streams[i].w))) {
            struct sim_picture *q = sim_of(pic->holder.user);
            q->retired = true;
            picture_let_go(q);
        }
}

static void picture_reads(struct sim_picture *q, struct sim_picture *ref)
{
    if (!ref)
        return;
    q->pic.refs_held[q->pic.refs_held_count++] = &ref->pic;
    ref->readers++;
}

/* As x264 orders them: P, the B picture in the middle that others read, the other B pictures. */
static void stream_refer(struct sim_stream *t, struct sim_picture *q, struct picture_facts *facts)
{
    char kind = sim.kinds[t->at];
    uint32_t run = 0;
    while (t->at + run < CLIP_PICTURES && sim.kinds[t->at + run] == 'B')
        run++;
    if (kind == 'I')
        return;
    picture_reads(q, t->held[0]);
    picture_reads(q, t->held[1]);
    if (kind == 'B') {
        picture_reads(q, t->middle);
        facts->colocated[facts->colocated_count++] = &t->held[0]->pic;
    }
    if (kind == 'B' && sim.kinds[t->at - 1] != 'B' && run >= 3) {
        t->before = q;
        q->pic.nal_ref_idc = 1;
    }
}

static void stream_drop(struct sim_picture **held)
{
    if (*held)
        picture_unread(*held);
    *held = NULL;
}

static void stream_hold(struct sim_stream *t, struct sim_picture *q)
{
    bool other = sim.kinds[t->at] == 'B';
    if (other && t->before != q)
        return;
    q->readers++;
    if (other) {
        t->middle = q;
        return;
    }
    stream_drop(&t->middle);
    for (uint32_t i = t->at ? HELD - 1 : 0; i < HELD; i++) /* the first is an IDR picture */
        stream_drop(&t->held[i]);
    memmove(&t->held[1], &t->held[0], sizeof(t->held[0]) * (HELD - 1));
    t->held[0] = q;
}

static void stream_read(struct sim_stream *t)
{
    struct sim_picture *q = sim.spare;
    uint32_t bytes = sim.bytes[t->at];
    if (!q)
        return;
    sim.spare = q->next;
    memset(q, 0, sizeof(*q));
    q->pic = (struct h264_picture){.id = sim.id++,
                                   .sps = &sim.sps,
                                   .slices = &q->slice,
                                   .slice_count = 1,
                                   .mb_count = MBS,
                                   .bytes_size = bytes,
                                   .structure = REC_FRAME};
    q->pic.nal_ref_idc = sim.kinds[t->at] != 'B';
    q->slice.hdr.type = sim.kinds[t->at] == 'I' ? H264_I : H264_P;
    q->pic.holder.user = &q->p;
    q->pic.holder.slot = -1;
    q->p.pic = &q->pic;
    q->p.window = &t->w;
    q->p.pace = PACE_AHEAD;
    q->p.entropy.bytes = bytes;
    q->p.entropy.slices_left = q->p.entropy.slice_chunk = 1;
    struct picture_facts facts = {.entropy_gpu = true, .motion_gpu = true};
    facts.largest_slice = bytes + SPLIT_MB_WEIGHT * MBS;
    stream_refer(t, q, &facts);
    window_add(&t->w, &q->p, &facts, sim_ns());
    stream_hold(t, q);
    t->at = (t->at + 1) % CLIP_PICTURES;
    t->parsed_s = sim.now_s + machine.parse;
}

void sources_step(void)
{
    for (uint32_t i = 0; i < sim.streams_used; i++) {
        struct sim_stream *t = &sim.streams[i];
        if (t->parsed_s <= sim.now_s && window_has_room(&t->w))
            stream_read(t);
        t->w.source_waits = !window_has_room(&t->w);
    }
}
