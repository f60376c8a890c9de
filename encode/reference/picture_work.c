/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Geometry of a picture that is decided.
 */
#include "encode/reference/picture_work.h"
#include "encode/row_threads.h"

#include "codec/macroblock.h"

struct work_step {
    struct picture_work *w;
    void (*step)(struct picture_work *w, uint32_t mb, uint32_t ref);
    uint32_t ref;
};

static void step_row(void *ctx, uint32_t row)
{
    const struct work_step *s = ctx;
    for (uint32_t x = 0; x < s->w->mb_width; x++)
        s->step(s->w, row * s->w->mb_width + x, s->ref);
}

void work_each(struct picture_work *w,
               void (*step)(struct picture_work *w, uint32_t mb, uint32_t ref), uint32_t ref)
{
    struct work_step s = {w, step, ref};
    row_threads_run(w->threads, step_row, &s, w->mb_height);
}

uint16_t *work_samples(const struct picture_work *w, const struct ref_frame *frame, uint32_t mb,
                       int component)
{
    uint32_t size = component ? 8 : 16;
    return frame->plane[component] + (size_t)(mb / w->mb_width * size) * frame->stride[component] +
           mb % w->mb_width * size;
}

int work_chroma_qp(const struct picture_work *w, int qp)
{
    int index = qp + w->encoding->chroma_qp_offset;
    return index < 0 ? h264_chroma_qpc[0] : h264_chroma_qpc[index > 51 ? 51 : index];
}

struct rec_view work_view(const struct picture_work *w)
{
    struct rec_view view = {
        .mbs = w->mbs,
        .motion = w->motion,
        .slices = w->slices,
        .coeffs = w->coeffs,
        .scaling = &w->scaling,
        .slice_count = w->slice_count,
        .coeff_block_count = w->coeff_block_count,
        .scaling_count = 1,
    };
    view.head = (struct rec_picture){
        .slot = w->current_slot,
        .mb_width = w->mb_width,
        .mb_height = w->mb_height,
        .structure = REC_FRAME,
        .chroma_format_idc = w->encoding->chroma_format_idc,
        .bit_depth = {8, 8},
        .coeff_bytes = 2,
        .mb_count = w->mb_count,
    };
    for (uint32_t i = 0; i < w->mb_count; i++) {
        view.head.has_inter |= w->mbs[i].kind == REC_MB_INTER;
        view.head.has_intra |= w->mbs[i].kind != REC_MB_INTER;
        view.head.has_deblock |= w->mbs[i].deblock != 0;
    }
    return view;
}

const struct motion_part search_parts[SEARCH_PARTS] = {
    {0, 0, 2, 2}, {0, 0, 2, 1}, {0, 1, 2, 1}, {0, 0, 1, 2}, {1, 0, 1, 2},
    {0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1},
};

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* PLANE_REACH around the picture, and the level's limits */
struct motion_bounds work_bounds(const struct picture_work *w, uint32_t mb)
{
    int x = (int)(mb % w->mb_width), y = (int)(mb / w->mb_width);
    struct motion_bounds b;
    b.min[0] = larger(-64 * x - 4 * PLANE_REACH, -w->limits->mv_x - 1);
    b.min[1] = larger(-64 * y - 4 * PLANE_REACH, -w->limits->mv_y - 1);
    b.max[0] = smaller(64 * ((int)w->mb_width - 1 - x) + 4 * PLANE_REACH, w->limits->mv_x);
    b.max[1] = smaller(64 * ((int)w->mb_height - 1 - y) + 4 * PLANE_REACH, w->limits->mv_y);
    return b;
}

bool work_allows(const struct motion_bounds *bounds, const int16_t mv[2])
{
    return mv[0] >= bounds->min[0] && mv[0] <= bounds->max[0] && mv[1] >= bounds->min[1] &&
           mv[1] <= bounds->max[1];
}
