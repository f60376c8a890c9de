/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: inter prediction samples and their weighting (8.4.2.2, 8.4.2.3).
 */
#include "ref_internal.h"

/* The samples around one position of the reference plane, coordinates clamped into it (8-239). */
struct ref_window {
    const uint16_t *plane;
    uint32_t stride;
    int width, height;
    int x, y; /* full sample position */
    int bit_depth;
};

static int sample(const struct ref_window *w, int dx, int dy)
{
    int x = ref_clip3(0, w->width - 1, w->x + dx), y = ref_clip3(0, w->height - 1, w->y + dy);
    return w->plane[(size_t)y * w->stride + (size_t)x];
}

/* The 6-tap filter */
static int tap6(const int v[6])
{
    return v[0] - 5 * v[1] + 20 * v[2] + 20 * v[3] - 5 * v[4] + v[5];
}

/* b1 of 8-241 in row dy: between columns 0 and 1 */
static int half_horizontal_raw(const struct ref_window *w, int dy)
{
    int v[6];
    for (int i = 0; i < 6; i++)
        v[i] = sample(w, i - 2, dy);
    return tap6(v);
}

/* h1 of 8-242 in column dx: between rows 0 and 1 */
static int half_vertical_raw(const struct ref_window *w, int dx)
{
    int v[6];
    for (int i = 0; i < 6; i++)
        v[i] = sample(w, dx, i - 2);
    return tap6(v);
}

static int half_horizontal(const struct ref_window *w, int dy)
{
    return ref_clip1((half_horizontal_raw(w, dy) + 16) >> 5, w->bit_depth);
}

static int half_vertical(const struct ref_window *w, int dx)
{
    return ref_clip1((half_vertical_raw(w, dx) + 16) >> 5, w->bit_depth);
}

/* j: between both */
static int half_centre(const struct ref_window *w)
{
    int v[6];
    for (int i = 0; i < 6; i++)
        v[i] = half_horizontal_raw(w, i - 2);
    return ref_clip1((tap6(v) + 512) >> 10, w->bit_depth);
}

static int average(int a, int b)
{
    return (a + b + 1) >> 1;
}

/* Table 8-12 */
static int luma_sample(const struct ref_window *w, int x_frac, int y_frac)
{
    switch (4 * y_frac + x_frac) {
    case 0: /* G */
        return sample(w, 0, 0);
    case 1: /* a */
        return average(sample(w, 0, 0), half_horizontal(w, 0));
    case 2: /* b */
        return half_horizontal(w, 0);
    case 3: /* c */
        return average(sample(w, 1, 0), half_horizontal(w, 0));
    case 4: /* d */
        return average(sample(w, 0, 0), half_vertical(w, 0));
    case 5: /* e */
        return average(half_horizontal(w, 0), half_vertical(w, 0));
    case 6: /* f */
        return average(half_horizontal(w, 0), half_centre(w));
    case 7: /* g */
        return average(half_horizontal(w, 0), half_vertical(w, 1));
    case 8: /* h */
        return half_vertical(w, 0);
    case 9: /* i */
        return average(half_vertical(w, 0), half_centre(w));
    case 10: /* j */
        return half_centre(w);
    case 11: /* k */
        return average(half_centre(w), half_vertical(w, 1));
    case 12: /* n */
        return average(sample(w, 0, 1), half_vertical(w, 0));
    case 13: /* p */
        return average(half_vertical(w, 0), half_horizontal(w, 1));
    case 14: /* q */
        return average(half_centre(w), half_horizontal(w, 1));
    default: /* r */
        return average(half_vertical(w, 1), half_horizontal(w, 1));
    }
}

void ref_inter_luma(const uint16_t *plane, uint32_t stride, int width, int height, int x, int y,
                    int w, int h, int mv_x, int mv_y, int bit_depth, uint16_t *pred)
{
    for (int j = 0; j < h; j++)
        for (int i = 0; i < w; i++) {
            struct ref_window win = {
                plane, stride, width, height, x + i + (mv_x >> 2), y + j + (mv_y >> 2), bit_depth};

            pred[j * w + i] = (uint16_t)luma_sample(&win, mv_x & 3, mv_y & 3);
        }
}

void ref_inter_chroma(const uint16_t *plane, uint32_t stride, int width, int height, int x, int y,
                      int w, int h, int mv_x, int mv_y, int frac_bits_x, int frac_bits_y,
                      uint16_t *pred)
{
    int fx = (mv_x & ((1 << frac_bits_x) - 1)) << (3 - frac_bits_x);
    int fy = (mv_y & ((1 << frac_bits_y) - 1)) << (3 - frac_bits_y);
    for (int j = 0; j < h; j++)
        for (int i = 0; i < w; i++) {
            struct ref_window win = {plane,
                                     stride,
                                     width,
                                     height,
                                     x + i + (mv_x >> frac_bits_x),
                                     y + j + (mv_y >> frac_bits_y),
                                     0};
            int sum = (8 - fx) * (8 - fy) * sample(&win, 0, 0) +
                      fx * (8 - fy) * sample(&win, 1, 0) + (8 - fx) * fy * sample(&win, 0, 1) +
                      fx * fy * sample(&win, 1, 1);
            pred[j * w + i] = (uint16_t)((sum + 32) >> 6);
        }
}

/* ---- weighting (8.4.2.3) ---- */

/* 8.4.2.3.2, one list */
static int weight_one(const struct ref_weights *k, int list, int p, int bit_depth)
{
    int v = k->log2_denom >= 1 ? ((p * k->w[list] + (1 << (k->log2_denom - 1))) >> k->log2_denom)
                               : p * k->w[list];
    return ref_clip1(v + k->o[list], bit_depth);
}

/* 8.4.2.3.2, both lists */
static int weight_two(const struct ref_weights *k, int p0, int p1, int bit_depth)
{
    int v = (p0 * k->w[0] + p1 * k->w[1] + (1 << k->log2_denom)) >> (k->log2_denom + 1);
    return ref_clip1(v + ((k->o[0] + k->o[1] + 1) >> 1), bit_depth);
}

void ref_weight(const struct ref_weights *weights, const uint16_t *pred0, const uint16_t *pred1,
                int n, int bit_depth, uint16_t *out)
{
    bool both = pred0 && pred1;
    int list = pred0 ? 0 : 1;
    for (int i = 0; i < n; i++) {
        int p0 = pred0 ? pred0[i] : 0, p1 = pred1 ? pred1[i] : 0;
        if (weights->mode == REC_WEIGHT_DEFAULT || (weights->mode == REC_WEIGHT_IMPLICIT && !both))
            out[i] = (uint16_t)(both ? average(p0, p1) : list ? p1 : p0);
        else
            out[i] = (uint16_t)(both ? weight_two(weights, p0, p1, bit_depth)
                                     : weight_one(weights, list, list ? p1 : p0, bit_depth));
    }
}

struct ref_weights ref_weights_of(const struct rec_view *view, const struct rec_slice *slice,
                                  int ref_idx_l0, int ref_idx_l1, int component)
{
    struct ref_weights k = {.mode = slice->weight_mode};
    const int16_t *table = view->weights + slice->weights;
    if (k.mode == REC_WEIGHT_EXPLICIT) {
        k.log2_denom = slice->log2_denom[component > 0];
        for (int list = 0; list < 2; list++) {
            int ref_idx = list ? ref_idx_l1 : ref_idx_l0;
            const int16_t *entry = table + (list * slice->num_ref[0] + ref_idx) * 6 + component * 2;
            if (ref_idx >= 0) {
                k.w[list] = entry[0];
                k.o[list] = entry[1];
            }
        }
    } else if (k.mode == REC_WEIGHT_IMPLICIT && ref_idx_l0 >= 0 && ref_idx_l1 >= 0) {
        k.log2_denom = 5;
        k.w[1] = table[ref_idx_l0 * slice->num_ref[1] + ref_idx_l1];
        k.w[0] = 64 - k.w[1];
    }
    return k;
}

struct ref_weights ref_weights_of_mb(const struct rec_view *view, uint32_t mb, int ref_idx_l0,
                                     int ref_idx_l1, int component)
{
    const struct rec_slice *slice = &view->slices[view->mbs[mb].slice];
    int n = slice->num_ref[0] * slice->num_ref[1];
    bool bottom = mb / view->head.mb_width & 1;
    struct ref_weights k;
    if (!view->head.mbaff || !ref_is_field(view, mb))
        return ref_weights_of(view, slice, ref_idx_l0, ref_idx_l1, component);
    k = ref_weights_of(view, slice, ref_idx_l0 >> 1, ref_idx_l1 >> 1, component); /* -1 stays */
    if (k.mode == REC_WEIGHT_IMPLICIT && ref_idx_l0 >= 0 && ref_idx_l1 >= 0) {
        k.w[1] = view->weights[slice->weights +
                               (uint32_t)(n + (bottom ? 4 * n : 0) +
                                          ref_idx_l0 * 2 * slice->num_ref[1] + ref_idx_l1)];
        k.w[0] = 64 - k.w[1];
    }
    return k;
}

/* The frame or field that a reference index of a macroblock names (8.4.2.1). */
static uint16_t reference_of(const struct rec_view *view, uint32_t mb, int list, int ref_idx)
{
    const struct rec_slice *slice = &view->slices[view->mbs[mb].slice];
    unsigned bottom = mb / view->head.mb_width & 1;
    uint16_t ref;
    if (!view->head.mbaff || !ref_is_field(view, mb))
        return slice->ref[list][ref_idx];
    ref = slice->ref[list][ref_idx >> 1];
    return (uint16_t)REC_REF(REC_REF_SLOT(ref), bottom ^ (ref_idx & 1) ? REC_BOTTOM : REC_TOP);
}

/* Table 8-9: vertical offset of a chroma vector between fields of different parity, in quarter
 * samples; 4:2:0 only */
static int chroma_offset(const struct rec_view *view, uint32_t mb, unsigned reference)
{
    bool bottom = ref_is_field_picture(view) ? view->head.structure == REC_BOTTOM
                                             : (mb / view->head.mb_width & 1) != 0;
    if (view->head.chroma_format_idc != 1 || reference == REC_FRAME ||
        bottom == (reference == REC_BOTTOM))
        return 0;
    return bottom ? 2 : -2;
}

/* Prediction from one list */
static int predict_list(const struct rec_view *view, struct ref_frame *const *frames,
                        uint32_t slot_count, uint32_t mb, int block, int component, int list,
                        uint16_t pred[16])
{
    const struct rec_motion *motion = &view->motion[mb];
    int quadrant = (block >> 1 & 1) + (block >> 3 & 1) * 2;
    uint16_t ref = reference_of(view, mb, list, motion->ref_idx[list][quadrant]);
    uint8_t format = view->head.chroma_format_idc;
    struct ref_place at = ref_place_of(view, mb, component);
    int w = at.width / 4, h = at.height / 4;
    /* in the frame or field referred to */
    int x = at.x + (block & 3) * w, y = at.y / at.step + (block >> 2) * h;
    const int16_t *mv = motion->mv[list][block];
    struct ref_plane plane;

    if (REC_REF_SLOT(ref) >= slot_count || !frames[REC_REF_SLOT(ref)])
        return -1;
    plane = ref_plane_of(frames[REC_REF_SLOT(ref)], ref_plane_index(view, component),
                         REC_REF_STRUCTURE(ref));
    if (component == 0 || format == 3)
        ref_inter_luma(plane.samples, (uint32_t)plane.stride, plane.width, plane.height, x, y, w, h,
                       mv[0], mv[1], ref_bit_depth(view, component), pred);
    else
        ref_inter_chroma(plane.samples, (uint32_t)plane.stride, plane.width, plane.height, x, y, w,
                         h, mv[0], mv[1] + chroma_offset(view, mb, REC_REF_STRUCTURE(ref)), 3,
                         format == 1 ? 3 : 2, pred);
    return 0;
}

int ref_inter_block(const struct rec_view *view, struct ref_frame *const *frames,
                    uint32_t slot_count, uint32_t mb, int block, int component, uint16_t pred[16])
{
    const struct rec_motion *motion = &view->motion[mb];
    int quadrant = (block >> 1 & 1) + (block >> 3 & 1) * 2;
    uint8_t format = view->head.chroma_format_idc;
    int n = (int)(ref_mb_width(format, component) * ref_mb_height(format, component)) / 16;
    uint16_t from[2][16];
    bool used[2];
    struct ref_weights weights;
    for (int list = 0; list < 2; list++) {
        used[list] = motion->ref_idx[list][quadrant] >= 0;
        if (used[list] &&
            predict_list(view, frames, slot_count, mb, block, component, list, from[list]) < 0)
            return -1;
    }
    if (!used[0] && !used[1])
        return -1;
    weights = ref_weights_of_mb(view, mb, motion->ref_idx[0][quadrant],
                                motion->ref_idx[1][quadrant], component);
    ref_weight(&weights, used[0] ? from[0] : NULL, used[1] ? from[1] : NULL, n,
               ref_bit_depth(view, component), pred);
    return 0;
}

int ref_predict_inter_mb(const struct rec_view *view, struct ref_frame *const *frames,
                         uint32_t slot_count, uint32_t mb, uint16_t pred[3][256])
{
    for (int component = 0; component < 3; component++) {
        int mb_w = (int)ref_mb_width(view->head.chroma_format_idc, component), w = mb_w / 4;
        int h = (int)ref_mb_height(view->head.chroma_format_idc, component) / 4;
        for (int block = 0; block < 16 && mb_w; block++) {
            uint16_t samples[16];
            if (ref_inter_block(view, frames, slot_count, mb, block, component, samples) < 0)
                return -1;
            for (int y = 0; y < h; y++)
                memcpy(&pred[component][((block >> 2) * h + y) * mb_w + (block & 3) * w],
                       samples + y * w, (size_t)w * sizeof(samples[0]));
        }
    }
    return 0;
}
