/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Availability of neighbours (6.4.8) with slice groups. The test walks random maps of macroblocks
 * and of MBAFF pairs, with several slices to a group. A neighbour is available if it is of the same
 * slice: of the same group, and not before the slice's first macroblock.
 */
#include "codec/macroblock.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define WIDTH  7
#define HEIGHT 6
#define COUNT  (WIDTH * HEIGHT)

static uint32_t random_below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 16) % n;
}

struct walk {
    struct mb_parser p;
    struct h264_slice slice;
    struct h264_pps pps;
    struct mb_edge line[WIDTH];
    uint32_t line_addr[WIDTH];
    struct mb_pair pairs[WIDTH];
    uint8_t map[2 * COUNT];
};

/* Unit: a macroblock, or a pair. */
static bool same_slice(const struct walk *w, uint32_t first, uint32_t unit, int x, int y)
{
    uint32_t step = 1u << w->p.format.mbaff_frame;
    uint32_t other = (uint32_t)(y * WIDTH + x);
    if (x < 0 || x >= WIDTH || y < 0)
        return false;
    return other >= first && w->map[other * step] == w->map[unit * step];
}

static unsigned expected(const struct walk *w, uint32_t first, uint32_t unit)
{
    int x = (int)(unit % WIDTH), y = (int)(unit / WIDTH);
    return (same_slice(w, first, unit, x - 1, y) ? REC_AVAIL_A : 0) |
           (same_slice(w, first, unit, x, y - 1) ? REC_AVAIL_B : 0) |
           (same_slice(w, first, unit, x + 1, y - 1) ? REC_AVAIL_C : 0) |
           (same_slice(w, first, unit, x - 1, y - 1) ? REC_AVAIL_D : 0);
}

static void begin(struct walk *w, bool mbaff, uint32_t groups, uint32_t *state)
{
    struct mb_parser *p = &w->p;
    memset(w, 0, sizeof(*w));
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t group = (uint8_t)random_below(state, groups);
        if (mbaff)
            w->map[2 * i] = w->map[2 * i + 1] = group;
        else
            w->map[i] = group;
    }
    p->slice = &w->slice;
    p->pps = &w->pps;
    p->mb_width = WIDTH;
    p->format.mbaff_frame = mbaff;
    p->groups = w->map;
    p->line.edges = w->line;
    p->line.addr = w->line_addr;
    p->mbaff.line = w->pairs;
    p->end_mb = COUNT << mbaff;
    p->format.avail_mask = p->format.avail_need = EDGE_AVAILABLE;
}

static void begin_slice(struct walk *w, uint32_t first)
{
    struct mb_parser *p = &w->p;
    memset(w->line_addr, 0xff, sizeof(w->line_addr));
    p->near.d_addr = ADDR_NONE;
    p->mbaff.replaced.pair = ADDR_NONE;
    for (int x = 0; x < WIDTH; x++)
        w->pairs[x].pair = ADDR_NONE;
    p->first_mb = p->addr = first << p->format.mbaff_frame;
    p->mb_x = first % WIDTH;
    p->edge.flags = EDGE_AVAILABLE;
}

static void visit(struct walk *w, uint32_t first)
{
    struct mb_parser *p = &w->p;
    if (!p->format.mbaff_frame) {
        h264_neighbours_find(p);
        assert_int_equal(p->intra_avail, expected(w, first, p->addr));
        h264_neighbours_publish_group(p);
        return;
    }
    h264_mbaff_begin(p);
    for (unsigned bottom = 0; bottom < 2; bottom++) {
        h264_mbaff_select(p, bottom, 1);
        h264_mbaff_find(p);
        assert_int_equal(p->intra_avail, expected(w, first, p->addr >> 1));
        h264_mbaff_publish(p);
    }
}

/* All macroblocks of a group, in slices of random length. */
static void walk_group(struct walk *w, uint8_t group, uint32_t *state)
{
    uint32_t first = 0, step = 1u << w->p.format.mbaff_frame;
    bool open = false;
    for (uint32_t unit = 0; unit < COUNT; unit++) {
        if (w->map[unit * step] != group)
            continue;
        if (!open || random_below(state, 9) == 0) {
            first = unit;
            open = true;
            begin_slice(w, first);
        }
        w->p.addr = unit * step;
        w->p.mb_x = unit % WIDTH;
        visit(w, first);
    }
}

static void walk_maps(bool mbaff)
{
    uint32_t state = 20070926;
    print_message("seed %u\n", state);
    for (int i = 0; i < 300; i++) {
        uint32_t groups = 1 + random_below(&state, 8);
        struct walk w;
        begin(&w, mbaff, groups, &state);
        for (uint8_t group = 0; group < groups; group++)
            walk_group(&w, group, &state);
    }
}

static void test_macroblocks(void **state)
{
    walk_maps(false);
}

static void test_pairs(void **state)
{
    walk_maps(true);
}

/* 8.2.2.9 */
static void test_next_pair(void **state)
{
    struct walk w;
    uint32_t seed = 1;
    begin(&w, true, 3, &seed);
    for (uint32_t pair = 0; pair + 1 < COUNT; pair++) {
        uint32_t next = pair + 1;
        while (next < COUNT && w.map[2 * next] != w.map[2 * pair])
            next++;
        w.p.addr = 2 * pair + 1;
        w.p.mb_x = pair % WIDTH;
        mb_next_pair(&w.p);
        assert_int_equal(w.p.addr, 2 * next);
        assert_int_equal(w.p.mb_x, next % WIDTH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macroblocks),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_next_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
