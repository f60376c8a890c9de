/* SPDX-License-Identifier: BSD-2-Clause
 *
 * records_validate. A picture of 4 x 3 macroblocks with every kind of record passes. Each single
 * corruption of it is refused, for the expected reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codec/abi/records.h"

#include <stdio.h>
#include <string.h>

#define SLOTS 8
#define MBS   12
#define UNITS 400

/* Macroblocks 0 to 7 belong to slice 0 (P, explicit), 8 to 11 to slice 1 (B, implicit). */
struct fixture {
    struct rec_view view;
    struct rec_mb mbs[MBS];
    struct rec_motion motion[MBS];
    struct rec_slice slices[2];
    int16_t coeffs[UNITS][16];
    int16_t weights[18];
    struct rec_scaling scaling[2];
};

static void set_intra(struct fixture *f, int mb, uint8_t kind, uint8_t avail)
{
    f->mbs[mb].kind = kind;
    f->mbs[mb].intra_avail = avail;
    f->mbs[mb].flags = kind == REC_MB_INTRA_8X8 ? REC_MB_TRANSFORM_8X8 : 0;
    f->mbs[mb].intra_mode[0] = f->mbs[mb].intra_mode[1] = 0x22222222; /* DC */
    memset(f->motion[mb].ref_idx, -1, sizeof(f->motion[mb].ref_idx));
}

static void build_slices(struct fixture *f)
{
    f->slices[0] = (struct rec_slice){.ref = {{REC_REF(1, REC_FRAME), REC_REF(2, REC_FRAME)}},
                                      .num_ref = {2, 0},
                                      .weight_mode = REC_WEIGHT_EXPLICIT,
                                      .log2_denom = {5, 5}};
    f->slices[1] = (struct rec_slice){
        .ref = {{REC_REF(1, REC_FRAME), REC_REF(2, REC_FRAME)}, {REC_REF(7, REC_FRAME)}},
        .num_ref = {2, 1},
        .weights = 12,
        .scaling = 1,
        .weight_mode = REC_WEIGHT_IMPLICIT,
        .slice_type = 1,
        .filter_offset_a = -12,
        .filter_offset_b = 12};
    for (int i = 0; i < 12; i++)
        f->weights[i] = i & 1 ? -128 : 128;
    f->weights[12] = -64;
    f->weights[13] = 128;
}

static void build(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    build_slices(f);
    for (int i = 0; i < MBS; i++) {
        f->mbs[i] = (struct rec_mb){.slice = i / 8,
                                    .kind = REC_MB_INTER,
                                    .qp = {26, 26, 26},
                                    .deblock = REC_DEBLOCK_INTERNAL};
        f->mbs[i].deblock |= (i % 4 ? REC_DEBLOCK_LEFT : 0) | (i >= 4 ? REC_DEBLOCK_TOP : 0);
        memset(f->motion[i].ref_idx[1], i < 8 ? -1 : 0, 4);
    }
    f->motion[3].ref_idx[0][1] = 1;
    set_intra(f, 0, REC_MB_INTRA_4X4, 0);
    set_intra(f, 1, REC_MB_INTRA_PCM, REC_AVAIL_A);
    f->mbs[1].coded[0] = 0xffff;
    f->mbs[1].coded[1] = f->mbs[1].coded[2] = 15;
    set_intra(f, 5, REC_MB_INTRA_8X8, 31);
    f->mbs[5].coded[0] = 0xf00f;
    f->mbs[5].coeff = 24;
    set_intra(f, 6, REC_MB_INTRA_16X16, 31);
    f->mbs[6].coded[2] = 15;
    f->mbs[6].coeff = UNITS - 4;
    f->mbs[7].flags = REC_MB_SKIP;
    f->view = (struct rec_view){
        .head = {.slot = 3,
                 .mb_width = 4,
                 .mb_height = 3,
                 .structure = REC_FRAME,
                 .chroma_format_idc = 1,
                 .bit_depth = {8, 8},
                 .coeff_bytes = 2,
                 .has_intra = 1,
                 .has_inter = 1,
                 .has_deblock = 1,
                 .mb_count = MBS},
        .mbs = f->mbs,
        .motion = f->motion,
        .slices = f->slices,
        .coeffs = f->coeffs,
        .weights = f->weights,
        .scaling = f->scaling,
        .slice_count = 2,
        .coeff_block_count = UNITS,
        .weight_count = 14,
        .scaling_count = 2,
    };
}

/* clang-format off */
/* One corruption each: the statement, and a word of the reason. */
#define CASES(X)                                                                      \
    X(f->view.head.structure = REC_TOP, "head")                                       \
    X(f->view.head.mbaff = 1, "head")                                                 \
    X(f->view.head.chroma_format_idc = 4, "chroma_format_idc")                        \
    X(f->view.head.chroma_format_idc = 0, "format lacks")                             \
    X(f->view.head.bit_depth[0] = 7, "bit_depth")                                     \
    X(f->view.head.bit_depth[1] = 15, "bit_depth")                                    \
    X(f->view.head.bit_depth[1] = 10, "coeff_bytes")                                  \
    X(f->view.head.coeff_bytes = 4, "coeff_bytes")                                    \
    X(f->view.head.mb_count = MBS + 1, "mb_count")                                    \
    X(f->view.head.mb_width = 0, "empty")                                             \
    X(f->view.head.mb_height = 0x40000003, "mb_count") /* wraps to 12 in 32 bits */   \
    X(f->view.head.slot = SLOTS, "slot")                                              \
    X(f->view.head.has_intra = 0, "has_intra")                                        \
    X(f->view.head.has_inter = 0, "has_inter")                                        \
    X(f->view.head.has_deblock = 0, "has_deblock")                                    \
    X(f->view.head.has_deblock = 2, "flags")                                          \
    X(f->view.mbs = NULL, "view")                                                     \
    X(f->view.motion = NULL, "view")                                                  \
    X(f->view.slices = NULL, "view")                                                  \
    X(f->view.slice_count = 0, "view")                                                \
    X(f->view.scaling = NULL, "view")                                                 \
    X(f->view.coeffs = NULL, "view")                                                  \
    X(f->view.weights = NULL, "view")                                                 \
    X(f->view.slice_count = 1, "macroblock: slice")                                   \
    X(f->view.scaling_count = 1, "scaling")                                           \
    X(f->view.weight_count = 13, "weights out")                                       \
    X(f->view.weight_count = 11, "weights out")                                       \
    X(f->view.coeff_block_count = UNITS - 1, "coefficients out")                             \
    X(f->slices[0].num_ref[0] = 33, "num_ref")                                        \
    X(f->slices[0].num_ref[0] = 1, "ref_idx")                                         \
    X(f->slices[0].ref[0][1] = REC_REF(SLOTS, REC_FRAME), "slot of")                  \
    X(f->slices[0].ref[0][1] = 0xffff, "slot of")                                     \
    X(f->slices[0].ref[0][1] = REC_REF(2, REC_TOP), "structure of")                   \
    X(f->slices[0].ref[0][1] = REC_REF_NONE, "structure of")                          \
    X(f->slices[1].ref[1][0] = REC_REF_NONE, "structure of")                          \
    X(f->slices[0].weights = 0xfffffffe, "weights out")                               \
    X(f->slices[0].scaling = 2, "scaling")                                            \
    X(f->slices[0].weight_mode = 3, "weight_mode")                                    \
    X(f->slices[0].weight_mode = REC_WEIGHT_IMPLICIT, "implicit weights outside")     \
    X(f->slices[0].log2_denom[0] = 8, "log2_denom")                                   \
    X(f->slices[0].log2_denom[1] = 255, "log2_denom")                                 \
    X(f->slices[0].filter_offset_a = 13, "filter_offset_a")                           \
    X(f->slices[0].filter_offset_b = -13, "filter_offset_b")                          \
    X(f->slices[0].slice_type = 5, "slice_type")                                      \
    X(f->weights[0] = 129, "explicit weight")                                         \
    X(f->weights[2] = -129, "explicit weight")                                        \
    X(f->weights[1] = 128, "explicit offset")                                         \
    X(f->weights[11] = -129, "explicit offset")                                       \
    X(f->weights[12] = -65, "implicit weight")                                        \
    X(f->weights[13] = 129, "implicit weight")                                        \
    X(f->mbs[2].slice = 2, "macroblock: slice")                                       \
    X(f->mbs[2].slice = REC_NO_SLICE, "macroblock: slice")                            \
    X(f->mbs[2].kind = REC_MB_MISSING, "kind")                                        \
    X(f->mbs[2].kind = 255, "kind")                                                   \
    X(f->mbs[2].flags = 32, "flags")                                                  \
    X(f->mbs[2].flags = REC_MB_SI, "SI without")                                      \
    X(f->slices[0].qs[1] = -1 + 0 * (f->slices[0].slice_type = 3), "QS")              \
    X(f->mbs[2].flags = 1 + 0 * (f->slices[0].slice_type = 3), "SP or SI slice")      \
    X(f->view.head.colour_plane = 1, "colour_plane")                                  \
    X(f->mbs[2].flags = REC_MB_FIELD, "field macroblock")                             \
    X(f->mbs[0].flags = REC_MB_TRANSFORM_8X8, "transform size")                       \
    X(f->mbs[5].flags = 0, "transform size")                                          \
    X(f->mbs[6].flags = REC_MB_TRANSFORM_8X8, "transform size")                       \
    X(f->mbs[1].flags = REC_MB_SKIP, "skipped")                                       \
    X(f->mbs[0].deblock |= REC_DEBLOCK_LEFT, "left border")                           \
    X(f->mbs[8].deblock |= REC_DEBLOCK_LEFT, "left border")                           \
    X(f->mbs[3].deblock |= REC_DEBLOCK_TOP, "top border")                             \
    X(f->mbs[6].deblock = 8, "deblock")                                               \
    X(f->mbs[5].coded[0] = 0xf00e, "8x8 luma")                                        \
    X(f->mbs[5].coded[1] = 16, "format lacks")                                        \
    X(f->mbs[5].coded[2] = 0x8000, "format lacks")                                    \
    X(f->mbs[1].coded[0] = 0x7fff, "I_PCM")                                           \
    X(f->mbs[1].coded[2] = 7, "I_PCM")                                                \
    X(f->mbs[6].coeff = UNITS - 3, "coefficients out")                                \
    X(f->mbs[6].coeff = 0xfffffffe, "coefficients out")                               \
    X(f->mbs[6].coded[0] = 1, "coefficients out")                                     \
    X(f->mbs[4].qp[0] = 52, "QPY")                                                    \
    X(f->mbs[4].qp[0] = -1, "QPY")                                                    \
    X(f->mbs[4].qp[1] = 52, "QPC")                                                    \
    X(f->mbs[4].qp[2] = -1, "QPC")                                                    \
    X(f->mbs[6].intra_avail = 64, "intra_avail")                                      \
    X(f->mbs[6].intra_avail = REC_AVAIL_D8, "D8")                                     \
    X(f->mbs[6].intra_avail = REC_AVAIL_A_UPPER, "half of A")                         \
    X(f->mbs[6].intra_chroma_mode = 4, "intra_chroma_pred_mode")                      \
    X(f->mbs[0].intra_chroma_mode = 1, "chroma predicts")                             \
    X(f->mbs[0].intra_chroma_mode = 2, "chroma predicts")                             \
    X(f->mbs[0].intra_chroma_mode = 3, "chroma predicts")                             \
    X(f->mbs[0].intra_avail = REC_AVAIL_A, "left of the picture")                     \
    X(f->mbs[0].intra_avail = REC_AVAIL_B, "above the picture")                       \
    X(f->mbs[0].intra_avail = REC_AVAIL_C, "neighbour C")                             \
    X(f->mbs[0].intra_avail = REC_AVAIL_D, "neighbour D")                             \
    X(set_intra(f, 7, REC_MB_INTRA_16X16, REC_AVAIL_C), "neighbour C")                \
    X(f->mbs[6].intra_mode[0] = 4, "Intra16x16PredMode")                              \
    X((f->mbs[6].intra_avail = 0, f->mbs[6].intra_mode[0] = 0), "Intra_16x16")        \
    X((f->mbs[6].intra_avail = REC_AVAIL_B, f->mbs[6].intra_mode[0] = 1), "Intra_16x16") \
    X((f->mbs[6].intra_avail = REC_AVAIL_A | REC_AVAIL_B, f->mbs[6].intra_mode[0] = 3),            \
      "Intra_16x16")                                                                               \
    X(f->mbs[0].intra_mode[1] = 0x22222292, "mode of a block")                        \
    X(f->mbs[5].intra_mode[0] = 0x2229, "mode of a block")                            \
    X(f->motion[2].ref_idx[0][3] = 2, "ref_idx")                                      \
    X(f->motion[2].ref_idx[0][3] = -2, "ref_idx")                                     \
    X(f->motion[2].ref_idx[1][0] = 0, "ref_idx")                                      \
    X(f->motion[2].ref_idx[0][2] = -1, "without a reference")                         \
    X(f->motion[9].ref_idx[1][1] = 1, "ref_idx")                                      \
    X(f->motion[6].ref_idx[0][0] = 0, "intra macroblock has")

/* clang-format on */

#define DEFINE(statement, reason)                                                                  \
    {                                                                                              \
        build(f);                                                                                  \
        (void)(statement);                                                                         \
        expect_refused(f, #statement, reason);                                                     \
    }

/* The content in parts, as a picture is validated whose slices are. */
static int validate_in_parts(const struct rec_view *view, const char **reason)
{
    struct rec_seen seen = {0}, parts[2] = {{0}};
    uint32_t n = view->head.mb_count, cuts[4] = {0, n / 3, n - n / 4, n};
    if (records_validate_begin(view, reason) < 0)
        return -1;
    for (int i = 2; i >= 0; i--)
        if (records_validate_range(view, cuts[i], cuts[i + 1], &parts[i & 1], reason) < 0)
            return -1;
    records_seen_add(&seen, &parts[0]);
    records_seen_add(&seen, &parts[1]);
    return records_validate_end(view, &seen, reason);
}

static void expect_refused(const struct fixture *f, const char *what, const char *word)
{
    const char *reason = NULL;
    if (records_validate_content(&f->view, NULL) != validate_in_parts(&f->view, NULL))
        fail_msg("in parts another result: %s", what);

    if (records_validate(&f->view, SLOTS, &reason) >= 0)
        fail_msg("passed: %s", what);
    if (!reason || !strstr(reason, word))
        fail_msg("%s: \"%s\" instead of something about \"%s\"", what, reason ? reason : "", word);
}

static void test_valid(void **state)
{
    struct fixture f;
    const char *reason = NULL;
    build(&f);
    if (records_validate(&f.view, SLOTS, &reason) < 0 || validate_in_parts(&f.view, &reason) < 0)
        fail_msg("%s", reason);
    assert_int_equal(records_validate(&f.view, SLOTS, NULL), 0);
    f.mbs[2].coeff = 0xffffffff; /* of no consequence without units */
    assert_int_equal(records_validate(&f.view, SLOTS, NULL), 0);
    f.motion[2].mv[0][5][1] = -32768; /* any vector is legal */
    assert_int_equal(records_validate(&f.view, SLOTS, NULL), 0);
}

static void test_corruptions(void **state)
{
    struct fixture fixture, *f = &fixture;
    CASES(DEFINE)
}

/* ---- fields, MBAFF, colour planes ---- */

/* The first 8 macroblocks as the top field of a frame of 4 x 4, in slice 0: P, of fields. */
static void build_field(struct fixture *f)
{
    build(f);
    f->view.head.structure = REC_TOP;
    f->view.head.mb_height = 4;
    f->view.head.mb_count = 8;
    f->slices[0].ref[0][0] = REC_REF(3, REC_BOTTOM);
    f->slices[0].ref[0][1] = REC_REF(2, REC_TOP);
    f->view.slice_count = 1;
    for (int i = 0; i < 8; i++)
        f->mbs[i].flags |= REC_MB_FIELD;
}

/* All but the last row as an MBAFF frame of 4 x 2: the pairs of columns 1 and 2 are of field
 * macroblocks. */
static void build_mbaff(struct fixture *f)
{
    build(f);
    f->view.head.mbaff = 1;
    f->view.head.mb_height = 2;
    f->view.head.mb_count = 8;
    f->view.slice_count = 1;
    for (int i = 0; i < 8; i++) {
        f->mbs[i].deblock &= (uint8_t) ~(i < 4 || i % 4 % 3 ? REC_DEBLOCK_TOP : 0);
        f->mbs[i].flags |= i % 4 % 3 ? REC_MB_FIELD : 0;
    }
    f->mbs[5].intra_avail = REC_AVAIL_A_UPPER; /* left of it is a pair of frame macroblocks */
    f->mbs[6].intra_avail = REC_AVAIL_A;
    f->motion[2].ref_idx[0][0] = 3; /* two fields for each frame of the list */
}

/* clang-format off */
#define FIELD_CASES(X)                                                                   \
    X(f->view.head.mb_height = 3, "half a macroblock pair")                              \
    X(f->view.head.mb_count = 16, "mb_count")                                            \
    X(f->view.head.structure = 0, "structure")                                           \
    X(f->view.head.mbaff = 1, "mbaff")                                                   \
    X(f->slices[0].ref[0][0] = REC_REF(2, REC_FRAME), "structure of")                    \
    X(f->slices[0].ref[0][0] = REC_REF_NONE, "structure of")                             \
    X(f->mbs[3].flags &= ~REC_MB_FIELD, "frame macroblock in a field")                   \
    X(f->motion[2].ref_idx[0][0] = 2, "ref_idx")

#define MBAFF_CASES(X)                                                                   \
    X((f->view.head.mb_height = 1, f->view.head.mb_count = 4), "half a macroblock pair") \
    X(f->view.head.mbaff = 2, "mbaff")                                                   \
    X(f->slices[0].num_ref[0] = 17, "num_ref")                                           \
    X(f->mbs[6].flags &= ~REC_MB_FIELD, "a pair of a frame and a field")                 \
    X(f->motion[2].ref_idx[0][0] = 4, "ref_idx")                                         \
    X(f->motion[3].ref_idx[0][0] = 2, "ref_idx")                                         \
    X(f->mbs[6].intra_avail = REC_AVAIL_A_UPPER, "half of A")                            \
    X(f->mbs[5].intra_avail = REC_AVAIL_B, "above the picture")                          \
    X(f->mbs[5].intra_avail = REC_AVAIL_D, "neighbour D")                                \
    X(set_intra(f, 4, REC_MB_INTRA_16X16, REC_AVAIL_B | REC_AVAIL_C), "neighbour C")     \
    X(set_intra(f, 3, REC_MB_INTRA_16X16, REC_AVAIL_B), "above the picture")             \
    X(f->mbs[6].deblock |= REC_DEBLOCK_TOP, "top border")                                \
    X(f->mbs[3].deblock |= REC_DEBLOCK_TOP, "top border")                                \
    X((f->slices[0].slice_type = 1, f->slices[0].num_ref[1] = 1,                         \
       f->slices[0].ref[1][0] = REC_REF(1, REC_FRAME), f->slices[0].weight_mode = 2,     \
       f->slices[0].weights = 0, f->view.weight_count = 17), "weights out")

/* clang-format on */

#define DEFINE_FIELD(statement, reason)                                                            \
    {                                                                                              \
        build_field(f);                                                                            \
        (void)(statement);                                                                         \
        expect_refused(f, #statement, reason);                                                     \
    }
#define DEFINE_MBAFF(statement, reason)                                                            \
    {                                                                                              \
        build_mbaff(f);                                                                            \
        (void)(statement);                                                                         \
        expect_refused(f, #statement, reason);                                                     \
    }

static void expect_valid(const struct fixture *f)
{
    const char *reason = "";
    if (records_validate(&f->view, SLOTS, &reason) < 0 || validate_in_parts(&f->view, &reason) < 0)
        fail_msg("%s", reason);
    assert_true(records_validate_range(&f->view, 1, f->view.head.mb_count + 1,
                                       &(struct rec_seen){0}, NULL) < 0);
}

static void test_structures(void **state)
{
    struct fixture fixture, *f = &fixture;
    build_field(f);
    expect_valid(f);
    FIELD_CASES(DEFINE_FIELD)
    build_mbaff(f);
    expect_valid(f);
    /* above a bottom frame macroblock is the top one of its pair */
    set_intra(f, 4, REC_MB_INTRA_16X16, REC_AVAIL_B);
    expect_valid(f);
    set_intra(f, 7, REC_MB_INTRA_16X16, REC_AVAIL_D); /* in the left pair */
    expect_valid(f);
    MBAFF_CASES(DEFINE_MBAFF)
    build(f); /* a colour plane by itself */
    f->view.head.chroma_format_idc = 0;
    f->view.head.colour_plane = 2;
    f->mbs[1].coded[1] = f->mbs[1].coded[2] = f->mbs[6].coded[2] = 0;
    expect_valid(f);
    f->view.head.colour_plane = 3;
    expect_refused(f, "colour_plane 3", "colour_plane");
}

/* Every Intra_4x4 and Intra_8x8 mode in every block with every set of neighbours, against the
 * standard's conditions. */
static void test_intra_modes(void **state)
{
    static const uint8_t needs[9] = {2, 1, 0, 2, 7, 7, 7, 2, 1}; /* 1 left, 2 top, 4 corner */
    static const uint8_t x[16] = {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3};
    static const uint8_t y[16] = {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3};
    struct fixture f;
    for (unsigned n = 0; n < 16 * 9 * 16 * 2; n++) {
        unsigned blk = n & 15, a = n >> 4 & 1, b = n >> 5 & 1, d = n >> 6 & 1, mode = n / 256 % 9,
                 large = n >= 16 * 9 * 16;
        unsigned left = x[blk] > 0 || a, top = y[blk] > 0 || b;
        unsigned corner = x[blk] > 0 ? top : y[blk] > 0 ? a : d;
        unsigned have = left | top << 1 | corner << 2;
        if (large && blk % 4)
            continue;
        build(&f);
        set_intra(&f, 6, large ? REC_MB_INTRA_8X8 : REC_MB_INTRA_4X4,
                  (uint8_t)((a ? REC_AVAIL_A : 0) | (b ? REC_AVAIL_B : 0) | (d ? REC_AVAIL_D : 0)));
        f.mbs[6].intra_mode[blk >> 3] &= ~(15u << (4 * (blk & 7)));
        f.mbs[6].intra_mode[blk >> 3] |= mode << (4 * (blk & 7));
        assert_int_equal(records_validate(&f.view, SLOTS, NULL) == 0, (needs[mode] & ~have) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_corruptions),
        cmocka_unit_test(test_structures),
        cmocka_unit_test(test_intra_modes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
