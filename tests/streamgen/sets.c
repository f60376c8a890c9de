/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice of parameter sets (7.4.2.1, 7.4.2.2).
 */
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Level, its vertical vector range in samples, whether it allows field coding and
 * direct_8x8_inference_flag 0 (Tables ). */
static const struct level {
    uint8_t idc, fields, small_direct;
    uint16_t vertical;
} levels[] = {{20, 0, 1, 128}, {21, 1, 1, 256}, {22, 1, 1, 256}, {30, 1, 0, 256}, {31, 1, 0, 512},
              {40, 1, 0, 512}, {41, 1, 0, 512}, {42, 0, 0, 512}, {51, 0, 0, 512}};
#define LEVELS (sizeof(levels) / sizeof(levels[0]))

unsigned sets_vector_limit(unsigned component, unsigned level_idc)
{
    size_t i = 0;
    if (!component)
        return 2048 * 4 - 1;
    while (i + 1 < LEVELS && levels[i].idc != level_idc)
        i++;
    return levels[i].vertical * 4u - 1;
}

static void choose_list(struct rng *r, struct scaling_lists *s, unsigned i)
{
    unsigned count = i < 6 ? 16 : 64, kind = rng_below(r, 5);
    uint8_t v = (uint8_t)rng_range(r, 8, 32);
    s->present |= (uint16_t)(1u << i);
    if (kind == 0) {
        s->use_default |= (uint16_t)(1u << i);
        return;
    }
    s->sent[i] = (uint8_t)(kind == 1 ? 1 + rng_below(r, count - 1) : count);
    for (unsigned k = 0; k < count; k++) {
        if (k < s->sent[i])
            v = (uint8_t)(kind == 2 ? rng_range(r, 1, 255)
                                    : rng_range(r, v > 4 ? v - 3 : 1, v < 60 ? v + 3 : 60));
        s->value[i][k] = v;
    }
}

/* Lists are in force as they are sent, or the default ones: the largest weight of any. */
static void choose_lists(struct gen *g, struct scaling_lists *s, unsigned count)
{
    memset(s, 0, sizeof(*s));
    for (unsigned i = 0; i < count; i++)
        if (rng_one_in(&g->rng, 2))
            choose_list(&g->rng, s, i);
    if (g->max_weight < 42) /* Tables 7-3, 7-4 */
        g->max_weight = 42;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < (i < 6 ? 16u : 64u); k++)
            if (s->present >> i & 1 && s->value[i][k] > g->max_weight)
                g->max_weight = s->value[i][k];
}

static void choose_format(struct gen *g)
{
    struct h264_sps *sps = &g->sps;
    unsigned most = g->profile->max_depth;
    sps->profile_idc = g->profile->profile_idc;
    sps->constraint_flags = g->profile->constraint_flags;
    sps->chroma_format_idc = gen_use(g, &g->rng, F_MONO, 1)   ? 0
                             : gen_use(g, &g->rng, F_C422, 1) ? 2
                             : gen_use(g, &g->rng, F_C444, 1) ? 3
                                                              : 1;
    sps->separate_colour_plane_flag = gen_use(g, &g->rng, F_PLANES, 1);
    sps->bit_depth[0] = sps->bit_depth[1] = 8;
    if (gen_use(g, &g->rng, F_DEPTH, 1))
        sps->bit_depth[0] = sps->bit_depth[1] = (uint8_t)rng_range(&g->rng, 9, (int)most);
    if (gen_use(g, &g->rng, F_DEPTHDIFF, 1))
        while (sps->bit_depth[0] == sps->bit_depth[1])
            sps->bit_depth[rng_below(&g->rng, 2)] = (uint8_t)rng_range(&g->rng, 8, (int)most);
    sps->qpprime_y_zero_transform_bypass_flag = gen_has(g, F_LOSSLESS);
    if (g->profile->profile_idc == 44)
        g->used |= F_INTRA444;
}

static void choose_size(struct gen *g)
{
    struct h264_sps *sps = &g->sps;
    bool fields = gen_has(g, F_FIELDS | F_MBAFF),
         subsampled = sps->chroma_format_idc == 1 || sps->chroma_format_idc == 2;
    unsigned most = rng_one_in(&g->rng, 4) ? 8 : 4, unit_x, unit_y;
    const struct level *level;
    sps->frame_mbs_only_flag = !fields;
    sps->mb_adaptive_frame_field_flag = gen_has(g, F_MBAFF);
    sps->mb_width = (uint16_t)(1 + rng_below(&g->rng, most));
    sps->map_height = (uint16_t)(1 + rng_below(&g->rng, most >> fields));
    if (g->limits.width) {
        sps->mb_width = (uint16_t)g->limits.width;
        sps->map_height = (uint16_t)((g->limits.height + fields) >> fields);
    }
    sps->mb_height = (uint16_t)(sps->map_height << fields);
    do {
        level = &levels[rng_below(&g->rng, LEVELS)];
    } while (fields && !level->fields);
    sps->level_idc = level->idc;
    sps->direct_8x8_inference_flag = fields || !level->small_direct || rng_one_in(&g->rng, 2);
    sps->crop_left = sps->crop_right = sps->crop_top = sps->crop_bottom = 0;
    unit_x = subsampled ? 2 : 1;
    unit_y = (sps->chroma_format_idc == 1 ? 2u : 1u) << fields;
    if (gen_use(g, &g->rng, F_CROP, 1)) {
        sps->crop_left = (uint16_t)(unit_x * rng_below(&g->rng, 7 / unit_x + 1));
        sps->crop_right = (uint16_t)(unit_x * rng_below(&g->rng, 7 / unit_x + 1));
        sps->crop_top = (uint16_t)(unit_y * rng_below(&g->rng, 7 / unit_y + 1));
        sps->crop_bottom = (uint16_t)(unit_y * rng_below(&g->rng, 7 / unit_y + 1));
    }
}

static void choose_poc(struct gen *g)
{
    struct h264_sps *sps = &g->sps;
    struct rng *r = &g->rng;
    sps->log2_max_frame_num = (uint8_t)rng_range(r, 4, rng_one_in(r, 2) ? 5 : 16);
    sps->poc_type = gen_use(g, r, F_POC1, 1) ? 1 : gen_use(g, r, F_POC2, 1) ? 2 : 0;
    sps->log2_max_poc_lsb = (uint8_t)rng_range(r, 4, rng_one_in(r, 2) ? 6 : 16);
    g->reorder = g->profile->intra || sps->poc_type == 2 ? 1 : 4;
    g->poc_step = 4;
    if (sps->poc_type == 0 && sps->log2_max_poc_lsb < 6) {
        g->reorder = sps->log2_max_poc_lsb == 4 ? 1 : 2;
        g->poc_step = 2;
    }
    if (sps->poc_type == 1) {
        sps->delta_pic_order_always_zero_flag = rng_one_in(r, 3);
        sps->num_ref_frames_in_poc_cycle = (uint8_t)rng_range(r, 0, 4);
        if (sps->delta_pic_order_always_zero_flag)
            sps->num_ref_frames_in_poc_cycle = (uint8_t)rng_range(r, 1, 4);
        sps->offset_for_non_ref_pic =
            sps->delta_pic_order_always_zero_flag ? 2 : rng_range(r, -6, 6);
        sps->offset_for_top_to_bottom_field =
            rng_range(r, sps->delta_pic_order_always_zero_flag ? 0 : -1, 1);
        for (unsigned i = 0; i < sps->num_ref_frames_in_poc_cycle; i++)
            sps->offset_for_ref_frame[i] = rng_range(r, 4, 9);
        if (sps->delta_pic_order_always_zero_flag)
            g->reorder = 1;
    }
}

/* A stream whose order of output is that of decoding can do without bitstream_restriction: few DPB
 * sizes are tried otherwise. */
static void choose_buffering(struct gen *g)
{
    struct h264_sps *sps = &g->sps;
    sps->max_num_ref_frames =
        (uint8_t)(g->profile->intra ? 0 : rng_range(&g->rng, 1, rng_one_in(&g->rng, 3) ? 12 : 4));
    if (!g->profile->intra && g->on & F_TEMPORAL && sps->max_num_ref_frames < 3)
        sps->max_num_ref_frames = 4;
    sps->gaps_in_frame_num_allowed = gen_has(g, F_GAPS) || rng_one_in(&g->rng, 8);
    sps->vui_present = g->reorder > 1 || !rng_one_in(&g->rng, 3);
    sps->reorder_frames = (uint8_t)(g->reorder > 1 ? 3 : 0);
    sps->max_dpb_frames = 16;
}

static void choose_order(struct gen *g)
{
    bool low = g->sps.profile_idc < 100;
    bool vui = g->sps.vui_present;
    unsigned reorder = g->reorder, reorder_frames = g->sps.reorder_frames;
    g->max_weight = 16;
    g->sps.seq_scaling_matrix_present_flag = !low && gen_use(g, &g->rng, F_SPSLISTS, 1);
    if (g->sps.seq_scaling_matrix_present_flag)
        choose_lists(g, &g->sps_lists, g->sps.chroma_format_idc == 3 ? 12 : 8);
    choose_poc(g);
    choose_buffering(g);
    /* not the first time: the order of output stays within what the first set declared */
    if (vui || reorder) {
        g->sps.vui_present = vui;
        g->reorder = g->reorder < reorder ? g->reorder : reorder;
        g->sps.reorder_frames = (uint8_t)reorder_frames;
    }
}

/* 7.4.2.2: slice groups */
static void choose_groups(struct gen *g, struct h264_pps *pps)
{
    unsigned units = g->sps.mb_width * g->sps.map_height, types[7], n = 0;
    struct rng *r = &g->rng;
    pps->num_slice_groups = 1;
    for (unsigned i = 0; i < 7; i++)
        if (g->on >> (FEATURE_FMO0 + i) & 1)
            types[n++] = i;
    if (!n || units < 2)
        return;
    pps->slice_group_map_type = (uint8_t)types[rng_below(r, n)];
    g->used |= (uint64_t)1 << (FEATURE_FMO0 + pps->slice_group_map_type);
    pps->num_slice_groups =
        (uint8_t)(pps->slice_group_map_type >= 3 && pps->slice_group_map_type < 6
                      ? 2
                      : rng_range(r, 2, units < 8 ? (int)units : 8));
    pps->slice_group_change_direction_flag = rng_one_in(r, 2);
    pps->slice_group_change_rate = 1 + rng_below(r, rng_one_in(r, 2) ? 2 : units);
    for (unsigned i = 0; i < 8; i++) {
        unsigned x = rng_below(r, g->sps.mb_width), y = rng_below(r, g->sps.map_height);
        pps->run_length[i] = 1 + rng_below(r, rng_one_in(r, 2) ? units : 2);
        pps->top_left[i] = y * g->sps.mb_width + x;
        pps->bottom_right[i] = (y + rng_below(r, g->sps.map_height - y)) * g->sps.mb_width + x +
                               rng_below(r, g->sps.mb_width - x);
    }
    if (pps->slice_group_map_type != 6)
        return;
    pps->pic_size_in_map_units = units;
    pps->slice_group_id = malloc(units);
    if (!pps->slice_group_id) {
        fprintf(stderr, "streamgen: no memory\n");
        exit(1);
    }
    for (unsigned i = 0; i < units; i++)
        pps->slice_group_id[i] = (uint8_t)rng_below(r, pps->num_slice_groups);
}

/* What slices of one picture have in common. */
static void choose_shared(struct gen *g, struct h264_pps *pps)
{
    struct rng *r = &g->rng;
    pps->bottom_field_pic_order_in_frame_present_flag = rng_one_in(r, 2);
    pps->constrained_intra_pred_flag =
        (g->odd || !g->sps.mb_adaptive_frame_field_flag) && gen_use(g, r, F_CONSTRAINED, 2);
    pps->redundant_pic_cnt_present_flag = gen_has(g, F_REDUNDANT);
    if (gen_use(g, r, F_CHROMAQP, 1))
        pps->chroma_qp_offset[0] = pps->chroma_qp_offset[1] = (int8_t)rng_range(r, -12, 12);
    if (g->sps.profile_idc >= 100 && gen_has(g, F_CHROMAQP))
        pps->chroma_qp_offset[1] = (int8_t)rng_range(r, -12, 12);
    choose_groups(g, pps);
}

static void choose_own(struct gen *g, struct h264_pps *pps, unsigned i)
{
    struct rng *r = &g->rng;
    int lowest = -6 * (g->sps.bit_depth[0] - 8);
    pps->id = (uint8_t)(rng_one_in(r, 4) ? i * 80 + 7 : i);
    pps->sps_id = g->sps.id;
    pps->entropy_coding_mode_flag =
        gen_has(g, F_CABAC) && (!gen_has(g, F_CAVLC) || (i & 1) == (g->sps.level_idc & 1u));
    pps->num_ref_default[0] = (uint8_t)rng_range(r, 1, 4);
    pps->num_ref_default[1] = (uint8_t)rng_range(r, 1, 4);
    pps->weighted_pred_flag = gen_has(g, F_EXPLICIT) && rng_one_in(r, 2);
    pps->weighted_bipred_idc =
        (uint8_t)(gen_has(g, F_IMPLICIT) && rng_one_in(r, gen_has(g, F_EXPLICIT) ? 2 : 1) ? 2
                  : gen_has(g, F_EXPLICIT) && rng_one_in(r, 2)                            ? 1
                                                                                          : 0);
    pps->pic_init_qp = (int8_t)rng_range(r, rng_one_in(r, 4) ? lowest : 16, 36);
    pps->pic_init_qs = (int8_t)rng_range(r, 16, 36);
    pps->deblocking_filter_control_present_flag = gen_has(g, F_DEBLOCK | F_NODEBLOCK);
    pps->transform_8x8_mode_flag = gen_has(g, F_T8X8 | F_I8X8) && !rng_one_in(r, 3);
    pps->pic_scaling_matrix_present_flag =
        g->sps.profile_idc >= 100 && gen_use(g, r, F_PPSLISTS, 2);
    if (pps->pic_scaling_matrix_present_flag)
        choose_lists(
            g, &g->pps_lists[i],
            6 + (pps->transform_8x8_mode_flag ? g->sps.chroma_format_idc == 3 ? 6u : 2u : 0));
}

void sets_free(struct gen *g)
{
    for (unsigned i = 0; i < g->pps_count; i += 2) /* pairs share it */
        free(g->pps[i].slice_group_id);
    g->pps_count = 0;
}

static void choose_pps(struct gen *g)
{
    sets_free(g);
    g->pps_count = gen_use(g, &g->rng, F_SETS, 1)               ? 4
                   : gen_has(g, F_CAVLC) && gen_has(g, F_CABAC) ? 2
                                                                : 1;
    memset(g->pps, 0, sizeof(g->pps));
    for (unsigned i = 0; i < g->pps_count; i++) {
        if (i & 1)
            g->pps[i] = g->pps[i - 1];
        else
            choose_shared(g, &g->pps[i]);
        choose_own(g, &g->pps[i], i);
    }
}

/* One that has all tools of the present one (A.2), or that one. */
static unsigned wider_profile(const struct gen *g)
{
    static const uint8_t next[][2] = {{77, 100}, {100, 110}, {110, 122}, {122, 244}};
    unsigned profile = g->sps.profile_idc;
    for (unsigned i = 0; i < sizeof(next) / sizeof(next[0]); i++)
        if (profile == next[i][0] && (profile != 77 || !g->sps.constraint_flags))
            return next[i][1];
    return profile;
}

void sets_choose(struct gen *g, bool resize)
{
    struct rng r = g->rng; /* forks keep what one choice takes from moving the next */
    bool first = !g->sps.profile_idc;
    if (first) {
        g->rng = rng_fork(r, 1);
        choose_format(g);
    }
    if (resize) {
        g->rng = rng_fork(r, 2);
        choose_size(g);
    }
    if (first) {
        vui_choose(g);
        g->sps.id = (uint8_t)(rng_one_in(&g->rng, 3) ? rng_below(&g->rng, 32) : 0);
    } else if (resize && rng_one_in(&g->rng, 2)) {
        g->sps.profile_idc = (uint8_t)wider_profile(g);
    }
    g->rng = rng_fork(r, 3);
    choose_order(g);
    g->rng = rng_fork(r, 4);
    choose_pps(g);
    g->rng = rng_fork(r, 5);
}
