/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which rows of LIVE pictures are reconstructed before the picture is decoded.
 */
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/rows.h"
#include "daemon/worker/schedule/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define WIDTH  80u
#define HEIGHT 45u
#define PARTS  5u
#define STEP   (HEIGHT / PARTS)

/* A picture that is being decoded, and the one that it reads. */
struct world {
    struct schedule s;
    struct window window;
    struct slots slots;
    struct h264_sps sps;
    struct picture ref, p;
    struct h264_picture ref_pic, pic;
    struct h264_slice slice;
    uint8_t nal[2];
};

static struct world *world(void)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->sps = (struct h264_sps){.mb_width = WIDTH,
                               .mb_height = HEIGHT,
                               .chroma_format_idc = 1,
                               .bit_depth = {8, 8},
                               .frame_mbs_only_flag = 1,
                               .max_dpb_frames = 4};
    w->s.setting.tuning.rows = PARTS;
    struct slots_key key = slots_key_of(&w->sps);
    assert_true(slots_init(&w->slots, &w->s, &key, 20));
    slots_add(&w->s, &w->slots);
    window_open(&w->window, &w->s);
    struct slots_wish wish = slots_wish_of(&w->window, &w->sps);
    slots_attach(&w->window, &w->slots, &wish);
    w->nal[0] = 0x65;
    w->slice = (struct h264_slice){.hdr = {.type = H264_P}, .nal = w->nal, .pic = &w->pic};
    w->ref_pic = (struct h264_picture){.sps = &w->sps, .holder = {.slot = 0, .user = &w->ref}};
    w->pic = (struct h264_picture){.sps = &w->sps,
                                   .structure = REC_FRAME,
                                   .mb_width = WIDTH,
                                   .mb_height = HEIGHT,
                                   .mb_count = WIDTH * HEIGHT,
                                   .slices = &w->slice,
                                   .slice_count = 1,
                                   .refs_held = {&w->ref_pic},
                                   .refs_held_count = 1,
                                   .holder = {.slot = -1, .user = &w->p}};
    w->ref = (struct picture){.stage = PICTURE_SUBMITTED,
                              .pic = &w->ref_pic,
                              .window = &w->window,
                              .owner = &w->ref,
                              .slot = {.slots = &w->slots},
                              .frame = {.pictures = 1, .submitted = 1}};
    w->p = (struct picture){.stage = PICTURE_ENTROPY,
                            .pic = &w->pic,
                            .window = &w->window,
                            .owner = &w->p,
                            .frame = {.pictures = 1}};
    w->window.first = w->window.waiting = &w->p;
    window_works(&w->window);
    return w;
}

static void world_free(struct world *w)
{
    slots_free(&w->slots);
    free(w);
}

static void begin(struct world *w)
{
    const struct rec_seen seen = {.intra = 1};
    rows_begin(&w->s, &w->p);
    assert_int_equal(w->p.rows.step, STEP);
    rows_ready(&w->s, &w->p, STEP, &seen);
}

/* Pictures that the shaders for rows can do, and that are large enough. */
static void test_begin(void **state)
{
    struct world *w = world();
    w->s.setting.tuning.rows = 0;
    rows_begin(&w->s, &w->p);
    assert_int_equal(w->p.rows.step, HEIGHT / LIVE_ROWS_PARTS);
    w->p.rows.step = 0;
    w->pic.mb_count = LIVE_ROWS_MBS - 1;
    rows_begin(&w->s, &w->p);
    assert_int_equal(w->p.rows.step, 0);
    w->pic.mb_count = LIVE_ROWS_MBS;
    w->s.setting.software = true;
    rows_begin(&w->s, &w->p);
    assert_int_equal(w->p.rows.step, 0);
    w->s.setting.software = false;
    w->s.setting.tuning.rows = 1;
    rows_begin(&w->s, &w->p);
    assert_int_equal(w->p.rows.step, 0);
    w->s.setting.tuning.rows = PARTS;
    for (int i = 0; i < 6; i++) {
        w->pic.slice_count = i == 0 ? 2 : 1;
        w->pic.structure = i == 1 ? REC_TOP : REC_FRAME;
        w->sps.bit_depth[1] = i == 2 ? 9 : 8;
        w->slice.hdr.type = i == 3 ? H264_SP : H264_P;
        w->nal[0] = i == 4 ? 0x62 : 0x65; /* data partitions */
        w->slice.hdr.first_mb = i == 5;
        rows_begin(&w->s, &w->p);
        assert_int_equal(w->p.rows.step, 0);
    }
    w->slice.hdr.first_mb = 0;
    begin(w);
    world_free(w);
}

/* The last macroblocks stay behind, and the last part is for the picture's own batch. */
static void test_more(void **state)
{
    struct world *w = world();
    assert_int_equal(rows_more(&w->s, &w->p, WIDTH * HEIGHT), 0); /* not begun */
    rows_begin(&w->s, &w->p);
    assert_int_equal(rows_more(&w->s, &w->p, WIDTH * (STEP + 1) - 1), 0);
    assert_int_equal(rows_more(&w->s, &w->p, WIDTH * (STEP + 1)), STEP);
    assert_int_equal(rows_more(&w->s, &w->p, WIDTH * (STEP + 3)), STEP + 2);
    w->p.rows.ready = STEP + 2;
    assert_int_equal(rows_more(&w->s, &w->p, WIDTH * (2 * STEP + 2)), 0);
    assert_int_equal(rows_more(&w->s, &w->p, WIDTH * (2 * STEP + 3)), 2 * STEP + 2);
    assert_int_equal(rows_more(&w->s, &w->p, WIDTH * (HEIGHT - STEP + 1)), HEIGHT - STEP);
    assert_int_equal(rows_more(&w->s, &w->p, WIDTH * (HEIGHT - STEP + 2)), 0);
    w->p.rows.ready = 0; /* narrow: 60 macroblocks are three rows */
    w->pic.mb_width = 22;
    assert_int_equal(rows_more(&w->s, &w->p, 22 * (STEP + 3) - 1), 0);
    assert_int_equal(rows_more(&w->s, &w->p, 22 * (STEP + 3)), STEP);
    assert_int_equal(rows_more(&w->s, &w->p, 22 * (STEP + 5)), STEP + 2);
    world_free(w);
}

static void refuse(struct world *w)
{
    assert_null(rows_take(&w->s, &w->slots));
    assert_null(w->p.slot.slots);
}

/* As a batch would: in order, after all that it reads, with a slot. */
static void test_take(void **state)
{
    struct world *w = world();
    refuse(w); /* nothing is ready */
    begin(w);
    assert_true(w->s.wakes.device);
    w->p.stage = PICTURE_READY;
    refuse(w);
    w->p.stage = PICTURE_ENTROPY;
    w->ref.stage = PICTURE_READY;
    refuse(w);
    w->ref.stage = PICTURE_SUBMITTED;
    w->p.slot.era++; /* a change of the store is between them */
    refuse(w);
    w->p.slot.era--;
    w->window.abort = true;
    refuse(w);
    w->window.abort = false;
    w->pic.refs_held_count = 0; /* it needs a grey slot */
    refuse(w);
    w->pic.refs_held_count = 1;
    w->p.rows.refused = true;
    refuse(w);
    w->p.rows.refused = false;
    w->s.live.pictures = 2;
    refuse(w);
    w->s.live.pictures = 1;
    uint32_t free_count = w->slots.free_count;
    w->slots.free_count = 0;
    refuse(w);
    assert_false(w->window.starves);
    w->slots.free_count = free_count;
    assert_ptr_equal(rows_take(&w->s, &w->slots), &w->p);
    assert_ptr_equal(w->p.slot.slots, &w->slots);
    assert_int_equal(w->slots.used, 1);
    w->p.rows.submitted = STEP;
    assert_null(rows_take(&w->s, &w->slots));
    w->p.rows.ready = 2 * STEP; /* it keeps its slot */
    assert_ptr_equal(rows_take(&w->s, &w->slots), &w->p);
    assert_int_equal(w->slots.used, 1);
    world_free(w);
}

/* Rows of a picture that is damaged after all are done again. */
static void test_done(void **state)
{
    struct world *w = world();
    w->p.rows.submitted = STEP;
    w->p.motion.followed = WIDTH * HEIGHT;
    assert_int_equal(rows_done(&w->p), STEP);
    w->p.motion.followed--;
    assert_int_equal(rows_done(&w->p), 0);
    w->p.motion.followed++;
    atomic_store(&w->pic.damage.missing_mbs, 1);
    assert_int_equal(rows_done(&w->p), 0);
    atomic_store(&w->pic.damage.missing_mbs, 0);
    picture_spoil(&w->p);
    assert_int_equal(rows_done(&w->p), 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begin),
        cmocka_unit_test(test_more),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
