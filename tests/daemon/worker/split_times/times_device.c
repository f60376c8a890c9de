/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reconstruction of the simulation: batches one after the other, slower beside slices.
 */
#include "times.h"

#include <string.h>

static void recon_complete(void)
{
    struct batch b = sim.recon[0];
    for (uint32_t i = 0; i < b.count; i++) {
        struct sim_picture *q = sim_of(b.entries[i].picture);
        picture_move(&q->p, EDGE_COMPLETE);
        for (uint32_t k = 0; k < q->pic.refs_held_count; k++)
            picture_unread(sim_of(q->pic.refs_held[k]->holder.user));
        q->pic.refs_held_count = 0;
        sim.sum.frames++;
        if (q->p.entropy.by == BY_GPU) {
            sim.resident -= q->p.entropy.bytes;
            sim.waiting--;
        }
        sim.sum.bytes += q->p.entropy.bytes;
    }
    struct batch_entry done[BATCH_WIDTH];
    memcpy(done, b.entries, sizeof(done));
    sim.in_flight--;
    sim.slots.in_flight--;
    for (uint32_t i = 0; i < sim.in_flight; i++) {
        memcpy(sim.entries[i], sim.entries[i + 1], sizeof(sim.entries[0]));
        sim.recon[i] = sim.recon[i + 1];
        sim.recon[i].entries = sim.entries[i];
    }
    pictures_retire();
}

static void recon_submit(void)
{
    struct batch *b = &sim.recon[sim.in_flight];
    b->entries = sim.entries[sim.in_flight];
    b->width = sim.slots.width;
    batch_collect(&sim.s, &sim.slots, b);
    if (!b->count)
        return;
    sim.s.serial++;
    sim.in_flight++;
    sim.slots.in_flight++;
    sim.sum.submitted++;
    sim.sum.open += b->ready - b->blocked;
    sim.sum.free_slots += b->free_slots;
    sim.sum.short_of_slots += b->short_of_slots;
}

void recon_step(void)
{
    windows_rest(&sim.s);
    for (uint32_t i = 0; i < sim.streams_used; i++) {
        struct window *w = &sim.streams[i].w;
        struct slots_wish wish = slots_wish_of(w, &sim.sps);
        if (!w->slots.of)
            slots_attach(w, &sim.slots, &wish);
    }
    if (sim.in_flight && sim.recon_left_s > 0)
        sim.recon_left_s -= 1e-9 * STEP_NS / (1 + machine.beside * sim.active / 960);
    if (sim.in_flight && sim.recon_left_s <= 0) {
        recon_complete();
        sim.recon_left_s = 0;
    }
    if (sim.in_flight < BATCHES_IN_FLIGHT)
        recon_submit();
    if (sim.in_flight && sim.recon_left_s <= 0)
        sim.recon_left_s = machine.recon + machine.recon_one * sim.recon[0].count;
    sim.sum.recon += sim.in_flight > 0;
    sim.sum.resident += (double)sim.resident * SPLIT_LEVEL_BYTES +
                        (double)sim.waiting * MBS * sizeof(struct rec_motion) * 1.3;
    for (uint32_t i = 0; i < sim.streams_used; i++)
        sim.sum.ready += sim.streams[i].w.ready;
    sim.recon_busy = 0.999 * sim.recon_busy + 0.001 * (sim.in_flight > 0);
}
