/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages as text.
 */
#include "tests/tools/sei_text.h"
#include "codec/h264_error.h"

static int read_registered(const struct h264_sei_message *m, struct sei_values *v)
{
    unsigned count;
    if (h264_sei_captions(m, &v->bytes, &count) == H264_OK) {
        v->user = SEI_USER_CAPTIONS;
        v->size = count * 3;
    } else if (h264_sei_active_format(m, &v->active_format) == H264_OK) {
        v->user = SEI_USER_FORMAT;
        v->size = 0;
    }
    return H264_OK;
}

int sei_values_read(const struct h264_sei_message *m, const struct h264_sps *sps,
                    struct sei_values *out)
{
    *out = (struct sei_values){.type = m->type, .bytes = m->bytes, .size = m->size};
    switch (m->type) {
    case H264_SEI_BUFFERING_PERIOD:
        return h264_sei_buffering_period(m, sps, &out->period);
    case H264_SEI_PIC_TIMING:
        return h264_sei_pic_timing(m, sps, &out->timing);
    case H264_SEI_REGISTERED:
        return read_registered(m, out);
    case H264_SEI_RECOVERY_POINT:
        return h264_sei_recovery_point(m, &out->recovery);
    case H264_SEI_FRAME_PACKING:
        return h264_sei_frame_packing(m, &out->packing);
    case H264_SEI_DISPLAY_ORIENTATION:
        return h264_sei_display_orientation(m, &out->orientation);
    case H264_SEI_MASTERING_DISPLAY:
        return h264_sei_mastering_display(m, &out->display);
    case H264_SEI_CONTENT_LIGHT:
        return h264_sei_content_light(m, &out->light);
    case H264_SEI_ALTERNATIVE_TRANSFER:
        return h264_sei_alternative_transfer(m, &out->transfer);
    default:
        return H264_OK;
    }
}

static void print_period(FILE *f, const struct h264_buffering_period *p)
{
    fprintf(f, " sps %d", p->seq_parameter_set_id);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < p->count[k]; i++)
            fprintf(f, " %s %u %u", k ? "vcl" : "nal", p->initial_cpb_removal_delay[k][i],
                    p->initial_cpb_removal_delay_offset[k][i]);
}

static void print_timing(FILE *f, const struct h264_pic_timing *t)
{
    if (t->has_delays)
        fprintf(f, " delays %u %u", t->cpb_removal_delay, t->dpb_output_delay);
    if (t->has_pic_struct)
        fprintf(f, " struct %d", t->pic_struct);
    for (unsigned i = 0; i < t->clock_count; i++) {
        const struct h264_clock_timestamp *c = &t->clock[i];
        if (!c->present) {
            fprintf(f, " no-clock");
            continue;
        }
        fprintf(f, " clock %d%d%d%d%d %d frame %d", c->ct_type, c->nuit_field_based_flag,
                c->full_timestamp_flag, c->discontinuity_flag, c->cnt_dropped_flag,
                c->counting_type, c->n_frames);
        if (c->has_seconds)
            fprintf(f, " s %d", c->seconds);
        if (c->has_minutes)
            fprintf(f, " m %d", c->minutes);
        if (c->has_hours)
            fprintf(f, " h %d", c->hours);
        fprintf(f, " offset %d", c->time_offset);
    }
}

static void print_packing(FILE *f, const struct h264_frame_packing *p)
{
    fprintf(f, " id %u", p->frame_packing_arrangement_id);
    if (p->cancel_flag) {
        fprintf(f, " cancel");
        return;
    }
    fprintf(f, " type %d %d %d flags %d%d%d%d%d%d grid %d,%d %d,%d period %u", p->type,
            p->quincunx_sampling_flag, p->content_interpretation_type, p->spatial_flipping_flag,
            p->frame0_flipped_flag, p->field_views_flag, p->current_frame_is_frame0_flag,
            p->frame0_self_contained_flag, p->frame1_self_contained_flag, p->grid_position[0][0],
            p->grid_position[0][1], p->grid_position[1][0], p->grid_position[1][1],
            p->repetition_period);
}

static void print_display(FILE *f, const struct h264_mastering_display *d)
{
    for (unsigned i = 0; i < 3; i++)
        fprintf(f, " %d,%d", d->primaries[i][0], d->primaries[i][1]);
    fprintf(f, " white %d,%d luminance %u %u", d->white_point[0], d->white_point[1],
            d->max_luminance, d->min_luminance);
}

static void print_bytes(FILE *f, const struct sei_values *v)
{
    if (v->user == SEI_USER_FORMAT) {
        fprintf(f, " active-format %d", v->active_format);
        return;
    }
    fprintf(f, v->user == SEI_USER_CAPTIONS ? " captions " : " bytes ");
    for (uint32_t i = 0; i < v->size; i++)
        fprintf(f, "%02x", v->bytes[i]);
}

void sei_values_print(FILE *f, const struct sei_values *v)
{
    fprintf(f, "sei %u", v->type);
    switch (v->type) {
    case H264_SEI_BUFFERING_PERIOD:
        print_period(f, &v->period);
        break;
    case H264_SEI_PIC_TIMING:
        print_timing(f, &v->timing);
        break;
    case H264_SEI_RECOVERY_POINT:
        fprintf(f, " %d flags %d%d %d", v->recovery.recovery_frame_cnt,
                v->recovery.exact_match_flag, v->recovery.broken_link_flag,
                v->recovery.changing_slice_group_idc);
        break;
    case H264_SEI_FRAME_PACKING:
        print_packing(f, &v->packing);
        break;
    case H264_SEI_DISPLAY_ORIENTATION:
        if (v->orientation.cancel_flag)
            fprintf(f, " cancel");
        else
            fprintf(f, " %d%d %d period %u", v->orientation.hor_flip, v->orientation.ver_flip,
                    v->orientation.anticlockwise_rotation, v->orientation.repetition_period);
        break;
    case H264_SEI_MASTERING_DISPLAY:
        print_display(f, &v->display);
        break;
    case H264_SEI_CONTENT_LIGHT:
        fprintf(f, " %d %d", v->light.max_content_light_level,
                v->light.max_pic_average_light_level);
        break;
    case H264_SEI_ALTERNATIVE_TRANSFER:
        fprintf(f, " %d", v->transfer);
        break;
    default:
        print_bytes(f, v);
    }
    fputc('\n', f);
}

void vui_print(FILE *f, const struct h264_vui *v)
{
    fprintf(f, "vui sar %d %d:%d overscan %d%d", v->aspect_ratio_idc, v->sar_width, v->sar_height,
            v->overscan_info_present, v->overscan_appropriate);
    fprintf(f, " signal %d %d %d %d %d,%d,%d", v->video_signal_type_present, v->video_format,
            v->full_range, v->colour_description_present, v->colour_primaries, v->transfer,
            v->matrix);
    fprintf(f, " location %d %d,%d timing %d %u/%u %d", v->chroma_loc_present, v->chroma_loc_top,
            v->chroma_loc_bottom, v->timing_info_present, v->num_units_in_tick, v->time_scale,
            v->fixed_frame_rate);
    fprintf(f, " hrd %d,%d schedules %d,%d lengths %d,%d,%d,%d struct %d\n", v->nal_hrd_present,
            v->vcl_hrd_present, v->cpb_count[0], v->cpb_count[1], v->cpb_removal_delay_length,
            v->dpb_output_delay_length, v->time_offset_length, v->initial_cpb_removal_delay_length,
            v->pic_struct_present);
}
