/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The encoder's shaders against encode/reference: two streams in one batch, pictures with more and
 * more references, sizes that are not those of workgroups.
 */
#include "tests/gpu/gpuworld.h"

#include "encode/reference/cost.h"
#include "encode/reference/decide.h"
#include "encode/reference/picture_work.h"
#include "encode/reference/quantise.h"
#include "gpu/encode/gpu_encode.h"
#include "tests/encode/scene.h"

#define STREAMS 2

/* Streams of one size and setting, side by side */
struct beside {
    struct encoding encoding;
    struct encoding_limits limits;
    struct decider *deciders[STREAMS];
    struct scene scenes[STREAMS];
    struct gpu_encode *gpu;
    uint32_t mbs, frame_bytes;
    uint8_t *frames;                       /* of all streams */
    uint8_t *history[ENCODING_REFERENCES]; /* frames of references, newest first */
    struct rec_motion *last;
    struct enc_search *found;
};

static void beside_open(struct beside *b, uint32_t width, uint32_t height, uint8_t references)
{
    char why[ENCODING_WHY];
    struct gpu_encode_params params;
    memset(b, 0, sizeof(*b));
    encoding_default(&b->encoding, width, height);
    b->encoding.references = references;
    assert_int_equal(encoding_check(&b->encoding, &b->limits, why), 0);
    params = (struct gpu_encode_params){.mb_width = b->limits.mb_width,
                                        .mb_height = b->limits.mb_height,
                                        .pictures = STREAMS,
                                        .sets = STREAMS * (1 + ENCODING_REFERENCES)};
    assert_int_equal(gpu_encode_create(gpu, &params, &b->gpu), GPU_OK);
    b->mbs = params.mb_width * params.mb_height;
    b->frame_bytes = 256 * b->mbs;
    b->frames = test_malloc(STREAMS * b->frame_bytes);
    for (int i = 0; i < ENCODING_REFERENCES; i++)
        b->history[i] = test_calloc(STREAMS, b->frame_bytes);
    b->last = test_calloc(STREAMS * b->mbs, sizeof(*b->last));
    b->found = test_calloc(STREAMS * ENC_REFERENCES * b->mbs, sizeof(*b->found));
    for (int i = 0; i < STREAMS; i++) {
        assert_non_null(b->deciders[i] = decider_create(&b->encoding, &b->limits));
        scene_open(&b->scenes[i], width, height);
    }
}

static void beside_close(struct beside *b)
{
    for (int i = 0; i < STREAMS; i++) {
        scene_close(&b->scenes[i]);
        decider_free(b->deciders[i]);
    }
    for (int i = 0; i < ENCODING_REFERENCES; i++)
        test_free(b->history[i]);
    test_free(b->frames);
    test_free(b->last);
    test_free(b->found);
    gpu_encode_free(b->gpu);
}

static void luma_take(const struct ref_frame *frame, uint8_t *out)
{
    for (size_t i = 0; i < (size_t)frame->width * frame->height; i++)
        out[i] = (uint8_t)frame->plane[0][i];
}

/* Decide the next picture of each stream; the frames that it refers to are in history before. */
static void beside_decide(struct beside *b, int time, int qp)
{
    for (int i = 0; i < STREAMS; i++) {
        struct decider_source source = scene_source(&b->scenes[i]);
        struct decider_wish wish = {.idr = time == 0, .qp = qp};
        struct rec_view view;
        memcpy(b->last + (uint32_t)i * b->mbs, decider_work(b->deciders[i])->last_motion,
               b->mbs * sizeof(*b->last));
        scene_draw(&b->scenes[i], time);
        assert_int_equal(decider_decide(b->deciders[i], &source, &wish, &view), 0);
        luma_take(decider_work(b->deciders[i])->source, b->frames + (uint32_t)i * b->frame_bytes);
    }
}

/* The pictures are the newest references. */
static void beside_advance(struct beside *b)
{
    uint8_t *oldest = b->history[ENCODING_REFERENCES - 1];
    memmove(b->history + 1, b->history, (ENCODING_REFERENCES - 1) * sizeof(oldest));
    b->history[0] = oldest;
    for (int i = 0; i < STREAMS; i++) {
        luma_take(decider_frame(b->deciders[i]), oldest + (uint32_t)i * b->frame_bytes);
        decider_accept(b->deciders[i]);
    }
}

static void check_plane(const struct sample_plane *want, const uint8_t *set, uint32_t plane,
                        uint32_t margin)
{
    uint32_t level = ENC_LEVEL(plane), stride = (uint32_t)want->width + 2 * ENC_MARGIN;
    uint32_t full_w = (uint32_t)want->width << level, full_h = (uint32_t)want->height << level;
    const uint8_t *origin =
        set + ENC_PLANE_AT(full_w, full_h, plane) + ENC_MARGIN * stride + ENC_MARGIN;
    for (int y = -(int)margin; y < want->height + (int)margin; y++)
        for (int x = -(int)margin; x < want->width + (int)margin; x++)
            assert_int_equal(origin[y * (int)stride + x], *plane_at(want, x, y));
}

static void check_set(struct beside *b, uint32_t index, const struct luma_planes *want)
{
    uint32_t width = 16 * b->limits.mb_width, height = 16 * b->limits.mb_height;
    uint8_t *set = test_malloc(ENC_SET_SIZE(width, height));
    assert_int_equal(gpu_encode_read_set(b->gpu, index, set), GPU_OK);
    for (uint32_t i = 0; i < HALF_COUNT; i++)
        if (want->full[i].memory)
            check_plane(&want->full[i], set, i, ENC_MARGIN - (i ? 3 : 0));
    check_plane(&want->half, set, ENC_PLANE_HALF, ENC_MARGIN);
    check_plane(&want->quarter, set, ENC_PLANE_FOURTH, ENC_MARGIN);
    test_free(set);
}

/* The pictures that were decided last, with so many references: their planes and heads */
static void beside_load(struct beside *b, uint32_t ref_count, int qp,
                        struct enc_picture pictures[STREAMS])
{
    assert_int_equal(gpu_encode_planes(b->gpu, b->frames, 0, false), GPU_OK);
    for (uint32_t r = 0; r < ref_count; r++)
        assert_int_equal(gpu_encode_planes(b->gpu, b->history[r], STREAMS * (1 + r), true), GPU_OK);
    for (uint32_t i = 0; i < STREAMS; i++) {
        pictures[i] = (struct enc_picture){.qp = (uint32_t)qp};
        pictures[i].lambda_ssd = cost_lambda_ssd(qp);
        pictures[i].source = i;
        pictures[i].ref_count = ref_count;
        pictures[i].lambda = cost_lambda(qp);
        pictures[i].mv_max[0] = (uint16_t)b->limits.mv_x;
        pictures[i].mv_max[1] = (uint16_t)b->limits.mv_y;
        for (uint32_t r = 0; r < ref_count; r++)
            pictures[i].reference[r] = (uint8_t)(STREAMS * (1 + r) + i);
    }
}

_Static_assert(sizeof(struct motion_search) == sizeof(struct enc_search), "one is the other");

static void check_search(const struct beside *b, uint32_t ref_count)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        for (uint32_t r = 0; r < ref_count; r++)
            for (uint32_t mb = 0; mb < b->mbs; mb++)
                assert_memory_equal(&b->found[(i * ENC_REFERENCES + r) * b->mbs + mb],
                                    &decider_work(b->deciders[i])->search[r][mb],
                                    sizeof(*b->found));
}

static void quantisers_fill(const struct picture_work *w, struct enc_quantiser out[6])
{
    for (int m = 0; m < 6; m++) {
        struct quantiser q = quantiser_at(m, 0, w->level_max);
        memcpy(out[m].factor4, q.factor4, sizeof(q.factor4));
        memcpy(out[m].factor8, q.factor8, sizeof(q.factor8));
        out[m].level_max = q.level_max;
    }
}

static void check_luma_mb(struct picture_work *w, uint32_t mb, const struct enc_luma *got)
{
    int16_t level[16][16];
    uint16_t samples[256];
    unsigned coded;
    for (int size = 0; size < 2; size++) {
        uint32_t cost = inter_code_luma(w, mb, &w->motion[mb], size, level, &coded, samples);
        assert_memory_equal(got->level[size], level, sizeof(level));
        assert_int_equal(got->coded[size], coded);
        assert_int_equal(got->cost[size], cost);
    }
}

/* Luma of the vectors that were chosen */
static void check_luma(struct beside *b, const struct enc_picture pictures[STREAMS])
{
    struct rec_motion *motion = test_calloc(STREAMS * b->mbs, sizeof(*motion));
    struct enc_luma *got = test_calloc(STREAMS * b->mbs, sizeof(*got));
    struct enc_quantiser quantiser[6];
    for (uint32_t i = 0; i < STREAMS; i++) {
        const struct picture_work *w = decider_work(b->deciders[i]);
        quantisers_fill(w, quantiser);
        memcpy(motion + i * b->mbs, w->motion, b->mbs * sizeof(*motion));
    }
    assert_int_equal(gpu_encode_luma(b->gpu, pictures, motion, quantiser, got), GPU_OK);
    for (uint32_t i = 0; i < STREAMS; i++)
        for (uint32_t mb = 0; mb < b->mbs; mb++)
            if (motion[i * b->mbs + mb].ref_idx[0][0] >= 0)
                check_luma_mb((struct picture_work *)decider_work(b->deciders[i]), mb,
                              &got[i * b->mbs + mb]);
    test_free(motion);
    test_free(got);
}

static void check_size(uint32_t width, uint32_t height, uint8_t references)
{
    struct enc_picture pictures[STREAMS];
    struct beside b;
    beside_open(&b, width, height, references);
    for (int time = 0; time < 4; time++) {
        int qp = scene_random(52);
        uint32_t ref_count = (uint32_t)time < references ? (uint32_t)time : references;
        beside_decide(&b, time, qp);
        if (ref_count > 0) {
            beside_load(&b, ref_count, qp, pictures);
            check_set(&b, 0, &decider_work(b.deciders[0])->source_planes);
            assert_int_equal(gpu_encode_search(b.gpu, pictures, b.last, b.found), GPU_OK);
            check_search(&b, ref_count);
            check_luma(&b, pictures);
        }
        beside_advance(&b);
    }
    /* the newest reference's planes as the passes of the next picture would read them */
    assert_int_equal(gpu_encode_planes(b.gpu, b.history[0], STREAMS, true), GPU_OK);
    for (uint32_t i = 0; i < STREAMS; i++) {
        const struct picture_work *w = decider_work(b.deciders[i]);
        check_set(&b, STREAMS + i, &w->slot[w->ref_slot[0]].planes);
    }
    beside_close(&b);
}

static void test_search(void **state)
{
    (void)state;
    check_size(16, 16, 1);
    check_size(100, 50, 3);
    check_size(130, 90, 2);
}

static void test_bad(void **state)
{
    struct gpu_encode_params params = {.mb_width = 2, .mb_height = 2, .pictures = 2, .sets = 2};
    struct gpu_encode *e = NULL;
    uint8_t frames[2 * 1024] = {0};
    (void)state;
    assert_int_equal(gpu_encode_create(gpu, &params, &e), GPU_ERR_INVALID); /* no references */
    params.sets = 4;
    assert_int_equal(gpu_encode_create(gpu, &params, &e), GPU_OK);
    assert_int_equal(gpu_encode_planes(e, frames, 3, true), GPU_ERR_INVALID);
    assert_int_equal(gpu_encode_read_set(e, 4, frames), GPU_ERR_INVALID);
    gpu_encode_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(no_validation_messages),
    };
    int exit_code, failed;
    if (open_device(&exit_code) != GPU_OK)
        return exit_code;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    gpu_close(gpu);
    return failed;
}
