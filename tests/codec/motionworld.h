/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A small frame picture with its reference pictures, for tests of step 3. Included after cmocka.h.
 */
#ifndef PELTON_TESTS_MOTIONWORLD_H
#define PELTON_TESTS_MOTIONWORLD_H

#include "motionparts.h"
#include "codec/h264.h"

#define MB_W 5
#define MB_H 4
#define MBS  (MB_W * MB_H)
#define W4   (4 * MB_W)
#define H4   (4 * MB_H)

/* A picture with its arrays and up to 4 slices. */
struct built {
    struct h264_picture pic;
    struct rec_mb mbs[MBS];
    struct rec_motion motion[MBS];
    struct h264_mb_syntax syntax[MBS];
    struct h264_slice slices[4];
    struct rec_slice rec_slices[5];
};

/* The current picture, its colocated picture (RefPicList1[0]) and other references. */
struct world {
    struct h264_sps sps;
    struct h264_pps pps;
    struct built cur, col;
    struct h264_picture other[2];
};

static inline void build_picture(struct world *w, struct built *b, uint32_t id, int poc)
{
    b->pic = (struct h264_picture){.id = id,
                                   .sps = &w->sps,
                                   .structure = REC_FRAME,
                                   .poc = {poc, poc},
                                   .output_poc = poc,
                                   .mb_width = MB_W,
                                   .mb_height = MB_H,
                                   .mb_count = MBS,
                                   .slices = b->slices,
                                   .slice_count = 1,
                                   .arrays.mbs = b->mbs,
                                   .arrays.motion = b->motion,
                                   .arrays.syntax = b->syntax,
                                   .arrays.rec_slices = b->rec_slices,
                                   .holder.slot = (int32_t)id,
                                   .holder.allocator = &allocator};
}

static inline void set_ref(struct h264_slice *slice, int list, int i, struct h264_picture *pic)
{
    slice->ref[list][i].pic = pic;
    slice->ref[list][i].structure = REC_FRAME;
    slice->ref[list][i].poc = pic->output_poc;
    slice->ref[list][i].id = pic->id * 4 + REC_FRAME;
}

/* Slices of the current picture: list 0 is other[0], other[1]; list 1 is col, other[0]. */
static inline void build_slices(struct world *w, uint8_t type, uint32_t count)
{
    w->cur.pic.slice_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct h264_slice *s = &w->cur.slices[i];
        *s = (struct h264_slice){
            .pic = &w->cur.pic, .index = i, .sps = &w->sps, .pps = &w->pps, .num_ref = {2, 2}};
        s->hdr.type = type;
        s->hdr.direct_spatial_mv_pred_flag = 1;
        if (type == H264_P)
            s->num_ref[1] = 0;
        set_ref(s, 0, 0, &w->other[0]);
        set_ref(s, 0, 1, &w->other[1]);
        set_ref(s, 1, 0, &w->col.pic);
        set_ref(s, 1, 1, &w->other[0]);
    }
}

static inline void build_colocated(struct world *w)
{
    struct h264_slice *s = &w->col.slices[0];
    build_picture(w, &w->col, 6, 12);
    *s = (struct h264_slice){.pic = &w->col.pic, .sps = &w->sps, .pps = &w->pps, .num_ref = {2, 2}};
    set_ref(s, 0, 0, &w->other[1]);
    set_ref(s, 0, 1, &w->other[0]);
    set_ref(s, 1, 0, &w->other[0]);
    set_ref(s, 1, 1, &w->other[1]);
    w->col.pic.motion_done = 1;
    for (int i = 0; i < MBS; i++) {
        memset(&w->col.motion[i], 0, sizeof(w->col.motion[i]));
        w->col.mbs[i] = (struct rec_mb){.kind = REC_MB_INTER};
        for (int k = 0; k < 8; k++)
            w->col.motion[i].ref_idx[k / 4][k % 4] = (int8_t)(random_below(3) - 1);
        for (int k = 0; k < 32; k++) {
            bool used = w->col.motion[i].ref_idx[k / 16][(k % 16 >> 3) * 2 + (k >> 1 & 1)] >= 0;
            w->col.motion[i].mv[k / 16][k % 16][0] = (int16_t)(used ? random_below(5) - 2 : 0);
            w->col.motion[i].mv[k / 16][k % 16][1] = (int16_t)(used ? random_below(4) - 2 : 0);
        }
    }
}

static inline void build_world(struct world *w, uint8_t type, uint32_t slices)
{
    memset(w, 0, sizeof(*w));
    fill_sps(&w->sps, MB_W, MB_H);
    for (int i = 0; i < 2; i++)
        w->other[i] = (struct h264_picture){.id = 4u + (uint32_t)i,
                                            .structure = REC_FRAME,
                                            .output_poc = 4 * i,
                                            .holder.slot = 4 + i};
    build_picture(w, &w->cur, 7, 8);
    build_colocated(w);
    build_slices(w, type, slices);
}

static inline void free_world(struct world *w)
{
    put_memory(NULL, w->cur.pic.arrays.weights, 0);
    put_memory(NULL, w->cur.pic.arrays.scaling, 0);
}

/* Step 2 as a thread that follows it sees it: some macroblocks at a time, of the slices in turn;
 * the last ones are left to the picture, but where a slice has ended. */
static inline void follow_slices(struct world *w)
{
    struct h264_picture *pic = &w->cur.pic;
    uint32_t first[5] = {0}, from, to;
    for (uint32_t s = 1; s <= 4; s++) {
        first[s] = first[s - 1];
        while (first[s] < MBS && w->cur.mbs[first[s]].slice < s)
            first[s]++;
    }
    for (uint32_t s = 0; s < pic->slice_count; s++)
        w->cur.slices[s].hdr.first_mb = first[s];
    assert_int_equal(h264_picture_follow_begin(pic), 1);
    for (int round = 0; round < 20; round++) {
        struct h264_slice *slice = &w->cur.slices[random_below((int)pic->slice_count)];
        uint32_t end = first[slice->index + 1], ready = slice->ready & ~H264_SLICE_ENDED;
        ready += (uint32_t)random_below((int)(end - ready) + 1);
        atomic_store(&slice->ready, ready | (ready == end ? H264_SLICE_ENDED : 0));
        while (h264_slice_follow(slice, &from, &to) && from < to)
            assert_int_equal(to, ready);
        assert_int_equal(slice->motion_mb, ready);
        assert_int_equal(h264_slice_follow(slice, &from, &to), ready != end);
    }
}

#endif
