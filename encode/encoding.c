/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Settings of an encoding against profiles (A.2) and levels (A.3), and the parameter sets that
 * follow from them (7.4.2).
 */
#include "encode/encoding.h"

#include "codec/parameter_sets.h"
#include "encode/level_tables.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_SIZE 16384 /* 1024 macroblocks; the highest level allows 1055 */
#define SITINGS  6     /* values of chroma_sample_loc_type */

__attribute__((format(printf, 2, 3))) static int encoding_refuse(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, ENCODING_WHY, format, args);
    va_end(args);
    return -1;
}

void encoding_default(struct encoding *e, uint32_t width, uint32_t height)
{
    *e = (struct encoding){.width = width,
                           .height = height,
                           .chroma_format_idc = 1,
                           .colour = {.primaries = 2, .transfer = 2, .matrix = 2},
                           .profile = ENCODING_HIGH,
                           .cabac = true,
                           .transform_8x8 = true,
                           .references = 1,
                           .slices = 1,
                           .qp = 26};
}

static uint32_t in_macroblocks(uint32_t samples)
{
    return (samples + 15) / 16;
}

/* ---- ranges ---- */

static int check_size(const struct encoding *e, char *why)
{
    if (e->width < 1 || e->height < 1 || e->width > MAX_SIZE || e->height > MAX_SIZE)
        return encoding_refuse(why, "size %" PRIu32 "x%" PRIu32 ": must be 1x1 to %dx%d", e->width,
                               e->height, MAX_SIZE, MAX_SIZE);
    if (e->chroma_format_idc > 1)
        return encoding_refuse(why, "chroma format %u: only 4:2:0 and luma alone are encoded",
                               e->chroma_format_idc);
    if (e->chroma_format_idc && (e->width | e->height) & 1)
        return encoding_refuse(why,
                               "size %" PRIu32 "x%" PRIu32 ": is odd, which 4:2:0 cannot crop; "
                               "scale to %" PRIu32 "x%" PRIu32,
                               e->width, e->height, (e->width + 1) & ~1u, (e->height + 1) & ~1u);
    return 0;
}

static int check_range(const char *name, int value, int least, int most, char *why)
{
    if (value >= least && value <= most)
        return 0;
    return encoding_refuse(why, "%s %d: must be %d to %d", name, value, least, most);
}

static int check_ranges(const struct encoding *e, char *why)
{
    if (check_range("references", e->references, 1, ENCODING_REFERENCES, why) ||
        check_range("slices", e->slices, 1, ENCODING_SLICES, why) ||
        check_range("qp", e->qp, 0, 51, why) ||
        check_range("chroma QP offset", e->chroma_qp_offset, -12, 12, why) ||
        check_range("deblocking", e->deblocking, 0, 2, why) ||
        check_range("deblocking's alpha offset", e->filter_offset_a, -6, 6, why) ||
        check_range("deblocking's beta offset", e->filter_offset_b, -6, 6, why))
        return -1;
    if (!e->rate != !e->rate_scale)
        return encoding_refuse(why, "rate %" PRIu32 "/%" PRIu32 ": one part of it is 0", e->rate,
                               e->rate_scale);
    /* time_scale is twice the rate (E.2.1) */
    if (e->rate > UINT32_MAX / 2)
        return encoding_refuse(why, "rate %" PRIu32 "/%" PRIu32 ": shorten the fraction", e->rate,
                               e->rate_scale);
    if (!e->sar_width != !e->sar_height)
        return encoding_refuse(why, "sample aspect ratio %u:%u: one part of it is 0", e->sar_width,
                               e->sar_height);
    if (e->slices > in_macroblocks(e->height))
        return encoding_refuse(why, "slices %u: the picture has %" PRIu32 " rows of macroblocks",
                               e->slices, in_macroblocks(e->height));
    return 0;
}

/* H.273: 0 and 3 are reserved for primaries and transfer, 3 for the matrix; 0 is RGB, which is not
 * for 4:2:0. */
static int check_colour(const struct encoding *e, char *why)
{
    const struct encoding_colour *c = &e->colour;
    if (c->primaries == 0 || c->primaries == 3)
        return encoding_refuse(why, "colour primaries %u: reserved; 2 is unspecified",
                               c->primaries);
    if (c->transfer == 0 || c->transfer == 3)
        return encoding_refuse(why, "transfer characteristics %u: reserved; 2 is unspecified",
                               c->transfer);
    if (c->matrix == 3 || (c->matrix == 0 && e->chroma_format_idc == 1))
        return encoding_refuse(why, "matrix coefficients %u: %s; 2 is unspecified", c->matrix,
                               c->matrix ? "reserved" : "RGB cannot be 4:2:0");
    if (c->siting > SITINGS)
        return encoding_refuse(why, "chroma siting %u: 0 to %d", c->siting, SITINGS);
    return 0;
}

/* ---- profile (A.2) ---- */

static int check_profile(const struct encoding *e, char *why)
{
    if ((unsigned)e->profile > ENCODING_HIGH)
        return encoding_refuse(why, "profile %u: must be baseline, main or high", e->profile);
    if (e->profile == ENCODING_BASELINE && e->cabac)
        return encoding_refuse(why, "CABAC: Constrained Baseline has none; use main, or CAVLC");
    if (e->profile != ENCODING_HIGH && e->transform_8x8)
        return encoding_refuse(why, "8x8 transform: is of the profile high alone");
    if (e->profile != ENCODING_HIGH && !e->chroma_format_idc)
        return encoding_refuse(why, "luma alone: is of the profile high alone");
    return 0;
}

/* cpbBrVclFactor (Table A-2) */
static uint64_t rate_factor(const struct encoding *e)
{
    return e->profile == ENCODING_HIGH ? 1250 : 1000;
}

/* ---- level (A.3) ---- */

/* What the level does not allow; NULL: it allows all. */
static const char *level_misses(const struct encoding *e, const struct encode_level *l)
{
    uint64_t width = in_macroblocks(e->width), height = in_macroblocks(e->height),
             mbs = width * height, longest = 8ull * l->max_fs;
    if (mbs > l->max_fs)
        return "the picture has too many macroblocks";
    if (width * width > longest || height * height > longest)
        return "the picture is too long for its area";
    if (e->rate_scale && mbs * e->rate > (uint64_t)l->max_mbps * e->rate_scale)
        return "too many macroblocks a second";
    if (e->references * mbs > h264_max_dpb_mbs(l->idc))
        return "too many reference frames of this size";
    if (e->bit_rate > rate_factor(e) * l->max_br)
        return "the bit rate is too high";
    if (e->buffer > rate_factor(e) * l->max_cpb)
        return "the buffer is too large";
    return NULL;
}

static int choose_level(const struct encoding *e, const struct encode_level **out, char *why)
{
    const char *misses = NULL;
    for (const struct encode_level *l = encode_levels; l->idc; l++) {
        if (e->level_idc && e->level_idc != l->idc)
            continue;
        misses = level_misses(e, l);
        if (!misses) {
            *out = l;
            return 0;
        }
        if (e->level_idc)
            return encoding_refuse(why, "level %s: %s; choose a higher one, or none", l->name,
                                   misses);
    }
    if (!misses)
        return encoding_refuse(why, "level_idc %u: there is no such level; 41 is level 4.1",
                               e->level_idc);
    return encoding_refuse(why, "no level allows this: %s", misses);
}

/* level_prefix is at most 15 below the profile high (9.2.2.1). */
static int max_level(const struct encoding *e)
{
    return e->cabac || e->profile == ENCODING_HIGH ? INT16_MAX : 2063;
}

int encoding_check(const struct encoding *e, struct encoding_limits *limits, char *why)
{
    const struct encode_level *level = NULL;
    if (check_size(e, why) || check_ranges(e, why) || check_colour(e, why) ||
        check_profile(e, why) || choose_level(e, &level, why))
        return -1;
    *limits = (struct encoding_limits){.mb_width = in_macroblocks(e->width),
                                       .mb_height = in_macroblocks(e->height),
                                       .level_idc = level->idc,
                                       .mv_x = 2048 * 4 - 1, /* A.3.1 */
                                       .mv_y = level->vertical * 4 - 1,
                                       .max_level = max_level(e),
                                       .mvs_in_two = level->max_mvs_per_2mb,
                                       .bit_rate = rate_factor(e) * level->max_br,
                                       .buffer = rate_factor(e) * level->max_cpb,
                                       .mb_rate = level->max_mbps,
                                       .min_cr = level->min_cr};
    return 0;
}

/* ---- parameter sets ---- */

/* profile_idc, constraint_setX_flag from bit 7 on, level_idc (A.2, A.3) */
static void fill_profile(const struct encoding *e, unsigned level_idc, struct h264_sps *sps)
{
    static const uint8_t idc[3] = {66, 77, 100};
    /* Baseline: set 0 and 1. Main: set 1. Main and High: frames alone (4), and no B slices (5) */
    static const uint8_t flags[3] = {0xc0, 0x4c, 0x0c};
    sps->profile_idc = idc[e->profile];
    sps->constraint_flags = flags[e->profile];
    sps->level_idc = (uint8_t)level_idc;
    if (level_idc == 9 && e->profile != ENCODING_HIGH) { /* level 1b */
        sps->level_idc = 11;
        sps->constraint_flags |= 0x10;
    }
}

/* aspect_ratio_idc (Table E-1); 255: Extended_SAR */
static void fill_aspect(const struct encoding *e, struct h264_vui *v)
{
    if (!e->sar_width)
        return;
    v->sar_width = e->sar_width;
    v->sar_height = e->sar_height;
    v->aspect_ratio_idc = 255;
    for (unsigned i = 1; i < 17; i++)
        if (h264_sample_aspect_ratio[i][0] == e->sar_width &&
            h264_sample_aspect_ratio[i][1] == e->sar_height)
            v->aspect_ratio_idc = (uint8_t)i;
}

static void fill_vui(const struct encoding *e, struct h264_vui *v)
{
    const struct encoding_colour *c = &e->colour;
    v->video_format = 5;
    v->full_range = c->full_range;
    v->colour_primaries = c->primaries;
    v->transfer = c->transfer;
    v->matrix = c->matrix;
    v->colour_description_present = c->primaries != 2 || c->transfer != 2 || c->matrix != 2;
    v->video_signal_type_present = v->full_range || v->colour_description_present;
    if (c->siting > 1 && e->chroma_format_idc == 1) {
        v->chroma_loc_present = 1;
        v->chroma_loc_top = v->chroma_loc_bottom = (uint8_t)(c->siting - 1);
    }
    fill_aspect(e, v);
    if (e->rate) {
        v->timing_info_present = 1;
        v->num_units_in_tick = e->rate_scale;
        v->time_scale = 2 * e->rate;
        v->fixed_frame_rate = e->fixed_rate;
    }
    v->pic_struct_present = e->time_codes;
    v->bitstream_restriction_flag = 1;
    v->log2_max_mv_length[0] = v->log2_max_mv_length[1] = 15; /* as the writer says */
    v->max_num_reorder_frames = 0;
    v->max_dec_frame_buffering = e->references;
}

static void fill_size(const struct encoding *e, struct h264_sps *sps)
{
    sps->mb_width = (uint16_t)in_macroblocks(e->width);
    sps->map_height = sps->mb_height = (uint16_t)in_macroblocks(e->height);
    sps->crop_right = (uint16_t)(sps->mb_width * 16u - e->width);
    sps->crop_bottom = (uint16_t)(sps->mb_height * 16u - e->height);
    sps->frame_mbs_only_flag = 1;
    sps->direct_8x8_inference_flag = 1;
}

static void fill_sps(const struct encoding *e, unsigned level_idc, struct h264_sps *sps)
{
    memset(sps, 0, sizeof(*sps));
    fill_profile(e, level_idc, sps);
    sps->chroma_format_idc = e->chroma_format_idc;
    sps->bit_depth[0] = sps->bit_depth[1] = 8;
    memset(&sps->scaling, 16, sizeof(sps->scaling)); /* Flat_4x4_16, Flat_8x8_16 */
    sps->log2_max_frame_num = 8;
    sps->poc_type = 2;
    sps->max_num_ref_frames = e->references;
    fill_size(e, sps);
    sps->vui_present = 1;
    fill_vui(e, &sps->vui);
    h264_sps_dpb_size(sps);
}

static void fill_pps(const struct encoding *e, struct h264_pps *pps)
{
    memset(pps, 0, sizeof(*pps));
    pps->entropy_coding_mode_flag = e->cabac;
    pps->num_slice_groups = 1;
    pps->num_ref_default[0] = e->references;
    pps->num_ref_default[1] = 1;
    pps->pic_init_qp = (int8_t)e->qp;
    pps->pic_init_qs = 26;
    pps->chroma_qp_offset[0] = pps->chroma_qp_offset[1] = (int8_t)e->chroma_qp_offset;
    pps->deblocking_filter_control_present_flag = 1;
    pps->constrained_intra_pred_flag = e->constrained_intra;
    pps->transform_8x8_mode_flag = e->transform_8x8;
    memset(&pps->lists, 16, sizeof(pps->lists));
}

void encoding_sets(const struct encoding *e, const struct encoding_limits *limits,
                   struct h264_sps *sps, struct h264_pps *pps)
{
    fill_sps(e, limits->level_idc, sps);
    fill_pps(e, pps);
}
