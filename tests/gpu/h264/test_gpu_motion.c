/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gpu_motion: its refusals, and a batch from begin to end with targets of every kind. checkgpu
 * tests the vectors.
 */
#include "tests/gpu/gpuworld.h"

#include "codec/h264.h"
#include "gpu/h264/gpu_motion.h"

#define MBS       (MB_WIDTH * MB_HEIGHT)
#define PICTURES  3
#define SLICE_MBS 7 /* of the first of two */

static const struct gpu_motion_params room = {
    .batches = 1, .pictures = PICTURES, .slices = 2 * PICTURES, .mbs = PICTURES * MBS, .maps = MBS};
static struct gpu_motion *motion;
static struct gpu_arena *device, *host;
static uint8_t *away, *here;
static uint16_t map[MBS], still[PICTURES][MBS];

/* Offsets in the arenas, per picture */
#define MOTION_AT     (MBS * sizeof(struct rec_mb))
#define SYNTAX_AT     (MOTION_AT + MBS * sizeof(struct rec_motion))
#define PICTURE_BYTES (SYNTAX_AT + MBS * sizeof(struct h264_mb_syntax))

static const struct der_slice slices[2] = {
    {.first_mb = 0, .end_mb = SLICE_MBS, .type = 0, .num_ref = {1, 0}},
    {.first_mb = SLICE_MBS, .end_mb = MBS, .type = 1, .num_ref = {1, 1}, .corners = 1},
};
static const uint16_t *const maps[2] = {NULL, map};

/* P_Skip, then B_Skip; bad: one of them has a QP of 52. */
static void fill_picture(uint8_t *bytes, bool bad)
{
    memset(bytes, 0, PICTURE_BYTES);
    struct rec_mb *mbs = (void *)bytes;
    struct rec_motion *m = (void *)(bytes + MOTION_AT);
    struct h264_mb_syntax *syntax = (void *)(bytes + SYNTAX_AT);
    for (uint32_t k = 0; k < MBS; k++) {
        mbs[k] = (struct rec_mb){.slice = k >= SLICE_MBS,
                                 .kind = REC_MB_INTER,
                                 .flags = REC_MB_SKIP,
                                 .qp = {bad && k == 9 ? 52 : 30, 30, 30}};
        memset(m[k].ref_idx[1], -1, sizeof(m[k].ref_idx[1]));
        syntax[k] = (struct h264_mb_syntax){
            .part = k >= SLICE_MBS ? H264_PART_DIRECT : H264_PART_SKIP, .decoded = 1};
    }
}

static void write_picture(uint32_t i, bool bad)
{
    uint8_t *bytes = malloc(PICTURE_BYTES);
    assert_non_null(bytes);
    fill_picture(bytes, bad);
    assert_int_equal(gpu_arena_write(gpu, away + i * PICTURE_BYTES, PICTURE_BYTES, bytes), GPU_OK);
    free(bytes);
}

static struct gpu_motion_picture picture_at(uint8_t *at, uint32_t i)
{
    return (struct gpu_motion_picture){
        .head = {.mb_count = MBS, .mb_width = MB_WIDTH, .slice_count = 2, .chroma_blocks = 4},
        .slices = slices,
        .maps = maps,
        .mbs = at,
        .motion = at + MOTION_AT,
        .syntax = at + SYNTAX_AT,
        .to_still = still[i]};
}

static struct gpu_motion_picture picture_of(uint32_t i)
{
    return picture_at(away + i * PICTURE_BYTES, i);
}

static void params_are_checked(void **state)
{
    struct gpu_motion *m = NULL;
    struct gpu_motion_params p = room;
    p.slices = 0;
    assert_int_equal(gpu_motion_create(gpu, &p, &m), GPU_ERR_INVALID);
    p = room;
    p.mbs = UINT32_MAX; /* nothing is allocated before */
    assert_int_equal(gpu_motion_create(gpu, &p, &m), GPU_ERR_FEATURE);
    assert_null(m);
    gpu_motion_free(NULL);
    gpu_motion_end(NULL);
}

static void expect_refused(struct gpu_motion_batch *b, const struct gpu_motion_picture *p)
{
    uint32_t index = 77;
    assert_int_equal(gpu_motion_add(b, p, &index), GPU_ERR_INVALID);
    assert_int_equal(index, 77);
}

/* As picture 0 but for one slice. */
static void expect_slice_refused(struct gpu_motion_batch *b, unsigned i, struct der_slice slice)
{
    struct der_slice changed[2] = {slices[0], slices[1]};
    struct gpu_motion_picture p = picture_of(0);
    changed[i] = slice;
    p.slices = changed;
    expect_refused(b, &p);
}

static void pictures_are_checked(void **state)
{
    struct gpu_motion_batch *b = gpu_motion_begin(motion);
    struct gpu_motion_picture p = picture_of(0);
    assert_non_null(b);
    assert_null(gpu_motion_begin(motion)); /* there is only one */
    assert_int_equal(gpu_motion_submit(b), GPU_ERR_INVALID);
    assert_int_equal(gpu_motion_poll(b), GPU_ERR_INVALID);
    expect_slice_refused(b, 0, (struct der_slice){.first_mb = 1, .end_mb = SLICE_MBS});
    expect_slice_refused(b, 0, (struct der_slice){.first_mb = 0, .end_mb = SLICE_MBS - 1});
    expect_slice_refused(b, 0, (struct der_slice){.first_mb = 0, .end_mb = 0});
    expect_slice_refused(b, 1, (struct der_slice){.first_mb = SLICE_MBS, .end_mb = MBS + 1});
    expect_slice_refused(b, 1, (struct der_slice){.first_mb = SLICE_MBS, .end_mb = MBS - 1});
    expect_slice_refused(b, 1, (struct der_slice){.first_mb = SLICE_MBS, .end_mb = MBS, .type = 3});
    expect_slice_refused(
        b, 1,
        (struct der_slice){.first_mb = SLICE_MBS, .end_mb = MBS, .num_ref = {0, REC_MAX_REFS + 1}});
    p.head.mb_width = 4;
    expect_refused(b, &p);
    p.head.mb_width = 0;
    expect_refused(b, &p);
    p = picture_of(0);
    p.head.chroma_blocks = 8;
    expect_refused(b, &p);
    p = picture_of(0);
    p.final_mbs = here; /* an arena, but of the host */
    expect_refused(b, &p);
    p = picture_of(0);
    p.final_motion = still; /* none at all */
    expect_refused(b, &p);
    p = picture_of(0);
    p.mbs = away + PICTURES * PICTURE_BYTES - 1; /* its end is outside */
    expect_refused(b, &p);
    p = picture_of(0);
    p.to_motion = (void *)away; /* the host could not read it */
    expect_refused(b, &p);
    gpu_motion_end(b);
}

static void batches_fill_up(void **state)
{
    struct gpu_motion_batch *b = gpu_motion_begin(motion);
    struct gpu_motion_picture p = picture_of(0);
    static const uint16_t *const none[2] = {NULL, NULL};
    uint32_t index = 0;
    assert_int_equal(gpu_motion_add(b, &p, &index), GPU_OK);
    assert_int_equal(gpu_motion_add(b, &p, &index), GPU_ERR_NOMEM); /* there is room for one map */
    p.maps = none;
    for (uint32_t i = 1; i < PICTURES; i++) {
        assert_int_equal(gpu_motion_add(b, &p, &index), GPU_OK);
        assert_int_equal(index, i);
    }
    assert_int_equal(gpu_motion_add(b, &p, &index), GPU_ERR_NOMEM);
    gpu_motion_end(b);
}

/* Everything is at (0, 0): what came back in `mbs`, `m` where they were asked for */
static void expect_picture(const struct rec_mb *mbs, const struct rec_motion *m,
                           const uint16_t *got_still)
{
    static const int16_t zero[2][16][2];
    for (uint32_t k = 0; k < MBS; k++) {
        if (mbs)
            assert_int_equal(mbs[k].slice, k >= SLICE_MBS);
        if (m) {
            assert_memory_equal(m[k].mv, zero, sizeof(zero));
            assert_int_equal(m[k].ref_idx[0][3], 0);
            assert_int_equal(m[k].ref_idx[1][3], k >= SLICE_MBS ? 0 : -1);
        }
        assert_int_equal(got_still[k], k >= SLICE_MBS ? DER_CORNERS : 0xffff);
    }
}

static void results_come_back(void **state)
{
    struct rec_mb *to_mbs = (void *)here, *staged_mbs = calloc(MBS, sizeof(*staged_mbs));
    struct rec_motion *to_motion = (void *)(here + MOTION_AT),
                      *staged_motion = calloc(MBS, sizeof(*staged_motion));
    assert_true(staged_mbs && staged_motion);
    for (unsigned round = 0; round < 3; round++) {
        struct gpu_motion_batch *b = gpu_motion_begin(motion);
        uint32_t index;
        int err;
        assert_non_null(b);
        memset(here, 0xa5, PICTURE_BYTES);
        memset(still, 0xa5, sizeof(still));
        memset(staged_motion, 0xa5, MBS * sizeof(*staged_motion));
        for (uint32_t i = 0; i < PICTURES; i++) {
            static const uint16_t *const none[2] = {NULL, NULL};
            struct gpu_motion_picture p = picture_of(i);
            write_picture(i, i == 2 && round == 1);
            p.maps = i == 0 ? maps : none;
            p.to_still = i == 2 && round == 2 ? NULL : still[i];
            p.to_mbs = i == 0 ? to_mbs : i == 1 ? staged_mbs : NULL;
            p.to_motion = i == 0 ? to_motion : i == 1 ? staged_motion : NULL;
            assert_int_equal(gpu_motion_add(b, &p, &index), GPU_OK);
        }
        assert_int_equal(gpu_motion_submit(b), GPU_OK);
        assert_int_equal(gpu_motion_result(b, 0), DER_BAD); /* not yet known */
        while ((err = gpu_motion_poll(b)) == 1)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        assert_int_equal(err, 0);
        assert_int_equal(gpu_motion_poll(b), 0);
        assert_true(gpu_motion_seconds(b) >= 0);
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(gpu_motion_result(b, i), DER_INTER);
        assert_int_equal((gpu_motion_result(b, 2) & DER_BAD) != 0, round == 1);
        assert_int_equal(gpu_motion_result(b, PICTURES), DER_BAD);
        expect_picture(to_mbs, to_motion, still[0]);
        expect_picture(staged_mbs, staged_motion, still[1]);
        if (round == 0)
            expect_picture(NULL, NULL, still[2]);
        if (round == 2)
            assert_int_equal(still[2][0], 0xa5a5);
        gpu_motion_end(b);
    }
    free(staged_mbs);
    free(staged_motion);
}

/* Records at two addresses of the host: from an arena, where they are replaced, and from elsewhere.
 * All macroblocks are skipped, so no motion is read unless it is copied. */
static void expect_records_of_the_host(struct gpu_motion *m, uint64_t bytes)
{
    uint8_t *memory = malloc(PICTURE_BYTES), *from[2] = {here, memory};
    struct gpu_motion_batch *b = gpu_motion_begin(m);
    uint32_t index;
    int err;
    assert_true(b && memory);
    for (uint32_t i = 0; i < 2; i++) {
        static const uint16_t *const none[2] = {NULL, NULL};
        struct gpu_motion_picture p = picture_at(from[i], i);
        fill_picture(from[i], false);
        memset(still[i], 0xa5, sizeof(still[i]));
        p.maps = none;
        p.to_motion = (void *)(from[i] + MOTION_AT);
        p.final_mbs = away + i * PICTURE_BYTES;
        p.final_motion = away + i * PICTURE_BYTES + MOTION_AT;
        assert_int_equal(gpu_motion_add(b, &p, &index), GPU_OK);
    }
    assert_int_equal(gpu_motion_submit(b), GPU_OK);
    while ((err = gpu_motion_poll(b)) == 1)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    assert_int_equal(err, 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(gpu_motion_result(b, i), DER_INTER);
        expect_picture((void *)from[i], (void *)(from[i] + MOTION_AT), still[i]);
        assert_int_equal(gpu_motion_host_bytes(b, i), bytes);
    }
    assert_int_equal(gpu_motion_host_bytes(b, 2), 0);
    gpu_motion_end(b);
    assert_int_equal(gpu_motion_host_bytes(b, 0), 0);
    free(memory);
}

static void records_of_the_host(void **state)
{
    struct gpu_motion_params params = room;
    struct gpu_motion *copier = NULL;
    params.copies = true;
    assert_int_equal(gpu_motion_create(gpu, &params, &copier), GPU_OK);
    expect_records_of_the_host(copier, PICTURE_BYTES);
    expect_records_of_the_host(motion, PICTURE_BYTES - (SYNTAX_AT - MOTION_AT));
    gpu_motion_free(copier);
}

/* One batch has pictures of many arenas, and after it another one has others. What is near a
 * picture's array in its arena is not read as its own. */
static void pictures_of_many_arenas(void **state)
{
    static const uint16_t *const none[2] = {NULL, NULL};
    struct gpu_arena *arenas[PICTURES];
    uint8_t *memory[PICTURES];
    for (uint32_t i = 0; i < PICTURES; i++)
        assert_int_equal(gpu_arena_create(gpu, 2 * PICTURE_BYTES, &arenas[i], (void **)&memory[i]),
                         GPU_OK);
    for (uint32_t round = 0; round < 4; round++) {
        struct gpu_motion_batch *b = gpu_motion_begin(motion);
        struct rec_motion got[PICTURES][MBS];
        uint32_t index;
        int err;
        assert_non_null(b);
        for (uint32_t i = 0; i < PICTURES; i++) {
            const uint32_t arena = (i + round) % PICTURES, value = 10 * round + i;
            uint8_t *at = memory[arena] + 8 * (i + round);
            memset(memory[arena], 0xa5, 2 * PICTURE_BYTES);
            fill_picture(at, false);
            struct rec_motion *m = (void *)(at + MOTION_AT);
            struct h264_mb_syntax *syntax = (void *)(at + SYNTAX_AT);
            syntax[0].part = H264_PART_16X16; /* the others follow it, at (0, 0) */
            m[0].mv[0][0][0] = (int16_t)(4 + value);
            struct gpu_motion_picture p = picture_at(at, i);
            p.maps = none;
            p.to_motion = got[i];
            assert_int_equal(gpu_motion_add(b, &p, &index), GPU_OK);
        }
        assert_int_equal(gpu_motion_submit(b), GPU_OK);
        while ((err = gpu_motion_poll(b)) == 1)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        assert_int_equal(err, 0);
        for (uint32_t i = 0; i < PICTURES; i++) {
            assert_int_equal(gpu_motion_result(b, i), DER_INTER);
            assert_int_equal(got[i][0].mv[0][0][0], 4 + 10 * round + i);
            assert_int_equal(got[i][0].mv[0][15][0], 4 + 10 * round + i);
            assert_int_equal(got[i][1].mv[0][0][0], 0); /* P_Skip at the border */
        }
        gpu_motion_end(b);
    }
    for (uint32_t i = 0; i < PICTURES; i++)
        gpu_arena_free(arenas[i]);
}

/* A batch that is ended at work, and a device that is freed with one. */
static void ends_at_any_time(void **state)
{
    uint32_t index;
    for (unsigned round = 0; round < 2; round++) {
        struct gpu_motion_batch *b = gpu_motion_begin(motion);
        struct gpu_motion_picture p = picture_of(0);
        assert_non_null(b);
        assert_int_equal(gpu_motion_add(b, &p, &index), GPU_OK);
        assert_int_equal(gpu_motion_submit(b), GPU_OK);
        assert_int_equal(gpu_motion_add(b, &p, &index), GPU_ERR_INVALID);
        if (round == 0)
            gpu_motion_end(b);
    }
    gpu_motion_free(motion);
    assert_int_equal(gpu_motion_create(gpu, &room, &motion), GPU_OK);
}

static int make(void **state)
{
    void *memory = NULL;
    int err = gpu_motion_create(gpu, &room, &motion);
    err = err ? err : gpu_motion_prepare(motion);
    err = err ? err : gpu_arena_create_device(gpu, PICTURES * PICTURE_BYTES, &device, &memory);
    away = memory;
    err = err ? err : gpu_arena_create(gpu, PICTURE_BYTES, &host, &memory);
    here = memory;
    return err;
}

static int unmake(void **state)
{
    gpu_motion_free(motion);
    gpu_arena_free(device);
    gpu_arena_free(host);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(params_are_checked),  cmocka_unit_test(pictures_are_checked),
        cmocka_unit_test(batches_fill_up),     cmocka_unit_test(results_come_back),
        cmocka_unit_test(records_of_the_host), cmocka_unit_test(pictures_of_many_arenas),
        cmocka_unit_test(ends_at_any_time),    cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, make, unmake);
}
