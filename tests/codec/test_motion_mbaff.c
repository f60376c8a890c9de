/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3 for MBAFF frames. Random pictures have frame and field macroblock pairs, random partitions
 * and several slices. A slow model asks for neighbours location by location (6.4.12) through the
 * reference's own table. Direct prediction between frames and fields is compared with the equations
 * of 8.4.1.2.1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "motionparts.h"
#include "codec/h264.h"
#include "codec/h264_stream.h"
#include "reference/recon_ref.h"

#define MB_W 4
#define MB_H 6
#define MBS  (MB_W * MB_H)

struct built {
    struct h264_picture pic;
    struct h264_slice slices[2];
    struct rec_mb mbs[MBS];
    struct rec_motion motion[MBS];
    struct h264_mb_syntax syntax[MBS];
    struct rec_slice rec_slices[3];
};

struct world {
    struct h264_sps sps;
    struct h264_pps pps;
    struct built cur, col, second;
    struct h264_picture other[2];
};

static void build_picture(struct world *w, struct built *b, uint32_t id, uint8_t structure,
                          bool mbaff)
{
    b->pic = (struct h264_picture){.id = id,
                                   .sps = &w->sps,
                                   .structure = structure,
                                   .mbaff = mbaff,
                                   .mb_width = MB_W,
                                   .mb_height = MB_H,
                                   .mb_count = structure == REC_FRAME ? MBS : MBS / 2,
                                   .slices = b->slices,
                                   .slice_count = 1,
                                   .arrays.mbs = b->mbs,
                                   .arrays.motion = b->motion,
                                   .arrays.syntax = b->syntax,
                                   .arrays.rec_slices = b->rec_slices,
                                   .holder.slot = (int32_t)id,
                                   .holder.allocator = &allocator};
}

static void set_ref(struct h264_slice *slice, int list, int i, struct h264_picture *pic,
                    uint8_t structure, int poc)
{
    slice->ref[list][i].pic = pic;
    slice->ref[list][i].structure = structure;
    slice->ref[list][i].field_poc[0] = poc;
    slice->ref[list][i].field_poc[1] = poc + 1;
    slice->ref[list][i].poc = poc + (structure == REC_BOTTOM);
    slice->ref[list][i].id = pic->id * 4 + structure;
}

static void build_world(struct world *w)
{
    memset(w, 0, sizeof(*w));
    fill_sps(&w->sps, MB_W, MB_H);
    w->sps.direct_8x8_inference_flag = 1;
    for (int i = 0; i < 2; i++)
        w->other[i] = (struct h264_picture){
            .id = 1u + (uint32_t)i, .structure = REC_FRAME, .holder.slot = 1 + i};
}

static void free_world(struct world *w)
{
    put_memory(NULL, w->cur.pic.arrays.weights, 0);
    put_memory(NULL, w->cur.pic.arrays.scaling, 0);
}

/* ---- P partitions of an MBAFF frame ---- */

static void random_mvd(struct rec_motion *m, int x, int y)
{
    for (int c = 0; c < 2; c++)
        m->mv[0][4 * y + x][c] = (int16_t)(random_below(3) ? random_below(41) - 20 : 0);
}

static void random_mb(struct world *w, int mb)
{
    struct rec_motion *m = &w->cur.motion[mb];
    struct h264_mb_syntax *s = &w->cur.syntax[mb];
    bool field = w->cur.mbs[mb].flags & REC_MB_FIELD;
    s->decoded = 1;
    s->part = (uint8_t)random_below(7);
    memset(m, 0, sizeof(*m));
    memset(m->ref_idx, -1, sizeof(m->ref_idx));
    w->cur.mbs[mb].kind = REC_MB_INTER;
    if (s->part >= H264_PART_DIRECT) {
        s->part = H264_PART_INTRA;
        w->cur.mbs[mb].kind = REC_MB_INTRA_16X16;
        return;
    }
    memset(m->ref_idx[0], 0, 4);
    if (s->part == H264_PART_SKIP)
        return;
    for (int y = 0; y < 4; y += part_height[s->part])
        for (int x = 0; x < 4; x += part_width[s->part]) {
            int8_t ref = (int8_t)random_below(field ? 4 : 2), q = (int8_t)(y + x / 2);
            int sub = s->part == H264_PART_8X8 ? random_below(4) : 0;
            for (int i = 0; i < part_width[s->part] / 2; i++)
                for (int j = 0; j < part_height[s->part] / 2; j++)
                    m->ref_idx[0][q + i + 2 * j] = ref;
            s->sub[q] = (uint8_t)sub;
            for (int j = 0; j < part_height[s->part];
                 j += s->part == H264_PART_8X8 ? sub_height[sub] : 4)
                for (int i = 0; i < part_width[s->part];
                     i += s->part == H264_PART_8X8 ? sub_width[sub] : 4)
                    random_mvd(m, x + i, y + j);
        }
}

struct found {
    int ref, mv[2]; /* ref -2: not available, -1: intra */
};

/* The model: state of the picture as far as it is derived */
struct model {
    const struct world *w;
    struct rec_view view;
    struct rec_motion motion[MBS];
    bool done[MBS][16]; /* blocks */
    bool begun[MBS];
};

/* Whether the location exists and its macroblock may be used (6.4.8, 6.4.12) */
static bool exists(const struct model *m, int mb, int x, int y)
{
    int column = mb % MB_W, row = mb / MB_W;
    bool frame_bottom = row % 2 && !(m->w->cur.mbs[mb].flags & REC_MB_FIELD);
    if (y > 15 || (x > 15 && (y >= 0 || frame_bottom)) || (x < 0 && column == 0) ||
        (x > 15 && column == MB_W - 1))
        return false;
    return y >= 0 || frame_bottom || row >= 2;
}

/* Motion at a location relative to macroblock mb, as mb sees it (8.4.1.3.2) */
static struct found look(const struct model *m, int mb, int x, int y)
{
    bool field = m->w->cur.mbs[mb].flags & REC_MB_FIELD, other;
    struct found f = {-2, {0, 0}};
    int row, at, block, quadrant;
    if (!exists(m, mb, x, y))
        return f;
    at = (int)ref_neighbour_mb(&m->view, (uint32_t)mb, x, y, 16, 16, &row);
    block = row / 4 * 4 + (x + 16) % 16 / 4;
    quadrant = row / 8 * 2 + (x + 16) % 16 / 8;
    if (m->w->cur.mbs[at].slice != m->w->cur.mbs[mb].slice || !m->done[at][block])
        return f;
    f.ref = m->motion[at].ref_idx[0][quadrant];
    other = m->w->cur.mbs[at].flags & REC_MB_FIELD;
    if (f.ref < 0)
        return f;
    f.mv[0] = m->motion[at].mv[0][block][0];
    f.mv[1] = m->motion[at].mv[0][block][1];
    if (field && !other) {
        f.ref *= 2;
        f.mv[1] /= 2;
    } else if (!field && other) {
        f.ref /= 2;
        f.mv[1] *= 2;
    }
    return f;
}

static int median(int a, int b, int c)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* 8.4.1.3 for the partition of w x h samples at (x, y); shape: enum h264_part */
static void model_predict(const struct model *m, int mb, int shape, int x, int y, int w, int ref,
                          int mv[2])
{
    struct found n[3] = {look(m, mb, x - 1, y), look(m, mb, x, y - 1), look(m, mb, x + w, y - 1)};
    int matches = 0, only = 0;
    if (n[2].ref == -2)
        n[2] = look(m, mb, x - 1, y - 1);
    if (shape == H264_PART_16X8 || shape == H264_PART_8X16) {
        int k = shape == H264_PART_16X8 ? (y == 0 ? 1 : 0) : x == 0 ? 0 : 2;
        if (n[k].ref == ref) {
            memcpy(mv, n[k].mv, sizeof(n[k].mv));
            return;
        }
    }
    if (n[1].ref == -2 && n[2].ref == -2 && n[0].ref != -2)
        n[1] = n[2] = n[0];
    for (int k = 0; k < 3; k++)
        if (n[k].ref == ref) {
            matches++;
            only = k;
        }
    for (int c = 0; c < 2; c++)
        mv[c] = matches == 1 ? n[only].mv[c] : median(n[0].mv[c], n[1].mv[c], n[2].mv[c]);
}

static void model_part(struct model *m, int mb, int shape, int x, int y, int w, int h)
{
    const struct rec_motion *parsed = &m->w->cur.motion[mb];
    int ref = parsed->ref_idx[0][y / 8 * 2 + x / 8], mv[2];
    model_predict(m, mb, shape, x, y, w, ref, mv);
    for (int j = y / 4; j < (y + h) / 4; j++)
        for (int i = x / 4; i < (x + w) / 4; i++) {
            for (int c = 0; c < 2; c++)
                m->motion[mb].mv[0][4 * j + i][c] = (int16_t)(mv[c] + parsed->mv[0][y + x / 4][c]);
            m->done[mb][4 * j + i] = true;
        }
}

static void model_skip(struct model *m, int mb)
{
    struct found a = look(m, mb, -1, 0), b = look(m, mb, 0, -1);
    int mv[2] = {0, 0};
    if (a.ref != -2 && b.ref != -2 && (a.ref || a.mv[0] || a.mv[1]) &&
        (b.ref || b.mv[0] || b.mv[1]))
        model_predict(m, mb, H264_PART_16X16, 0, 0, 16, 0, mv);
    for (int i = 0; i < 16; i++)
        for (int c = 0; c < 2; c++)
            m->motion[mb].mv[0][i][c] = (int16_t)mv[c];
}

static void model_mb(struct model *m, int mb)
{
    const struct h264_mb_syntax *s = &m->w->cur.syntax[mb];
    memset(m->motion[mb].mv, 0, sizeof(m->motion[mb].mv));
    memcpy(m->motion[mb].ref_idx, m->w->cur.motion[mb].ref_idx, sizeof(m->motion[mb].ref_idx));
    if (s->part == H264_PART_SKIP)
        model_skip(m, mb);
    for (int y = 0; y < 16 && s->part < H264_PART_8X8; y += 4 * part_height[s->part])
        for (int x = 0; x < 16; x += 4 * part_width[s->part])
            model_part(m, mb, s->part, x, y, 4 * part_width[s->part], 4 * part_height[s->part]);
    for (int q = 0; q < 4 && s->part == H264_PART_8X8; q++)
        for (int y = 0; y < 8; y += 4 * sub_height[s->sub[q]])
            for (int x = 0; x < 8; x += 4 * sub_width[s->sub[q]])
                model_part(m, mb, H264_PART_8X8, (q & 1) * 8 + x, (q >> 1) * 8 + y,
                           4 * sub_width[s->sub[q]], 4 * sub_height[s->sub[q]]);
    memset(m->done[mb], 1, sizeof(m->done[mb]));
}

static void random_mbaff_picture(struct world *w)
{
    int second = 2 * (1 + random_below(MBS / 2 - 1)); /* first address of the second slice */
    build_world(w);
    build_picture(w, &w->cur, 5, REC_FRAME, true);
    w->cur.pic.slice_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        w->cur.slices[i] = (struct h264_slice){
            .pic = &w->cur.pic, .index = i, .sps = &w->sps, .pps = &w->pps, .num_ref = {2}};
        for (int k = 0; k < 2; k++)
            set_ref(&w->cur.slices[i], 0, k, &w->other[k], REC_FRAME, 4 * k);
    }
    for (int address = 0; address < MBS; address++) {
        int mb = (address / 2 / MB_W * 2 + address % 2) * MB_W + address / 2 % MB_W;
        w->cur.mbs[mb] = (struct rec_mb){.slice = address >= second};
        if (address % 2 ? w->cur.mbs[mb - MB_W].flags : random_below(2) * REC_MB_FIELD)
            w->cur.mbs[mb].flags = REC_MB_FIELD;
        random_mb(w, mb);
    }
}

static void test_mbaff_partitions(void **state)
{
    static struct world w;
    static struct model m;
    for (int round = 0; round < 400; round++) {
        random_mbaff_picture(&w);
        memset(&m, 0, sizeof(m));
        m.w = &w;
        m.view = (struct rec_view){
            .head = {.mb_width = MB_W, .mb_height = MB_H, .structure = REC_FRAME, .mbaff = 1},
            .mbs = w.cur.mbs};
        for (int address = 0; address < MBS; address++)
            model_mb(&m, (address / 2 / MB_W * 2 + address % 2) * MB_W + address / 2 % MB_W);
        assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
        for (int mb = 0; mb < MBS; mb++)
            if (memcmp(w.cur.motion[mb].mv[0], m.motion[mb].mv[0], sizeof(m.motion[mb].mv[0])) != 0)
                fail_msg("round %d macroblock %d part %d", round, mb, w.cur.syntax[mb].part);
        free_world(&w);
    }
}

/* ---- direct prediction where frames and fields meet ---- */

static void random_colocated(struct world *w, struct built *b, bool mbaff)
{
    b->slices[0] =
        (struct h264_slice){.pic = &b->pic, .sps = &w->sps, .pps = &w->pps, .num_ref = {2, 0}};
    for (int k = 0; k < 2; k++)
        set_ref(&b->slices[0], 0, k, &w->other[k],
                b->pic.structure == REC_FRAME ? REC_FRAME : (uint8_t)(1 + random_below(2)), 4 * k);
    b->pic.motion_done = 1;
    for (uint32_t i = 0; i < b->pic.mb_count; i++) {
        bool field = mbaff && (i / MB_W % 2 ? b->mbs[i - MB_W].flags : random_below(2));
        b->mbs[i] = (struct rec_mb){.kind = REC_MB_INTER, .flags = field ? REC_MB_FIELD : 0};
        memset(&b->motion[i], 0, sizeof(b->motion[i]));
        memset(b->motion[i].ref_idx[1], -1, 4);
        for (int q = 0; q < 4; q++)
            b->motion[i].ref_idx[0][q] = (int8_t)(random_below(field ? 5 : 3) - 1);
        for (int k = 0; k < 16; k++)
            for (int c = 0; c < 2; c++)
                b->motion[i].mv[0][k][c] = (int16_t)(random_below(65) - 32);
        for (int k = 0; k < 16; k++)
            if (b->motion[i].ref_idx[0][k / 8 * 2 + k % 4 / 2] < 0)
                memset(b->motion[i].mv[0][k], 0, 4);
    }
}

enum { FLD, FRM, AFRM };
enum { ONE, FRM_TO_FLD, FLD_TO_FRM };

struct case_8_4_1_2_1 {
    int current, col; /* PicCodingStruct */
    bool bottom;      /* bottom_field_flag of the current picture */
};

struct place {
    const struct built *b;
    int mb_addr_col, y_m, scale;
};

/* 8.4.1.2.1: addresses of MBAFF frames count pairs; equations 8-153 to 8-159 in the standard's own
 * form */
static struct place locate(const struct world *w, const struct case_8_4_1_2_1 *c, int addr,
                           bool field_mb, int y_col)
{
    const struct built *fields[2] = {&w->col, &w->second};
    int nearer = abs(w->cur.slices[0].ref[1][0].field_poc[0] - w->cur.pic.output_poc) <
                         abs(w->cur.slices[0].ref[1][0].field_poc[1] - w->cur.pic.output_poc)
                     ? 0
                     : 1;
    int pair;
    if (c->current == FLD && c->col == FRM)
        return (struct place){&w->col, 2 * MB_W * (addr / MB_W) + addr % MB_W + MB_W * (y_col / 8),
                              2 * y_col % 16, FRM_TO_FLD};
    if (c->current == FLD) {
        pair = 2 * (addr / MB_W) * MB_W + addr % MB_W; /* raster index of its top macroblock */
        if (w->col.mbs[pair].flags & REC_MB_FIELD)
            return (struct place){&w->col, pair + c->bottom * MB_W, y_col, ONE};
        return (struct place){&w->col, pair + y_col / 8 * MB_W, 2 * y_col % 16, FRM_TO_FLD};
    }
    if (c->current == FRM)
        return (struct place){fields[nearer], MB_W * (addr / (2 * MB_W)) + addr % MB_W,
                              8 * (addr / MB_W % 2) + 4 * (y_col / 8), FLD_TO_FRM};
    pair = addr / MB_W / 2 * 2 * MB_W + addr % MB_W;
    if (c->col == FLD && !field_mb)
        return (struct place){fields[nearer], MB_W * (addr / (2 * MB_W)) + addr % MB_W,
                              8 * (addr / MB_W % 2) + 4 * (y_col / 8), FLD_TO_FRM};
    if (c->col == FLD)
        return (struct place){fields[addr / MB_W % 2], MB_W * (addr / (2 * MB_W)) + addr % MB_W,
                              y_col, ONE};
    if (field_mb == !!(w->col.mbs[addr].flags & REC_MB_FIELD))
        return (struct place){&w->col, addr, y_col, ONE};
    if (field_mb)
        return (struct place){&w->col, pair + y_col / 8 * MB_W, 2 * y_col % 16, FRM_TO_FLD};
    return (struct place){&w->col, pair + nearer * MB_W, 8 * (addr / MB_W % 2) + 4 * (y_col / 8),
                          FLD_TO_FRM};
}

static void build_direct(struct world *w, const struct case_8_4_1_2_1 *c)
{
    struct h264_slice *s = &w->cur.slices[0];
    uint8_t structure = c->current == FLD ? (c->bottom ? REC_BOTTOM : REC_TOP) : REC_FRAME;
    build_world(w);
    build_picture(w, &w->cur, 9, structure, c->current == AFRM);
    build_picture(w, &w->col, 5, c->col == FLD ? REC_TOP : REC_FRAME, c->col == AFRM);
    random_colocated(w, &w->col, c->col == AFRM);
    if (c->col == FLD) {
        build_picture(w, &w->second, 6, REC_BOTTOM, false);
        random_colocated(w, &w->second, false);
        w->second.pic.first_field = &w->col.pic;
        w->col.pic.second_field = &w->second.pic;
        w->col.pic.paired = 1;
    }
    *s = (struct h264_slice){.pic = &w->cur.pic, .sps = &w->sps, .pps = &w->pps, .num_ref = {4, 1}};
    s->hdr.type = H264_B;
    for (int k = 0; k < 4; k++)
        set_ref(s, 0, k, &w->other[c->current == FLD ? k / 2 : k % 2],
                c->current == FLD ? (k % 2 == c->bottom ? REC_TOP : REC_BOTTOM) : REC_FRAME, 0);
    /* no distance: vectors as they are */
    set_ref(s, 1, 0, &w->col.pic, c->current == FLD ? structure : REC_FRAME, 0);
    s->ref[1][0].field_poc[0] = random_below(9);
    s->ref[1][0].field_poc[1] = random_below(9);
    w->cur.pic.output_poc = random_below(9);
    for (int k = 0; k < 4; k++)
        s->ref[0][k].long_term = 1;
    for (uint32_t i = 0; i < w->cur.pic.mb_count; i++) {
        bool field =
            c->current == AFRM && (i / MB_W % 2 ? w->cur.mbs[i - MB_W].flags : random_below(2));
        w->cur.mbs[i] = (struct rec_mb){.kind = REC_MB_INTER, .flags = field ? REC_MB_FIELD : 0};
        w->cur.syntax[i] = (struct h264_mb_syntax){.part = H264_PART_DIRECT, .decoded = 1};
    }
}

/* Frame number 0 or 1 of other[] and parity (0 top, 1 bottom, -1 frame) that a colocated block
 * refers to */
static void model_reference(const struct place *p, int ref, int *frame, int *parity)
{
    const struct h264_slice *s = &p->b->slices[0];
    bool field = p->b->mbs[p->mb_addr_col].flags & REC_MB_FIELD;
    int index = field ? ref / 2 : ref;
    *frame = (int)s->ref[0][index].id / 4 - 1;
    *parity =
        s->ref[0][index].structure == REC_FRAME ? -1 : s->ref[0][index].structure == REC_BOTTOM;
    if (field)
        *parity = (p->mb_addr_col / MB_W % 2) ^ (ref % 2);
}

static void check_block(const struct world *w, const struct case_8_4_1_2_1 *c, int addr, int q)
{
    bool field_mb = w->cur.mbs[addr].flags & REC_MB_FIELD;
    int x_col = q & 1 ? 12 : 0, y_col = q & 2 ? 12 : 0, frame, parity;
    struct place p = locate(w, c, addr, field_mb, y_col);
    const struct rec_motion *col = &p.b->motion[p.mb_addr_col], *got = &w->cur.motion[addr];
    int block = p.y_m / 4 * 4 + x_col / 4, ref = col->ref_idx[0][p.y_m / 8 * 2 + x_col / 8];
    int want = 0, own = c->current == FLD ? c->bottom : addr / MB_W % 2,
        mv[2] = {col->mv[0][block][0], col->mv[0][block][1]};
    if (ref < 0) {
        mv[0] = mv[1] = 0;
    } else {
        model_reference(&p, ref, &frame, &parity);
        mv[1] = p.scale == FRM_TO_FLD ? mv[1] / 2 : p.scale == FLD_TO_FRM ? mv[1] * 2 : mv[1];
        if (p.scale == FRM_TO_FLD)
            parity = own;
        want = c->current == FLD || field_mb ? 2 * frame + (parity != own) : frame;
    }
    for (int i = 0; i < 2; i++)
        if (got->ref_idx[0][q] != want || got->mv[0][(q & 2) * 4 + (q & 1) * 2][i] != mv[i])
            fail_msg("current %d col %d bottom %d address %d quadrant %d: refIdxL0 %d, %d wanted; "
                     "mv[%d] %d, %d wanted",
                     c->current, c->col, c->bottom, addr, q, got->ref_idx[0][q], want, i,
                     got->mv[0][(q & 2) * 4 + (q & 1) * 2][i], mv[i]);
}

static void test_direct_crossed(void **state)
{
    static const struct case_8_4_1_2_1 cases[] = {
        {FLD, FRM, false}, {FLD, FRM, true},   {FLD, AFRM, false},  {FLD, AFRM, true},
        {FRM, FLD, false}, {AFRM, FLD, false}, {AFRM, AFRM, false},
    };
    static struct world w;

    for (int round = 0; round < 40 * 7; round++) {
        const struct case_8_4_1_2_1 *c = &cases[round % 7];
        build_direct(&w, c);
        assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
        for (int addr = 0; addr < (int)w.cur.pic.mb_count; addr++)
            for (int q = 0; q < 4; q++)
                check_block(&w, c, addr, q);
        free_world(&w);
    }
}

/* Both fields of a pair must be ready where either may be colocated. */
static void test_colocated_pictures(void **state)
{
    static struct world w;
    struct h264_picture *out[32];
    build_direct(&w, &(struct case_8_4_1_2_1){FRM, FLD, false});
    assert_int_equal(h264_picture_colocated(&w.cur.pic, out), 2);
    assert_ptr_equal(out[0], &w.col.pic);
    assert_ptr_equal(out[1], &w.second.pic);
    w.cur.slices[0].ref[1][0].structure = REC_BOTTOM;
    assert_int_equal(h264_picture_colocated(&w.cur.pic, out), 1);
    assert_ptr_equal(out[0], &w.second.pic);
    build_direct(&w, &(struct case_8_4_1_2_1){FLD, AFRM, true});
    assert_int_equal(h264_picture_colocated(&w.cur.pic, out), 1);
    assert_ptr_equal(out[0], &w.col.pic);
}

/* ---- implicit weights (8.4.2.3.1) ---- */

static void test_implicit_tables(void **state)
{
    static struct world w;
    const int16_t *t;
    build_direct(&w, &(struct case_8_4_1_2_1){AFRM, AFRM, false});
    w.pps.weighted_bipred_idc = 2;
    w.cur.slices[0].num_ref[0] = 1;
    set_ref(&w.cur.slices[0], 0, 0, &w.other[0], REC_FRAME, 0);
    w.cur.slices[0].ref[0][0].long_term = 0;
    w.cur.slices[0].ref[0][0].field_poc[1] = 2;
    w.cur.slices[0].ref[1][0].poc = w.cur.slices[0].ref[1][0].field_poc[0] = 16;
    w.cur.slices[0].ref[1][0].field_poc[1] = 18;
    w.cur.pic.output_poc = w.cur.pic.poc[0] = 4;
    w.cur.pic.poc[1] = 6;
    assert_int_equal(h264_picture_derive_motion(&w.cur.pic), H264_OK);
    t = w.cur.pic.arrays.weights;
    assert_int_equal(w.cur.pic.arrays.weight_count, 9);
    assert_int_equal(t[0], 16);          /* frame: 4 of 16 */
    assert_int_equal(t[1], 16);          /* top field 4 between top 0 and top 16 */
    assert_int_equal(t[2], 64 * 4 / 18); /* top 0, bottom 18 */
    assert_int_equal(t[3], 64 * 2 / 14); /* bottom 2, top 16 */
    assert_int_equal(t[5], 64 * 4 / 16); /* bottom field 6 between bottom 2 and bottom 18 */
    assert_int_equal(t[8], 64 * 6 / 16); /* top 0, top 16 */
    free_world(&w);
}

/* Two damaged slices of one pair: a frame macroblock above a field macroblock, until that one
 * counts as missing. */
static void test_pair_of_two_slices(void **state)
{
    static const uint8_t bytes[] = {
        0x00, 0x00, 0x01, 0x67, 0x4d, 0x00, 0x29, 0x93, 0x28, 0x84, 0x64, 0x00, 0x00, 0x01,
        0x68, 0x57, 0x60, 0xa4, 0x2c, 0x80, 0x00, 0x00, 0x01, 0x25, 0xb4, 0x66, 0xe8, 0xff,
        0x00, 0x00, 0x01, 0x68, 0xd4, 0x88, 0xd0, 0x66, 0x66, 0x66, 0x00, 0x00, 0x01, 0x61,
        0x22, 0x90, 0x01, 0x26, 0x88, 0x0f, 0x03, 0x9a, 0x00, 0x00, 0x01, 0x61, 0x4a, 0x40,
        0x04, 0x2f, 0x80, 0xed, 0x8a, 0xc8, 0x53, 0x01, 0x72, 0xba, 0x01};
    struct h264_scratch *scratch = h264_scratch_create();
    struct h264_stream *s;
    struct h264_picture *pic;
    struct h264_diag diag;
    unsigned pictures = 0;

    assert_non_null(scratch);
    assert_int_equal(h264_stream_create(&(struct h264_stream_params){.views = 1}, &s), H264_OK);
    h264_stream_feed(s, bytes, sizeof(bytes), 0, &diag);
    h264_stream_flush(s);
    while ((pic = h264_stream_next_decode(s))) {
        struct rec_view view;
        for (uint32_t i = 0; i < pic->slice_count; i++)
            h264_slice_decode(&pic->slices[i], scratch);
        assert_int_equal(h264_picture_derive_motion(pic), H264_OK);
        h264_picture_records(pic, &view);
        assert_int_equal(records_validate_content(&view, NULL), 0);
        pictures += pic->mbaff;
        h264_picture_done(pic);
        h264_picture_unref(pic);
    }
    assert_true(pictures > 0);
    h264_stream_free(s);
    h264_scratch_free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mbaff_partitions),   cmocka_unit_test(test_direct_crossed),
        cmocka_unit_test(test_colocated_pictures), cmocka_unit_test(test_implicit_tables),
        cmocka_unit_test(test_pair_of_two_slices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
