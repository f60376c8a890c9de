/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The VUI of a sequence parameter set (E.1): any values that the syntax allows.
 */
#include "gen.h"

#include "codec/parameter_sets.h"

/* What a VUI says where a part of it is absent (E.2.1) */
static void vui_default(struct h264_vui *v)
{
    *v = (struct h264_vui){.video_format = 5, .colour_primaries = 2, .transfer = 2, .matrix = 2};
}

static void choose_hrd(struct rng *r, struct h264_vui *v)
{
    v->nal_hrd_present = rng_one_in(r, 2);
    v->vcl_hrd_present = rng_one_in(r, 2);
    if (v->nal_hrd_present)
        v->cpb_count[0] = (uint8_t)(1 + rng_below(r, rng_one_in(r, 8) ? 32 : 3));
    if (v->vcl_hrd_present)
        v->cpb_count[1] = (uint8_t)(1 + rng_below(r, rng_one_in(r, 8) ? 32 : 3));
    if (!v->nal_hrd_present && !v->vcl_hrd_present)
        return;
    v->initial_cpb_removal_delay_length = (uint8_t)(1 + rng_below(r, 32));
    v->cpb_removal_delay_length = (uint8_t)(1 + rng_below(r, 32));
    v->dpb_output_delay_length = (uint8_t)(1 + rng_below(r, 32));
    v->time_offset_length = (uint8_t)rng_below(r, 32);
}

static void choose_signal(struct rng *r, struct h264_vui *v)
{
    static const uint8_t matrices[5] = {1, 5, 6, 7, 9}; /* 0 would make 4:4:4 RGB */
    v->video_signal_type_present = rng_one_in(r, 2);
    if (!v->video_signal_type_present)
        return;
    v->video_format = (uint8_t)rng_below(r, 6);
    v->full_range = rng_one_in(r, 2);
    v->colour_description_present = rng_one_in(r, 2);
    if (!v->colour_description_present)
        return;
    v->colour_primaries = (uint8_t)rng_range(r, 4, 9);
    v->transfer = (uint8_t)rng_range(r, 4, 17);
    v->matrix = matrices[rng_below(r, 5)];
}

void vui_choose(struct gen *g)
{
    struct rng r = rng_fork(g->rng, 66);
    struct h264_vui *v = &g->sps.vui;
    vui_default(v);
    if (!gen_has(g, F_VUI))
        return;
    v->aspect_ratio_idc = (uint8_t)(rng_one_in(&r, 2) ? 255 : rng_below(&r, 17));
    if (v->aspect_ratio_idc == 255) {
        /* FFmpeg refuses those that make less than a sample of a picture */
        v->sar_width = (uint16_t)(100 + rng_below(&r, 100));
        v->sar_height = (uint16_t)(100 + rng_below(&r, 100));
    } else {
        v->sar_width = h264_sample_aspect_ratio[v->aspect_ratio_idc][0];
        v->sar_height = h264_sample_aspect_ratio[v->aspect_ratio_idc][1];
    }
    v->overscan_info_present = rng_one_in(&r, 2);
    v->overscan_appropriate = v->overscan_info_present && rng_one_in(&r, 2);
    choose_signal(&r, v);
    v->chroma_loc_present = g->sps.chroma_format_idc == 1 && rng_one_in(&r, 2);
    if (v->chroma_loc_present) {
        v->chroma_loc_top = (uint8_t)rng_below(&r, 6);
        v->chroma_loc_bottom = (uint8_t)rng_below(&r, 6);
    }
    v->timing_info_present = rng_one_in(&r, 2);
    if (v->timing_info_present) {
        unsigned below = rng_one_in(&r, 2) ? 32 - 10 : 32 - 20;
        v->num_units_in_tick = 1 + (rng_next(&r) >> below);
        v->time_scale =
            v->num_units_in_tick * (2 + rng_below(&r, 240)) + rng_below(&r, v->num_units_in_tick);
        v->fixed_frame_rate = rng_one_in(&r, 2);
    }
    if (!gen_has(g, F_SEI)) /* they ask for messages with each picture (D.2.1, D.2.2) */
        return;
    choose_hrd(&r, v);
    v->pic_struct_present = rng_one_in(&r, 2);
}

/* hrd_parameters(): rates that go up (E.2.2) */
static void write_hrd(const struct h264_vui *v, unsigned count, struct sink *s)
{
    sink_ue(s, count - 1);
    sink_u(s, 4, 2); /* bit_rate_scale */
    sink_u(s, 4, 3); /* cpb_size_scale */
    for (unsigned i = 0; i < count; i++) {
        sink_ue(s, 5000 + 1000 * i); /* bit_rate_value_minus1 */
        sink_ue(s, 9000 - 100 * i);  /* cpb_size_value_minus1 */
        sink_u(s, 1, i & 1);         /* cbr_flag */
    }
    sink_u(s, 5, v->initial_cpb_removal_delay_length - 1u);
    sink_u(s, 5, v->cpb_removal_delay_length - 1u);
    sink_u(s, 5, v->dpb_output_delay_length - 1u);
    sink_u(s, 5, v->time_offset_length);
}

static void write_signal(const struct h264_vui *v, struct sink *s)
{
    sink_u(s, 1, v->video_signal_type_present);
    if (!v->video_signal_type_present)
        return;
    sink_u(s, 3, v->video_format);
    sink_u(s, 1, v->full_range);
    sink_u(s, 1, v->colour_description_present);
    if (v->colour_description_present) {
        sink_u(s, 8, v->colour_primaries);
        sink_u(s, 8, v->transfer);
        sink_u(s, 8, v->matrix);
    }
}

/* Up to pic_struct_present_flag. aspect_ratio_idc 0 is what absence means. */
void vui_write_head(struct gen *g, struct sink *s)
{
    const struct h264_vui *v = &g->sps.vui;
    g->used |= g->on & F_VUI;
    sink_u(s, 1, v->aspect_ratio_idc != 0);
    if (v->aspect_ratio_idc)
        sink_u(s, 8, v->aspect_ratio_idc);
    if (v->aspect_ratio_idc == 255) {
        sink_u(s, 16, v->sar_width);
        sink_u(s, 16, v->sar_height);
    }
    sink_u(s, 1, v->overscan_info_present);
    if (v->overscan_info_present)
        sink_u(s, 1, v->overscan_appropriate);
    write_signal(v, s);
    sink_u(s, 1, v->chroma_loc_present);
    if (v->chroma_loc_present) {
        sink_ue(s, v->chroma_loc_top);
        sink_ue(s, v->chroma_loc_bottom);
    }
    sink_u(s, 1, v->timing_info_present);
    if (v->timing_info_present) {
        sink_u(s, 32, v->num_units_in_tick);
        sink_u(s, 32, v->time_scale);
        sink_u(s, 1, v->fixed_frame_rate);
    }
    for (unsigned k = 0; k < 2; k++) {
        /* nal_hrd_parameters_present_flag, vcl_hrd_parameters_present_flag */
        sink_u(s, 1, v->cpb_count[k] > 0);
        if (v->cpb_count[k])
            write_hrd(v, v->cpb_count[k], s);
    }
    if (v->nal_hrd_present || v->vcl_hrd_present)
        sink_u(s, 1, 0); /* low_delay_hrd_flag */
    sink_u(s, 1, v->pic_struct_present);
}
