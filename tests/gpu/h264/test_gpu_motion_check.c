/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The macroblock checks of records_validate*.c and their twins in motion_check.comp. Each case is a
 * good picture with one change. The CPU must refuse it for the reason given, and the GPU must
 * refuse it too, unless it never reads the change. Every reason in records_validate*.c that
 * concerns a macroblock needs a case, or a line that says why pictures for the GPU cannot have it.
 */
#include "tests/gpu/gpuworld.h"

#include "codec/h264.h"
#include "gpu/h264/gpu_motion.h"

#define MBS       (MB_WIDTH * MB_HEIGHT)
#define SLICE_MBS 8 /* of the first of two: P, then B */
#define BLOCKS    100

enum {
    AT_4X4 = 0,
    AT_PCM = 1,
    AT_P = 5,
    AT_8X8 = 6,
    AT_16X16 = 7,
    AT_B = 9,
    AT_LEFT = 10,
    AT_RIGHT = 14
};

struct picture {
    struct rec_mb mbs[MBS];
    struct rec_motion motion[MBS];
    struct h264_mb_syntax syntax[MBS];
};

static void set_intra(struct picture *p, int mb, uint8_t kind, uint8_t avail)
{
    p->mbs[mb].kind = kind;
    p->mbs[mb].intra_avail = avail;
    p->mbs[mb].intra_mode[0] = p->mbs[mb].intra_mode[1] = 0x22222222; /* DC */
    p->mbs[mb].flags |= kind == REC_MB_INTRA_8X8 ? REC_MB_TRANSFORM_8X8 : 0;
    memset(p->motion[mb].ref_idx, -1, sizeof(p->motion[mb].ref_idx));
    p->syntax[mb].part = H264_PART_INTRA;
}

static void build(struct picture *p, bool field)
{
    memset(p, 0, sizeof(*p));
    for (int i = 0; i < MBS; i++) {
        p->mbs[i] = (struct rec_mb){.slice = i >= SLICE_MBS,
                                    .kind = REC_MB_INTER,
                                    .flags = field ? REC_MB_FIELD : 0,
                                    .qp = {26, 26, 26},
                                    .deblock = REC_DEBLOCK_INTERNAL};
        p->syntax[i] = (struct h264_mb_syntax){.part = H264_PART_16X16, .decoded = 1};
        memset(p->motion[i].ref_idx[1], i < SLICE_MBS ? -1 : 0, 4);
    }
    set_intra(p, AT_4X4, REC_MB_INTRA_4X4, 0);
    set_intra(p, AT_PCM, REC_MB_INTRA_PCM, REC_AVAIL_A);
    p->mbs[AT_PCM].coded[0] = 0xffff;
    p->mbs[AT_PCM].coded[1] = p->mbs[AT_PCM].coded[2] = 15;
    set_intra(p, AT_8X8, REC_MB_INTRA_8X8, REC_AVAIL_A | REC_AVAIL_B);
    set_intra(p, AT_16X16, REC_MB_INTRA_16X16, REC_AVAIL_A | REC_AVAIL_B);
    set_intra(p, AT_LEFT, REC_MB_INTRA_4X4, REC_AVAIL_B | REC_AVAIL_C);
    set_intra(p, AT_RIGHT, REC_MB_INTRA_4X4, REC_AVAIL_A | REC_AVAIL_B | REC_AVAIL_D);
}

/* clang-format off */
/* The change; its reason in records_validate.c; whether the picture is a field. m is the
 * macroblock, r its motion. */
#define CASES(X)                                                                                   \
    X(AT_PCM, m->coded[0] = m->coded[1] = m->coded[2] = 0, "macroblock: I_PCM lacks samples", 0)   \
    X(AT_PCM, m->coded[2] = 7, "macroblock: I_PCM lacks samples", 0)                               \
    X(AT_P, m->coded[1] = 16, "macroblock: coded chroma blocks that the format lacks", 0)          \
    X(AT_P, (m->flags |= REC_MB_TRANSFORM_8X8, m->coded[0] = 3),                                   \
      "macroblock: part of an 8x8 luma block is coded", 0)                                         \
    X(AT_P, (m->coded[0] = 1, m->coeff = BLOCKS), "macroblock: coefficients out of bounds", 0)     \
    X(AT_P, (m->coded[0] = 3, m->coeff = BLOCKS - 1), "macroblock: coefficients out of bounds", 0) \
    X(AT_P, (m->coded[0] = 1, m->coeff = UINT32_MAX), "macroblock: coefficients out of bounds", 0) \
    X(AT_P, m->qp[0] = 52, "macroblock: QPY", 0)                                                   \
    X(AT_P, m->qp[0] = -1, "macroblock: QPY", 0)                                                   \
    X(AT_B, m->qp[1] = 52, "macroblock: QPC", 0)                                                   \
    X(AT_B, m->qp[2] = -1, "macroblock: QPC", 0)                                                   \
    X(AT_8X8, m->intra_avail |= 64, "macroblock: intra_avail", 0)                                  \
    X(AT_8X8, m->intra_avail |= REC_AVAIL_D8, "macroblock: intra_avail: D8 where A_UPPER tells", 0)\
    X(AT_8X8, m->intra_avail &= ~REC_AVAIL_A_LOWER,                                                \
      "macroblock: half of A where A is one macroblock", 0)                                        \
    X(AT_4X4, m->intra_avail |= REC_AVAIL_A, "macroblock: neighbour left of the picture", 0)       \
    X(AT_4X4, m->intra_avail |= REC_AVAIL_D, "macroblock: neighbour D outside the picture", 0)     \
    X(AT_LEFT, m->intra_avail |= REC_AVAIL_D, "macroblock: neighbour D outside the picture", 0)    \
    X(AT_PCM, m->intra_avail |= REC_AVAIL_D, "macroblock: neighbour D outside the picture", 0)     \
    X(AT_4X4, m->intra_avail |= REC_AVAIL_B, "macroblock: neighbour above the picture", 0)         \
    X(AT_RIGHT, m->intra_avail |= REC_AVAIL_C,                                                     \
      "macroblock: neighbour C outside the picture, or not decoded yet", 0)                        \
    X(AT_RIGHT, m->intra_mode[1] = 0x92222222, "macroblock: intra prediction mode of a block", 0)  \
    X(AT_8X8, m->intra_mode[0] = 0x22292222, "macroblock: intra prediction mode of a block", 0)    \
    X(AT_4X4, m->intra_mode[0] = 0x22222220,                                                       \
      "macroblock: a block predicts from a neighbour that is not available", 0)                    \
    X(AT_8X8, m->intra_mode[0] = 0x22222224,                                                       \
      "macroblock: a block predicts from a neighbour that is not available", 0)                    \
    X(AT_4X4, m->intra_chroma_mode = 4, "macroblock: intra_chroma_pred_mode", 0)                   \
    X(AT_4X4, m->intra_chroma_mode = 1,                                                            \
      "macroblock: chroma predicts from a neighbour that is not available", 0)                     \
    X(AT_16X16, m->intra_chroma_mode = 3,                                                          \
      "macroblock: chroma predicts from a neighbour that is not available", 0)                     \
    X(AT_16X16, m->intra_mode[0] = 4, "macroblock: Intra16x16PredMode", 0)                         \
    X(AT_16X16, m->intra_mode[0] = 3,                                                              \
      "macroblock: Intra_16x16 predicts from a neighbour that is not available", 0)                \
    X(AT_P, r->ref_idx[0][0] = 2, "motion: ref_idx", 0)                                            \
    X(AT_P, r->ref_idx[1][3] = 0, "motion: ref_idx", 0)                                            \
    X(AT_B, r->ref_idx[1][3] = -2, "motion: ref_idx", 0)                                           \
    X(AT_B, r->ref_idx[0][1] = r->ref_idx[1][1] = -1, "motion: a quadrant without a reference", 0) \
    X(AT_16X16, r->ref_idx[1][2] = 0, "motion: an intra macroblock has references", 0)             \
    X(AT_P, m->flags &= ~REC_MB_FIELD, "macroblock: frame macroblock in a field picture", 1)       \
    X(AT_P, m->flags |= REC_MB_FIELD, "macroblock: field macroblock in a frame picture", 0)        \
    X(AT_P, m->kind = REC_MB_INTER + 1, "macroblock: kind", 0)                                     \
    X(AT_4X4, m->kind = REC_MB_INTER + 1, "macroblock: kind", 0)                                   \
    X(AT_P, m->flags |= 0x80, "macroblock: flags", 0)                                              \
    X(AT_8X8, m->flags &= ~REC_MB_TRANSFORM_8X8,                                                   \
      "macroblock: transform size of an intra macroblock", 0)                                      \
    X(AT_4X4, m->flags |= REC_MB_TRANSFORM_8X8,                                                    \
      "macroblock: transform size of an intra macroblock", 0)                                      \
    X(AT_4X4, m->flags |= REC_MB_SKIP, "macroblock: skipped, but not inter", 0)                    \
    X(AT_4X4, m->flags |= REC_MB_SI,                                                               \
      "macroblock: SI without Intra_4x4 prediction, or outside of an SI slice", 0)                 \
    X(AT_P, m->deblock |= 8, "macroblock: deblock", 0)                                             \
    X(AT_P, m->slice = 2, "macroblock: slice", 0)                                                  \
    X(AT_4X4, m->deblock |= REC_DEBLOCK_LEFT, "macroblock: filters the picture's left border", 0)  \
    X(AT_4X4, m->deblock |= REC_DEBLOCK_TOP, "macroblock: filters the picture's top border", 0)
/* clang-format on */

static const struct {
    const char *reason, *why;
} absent[] = {
    {"macroblock: part of an 8x8 chroma block is coded", "4:4:4"},
    {"macroblock: a pair of a frame and a field macroblock", "MBAFF"},
    {"macroblock: 8x8 transform or lossless in an SP or SI slice", "SP and SI slices"},
};

static const struct {
    const char *change, *reason;
    int mb;
    bool field;
} cases[] = {
#define CASE(mb, change, reason, field) {#change, reason, mb, field},
    CASES(CASE)
#undef CASE
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))
/* behind the cases: a good frame, a good field */
#define PICTURES (CASE_COUNT + 2)

static void apply(size_t i, struct rec_mb *m, struct rec_motion *r)
{
    size_t at = 0;
#define CASE(mb, change, reason, field)                                                            \
    if (at++ == i) {                                                                               \
        change;                                                                                    \
        return;                                                                                    \
    }
    CASES(CASE)
#undef CASE
}

static bool is_field(size_t i)
{
    return i < CASE_COUNT ? cases[i].field : i > CASE_COUNT;
}

static void build_case(struct picture *p, size_t i)
{
    build(p, is_field(i));
    if (i < CASE_COUNT)
        apply(i, &p->mbs[cases[i].mb], &p->motion[cases[i].mb]);
}

/* NULL: the CPU lets it pass. */
static const char *cpu_reason(struct picture *p, bool field)
{
    static const int16_t coeffs[BLOCKS][16];
    static const struct rec_scaling scaling;
    const struct rec_slice slices[2] = {
        {.num_ref = {2, 0}},
        {.num_ref = {2, 1}, .slice_type = 1},
    };
    const struct rec_view view = {.head = {.mb_width = MB_WIDTH,
                                           .mb_height = field ? 2 * MB_HEIGHT : MB_HEIGHT,
                                           .structure = field ? REC_TOP : REC_FRAME,
                                           .chroma_format_idc = 1,
                                           .bit_depth = {8, 8},
                                           .coeff_bytes = 2,
                                           .has_intra = 1,
                                           .has_inter = 1,
                                           .has_deblock = 1,
                                           .mb_count = MBS},
                                  .mbs = p->mbs,
                                  .motion = p->motion,
                                  .slices = slices,
                                  .coeffs = coeffs,
                                  .scaling = &scaling,
                                  .slice_count = 2,
                                  .coeff_block_count = BLOCKS,
                                  .scaling_count = 1};
    const char *reason = NULL;
    return records_validate_content(&view, &reason) < 0 ? reason : NULL;
}

/* References of intra macroblocks follow from the shape where motion is not copied whole. */
static bool is_read(size_t i, bool copies)
{
    return copies || strcmp(cases[i].reason, "motion: an intra macroblock has references") != 0;
}

static void add_case(struct gpu_motion_batch *b, const struct picture *p, size_t i)
{
    static const uint16_t *const maps[2] = {NULL, NULL};
    const bool field = is_field(i);
    const struct der_slice slices[2] = {
        {.end_mb = SLICE_MBS, .num_ref = {2, 0}, .transform_8x8 = 1, .field = field},
        {.first_mb = SLICE_MBS,
         .end_mb = MBS,
         .type = 1,
         .num_ref = {2, 1},
         .transform_8x8 = 1,
         .field = field}};
    const struct gpu_motion_picture picture = {.head = {.mb_count = MBS,
                                                        .mb_width = MB_WIDTH,
                                                        .slice_count = 2,
                                                        .coeff_blocks = BLOCKS,
                                                        .chroma_blocks = 4},
                                               .slices = slices,
                                               .maps = maps,
                                               .mbs = p->mbs,
                                               .motion = p->motion,
                                               .syntax = p->syntax};
    uint32_t index = 0;
    assert_int_equal(gpu_motion_add(b, &picture, &index), GPU_OK);
    assert_int_equal(index, i);
}

static void expect_both_refuse(bool copies)
{
    const struct gpu_motion_params room = {.batches = 1,
                                           .pictures = PICTURES,
                                           .slices = 2 * PICTURES,
                                           .mbs = PICTURES * MBS,
                                           .maps = 1,
                                           .copies = copies};
    struct gpu_motion *motion = NULL;
    struct picture p;
    unsigned wrong = 0;
    int err;
    assert_int_equal(gpu_motion_create(gpu, &room, &motion), GPU_OK);
    struct gpu_motion_batch *b = gpu_motion_begin(motion);
    assert_non_null(b);
    for (size_t i = 0; i < PICTURES; i++) {
        build_case(&p, i);
        add_case(b, &p, i);
        const char *want = i < CASE_COUNT ? cases[i].reason : NULL,
                   *got = cpu_reason(&p, is_field(i));
        if (!got != !want || (got && strcmp(got, want) != 0)) {
            printf("%s: the CPU says \"%s\"\n", want ? cases[i].change : "good", got ? got : "");
            wrong++;
        }
    }
    assert_int_equal(gpu_motion_submit(b), GPU_OK);
    while ((err = gpu_motion_poll(b)) == 1)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    assert_int_equal(err, 0);
    for (size_t i = 0; i < PICTURES; i++) {
        bool bad = gpu_motion_result(b, (uint32_t)i) & DER_BAD;
        if (bad == (i < CASE_COUNT && is_read(i, copies)))
            continue;
        printf("%s: the GPU says %s\n", i < CASE_COUNT ? cases[i].change : "good",
               bad ? "bad" : "good");
        wrong++;
    }
    gpu_motion_end(b);
    gpu_motion_free(motion);
    assert_int_equal(wrong, 0);
}

static void both_refuse(void **state)
{
    expect_both_refuse(true);
    expect_both_refuse(false);
}

static bool is_known(const char *reason)
{
    for (size_t i = 0; i < CASE_COUNT; i++)
        if (!strcmp(cases[i].reason, reason))
            return true;
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        if (!strcmp(absent[i].reason, reason))
            return true;
    return false;
}

/* Counts the reasons of a source file, and prints those without a case. */
static void reasons_of(const char *path, unsigned *found, unsigned *missing)
{
    FILE *file = fopen(path, "re");
    char line[512];
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char *text = strstr(line, "\"macroblock: ");
        text = text ? text : strstr(line, "\"motion: ");
        char *end = text ? strchr(text + 1, '"') : NULL;
        if (!end)
            continue;
        *end = 0;
        ++*found;
        if (!is_known(text + 1)) {
            printf("no case for \"%s\"\n", text + 1);
            ++*missing;
        }
    }
    fclose(file);
}

/* Reads the reasons out of the sources, so that a new check without a case fails here. */
static void every_check_has_a_case(void **state)
{
    unsigned found = 0, missing = 0;
    reasons_of(PELTON_RECORDS_CHECKS ".c", &found, &missing);
    reasons_of(PELTON_RECORDS_CHECKS "_intra.c", &found, &missing);
    printf("%u checks of macroblocks, %zu cases\n", found, CASE_COUNT);
    assert_true(found > 30);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_refuse),
                                       cmocka_unit_test(every_check_has_a_case),
                                       cmocka_unit_test(no_validation_messages)};
    return run_on_device(tests, NULL, NULL);
}
