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
