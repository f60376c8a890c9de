/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Picture order count (8.2.1). Sums wrap modulo 2^32: streams may hold any values.
 */
#include "codec/poc.h"

static int32_t wrapping_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* Fields present: a field picture sets its own member only. */
static void set_poc(const struct h264_slice_header *h, int32_t top, int32_t bottom, int32_t poc[2])
{
    if (!h->field_pic_flag || !h->bottom_field_flag)
        poc[0] = top;
    if (!h->field_pic_flag || h->bottom_field_flag)
        poc[1] = bottom;
}

/* 8.2.1.1 */
static void derive_type0(struct h264_poc_state *s, const struct h264_sps *sps,
                         const struct h264_slice_header *h, int32_t poc[2])
{
    int32_t max = 1 << sps->log2_max_poc_lsb, lsb = (int32_t)h->poc_lsb, msb, first;
    if (h->idr)
        s->prev_msb = s->prev_lsb = 0;
    msb = s->prev_msb;
    if (lsb < s->prev_lsb && s->prev_lsb - lsb >= max / 2)
        msb = wrapping_add(msb, max);
    else if (lsb > s->prev_lsb && lsb - s->prev_lsb > max / 2)
        msb = wrapping_add(msb, -max);
    first = wrapping_add(msb, lsb);
    set_poc(h, first, h->field_pic_flag ? first : wrapping_add(first, h->delta_poc_bottom), poc);
}

static uint32_t frame_num_offset(const struct h264_poc_state *s, const struct h264_sps *sps,
                                 const struct h264_slice_header *h)
{
    if (h->idr)
        return 0;
    return s->prev_frame_num_offset +
           (s->prev_frame_num > h->frame_num ? 1u << sps->log2_max_frame_num : 0);
}

/* 8.2.1.2 */
static void derive_type1(const struct h264_sps *sps, const struct h264_slice_header *h,
                         uint32_t offset, int32_t poc[2])
{
    uint32_t cycle = sps->num_ref_frames_in_poc_cycle,
             abs_frame_num = cycle ? offset + h->frame_num : 0, expected = 0;
    int32_t first;
    if (!h->nal_ref_idc && abs_frame_num)
        abs_frame_num--;
    if (abs_frame_num) {
        uint32_t delta_per_cycle = 0, cycles = (abs_frame_num - 1) / cycle,
                 in_cycle = (abs_frame_num - 1) % cycle;
        for (uint32_t i = 0; i < cycle; i++) {
            delta_per_cycle += (uint32_t)sps->offset_for_ref_frame[i];
            if (i <= in_cycle)
                expected += (uint32_t)sps->offset_for_ref_frame[i];
        }
        expected += cycles * delta_per_cycle;
    }
    if (!h->nal_ref_idc)
        expected += (uint32_t)sps->offset_for_non_ref_pic;
    first = wrapping_add((int32_t)expected, h->delta_poc[0]);
    set_poc(h, first,
            wrapping_add(first, wrapping_add(sps->offset_for_top_to_bottom_field,
                                             h->field_pic_flag ? 0 : h->delta_poc[1])),
            poc);
}

/* 8.2.1.3 */
static void derive_type2(const struct h264_slice_header *h, uint32_t offset, int32_t poc[2])
{
    uint32_t value = 2 * (offset + h->frame_num);
    if (!h->idr && !h->nal_ref_idc)
        value--;
    if (h->idr)
        value = 0;
    set_poc(h, (int32_t)value, (int32_t)value, poc);
}

void h264_poc_derive(struct h264_poc_state *state, const struct h264_sps *sps,
                     const struct h264_slice_header *h, int32_t poc[2])
{
    uint32_t offset = frame_num_offset(state, sps, h);
    if (sps->poc_type == 0)
        derive_type0(state, sps, h, poc);
    else if (sps->poc_type == 1)
        derive_type1(sps, h, offset, poc);
    else
        derive_type2(h, offset, poc);
}

void h264_poc_after(struct h264_poc_state *state, const struct h264_sps *sps,
                    const struct h264_slice_header *h, bool reset, const int32_t poc[2])
{
    if (sps->poc_type == 0) {
        if (!h->nal_ref_idc)
            return;
        if (reset) {
            state->prev_msb = 0;
            state->prev_lsb = h->field_pic_flag && h->bottom_field_flag ? 0 : poc[0];
        } else {
            state->prev_lsb = (int32_t)h->poc_lsb;
            state->prev_msb =
                wrapping_add(poc[h->field_pic_flag && h->bottom_field_flag], -state->prev_lsb);
        }
        return;
    }
    state->prev_frame_num_offset = reset ? 0 : frame_num_offset(state, sps, h);
    state->prev_frame_num = reset ? 0 : h->frame_num;
}
