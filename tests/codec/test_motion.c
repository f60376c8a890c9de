/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3 on built pictures. Random partitions, slices and direct macroblocks are compared with a
 * slow model. The model asks for neighbours by position, 4x4 block by 4x4 block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "motionworld.h"
#include "codec/h264_error.h"

/* ---- random macroblocks, as step 2 leaves them ---- */

static void random_refs(struct rec_motion *m, bool b, int first, int step, int count)
{
    int lists = b ? 1 + random_below(3) : 1;
    for (int list = 0; list < 2; list++) {
        int ref = lists >> list & 1 ? random_below(2) : -1;
        for (int i = 0; i < count; i++)
            m->ref_idx[list][first + i * step] = (int8_t)ref;
    }
}

static void random_mvd(struct rec_motion *m, int x, int y)
{
    for (int list = 0; list < 2; list++)
        if (m->ref_idx[list][(y >> 1) * 2 + (x >> 1)] >= 0)
            for (int k = 0; k < 2; k++)
                m->mv[list][4 * y + x][k] =
                    (int16_t)(random_below(10) ? random_below(5) - 2 : random_below(65536) - 32768);
}

static void random_8x8(struct rec_motion *m, struct h264_mb_syntax *s, bool b)
{
    for (int q = 0; q < 4; q++) {
        s->sub[q] = (uint8_t)random_below(b ? 5 : 4);
        if (s->sub[q] == H264_SUB_DIRECT)
            continue;
        random_refs(m, b, q, 1, 1);
        for (int y = 0; y < 2; y += sub_height[s->sub[q]])
            for (int x = 0; x < 2; x += sub_width[s->sub[q]])
                random_mvd(m, (q & 1) * 2 + x, (q >> 1) * 2 + y);
    }
}

static void random_mb(struct world *w, int i, bool b)
{
    static const uint8_t parts[7] = {H264_PART_16X16, H264_PART_16X8, H264_PART_8X16, H264_PART_8X8,
                                     H264_PART_8X8,   H264_PART_SKIP, H264_PART_INTRA};
    struct rec_motion *m = &w->cur.motion[i];
    struct h264_mb_syntax *s = &w->cur.syntax[i];
    memset(m, 0, sizeof(*m));
    memset(m->ref_idx, -1, sizeof(m->ref_idx));
    *s = (struct h264_mb_syntax){.part = parts[random_below(7)], .decoded = 1};
    if (s->part == H264_PART_SKIP && b)
        s->part = H264_PART_DIRECT;
    w->cur.mbs[i].kind = s->part == H264_PART_INTRA ? REC_MB_INTRA_PCM : REC_MB_INTER;
    if (s->part == H264_PART_SKIP)
        memset(m->ref_idx[0], 0, 4);
    if (s->part == H264_PART_8X8)
        random_8x8(m, s, b);
    if (s->part == H264_PART_16X16)
        random_refs(m, b, 0, 1, 4);
    for (int k = 0; k < 2 && (s->part == H264_PART_16X8 || s->part == H264_PART_8X16); k++)
        random_refs(m, b, s->part == H264_PART_16X8 ? 2 * k : k, s->part == H264_PART_16X8 ? 1 : 2,
                    2);
    if (s->part <= H264_PART_8X16)
        for (int y = 0; y < 4; y += part_height[s->part])
            for (int x = 0; x < 4; x += part_width[s->part])
                random_mvd(m, x, y);
}

static void random_picture(struct world *w, bool b)
{
    uint32_t slice = 0;
    for (int i = 0; i < MBS; i++) {
        w->cur.mbs[i] = (struct rec_mb){.slice = slice};
        random_mb(w, i, b);
        if (slice + 1 < w->cur.pic.slice_count && random_below(MBS) < 4)
            slice++;
    }
}

/* ---- the slow model ---- */

struct vector {
    int ref; /* -1 not used, -2 not available */
    int16_t v[2];
};

struct model {
    const struct world *w;
    struct vector at[2][H4][W4];
    bool done[2][H4][W4];
};

static struct vector look(const struct model *m, int list, int mb, int x, int y)
{
    struct vector none = {-2, {0, 0}};
    if (x < 0 || y < 0 || x >= W4 || !m->done[list][y][x])
        return none;
    return m->w->cur.mbs[y / 4 * MB_W + x / 4].slice == m->w->cur.mbs[mb].slice ? m->at[list][y][x]
                                                                                : none;
}

static void put(struct model *m, int list, int x, int y, int w, int h, struct vector v)
{
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++) {
            m->at[list][j][i] = v;
            m->done[list][j][i] = true;
        }
}

static int compare_int16(const void *a, const void *b)
{
    return *(const int16_t *)a - *(const int16_t *)b;
}

/* 8.4.1.3; part: which one of a 16x8 or 8x16 macroblock, else 0 */
static struct vector model_predict(const struct model *m, int list, int mb, int x, int y, int w,
                                   int shape, int part, int ref)
{
    struct vector n[3] = {look(m, list, mb, x - 1, y), look(m, list, mb, x, y - 1),
                          look(m, list, mb, x + w, y - 1)};
    int side = shape == H264_PART_16X8   ? 1 - part
               : shape == H264_PART_8X16 ? 2 * part
                                         : -1,
        same = 0;
    struct vector out = {ref, {0, 0}};
    if (n[2].ref == -2)
        n[2] = look(m, list, mb, x - 1, y - 1);
    if (side >= 0 && n[side].ref == ref)
        return n[side];
    if (n[1].ref == -2 && n[2].ref == -2 && n[0].ref != -2)
        n[1] = n[2] = n[0];
    for (int i = 0; i < 3; i++)
        if (n[i].ref == ref) {
            same++;
            out = n[i];
        }
    for (int k = 0; k < 2 && same != 1; k++) {
        int16_t v[3] = {n[0].v[k], n[1].v[k], n[2].v[k]};
        qsort(v, 3, sizeof(v[0]), compare_int16);
        out.v[k] = v[1];
    }
    return out;
}

static void model_partition(struct model *m, int list, int mb, int x, int y, int w, int h,
                            int shape, int part)
{
    const struct rec_motion *in = &m->w->cur.motion[mb];
    int ref = in->ref_idx[list][(y % 4 >> 1) * 2 + (x % 4 >> 1)];
    struct vector v = {-1, {0, 0}};
    if (ref >= 0) {
        v = model_predict(m, list, mb, x, y, w, shape, part, ref);
        for (int k = 0; k < 2; k++)
            v.v[k] = (int16_t)(uint16_t)(v.v[k] + in->mv[list][y % 4 * 4 + x % 4][k]);
    }
    put(m, list, x, y, w, h, v);
}

static struct vector colocated_vector(const struct world *w, int mb, int x, int y, int *list)
{
    const struct rec_motion *col = &w->col.motion[mb];
    int q = (y >> 1) * 2 + (x >> 1),
        block = w->sps.direct_8x8_inference_flag ? (y >> 1) * 12 + (x >> 1) * 3 : 4 * y + x;
    struct vector v = {-1, {0, 0}};
    for (*list = 0; *list < 2; ++*list)
        if (col->ref_idx[*list][q] >= 0) {
            v.ref = col->ref_idx[*list][q];
            memcpy(v.v, col->mv[*list][block], sizeof(v.v));
            break;
        }
    return v;
}

/* 8.4.1.2.2 for all blocks of a macroblock */
static void model_spatial(const struct model *m, int mb, struct vector out[2][4][4])
{
    int x0 = mb % MB_W * 4, y0 = mb / MB_W * 4, ref[2], dummy;
    for (int list = 0; list < 2; list++) {
        struct vector c = look(m, list, mb, x0 + 4, y0 - 1);
        int refs[3] = {look(m, list, mb, x0 - 1, y0).ref, look(m, list, mb, x0, y0 - 1).ref,
                       c.ref == -2 ? look(m, list, mb, x0 - 1, y0 - 1).ref : c.ref};
        ref[list] = -1;
        for (int i = 0; i < 3; i++)
            if (refs[i] >= 0 && (ref[list] < 0 || refs[i] < ref[list]))
                ref[list] = refs[i];
    }
    for (int list = 0; list < 2; list++)
        for (int i = 0; i < 16; i++) {
            struct vector col = colocated_vector(m->w, mb, i % 4, i / 4, &dummy),
                          v = {ref[list], {0, 0}};
            bool zero =
                !m->w->col.pic.view && col.ref == 0 && abs(col.v[0]) <= 1 && abs(col.v[1]) <= 1;
            if (ref[0] < 0 && ref[1] < 0)
                v.ref = 0;
            else if (ref[list] >= 0 && !(ref[list] == 0 && zero))
                v = model_predict(m, list, mb, x0, y0, 4, H264_PART_16X16, 0, ref[list]);
            v.ref = ref[0] < 0 && ref[1] < 0 ? 0 : ref[list];
            out[list][i / 4][i % 4] = v;
        }
}

/* 8.4.1.2.3; POCs are cur 8, col 12, other[0] 0, other[1] 4: tb 8 td 12, tb 4 td 8; list 0 is
 * other[0], other[1] */
static void model_temporal(const struct model *m, int mb, struct vector out[2][4][4])
{
    static const int scale[2] = {171, 128};
    for (int i = 0; i < 16; i++) {
        int list;
        struct vector col = colocated_vector(m->w, mb, i % 4, i / 4, &list),
                      v[2] = {{0, {0, 0}}, {0, {0, 0}}};
        if (col.ref >= 0) /* list 0 of col is other[1], other[0]; list 1 is other[0], other[1] */
            v[0].ref = list == 0 ? 1 - col.ref : col.ref;
        for (int k = 0; k < 2; k++) {
            v[0].v[k] = (int16_t)((scale[v[0].ref] * col.v[k] + 128) >> 8);
            v[1].v[k] = (int16_t)(v[0].v[k] - col.v[k]);
        }
        out[0][i / 4][i % 4] = v[0];
        out[1][i / 4][i % 4] = v[1];
    }
}

static void put_direct(struct model *m, int mb, int q, struct vector v[2][4][4])
{
    int x0 = (q & 1) * 2, y0 = (q >> 1) * 2;
    for (int i = 0; i < 8; i++) {
        int x = x0 + (i & 1), y = y0 + (i >> 1 & 1);
        put(m, i >> 2, mb % MB_W * 4 + x, mb / MB_W * 4 + y, 1, 1, v[i >> 2][y][x]);
    }
}

static void model_8x8(struct model *m, int mb, struct vector direct[2][4][4])
{
    for (int q = 0; q < 4; q++) {
        int sub = m->w->cur.syntax[mb].sub[q], x0 = mb % MB_W * 4 + (q & 1) * 2,
            y0 = mb / MB_W * 4 + (q >> 1) * 2;
        if (sub == H264_SUB_DIRECT) {
            put_direct(m, mb, q, direct);
            continue;
        }
        for (int list = 0; list < 2; list++)
            for (int y = 0; y < 2; y += sub_height[sub])
                for (int x = 0; x < 2; x += sub_width[sub])
                    model_partition(m, list, mb, x0 + x, y0 + y, sub_width[sub], sub_height[sub],
                                    H264_PART_8X8, 0);
    }
}

static void model_skip(struct model *m, int mb, int x, int y)
{
    struct vector a = look(m, 0, mb, x - 1, y), b = look(m, 0, mb, x, y - 1), v = {0, {0, 0}};
    bool still = a.ref == -2 || b.ref == -2 || (a.ref == 0 && !a.v[0] && !a.v[1]) ||
                 (b.ref == 0 && !b.v[0] && !b.v[1]);
    if (!still)
        v = model_predict(m, 0, mb, x, y, 4, H264_PART_16X16, 0, 0);
    v.ref = 0;
    put(m, 0, x, y, 4, 4, v);
    put(m, 1, x, y, 4, 4, (struct vector){-1, {0, 0}});
}

static void model_mb(struct model *m, int mb)
{
    int part = m->w->cur.syntax[mb].part, x0 = mb % MB_W * 4, y0 = mb / MB_W * 4;
    struct vector direct[2][4][4];
    if (m->w->cur.slices[0].hdr.direct_spatial_mv_pred_flag)
        model_spatial(m, mb, direct);
    else
        model_temporal(m, mb, direct);
    if (part == H264_PART_INTRA) {
        put(m, 0, x0, y0, 4, 4, (struct vector){-1, {0, 0}});
        put(m, 1, x0, y0, 4, 4, (struct vector){-1, {0, 0}});
    } else if (part == H264_PART_SKIP) {
        model_skip(m, mb, x0, y0);
    } else if (part == H264_PART_DIRECT) {
        for (int q = 0; q < 4; q++)
            put_direct(m, mb, q, direct);
    } else if (part == H264_PART_8X8) {
        model_8x8(m, mb, direct);
    } else {
        for (int list = 0; list < 2; list++)
            for (int y = 0, n = 0; y < 4; y += part_height[part])
                for (int x = 0; x < 4; x += part_width[part], n++)
                    model_partition(m, list, mb, x0 + x, y0 + y, part_width[part],
                                    part_height[part], part, n);
    }
}

static void check_against_model(struct world *w, uint32_t begin)
{
    static struct model m;
    memset(&m, 0, sizeof(m));
    m.w = w;
    for (int mb = 0; mb < MBS; mb++)
        model_mb(&m, mb);
    if (random_below(2))
        follow_slices(w);
    assert_int_equal(h264_picture_derive_motion(&w->cur.pic), H264_OK);
    for (int i = 0; i < 2 * 16 * MBS; i++) {
        int list = i & 1, block = i >> 1 & 15, mb = i >> 5, x = mb % MB_W * 4 + block % 4,
            y = mb / MB_W * 4 + block / 4;
        const struct rec_motion *got = &w->cur.motion[mb];
        const struct vector *want = &m.at[list][y][x];
        if (got->ref_idx[list][(block >> 3) * 2 + (block >> 1 & 1)] != want->ref ||
            memcmp(got->mv[list][block], want->v, sizeof(want->v)) != 0)
            fail_msg("seed %u macroblock %d part %d list %d block %d: ref %d mv %d,%d instead of "
                     "%d %d,%d",
                     begin, mb, w->cur.syntax[mb].part, list, block,
                     got->ref_idx[list][(block >> 3) * 2 + (block >> 1 & 1)],
                     got->mv[list][block][0], got->mv[list][block][1], want->ref, want->v[0],
                     want->v[1]);
    }
}

static void run_random(uint8_t type, bool spatial, bool inference, int rounds)
{
    static struct world w;
    for (int i = 0; i < rounds; i++) {
        uint32_t begin = seed;
        build_world(&w, type, 1 + (uint32_t)random_below(4));
        w.sps.direct_8x8_inference_flag = inference;
        for (int s = 0; s < 4; s++)
            w.cur.slices[s].hdr.direct_spatial_mv_pred_flag = spatial;
        /* of the other view: colZeroFlag is 0 (H.8.4) */
        w.col.pic.view = spatial && !random_below(8);
        random_picture(&w, type == H264_B);
        check_against_model(&w, begin);
        free_world(&w);
    }
}

static void test_p_pictures(void **state)
{
    run_random(H264_P, true, true, 500);
}

static void test_b_spatial(void **state)
{
    run_random(H264_B, true, true, 400);
    run_random(H264_B, true, false, 400);
}

static void test_b_temporal(void **state)
{
    run_random(H264_B, false, true, 400);
    run_random(H264_B, false, false, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_p_pictures),
        cmocka_unit_test(test_b_spatial),
        cmocka_unit_test(test_b_temporal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
