/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the coders do next, and what becomes of refused pictures.
 */
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/schedule/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define WINDOWS  2
#define PICTURES 32

struct world {
    struct schedule s;
    struct window windows[WINDOWS];
    struct h264_sps sps;
    struct picture pictures[PICTURES];
    struct h264_picture pics[PICTURES];
    uint64_t random;
};

static struct world *world(void)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->random = 1;
    w->s.setting.coders = 1;
    w->s.setting.lookahead = 16;
    for (uint32_t i = 0; i < WINDOWS; i++) {
        window_open(&w->windows[i], &w->s);
        window_works(&w->windows[i]);
    }
    return w;
}

/* Picture i enters a window; col: another picture whose motion must come first, or -1. */
static struct picture *add(struct world *w, uint32_t window, uint32_t i, uint32_t slices, int col)
{
    struct picture_facts facts = {.entropy_gpu = true, .motion_gpu = true, .largest_slice = 1};
    struct picture *p = &w->pictures[i];
    w->pics[i] = (struct h264_picture){
        .id = i, .sps = &w->sps, .mb_count = 16, .slice_count = slices, .structure = REC_FRAME};
    w->pics[i].holder.user = p;
    *p = (struct picture){.pic = &w->pics[i], .window = &w->windows[window]};
    p->entropy.slices_left = slices;
    p->entropy.slice_chunk = 1;
    p->entropy.bytes = 100;
    p->pace = window_pace(&w->windows[window], slices);
    if (p->pace == PACE_LIVE)
        p->records = p->coeffs = LIVES_HOST;
    if (col >= 0)
        facts.colocated[facts.colocated_count++] = &w->pics[col];
    window_add(&w->windows[window], p, &facts, 1);
    return p;
}

static struct coder_work take(struct world *w)
{
    struct coder_work work;
    coder_take(&w->s, &w->random, 1, &work);
    return work;
}

/* All that coders do up to DECODED. */
static void decode(struct world *w, struct picture *p)
{
    struct coder_work work = take(w);
    assert_int_equal(work.task, TASK_ARRAYS);
    assert_ptr_equal(work.picture, p);
    coder_arrays_done(&w->s, p, false, &work);
    while (!coder_slices_done(p, work.to - work.from)) {
        work = take(w);
        assert_int_equal(work.task, TASK_SLICES);
    }
    coder_decoded(&w->s, p, false, NULL, 1);
}

static void expect_motion(struct world *w, struct picture *p)
{
    struct coder_work work = take(w);
    assert_int_equal(work.task, TASK_MOTION);
    assert_ptr_equal(work.picture, p);
    coder_motion_done(&w->s, p, false, 1);
}

/* A stream that comes late does not wait for the look-ahead of the others. */
static void test_turns(void **state)
{
    struct world *w = world();
    for (uint32_t i = 0; i < 4; i++)
        add(w, 0, i, 1, -1);
    for (uint32_t i = 0; i < 2; i++)
        add(w, 1, 4 + i, 1, -1);
    static const uint32_t order[] = {0, 4, 1, 5, 2, 3};
    for (uint32_t i = 0; i < 6; i++) {
        decode(w, &w->pictures[order[i]]);
        expect_motion(w, &w->pictures[order[i]]);
    }
    assert_int_equal(take(w).task, TASK_NONE);
    assert_int_equal(w->s.entropy.bytes, 0);
    free(w);
}

/* Slices of one picture go to several coders; its last one counts. */
static void test_slices(void **state)
{
    struct world *w = world();
    struct picture *p = add(w, 0, 0, 3, -1);
    struct coder_work first = take(w), second, third;
    assert_int_equal(take(w).task, TASK_NONE); /* its arrays are being made */
    coder_arrays_done(&w->s, p, false, &first);
    second = take(w);
    third = take(w);
    assert_int_equal(take(w).task, TASK_NONE);
    assert_int_equal(first.from + second.from + third.from, 0 + 1 + 2);
    assert_int_equal(w->s.entropy.count, 0);
    assert_false(coder_slices_done(p, 1));
    assert_false(coder_slices_done(p, 1));
    assert_true(coder_slices_done(p, 1));
    assert_int_equal(p->stage, PICTURE_ENTROPY);
    free(w);
}

/* Motion waits for that of the colocated picture, whatever is decoded first. */
static void test_colocated(void **state)
{
    struct world *w = world();
    struct picture *a = add(w, 0, 0, 1, -1), *b = add(w, 0, 1, 1, 0);
    struct coder_work work = take(w);
    decode(w, b);
    assert_int_equal(b->motion.waits, 1);
    assert_int_equal(take(w).task, TASK_NONE);
    coder_arrays_done(&w->s, a, false, &work);
    assert_true(coder_slices_done(a, 1));
    coder_decoded(&w->s, a, false, NULL, 1);
    expect_motion(w, a);
    expect_motion(w, b);
    assert_int_equal(w->windows[0].ready, 2);
    free(w);
}

/* Coders decoded it, the GPU derives its motion; refused and intact, a coder only derives. */
static void test_motion_refused(void **state)
{
    struct world *w = world();
    struct picture *p = add(w, 0, 0, 1, -1);
    struct coder_work work;
    w->s.split.motion_mbs = 100;
    work = take(w);
    coder_arrays_done(&w->s, p, false, &work);
    assert_false(work.follows);
    assert_true(coder_slices_done(p, 1));
    coder_decoded(&w->s, p, true, NULL, 1);
    assert_int_equal(take(w).task, TASK_NONE);
    assert_ptr_equal(gpu_motion_take(&w->s, 1), p);
    gpu_motion_untake(&w->s, p);
    assert_ptr_equal(gpu_motion_take(&w->s, 1), p);
    gpu_motion_refused(&w->s, p, true, 1);
    assert_int_equal(p->refusals, 0);
    expect_motion(w, p);
    assert_int_equal(p->stage, PICTURE_READY);
    free(w);
}

/* Refused with its arrays gone: it is decoded again, before others, and by coders alone. */
static void test_decoded_again(void **state)
{
    struct world *w = world();
    struct picture *p = add(w, 0, 0, 2, -1);
    queue_remove(&w->s, p);
    p->can |= CAN_ENTROPY_GPU;
    picture_move(p, EDGE_TAKE_GPU);
    add(w, 0, 1, 1, -1);
    gpu_entropy_refused(&w->s, p, 1);
    assert_int_equal(p->can & (CAN_ENTROPY_GPU | CAN_MOTION_GPU), 0);
    assert_int_equal(p->refusals, 1);
    assert_ptr_equal(w->s.entropy.first, p);
    decode(w, p);
    expect_motion(w, p);
    free(w);
}

/* What the GPU has decoded is checked by a coder; bad records go back into the queue. */
static void test_import_refused(void **state)
{
    struct world *w = world();
    struct picture *p = add(w, 0, 0, 1, -1);
    queue_remove(&w->s, p);
    p->can |= CAN_ENTROPY_GPU;
    picture_move(p, EDGE_TAKE_GPU);
    p->records = LIVES_HOST;
    p->coeffs = LIVES_DEVICE;
    gpu_entropy_done(&w->s, p, 5, 1);
    struct coder_work work = take(w);
    assert_int_equal(work.task, TASK_IMPORT);
    coder_import_done(&w->s, p, false, false, 1);
    assert_int_equal(p->records | p->coeffs, LIVES_NOWHERE);
    decode(w, p);
    expect_motion(w, p);
    free(w);
}

/* After abort what waits is dropped, and what is in work when it comes back. */
static void test_abort(void **state)
{
    struct world *w = world();
    struct picture *a = add(w, 0, 0, 1, -1), *b = add(w, 0, 1, 1, 0), *c = add(w, 0, 2, 1, 1);
    struct coder_work work = take(w);
    coder_arrays_done(&w->s, a, false, &work);
    window_abort(&w->windows[0]);
    assert_int_equal(take(w).task, TASK_NONE);
    assert_int_equal(b->stage, PICTURE_READY);
    assert_int_equal(c->outcome, OUTCOME_COPY);
    assert_true(coder_slices_done(a, 1));
    coder_decoded(&w->s, a, false, NULL, 1);
    assert_int_equal(a->stage, PICTURE_READY);
    assert_null(w->s.motion_cpu);
    assert_true(window_discard(&w->windows[0]));
    assert_int_equal(w->windows[0].busy, 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_ptr_equal(window_retire(&w->windows[0]), &w->pics[i]);
    assert_null(window_retire(&w->windows[0]));
    free(w);
}

/* A LIVE picture's only slice is shared: a second coder derives its motion meanwhile. */
static void test_live(void **state)
{
    struct world *w = world();
    window_set_live(&w->windows[0], true);
    struct picture *p = add(w, 0, 0, 1, -1);
    assert_int_equal(p->pace, PACE_LIVE);
    assert_int_equal(w->s.live.pictures, 1);
    assert_int_equal(w->s.wakes.coders, 1);
    assert_true(w->s.wakes.device);
    p->can |= CAN_PER_SLICE;
    struct coder_work work = take(w);
    assert_int_equal(work.task, TASK_SLICES);
    assert_true(work.shared);
    assert_int_equal(take(w).task, TASK_FOLLOW);
    assert_false(coder_slices_done(p, 1));
    assert_true(coder_slices_done(p, 1));
    coder_decoded(&w->s, p, false, NULL, 1);
    expect_motion(w, p);
    assert_int_equal(w->windows[0].arrays.begun, 0);
    free(w);
}

/* The GPU has pictures of a window in work, and the coders are far ahead of these. */
static void test_far_ahead(void **state)
{
    struct world *w = world();
    w->s.setting.lookahead = 2;
    w->s.split.depth = 8;
    for (uint32_t i = 0; i < 4; i++)
        add(w, 0, i, 1, -1);
    for (uint32_t i = 0; i < 2; i++) {
        decode(w, &w->pictures[i]);
        expect_motion(w, &w->pictures[i]);
    }
    assert_int_equal(take(w).task, TASK_NONE);
    w->s.split.depth = 0; /* it fails */
    assert_int_equal(take(w).task, TASK_ARRAYS);
    free(w);
}

/* The arrays of pictures fill the window's share of the budget: below, at and above the limit. */
static void test_budget(void **state)
{
    for (int more = -1; more <= 1; more++) {
        struct world *w = world();
        struct window *window = &w->windows[0];
        w->s.setting.lookahead = 0;
        w->s.setting.coders = 8;
        w->s.split.depth = 8;
        w->s.setting.window_budget = 1 << 30;
        window->picture_bytes = window_picture_bytes(&w->sps, 16);
        for (uint32_t i = 0; i < 12; i++)
            add(w, 0, i, 1, -1);
        uint64_t sum = 0;
        for (uint32_t i = 0; i < 10; i++) {
            decode(w, &w->pictures[i]);
            expect_motion(w, &w->pictures[i]);
            sum += w->pictures[i].need;
            assert_int_equal(window->arrays.bytes, sum);
        }
        /* two windows share it */
        w->s.setting.window_budget = 2 * (sum + window->picture_bytes) + 2 * (uint64_t)more;
        assert_int_equal(take(w).task, more < 0 ? TASK_NONE : TASK_ARRAYS);
        free(w);
    }
}

/* Arrays count as they are: by the bytes of slices at first, then by the room that was made. */
static void test_need(void **state)
{
    struct world *w = world();
    struct window *window = &w->windows[0];
    uint64_t most = window_picture_bytes(&w->sps, 16);
    window->picture_bytes = most;
    w->pics[0].bytes_size = 0;
    struct picture *p = add(w, 0, 0, 1, -1), *q = add(w, 0, 1, 2, -1);
    uint64_t first =
        window_need(p->pic, 4ull * h264_picture_packed_room(p->pic, split_coder_words(p->pic)));
    assert_int_equal(p->need, first);
    assert_true(first < most);
    /* of several slices: all that there can be, a table, and the rests of chunks */
    assert_int_equal(q->need, window_need(q->pic, 4ull * h264_picture_packed_room(q->pic, 0)));
    assert_true(q->need > most);
    assert_true(window->picture_bytes < q->need);
    assert_int_equal(window->arrays.bytes, 0);
    decode(w, p);
    assert_int_equal(window->arrays.bytes, first);
    p->pic->arrays.packed_capacity = 2 * (p->pic->mb_count + split_coder_words(p->pic));
    window_grew(p);
    assert_true(window->arrays.bytes > first);
    assert_int_equal(window->arrays.bytes, p->need);
    expect_motion(w, p);
    free(w);
}

static bool taken_with_records(struct world *w, struct picture *p)
{
    decode(w, p);
    expect_motion(w, p);
    return p->motion.host;
}

/* Records of references come to host memory while others are likely to read them there. */
static void test_records(void **state)
{
    struct world *w = world();
    struct window *window = &w->windows[0];
    uint64_t need;
    for (uint32_t i = 0; i < 8; i++) {
        add(w, 0, i, 1, -1);
        w->pics[i].nal_ref_idc = i != 1;
    }
    assert_false(taken_with_records(w, &w->pictures[0]));
    window_read_records(window);
    assert_true(window_reads_records(window));
    assert_false(taken_with_records(w, &w->pictures[1])); /* no reference */
    assert_true(taken_with_records(w, &w->pictures[2]));
    window->created += WINDOW_READ;
    assert_true(window_wants_records(&w->pictures[2])); /* as it was taken */
    assert_false(taken_with_records(w, &w->pictures[3]));
    w->pics[4].bytes_size = 16 * (32 + 136) + 1; /* more than its records */
    assert_true(taken_with_records(w, &w->pictures[4]));
    window_set_live(window, true);
    assert_true(taken_with_records(w, &w->pictures[5]));
    window_set_live(window, false);
    window->both_views = true;
    assert_true(taken_with_records(w, &w->pictures[6]));
    need = w->pictures[7].need;
    decode(w, &w->pictures[7]);
    window_dropped_records(&w->pictures[7]);
    assert_int_equal(w->pictures[7].need, need - window_need(&w->pics[7], 0));
    expect_motion(w, &w->pictures[7]);
    free(w);
}

/* What reads records says so when it comes. */
static void test_reads_records(void **state)
{
    struct world *w = world();
    struct picture_facts facts = {.reads_records = true};
    struct picture *p = add(w, 0, 0, 1, -1), *q = &w->pictures[1];
    p->pic->nal_ref_idc = 1;
    assert_false(window_wants_records(p));
    w->pics[1] = w->pics[0];
    *q = (struct picture){.pic = &w->pics[1], .window = &w->windows[0], .entropy.slices_left = 1};
    window_add(&w->windows[0], q, &facts, 1);
    assert_true(window_wants_records(p));
    free(w);
}

/* The device's thread looks at each window once, in the order of their news. */
static void test_notes(void **state)
{
    enum { COUNT = 4 };
    struct schedule s = {0};
    struct window windows[COUNT] = {0};
    for (uint32_t i = 0; i < COUNT; i++)
        window_open(&windows[i], &s);
    assert_null(window_take_noted(&s));
    for (uint32_t i = 0; i < 2 * COUNT; i++)
        note_window(&windows[(i + 1) % COUNT]);
    assert_int_equal(s.noted_count, COUNT);
    assert_false(s.wakes.device);
    assert_ptr_equal(window_take_noted(&s), &windows[1]);
    wake_window(&windows[1]); /* behind the others now */
    assert_true(s.wakes.device);
    window_close(&windows[3]); /* between others */
    assert_ptr_equal(window_take_noted(&s), &windows[2]);
    window_close(&windows[1]); /* the last one */
    assert_int_equal(s.noted_count, 1);
    note_window(&windows[2]);
    assert_ptr_equal(window_take_noted(&s), &windows[0]);
    window_close(&windows[2]); /* the only one */
    assert_null(window_take_noted(&s));
    assert_int_equal(s.noted_count, 0);
    note_window(&windows[0]);
    assert_ptr_equal(window_take_noted(&s), &windows[0]);
}

/* The first pictures of a stream are not the GPU's, unless they have to wait for other streams. */
static void test_first_pictures(void **state)
{
    for (uint32_t coders = WINDOWS - 1; coders <= WINDOWS; coders++) {
        struct world *w = world();
        w->s.setting.coders = coders;
        assert_false(add(w, 0, 0, 1, -1)->can & CAN_ENTROPY_GPU);
        assert_int_equal((add(w, 0, 1, 1, -1)->can & CAN_ENTROPY_GPU) != 0, coders < WINDOWS);
        free(w);
    }
}

/* Small pictures are left to the GPU, while that works, by all coders but a few. */
static void test_left(void **state)
{
    enum { BATCH = 8 };
    struct world *w = world();
    w->s.setting.entropy = ENGINE_ENTROPY_BOTH;
    w->s.split.depth = w->s.split.batch = BATCH;
    w->s.split.works = 1;
    for (uint32_t i = 0; i < BATCH; i++)
        add(w, i % 2, i, 1, -1);
    decode(w, &w->pictures[0]); /* the only coder takes what it finds */
    expect_motion(w, &w->pictures[0]);
    w->s.setting.coders = 3;
    w->s.at_work_count = 4;
    w->s.idle = 1;              /* the one that asks, and another one */
    decode(w, &w->pictures[1]); /* a first picture is not the GPU's */
    expect_motion(w, &w->pictures[1]);
    assert_int_equal(take(w).task, TASK_NONE);
    w->s.wakes.coders = 0;
    add(w, 0, BATCH, 1, -1);
    assert_int_equal(w->s.wakes.coders, 0);
    w->s.idle = 3;
    add(w, 0, BATCH + 1, 1, -1);
    assert_int_equal(w->s.wakes.coders, 1);
    w->s.idle = 1;
    w->s.split.works = 0;
    decode(w, &w->pictures[2]);
    free(w);
}

/* No coder is woken in vain when a stream is given up. */
static void test_abort_wakes(void **state)
{
    struct world *w = world();
    window_abort(&w->windows[0]);
    assert_int_equal(w->s.wakes.coders, 0);
    add(w, 1, 0, 1, -1);
    w->s.wakes.coders = 0;
    window_abort(&w->windows[1]);
    assert_int_equal(w->s.wakes.coders, 1);
    assert_true(w->s.wakes.device && w->windows[1].noted);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),          cmocka_unit_test(test_slices),
        cmocka_unit_test(test_colocated),      cmocka_unit_test(test_motion_refused),
        cmocka_unit_test(test_decoded_again),  cmocka_unit_test(test_import_refused),
        cmocka_unit_test(test_abort),          cmocka_unit_test(test_live),
        cmocka_unit_test(test_far_ahead),      cmocka_unit_test(test_budget),
        cmocka_unit_test(test_need),           cmocka_unit_test(test_records),
        cmocka_unit_test(test_reads_records),  cmocka_unit_test(test_notes),
        cmocka_unit_test(test_first_pictures), cmocka_unit_test(test_left),
        cmocka_unit_test(test_abort_wakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
