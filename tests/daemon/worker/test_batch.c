/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which pictures and outputs make the next batch.
 */
#include "daemon/worker/schedule/batch.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define WINDOWS  3
#define PICTURES 32
#define WIDTH    6

struct world {
    struct schedule s;
    struct window windows[WINDOWS];
    struct slots slots;
    struct h264_sps sps;
    struct picture pictures[PICTURES];
    struct h264_picture pics[PICTURES];
    struct h264_slice slices[PICTURES];
    struct output outputs[PICTURES];
    struct batch batch;
    struct batch_entry entries[WIDTH];
};

static struct world *world(bool interlaced)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->sps = (struct h264_sps){.mb_width = 4,
                               .mb_height = 4,
                               .chroma_format_idc = 1,
                               .bit_depth = {8, 8},
                               .frame_mbs_only_flag = !interlaced,
                               .max_dpb_frames = 4};
    w->s.setting.lookahead = 16;
    w->s.setting.batch = WIDTH;
    struct slots_key key = slots_key_of(&w->sps);
    assert_true(slots_init(&w->slots, &w->s, &key, 60));
    w->slots.kept = 0;
    slots_add(&w->s, &w->slots);
    for (uint32_t i = 0; i < WINDOWS; i++) {
        struct window *window = &w->windows[WINDOWS - 1 - i]; /* the last one opened goes first */
        window_open(window, &w->s);
        window->has_pool = true;
        struct slots_wish wish = slots_wish_of(window, &w->sps);
        slots_attach(window, &w->slots, &wish);
    }
    w->batch = (struct batch){.entries = w->entries, .width = WIDTH};
    return w;
}

static void world_free(struct world *w)
{
    slots_free(&w->slots);
    free(w);
}

/* A READY picture that reads another one; ref -1: an I picture. */
static struct picture *add(struct world *w, uint32_t window, uint32_t i, int ref)
{
    struct window *to = &w->windows[window];
    struct picture *p = &w->pictures[i];
    w->slices[i].hdr.type = ref < 0 ? H264_I : H264_P;
    w->pics[i] = (struct h264_picture){.id = i,
                                       .sps = &w->sps,
                                       .structure = REC_FRAME,
                                       .slices = &w->slices[i],
                                       .slice_count = 1,
                                       .holder = {.slot = -1, .user = p}};
    if (ref >= 0)
        w->pics[i].refs_held[w->pics[i].refs_held_count++] = &w->pics[ref];
    *p = (struct picture){.stage = PICTURE_READY,
                          .records = LIVES_HOST,
                          .coeffs = LIVES_HOST,
                          .pic = &w->pics[i],
                          .window = to,
                          .owner = p,
                          .frame = {.pictures = 1}};
    *to->tail = p;
    to->tail = &p->next;
    to->waiting = to->waiting ? to->waiting : p;
    to->busy++;
    to->ready++;
    window_counted(to);
    window_works(to);
    return p;
}

static uint32_t collect(struct world *w)
{
    batch_collect(&w->s, &w->slots, &w->batch);
    w->s.serial++;
    return w->batch.count;
}

static bool has(const struct world *w, const struct picture *p)
{
    for (uint32_t i = 0; i < w->batch.count; i++)
        if (w->entries[i].picture == p)
            return true;
    return false;
}

/* A picture goes after the batch of its reference; others of the window go ahead of it. */
static void test_references(void **state)
{
    struct world *w = world(false);
    struct picture *a = add(w, 0, 0, -1), *b = add(w, 0, 1, 0), *c = add(w, 0, 2, -1);
    assert_int_equal(collect(w), 2);
    assert_true(has(w, a) && has(w, c));
    assert_int_equal(b->stage, PICTURE_READY);
    assert_int_equal(w->windows[0].frames_ahead, 1);
    assert_int_equal(collect(w), 1);
    assert_true(has(w, b));
    assert_null(w->windows[0].waiting);
    assert_int_equal(w->windows[0].frames_ahead, 0);
    assert_int_equal(w->slots.used, 3);
    world_free(w);
}

/* What the log tells of it. */
static void test_choice(void **state)
{
    struct world *w = world(false);
    add(w, 0, 0, -1);
    add(w, 0, 1, 0);
    uint32_t free_slots = w->slots.free_count;
    w->s.ready = 2; /* as picture_move() counts them */
    assert_int_equal(collect(w), 1);
    assert_int_equal(w->batch.ready, 2);
    assert_int_equal(w->batch.blocked, 0);
    assert_int_equal(w->batch.free_slots, free_slots);
    assert_false(w->batch.short_of_slots);
    free_slots = w->slots.free_count;
    w->slots.free_count = 0;
    assert_int_equal(collect(w), 0);
    assert_int_equal(w->batch.ready, 1);
    assert_int_equal(w->batch.free_slots, 0);
    assert_true(w->batch.short_of_slots);
    w->slots.free_count = free_slots;
    assert_int_equal(collect(w), 1);
    assert_false(w->batch.short_of_slots);
    world_free(w);
}

/* A picture that waits for its reference is looked at again when that is submitted, and at once. */
static void test_blocked(void **state)
{
    struct world *w = world(false);
    struct picture *a = add(w, 0, 0, -1), *b = add(w, 0, 1, 0), *c = add(w, 0, 2, 1);
    struct picture *d = add(w, 0, 3, -1);
    a->stage = PICTURE_ENTROPY;
    w->windows[0].ready--;
    window_counted(&w->windows[0]);
    assert_int_equal(collect(w), 1);
    assert_true(has(w, d));
    assert_true(b->blocked && c->blocked);
    assert_ptr_equal(b->block.by, a);
    assert_int_equal(collect(w), 0);
    a->stage = PICTURE_READY;
    w->windows[0].ready++;
    window_counted(&w->windows[0]);
    assert_int_equal(collect(w), 1);
    assert_false(b->blocked);
    assert_int_equal(w->windows[0].blocked, 1);
    assert_int_equal(collect(w), 1);
    assert_int_equal(collect(w), 1);
    assert_true(has(w, c));
    assert_int_equal(w->windows[0].blocked, 0);
    world_free(w);
}

/* After abort a blocked picture leaves the list of one that is still being decoded. */
static void test_blocked_discarded(void **state)
{
    struct world *w = world(false);
    struct picture *a = add(w, 0, 0, -1), *b = add(w, 0, 1, 0), *c = add(w, 0, 2, 0);
    a->stage = PICTURE_ENTROPY;
    w->windows[0].ready--;
    window_counted(&w->windows[0]);
    assert_int_equal(collect(w), 0);
    assert_int_equal(w->windows[0].blocked, 2);
    w->windows[0].abort = true;
    assert_true(window_discard(&w->windows[0]));
    assert_null(a->block.first);
    assert_false(b->blocked || c->blocked);
    assert_int_equal(w->windows[0].blocked, 0);
    world_free(w);
}

/* Each window its share, beginning with another one each time; then whoever has more. */
static void test_shares(void **state)
{
    struct world *w = world(false);
    for (uint32_t i = 0; i < 8; i++)
        add(w, 0, i, -1);
    struct picture *b = add(w, 1, 8, -1), *c = add(w, 2, 9, -1);
    assert_int_equal(collect(w), WIDTH);
    assert_true(has(w, b) && has(w, c));
    assert_int_equal(w->windows[0].ready, 8 - (WIDTH - 2));
    world_free(w);
}

static void test_aborted(void **state)
{
    struct world *w = world(false);
    add(w, 0, 0, -1);
    struct picture *b = add(w, 1, 1, -1);
    w->windows[0].abort = true;
    assert_int_equal(collect(w), 1);
    assert_true(has(w, b));
    world_free(w);
}

/* A reference from before a change of the store is not read: the picture becomes a copy. That the
 * window came to the same store again is chance. */
static void test_other_store(void **state)
{
    struct world *w = world(false);
    struct picture *b;
    add(w, 0, 0, -1);
    b = add(w, 0, 1, 0);
    b->slot.era++;
    assert_int_equal(collect(w), 1);
    w->sps.max_dpb_frames++;
    assert_int_equal(collect(w), 0);
    struct slots_wish wish = slots_wish_of(&w->windows[0], &w->sps);
    slots_detach(&w->windows[0]);
    slots_attach(&w->windows[0], &w->slots, &wish);
    assert_int_equal(collect(w), 1);
    assert_int_equal(b->outcome, OUTCOME_COPY);
    assert_int_equal(w->entries[0].copy.from, BATCH_GREY);
    world_free(w);
}

/* The store may serve the pictures behind a change: they still wait for those before it, which ask
 * for another store. So pictures that refer to each other have one store. */
static void test_eras(void **state)
{
    struct world *w = world(false);
    struct picture *a = add(w, 0, 0, -1), *b = add(w, 0, 1, -1), *c = add(w, 0, 2, -1);
    b->slot.era++;
    c->slot.era++;
    a->stage = PICTURE_ENTROPY;
    w->windows[0].ready--;
    assert_int_equal(collect(w), 0);
    a->stage = PICTURE_READY;
    w->windows[0].ready++;
    assert_int_equal(collect(w), 3);
    assert_true(has(w, a) && has(w, b) && has(w, c));
    world_free(w);
}

/* A copy has the samples of its first reference that an earlier batch wrote. */
static void test_copy(void **state)
{
    struct world *w = world(false);
    struct picture *a = add(w, 0, 0, -1), *b = add(w, 0, 1, 0);
    collect(w);
    picture_spoil(b);
    assert_int_equal(collect(w), 1);
    struct batch_copy copy = w->entries[0].copy;
    assert_int_equal(copy.from, a->pic->holder.slot);
    assert_int_equal(copy.slot, b->pic->holder.slot);
    assert_int_equal(copy.rows | copy.planes, 0);
    world_free(w);
}

/* A P picture without references reads its own slot: it is made grey first, by a batch before. */
static void test_grey(void **state)
{
    struct world *w = world(false);
    struct picture *p = add(w, 0, 0, -1);
    w->slices[0].hdr.type = H264_P;
    assert_int_equal(collect(w), 1);
    assert_null(w->entries[0].picture);
    assert_int_equal(w->entries[0].copy.from, BATCH_GREY);
    assert_int_equal(p->stage, PICTURE_READY);
    int32_t slot = p->pic->holder.slot;
    assert_int_equal(collect(w), 1);
    assert_true(has(w, p));
    assert_int_equal(p->pic->holder.slot, slot);
    assert_int_equal(w->slots.used, 1);
    world_free(w);
}

/* The second field goes after the first, into the same slot. */
static void test_fields(void **state)
{
    struct world *w = world(true);
    struct picture *a = add(w, 0, 0, -1), *b = add(w, 0, 1, 0);
    a->pic->structure = REC_TOP;
    a->pic->paired = 1;
    b->pic->structure = REC_BOTTOM;
    b->owner = a;
    a->frame.pictures = 2;
    b->frame.pictures = 0;
    assert_int_equal(collect(w), 1);
    assert_false(frame_submitted(a));
    assert_int_equal(collect(w), 1);
    assert_true(frame_submitted(a));
    assert_int_equal(b->pic->holder.slot, a->pic->holder.slot);
    assert_int_equal(w->windows[0].slots.held, 1);
    world_free(w);
}

/* Of a single field the other rows are filled before the frame is delivered or read. */
static void test_single_field(void **state)
{
    struct world *w = world(true);
    struct picture *a = add(w, 0, 0, -1);
    a->pic->structure = REC_TOP;
    w->outputs[0] = (struct output){.pic = a->pic, .structure = REC_FRAME};
    window_output(&w->windows[0], &w->outputs[0]);
    assert_int_equal(collect(w), 1);
    assert_null(batch_next_output(&w->windows[0], &w->batch, true, NULL));
    assert_ptr_equal(batch_next_output(&w->windows[0], &w->batch, false, NULL), &w->outputs[0]);
    struct picture *b = add(w, 0, 1, 0);
    assert_int_equal(collect(w), 1); /* the rows alone */
    assert_null(w->entries[0].picture);
    assert_int_equal(w->entries[0].copy.rows, REC_BOTTOM);
    assert_int_equal(w->entries[0].copy.rows_from, REC_TOP);
    assert_ptr_equal(batch_next_output(&w->windows[0], &w->batch, true, NULL), &w->outputs[0]);
    assert_int_equal(collect(w), 1);
    assert_true(has(w, b));
    world_free(w);
}

/* Outputs leave in their order, and none before its frame. */
static void test_outputs(void **state)
{
    struct world *w = world(false);
    for (uint32_t i = 0; i < 3; i++) {
        add(w, 0, i, i == 1 ? 0 : -1);
        w->outputs[i] = (struct output){.pic = &w->pics[i], .structure = REC_FRAME};
        window_output(&w->windows[0], &w->outputs[i]);
    }
    collect(w);
    struct output *out = batch_next_output(&w->windows[0], &w->batch, true, NULL);
    assert_ptr_equal(out, &w->outputs[0]);
    out->state = OUTPUT_SUBMITTED;
    assert_null(batch_next_output(&w->windows[0], &w->batch, true, out));
    collect(w);
    out = batch_next_output(&w->windows[0], &w->batch, true, NULL);
    assert_ptr_equal(out, &w->outputs[1]);
    assert_ptr_equal(batch_next_output(&w->windows[0], &w->batch, true, out), &w->outputs[2]);
    w->windows[0].abort = true;
    assert_null(batch_next_output(&w->windows[0], &w->batch, true, NULL));
    world_free(w);
}

/* Windows are due once a picture of theirs is submitted, in that order. Those whose next frame lies
 * in another store stay so. */
static void test_due(void **state)
{
    struct world *w = world(false);
    struct slots other = {0};
    assert_null(w->s.due);
    for (uint32_t i = 0; i < 2; i++) {
        add(w, i, i, -1);
        w->outputs[i] = (struct output){.pic = &w->pics[i], .structure = REC_FRAME};
        window_output(&w->windows[i], &w->outputs[i]);
    }
    assert_int_equal(collect(w), 2);
    assert_true(w->windows[0].due.listed && w->windows[1].due.listed);
    struct window *first = w->s.due;
    window_due(first);
    assert_ptr_equal(first->due.next, first == &w->windows[0] ? &w->windows[1] : &w->windows[0]);
    assert_false(batch_leaves_output(first, &w->batch));
    w->batch.slots = &other;
    assert_true(batch_leaves_output(first, &w->batch));
    window_not_due(&w->s, &w->s.due);
    assert_false(first->due.listed);
    window_due(first); /* last now */
    assert_ptr_equal(w->s.due->due.next, first);
    window_close(first);
    assert_null(w->s.due->due.next);
    window_not_due(&w->s, &w->s.due);
    assert_null(w->s.due);
    world_free(w);
}

static void test_in_flight(void **state)
{
    struct world *w = world(false);
    assert_int_equal(batches_most(&w->s), BATCHES_IN_FLIGHT);
    w->s.setting.tuning.flight = 1;
    assert_int_equal(batches_most(&w->s), 1);
    w->s.setting.tuning.flight = 0;
    window_set_live(&w->windows[1], true);
    assert_int_equal(batches_most(&w->s), BATCHES_IN_FLIGHT - 1);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references),  cmocka_unit_test(test_choice),
        cmocka_unit_test(test_blocked),     cmocka_unit_test(test_blocked_discarded),
        cmocka_unit_test(test_shares),      cmocka_unit_test(test_aborted),
        cmocka_unit_test(test_other_store), cmocka_unit_test(test_eras),
        cmocka_unit_test(test_copy),        cmocka_unit_test(test_grey),
        cmocka_unit_test(test_fields),      cmocka_unit_test(test_single_field),
        cmocka_unit_test(test_outputs),     cmocka_unit_test(test_due),
        cmocka_unit_test(test_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
