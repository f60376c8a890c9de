/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See carried_sei.h.
 */
#include "daemon/worker/encoding/carried_sei.h"

enum { MOST_OFFSET = 1 << 23 /* time_offset has 24 bits */ };

static void write_user_data(const struct pelton_side_data *side, struct bit_writer *unit)
{
    for (uint32_t i = 0; i < side->messages; i++)
        if (side->message[i].type == H264_SEI_REGISTERED)
            sei_bytes(unit, H264_SEI_REGISTERED, side->message[i].bytes, side->message[i].size);
}

static void write_packing(const struct pelton_frame_packing *p, struct bit_writer *unit)
{
    const uint8_t *grid = p->grid_position;
    struct h264_frame_packing packing = {
        .frame_packing_arrangement_id = p->id,
        .cancel_flag = p->cancel_flag,
        .type = p->type,
        .quincunx_sampling_flag = p->quincunx_sampling_flag,
        .content_interpretation_type = p->content_interpretation_type,
        .spatial_flipping_flag = p->spatial_flipping_flag,
        .frame0_flipped_flag = p->frame0_flipped_flag,
        .field_views_flag = p->field_views_flag,
        .current_frame_is_frame0_flag = p->current_frame_is_frame0_flag,
        .frame0_self_contained_flag = p->frame0_self_contained_flag,
        .frame1_self_contained_flag = p->frame1_self_contained_flag,
        .grid_position = {{grid[0], grid[1]}, {grid[2], grid[3]}},
        .repetition_period = p->repetition_period};
    struct bit_writer payload = {0};
    sei_frame_packing(&packing, &payload);
    sei_payload(unit, H264_SEI_FRAME_PACKING, &payload);
}

static void write_orientation(const struct pelton_side_data *side, struct bit_writer *unit)
{
    struct h264_display_orientation orientation = {
        .cancel_flag = side->display_orientation.cancel_flag,
        .hor_flip = side->display_orientation.hor_flip,
        .ver_flip = side->display_orientation.ver_flip,
        .anticlockwise_rotation = side->display_orientation.anticlockwise_rotation,
        .repetition_period = side->display_orientation.repetition_period};
    struct bit_writer payload = {0};
    sei_display_orientation(&orientation, &payload);
    sei_payload(unit, H264_SEI_DISPLAY_ORIENTATION, &payload);
}

static void write_mastering(const struct pelton_side_data *side, struct bit_writer *unit)
{
    struct h264_mastering_display display = {
        .white_point = {side->mastering_display.white_point[0],
                        side->mastering_display.white_point[1]},
        .max_luminance = side->mastering_display.max_luminance,
        .min_luminance = side->mastering_display.min_luminance};
    struct bit_writer payload = {0};
    for (unsigned i = 0; i < 6; i++)
        display.primaries[i / 2][i % 2] = side->mastering_display.primaries[i];
    sei_mastering_display(&display, &payload);
    sei_payload(unit, H264_SEI_MASTERING_DISPLAY, &payload);
}

static void write_light(const struct pelton_side_data *side, struct bit_writer *unit)
{
    struct h264_content_light light = {
        .max_content_light_level = side->content_light.max_content_light_level,
        .max_pic_average_light_level = side->content_light.max_pic_average_light_level};
    struct bit_writer payload = {0};
    sei_content_light(&light, &payload);
    sei_payload(unit, H264_SEI_CONTENT_LIGHT, &payload);
}

static void write_display(const struct pelton_side_data *side, struct bit_writer *unit)
{
    if (side->has & PELTON_SIDE_FRAME_PACKING)
        write_packing(&side->frame_packing, unit);
    if (side->has & PELTON_SIDE_DISPLAY_ORIENTATION)
        write_orientation(side, unit);
    if (side->has & PELTON_SIDE_MASTERING_DISPLAY)
        write_mastering(side, unit);
    if (side->has & PELTON_SIDE_CONTENT_LIGHT)
        write_light(side, unit);
    if (side->has & PELTON_SIDE_TRANSFER)
        sei_bytes(unit, H264_SEI_ALTERNATIVE_TRANSFER, &side->preferred_transfer_characteristics,
                  1);
}

/* The first one: a picture is coded as a frame, which has one. */
static bool clock_of(const struct pelton_side_data *side, struct h264_clock_timestamp *out)
{
    const struct pelton_clock_timestamp *c = &side->clock[0];
    if (!side->clocks || c->time_offset >= MOST_OFFSET || c->time_offset < -MOST_OFFSET)
        return false;
    *out = (struct h264_clock_timestamp){.present = true,
                                         .ct_type = c->ct_type,
                                         .nuit_field_based_flag = c->nuit_field_based_flag,
                                         .full_timestamp_flag = c->full_timestamp_flag,
                                         .discontinuity_flag = c->discontinuity_flag,
                                         .cnt_dropped_flag = c->cnt_dropped_flag,
                                         .counting_type = c->counting_type,
                                         .n_frames = c->n_frames,
                                         .has_seconds = c->parts & 1,
                                         .has_minutes = c->parts & 2,
                                         .has_hours = c->parts & 4,
                                         .seconds = c->seconds,
                                         .minutes = c->minutes,
                                         .hours = c->hours,
                                         .time_offset = c->time_offset};
    return true;
}

bool carried_sei_set(struct carried_sei *c, const struct pelton_side_data *side,
                     struct encoder_frame *frame)
{
    bit_writer_free(&c->messages);
    frame->messages = NULL;
    frame->clock = NULL;
    if (!side)
        return true;
    write_user_data(side, &c->messages);
    write_display(side, &c->messages);
    frame->messages = &c->messages;
    frame->clock = clock_of(side, &c->clock) ? &c->clock : NULL;
    return !c->messages.failed;
}

void carried_sei_clear(struct carried_sei *c)
{
    bit_writer_free(&c->messages);
}
