/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values of inverse transforms that are out of range (8.5.10 to 8.5.13): random macroblocks near
 * the limit. The verdict is that of the judge, which computes with the slow reference. Where a
 * value is out of range, the sum of levels is suspect.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "codec/macroblock.h"
#include "tests/damage/judge.h"
#include "tests/streamgen/rng.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 40000, MOST_BLOCKS = 48 };

/* A picture of one macroblock. */
struct world {
    struct rng rng;
    struct h264_sps sps;
    struct h264_pps pps;
    struct h264_picture pic;
    struct h264_slice slice;
    struct rec_mb mb;
    struct rec_slice rec_slice;
    struct rec_scaling scaling;
    int32_t levels[MOST_BLOCKS * 16];
    int16_t narrow[MOST_BLOCKS * 16];
    struct mb_parser p;
};

static void choose_format(struct world *w)
{
    static const uint8_t chroma_blocks[4] = {0, 4, 8, 16};
    struct rng *r = &w->rng;
    struct mb_format *f = &w->p.format;
    f->chroma_array_type = (uint8_t)rng_below(r, 4);
    f->chroma_blocks = chroma_blocks[f->chroma_array_type];
    w->sps.chroma_format_idc = f->chroma_array_type;
    for (unsigned i = 0; i < 2; i++) {
        w->sps.bit_depth[i] = (uint8_t)(rng_one_in(r, 2) ? 8 : 8 + rng_below(r, 7));
        f->qp_bd_offset[i] = 6 * (w->sps.bit_depth[i] - 8);
        w->pps.chroma_qp_offset[i] = (int8_t)((int)rng_below(r, 25) - 12);
    }
    f->wide = w->sps.bit_depth[0] > 8 || w->sps.bit_depth[1] > 8;
    w->sps.seq_scaling_matrix_present_flag = (uint8_t)rng_one_in(r, 2);
    memset(&w->scaling, 16, sizeof(w->scaling));
    uint8_t *lists = (uint8_t *)&w->scaling;
    for (size_t i = 0; i < sizeof(w->scaling) && w->sps.seq_scaling_matrix_present_flag; i++)
        lists[i] = (uint8_t)(1 + rng_below(r, rng_one_in(r, 3) ? 255 : 40));
    w->sps.scaling = w->scaling;
}

/* Which blocks are coded, as step 2 leaves it. */
static void choose_coded(struct world *w)
{
    struct rng *r = &w->rng;
    bool large = w->mb.flags & REC_MB_TRANSFORM_8X8;
    for (unsigned i = 0; i < 3; i++) {
        bool luma = !i || w->p.format.chroma_array_type == 3;
        unsigned all = luma ? 0xffff : (1u << w->p.format.chroma_blocks) - 1;
        unsigned coded = (unsigned)rng_next(r) & all;
        if (rng_one_in(r, 3))
            coded = all;
        if (luma && large)
            coded = (coded & 0x1111) * 15;
        w->mb.coded[i] = (uint16_t)coded;
    }
}

static void choose_macroblock(struct world *w)
{
    static const uint8_t kinds[] = {REC_MB_INTRA_4X4, REC_MB_INTRA_8X8, REC_MB_INTRA_16X16,
                                    REC_MB_INTER};
    struct rng *r = &w->rng;
    w->mb = (struct rec_mb){.kind = kinds[rng_below(r, 4)]};
    if (w->mb.kind == REC_MB_INTRA_8X8 || (w->mb.kind == REC_MB_INTER && rng_one_in(r, 2)))
        w->mb.flags = REC_MB_TRANSFORM_8X8;
    choose_coded(w);
    h264_set_qp(&w->p, (int)rng_below(r, (uint32_t)(52 + w->p.format.qp_bd_offset[0])) -
                           w->p.format.qp_bd_offset[0]);
    w->mb.qp[0] = w->p.qp;
    w->mb.qp[1] = w->p.qpc[0];
    w->mb.qp[2] = w->p.qpc[1];
}

/* Magnitudes of a component are below a limit that shows both verdicts, and fit the reference. */
static void choose_levels(struct world *w)
{
    struct rng *r = &w->rng;
    uint32_t at = 0;
    for (unsigned i = 0; i < 3; i++) {
        int qp = w->mb.qp[i] + w->p.format.qp_bd_offset[i != 0];
        unsigned count = 16u * (unsigned)__builtin_popcount(w->mb.coded[i]), few = rng_below(r, 4);
        int64_t most = ((int64_t)1 << (7 + w->sps.bit_depth[i != 0])) >> qp / 6;
        most = 1 + (most >> rng_below(r, 8));
        most = most > INT16_MAX ? INT16_MAX : most;
        for (unsigned k = 0; k < count; k++, at++) {
            int32_t level = (int32_t)rng_below(r, (uint32_t)most + 1);
            bool zero = few && rng_below(r, 1u << 2 * few);
            w->levels[at] = zero ? 0 : rng_one_in(r, 2) ? -level : level;
            w->narrow[at] = (int16_t)w->levels[at];
        }
    }
}

/* As step 2 counts it. */
static uint32_t level_sum(const struct world *w)
{
    uint32_t at = 0, most = 0;
    for (unsigned i = 0; i < 3; i++) {
        bool luma = !i || w->p.format.chroma_array_type == 3,
             large = luma && w->mb.flags & REC_MB_TRANSFORM_8X8,
             dc = !luma || w->mb.kind == REC_MB_INTRA_16X16;
        uint32_t sum = 0, sum_dc = 0;
        for (unsigned blk = 0; blk < 16; blk++) {
            sum = large && blk & 3 ? sum : 0;
            for (unsigned k = 0; k < 16 && w->mb.coded[i] >> blk & 1; k++, at++) {
                sum += k || !dc ? (uint32_t)abs(w->levels[at]) : 0;
                sum_dc += !k && dc ? (uint32_t)abs(w->levels[at]) : 0;
            }
            uint32_t counted = (sum + large) >> large;
            most = counted > most ? counted : most;
        }
        most = sum_dc > most ? sum_dc : most;
    }
    return most;
}

static bool judged(const struct world *w)
{
    struct rec_view view = {.head = {.chroma_format_idc = w->p.format.chroma_array_type,
                                     .bit_depth = {w->sps.bit_depth[0], w->sps.bit_depth[1]},
                                     .coeff_bytes = w->p.format.wide ? 4 : 2},
                            .mbs = &w->mb,
                            .slices = &w->rec_slice,
                            .coeffs = w->p.to.coeffs,
                            .scaling = &w->scaling,
                            .coeff_block_count = MOST_BLOCKS};
    return judge_macroblocks(&w->pic, &view) != NULL;
}

static void world_link(struct world *w)
{
    w->pic.sps = &w->sps;
    w->pic.slices = &w->slice;
    w->pic.slice_count = w->pic.mb_count = 1;
    w->pic.arrays.mbs = &w->mb;
    w->slice.hdr.type = H264_I;
    w->p.pic = &w->pic;
    w->p.slice = &w->slice;
    w->p.sps = &w->sps;
    w->p.pps = &w->pps;
    w->p.mb = &w->mb;
    w->p.to.coeffs = w->p.format.wide ? (void *)w->levels : (void *)w->narrow;
}

/* An inter macroblock needs motion that is in range: none. */
static void no_motion(struct world *w)
{
    static struct rec_motion motion;
    static struct h264_mb_syntax syntax;
    memset(motion.ref_idx, -1, sizeof(motion.ref_idx));
    w->pic.arrays.motion = &motion;
    w->pic.arrays.syntax = &syntax;
}

static void test_random(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    const char *seed = getenv("PELTON_SEED");
    unsigned out = 0;
    assert_non_null(w);
    w->rng = (struct rng){seed ? strtoull(seed, NULL, 10) : 1};
    printf("seed %llu\n", seed ? strtoull(seed, NULL, 10) : 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        choose_format(w);
        world_link(w);
        no_motion(w);
        choose_macroblock(w);
        choose_levels(w);
        h264_range_begin(&w->p);
        w->p.level_sum = level_sum(w);
        bool is_out = h264_residual_out_of_range(&w->p);
        assert_int_equal(is_out, judged(w));
        assert_true(!is_out || h264_levels_suspect(&w->p));
        out += is_out;
    }
    assert_true(out > ROUNDS / 20 && out < ROUNDS - ROUNDS / 20);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
