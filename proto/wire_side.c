/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Side data to and from its message.
 */
#include "proto/wire_side.h"

#include "proto/pelton.h"

#include <stdlib.h>
#include <string.h>

struct pelton_side_data *wire_side_copy(const struct pelton_side_data *in)
{
    size_t size = sizeof(*in) + in->messages * sizeof(*in->message), bytes = in->captions_size;
    for (uint32_t i = 0; i < in->messages; i++)
        bytes += in->message[i].size;
    struct pelton_side_data *out = malloc(size + bytes);
    if (!out)
        return NULL;
    struct pelton_sei_message *messages = (struct pelton_sei_message *)(out + 1);
    uint8_t *at = (uint8_t *)out + size;
    *out = *in;
    out->size = sizeof(*out);
    out->message = messages;
    out->captions = at;
    if (in->captions_size) {
        memcpy(at, in->captions, in->captions_size);
        at += in->captions_size;
    }
    for (uint32_t i = 0; i < in->messages; i++) {
        messages[i] = (struct pelton_sei_message){in->message[i].type, in->message[i].size, at};
        if (in->message[i].size) {
            memcpy(at, in->message[i].bytes, in->message[i].size);
            at += in->message[i].size;
        }
    }
    return out;
}

/* ---- to the message ---- */

static uint32_t flag(bool value, unsigned bit)
{
    return value ? 1u << bit : 0;
}

static void clock_from(const struct pelton_clock_timestamp *in, Pelton__ClockTimestamp *out)
{
    pelton__clock_timestamp__init(out);
    out->ct_type = in->ct_type;
    out->counting_type = in->counting_type;
    out->parts = in->parts;
    out->hours = in->hours;
    out->minutes = in->minutes;
    out->seconds = in->seconds;
    out->n_frames = in->n_frames;
    out->flags = flag(in->nuit_field_based_flag, 0) | flag(in->full_timestamp_flag, 1) |
                 flag(in->discontinuity_flag, 2) | flag(in->cnt_dropped_flag, 3);
    out->time_offset = in->time_offset;
}

static void packing_from(const struct pelton_frame_packing *in, Pelton__FramePacking *out)
{
    pelton__frame_packing__init(out);
    out->id = in->id;
    out->cancel_flag = in->cancel_flag;
    out->type = in->type;
    out->content_interpretation_type = in->content_interpretation_type;
    out->flags = flag(in->quincunx_sampling_flag, 0) | flag(in->spatial_flipping_flag, 1) |
                 flag(in->frame0_flipped_flag, 2) | flag(in->field_views_flag, 3) |
                 flag(in->current_frame_is_frame0_flag, 4) |
                 flag(in->frame0_self_contained_flag, 5) | flag(in->frame1_self_contained_flag, 6);
    out->grid_position.len = sizeof(in->grid_position);
    out->grid_position.data = (uint8_t *)in->grid_position;
    out->repetition_period = in->repetition_period;
}

/* The parts of a SideData, except its list of messages. */
struct parts {
    Pelton__RecoveryPoint recovery;
    Pelton__Delays delays;
    Pelton__PicStruct pic_struct;
    Pelton__ClockTimestamp clocks[PELTON_MAX_CLOCKS], *clock[PELTON_MAX_CLOCKS];
    Pelton__FramePacking packing;
    Pelton__DisplayOrientation orientation;
    Pelton__MasteringDisplay mastering;
    uint32_t chromaticity[8];
    Pelton__ContentLight light;
};

static void timing_from(const struct pelton_side_data *in, struct parts *p, Pelton__SideData *m)
{
    pelton__recovery_point__init(&p->recovery);
    p->recovery.recovery_frame_cnt = in->recovery_point.recovery_frame_cnt;
    p->recovery.exact_match_flag = in->recovery_point.exact_match_flag;
    p->recovery.broken_link_flag = in->recovery_point.broken_link_flag;
    p->recovery.changing_slice_group_idc = in->recovery_point.changing_slice_group_idc;
    pelton__delays__init(&p->delays);
    p->delays.cpb_removal_delay = in->cpb_removal_delay;
    p->delays.dpb_output_delay = in->dpb_output_delay;
    pelton__pic_struct__init(&p->pic_struct);
    p->pic_struct.pic_struct = in->pic_struct;
    for (unsigned i = 0; i < in->clocks; i++) {
        clock_from(&in->clock[i], &p->clocks[i]);
        p->clock[i] = &p->clocks[i];
    }
    p->pic_struct.n_clock = in->clocks;
    p->pic_struct.clock = p->clock;
    m->recovery_point = in->has & PELTON_SIDE_RECOVERY_POINT ? &p->recovery : NULL;
    m->delays = in->has & PELTON_SIDE_DELAYS ? &p->delays : NULL;
    m->pic_struct = in->has & PELTON_SIDE_PIC_STRUCT ? &p->pic_struct : NULL;
}

static void display_from(const struct pelton_side_data *in, struct parts *p, Pelton__SideData *m)
{
    pelton__display_orientation__init(&p->orientation);
    p->orientation.cancel_flag = in->display_orientation.cancel_flag;
    p->orientation.hor_flip = in->display_orientation.hor_flip;
    p->orientation.ver_flip = in->display_orientation.ver_flip;
    p->orientation.anticlockwise_rotation = in->display_orientation.anticlockwise_rotation;
    p->orientation.repetition_period = in->display_orientation.repetition_period;
    pelton__mastering_display__init(&p->mastering);
    for (unsigned i = 0; i < 8; i++) {
        p->chromaticity[i] =
            i < 6 ? in->mastering_display.primaries[i] : in->mastering_display.white_point[i - 6];
    }
    p->mastering.n_chromaticity = 8;
    p->mastering.chromaticity = p->chromaticity;
    p->mastering.max_luminance = in->mastering_display.max_luminance;
    p->mastering.min_luminance = in->mastering_display.min_luminance;
    pelton__content_light__init(&p->light);
    p->light.max_content_light_level = in->content_light.max_content_light_level;
    p->light.max_pic_average_light_level = in->content_light.max_pic_average_light_level;
    m->display_orientation = in->has & PELTON_SIDE_DISPLAY_ORIENTATION ? &p->orientation : NULL;
    m->mastering_display = in->has & PELTON_SIDE_MASTERING_DISPLAY ? &p->mastering : NULL;
    m->content_light = in->has & PELTON_SIDE_CONTENT_LIGHT ? &p->light : NULL;
}

uint8_t *wire_side_pack(const struct pelton_side_data *in, size_t *size)
{
    Pelton__SideData m = PELTON__SIDE_DATA__INIT;
    Pelton__SeiMessage *bodies = calloc(in->messages + 1, sizeof(*bodies)),
                       **list = calloc(in->messages + 1, sizeof(*list));
    struct parts parts;
    uint8_t *bytes = NULL;
    if (bodies && list) {
        timing_from(in, &parts, &m);
        display_from(in, &parts, &m);
        packing_from(&in->frame_packing, &parts.packing);
        m.frame_packing = in->has & PELTON_SIDE_FRAME_PACKING ? &parts.packing : NULL;
        m.preferred_transfer_characteristics =
            in->has & PELTON_SIDE_TRANSFER ? in->preferred_transfer_characteristics : 0;
        m.active_format = in->has & PELTON_SIDE_ACTIVE_FORMAT ? 16u + in->active_format : 0;
        m.captions.len = in->captions_size;
        m.captions.data = (uint8_t *)in->captions;
        for (uint32_t i = 0; i < in->messages; i++) {
            pelton__sei_message__init(&bodies[i]);
            bodies[i].type = in->message[i].type;
            bodies[i].payload.len = in->message[i].size;
            bodies[i].payload.data = (uint8_t *)in->message[i].bytes;
            list[i] = &bodies[i];
        }
        m.n_messages = in->messages;
        m.messages = list;
        m.left_out = in->left_out;
        *size = protobuf_c_message_get_packed_size(&m.base);
        bytes = malloc(*size + 1);
        if (bytes)
            protobuf_c_message_pack(&m.base, bytes);
    }
    free(bodies);
    free(list);
    return bytes;
}

/* ---- from the message ---- */

static void clock_to(const Pelton__ClockTimestamp *in, struct pelton_clock_timestamp *out)
{
    *out = (struct pelton_clock_timestamp){
        .ct_type = (uint8_t)in->ct_type,
        .counting_type = (uint8_t)in->counting_type,
        .parts = (uint8_t)in->parts,
        .hours = (uint8_t)in->hours,
        .minutes = (uint8_t)in->minutes,
        .seconds = (uint8_t)in->seconds,
        .n_frames = (uint8_t)in->n_frames,
        .nuit_field_based_flag = in->flags & 1,
        .full_timestamp_flag = in->flags >> 1 & 1,
        .discontinuity_flag = in->flags >> 2 & 1,
        .cnt_dropped_flag = in->flags >> 3 & 1,
        .time_offset = in->time_offset,
    };
}

static void packing_to(const Pelton__FramePacking *in, struct pelton_frame_packing *out)
{
    *out = (struct pelton_frame_packing){
        .id = in->id,
        .repetition_period = in->repetition_period,
        .cancel_flag = in->cancel_flag,
        .type = (uint8_t)in->type,
        .content_interpretation_type = (uint8_t)in->content_interpretation_type,
        .quincunx_sampling_flag = in->flags & 1,
        .spatial_flipping_flag = in->flags >> 1 & 1,
        .frame0_flipped_flag = in->flags >> 2 & 1,
        .field_views_flag = in->flags >> 3 & 1,
        .current_frame_is_frame0_flag = in->flags >> 4 & 1,
        .frame0_self_contained_flag = in->flags >> 5 & 1,
        .frame1_self_contained_flag = in->flags >> 6 & 1,
    };
    for (size_t i = 0; i < in->grid_position.len && i < sizeof(out->grid_position); i++)
        out->grid_position[i] = in->grid_position.data[i];
}

static void timing_to(const Pelton__SideData *m, struct pelton_side_data *out)
{
    if (m->recovery_point) {
        out->has |= PELTON_SIDE_RECOVERY_POINT;
        out->recovery_point.recovery_frame_cnt = (uint16_t)m->recovery_point->recovery_frame_cnt;
        out->recovery_point.exact_match_flag = m->recovery_point->exact_match_flag;
        out->recovery_point.broken_link_flag = m->recovery_point->broken_link_flag;
        out->recovery_point.changing_slice_group_idc =
            (uint8_t)m->recovery_point->changing_slice_group_idc;
    }
    if (m->delays) {
        out->has |= PELTON_SIDE_DELAYS;
        out->cpb_removal_delay = m->delays->cpb_removal_delay;
        out->dpb_output_delay = m->delays->dpb_output_delay;
    }
    if (m->pic_struct) {
        out->has |= PELTON_SIDE_PIC_STRUCT;
        out->pic_struct = (uint8_t)m->pic_struct->pic_struct;
        for (size_t i = 0; i < m->pic_struct->n_clock && i < PELTON_MAX_CLOCKS; i++)
            clock_to(m->pic_struct->clock[i], &out->clock[out->clocks++]);
    }
}

static void display_to(const Pelton__SideData *m, struct pelton_side_data *out)
{
    if (m->frame_packing) {
        out->has |= PELTON_SIDE_FRAME_PACKING;
        packing_to(m->frame_packing, &out->frame_packing);
    }
    if (m->display_orientation) {
        out->has |= PELTON_SIDE_DISPLAY_ORIENTATION;
        out->display_orientation.cancel_flag = m->display_orientation->cancel_flag;
        out->display_orientation.hor_flip = m->display_orientation->hor_flip;
        out->display_orientation.ver_flip = m->display_orientation->ver_flip;
        out->display_orientation.anticlockwise_rotation =
            (uint16_t)m->display_orientation->anticlockwise_rotation;
        out->display_orientation.repetition_period = m->display_orientation->repetition_period;
    }
    if (m->mastering_display && m->mastering_display->n_chromaticity == 8) {
        out->has |= PELTON_SIDE_MASTERING_DISPLAY;
        for (unsigned i = 0; i < 8; i++) {
            uint16_t value = (uint16_t)m->mastering_display->chromaticity[i];
            *(i < 6 ? &out->mastering_display.primaries[i]
                    : &out->mastering_display.white_point[i - 6]) = value;
        }
        out->mastering_display.max_luminance = m->mastering_display->max_luminance;
        out->mastering_display.min_luminance = m->mastering_display->min_luminance;
    }
    if (m->content_light) {
        out->has |= PELTON_SIDE_CONTENT_LIGHT;
        out->content_light.max_content_light_level =
            (uint16_t)m->content_light->max_content_light_level;
        out->content_light.max_pic_average_light_level =
            (uint16_t)m->content_light->max_pic_average_light_level;
    }
    if (m->preferred_transfer_characteristics) {
        out->has |= PELTON_SIDE_TRANSFER;
        out->preferred_transfer_characteristics = (uint8_t)m->preferred_transfer_characteristics;
    }
    if (m->active_format) {
        out->has |= PELTON_SIDE_ACTIVE_FORMAT;
        out->active_format = m->active_format & 15;
    }
}

int wire_side_unpack(const uint8_t *bytes, size_t size, struct pelton_side_data **out)
{
    Pelton__SideData *m = pelton__side_data__unpack(NULL, size, bytes);
    struct pelton_side_data side = {0}, *copy = NULL;
    struct pelton_sei_message *messages = NULL;
    int rc = m ? 0 : PELTON_ERR_PROTOCOL;
    if (m) {
        messages = calloc(m->n_messages + 1, sizeof(*messages));
        rc = messages ? 0 : PELTON_ERR_NOMEM;
    }
    if (rc == 0) {
        timing_to(m, &side);
        display_to(m, &side);
        side.captions = m->captions.data;
        side.captions_size = (uint32_t)m->captions.len;
        for (size_t i = 0; i < m->n_messages; i++) {
            const Pelton__SeiMessage *from = m->messages[i];
            messages[i] = (struct pelton_sei_message){from->type, (uint32_t)from->payload.len,
                                                      from->payload.data};
        }
        side.messages = (uint32_t)m->n_messages;
        side.message = messages;
        side.left_out = m->left_out;
        copy = wire_side_copy(&side);
        rc = copy ? 0 : PELTON_ERR_NOMEM;
    }
    free(messages);
    if (m)
        pelton__side_data__free_unpacked(m, NULL);
    if (rc == 0)
        *out = copy;
    return rc;
}

/* ---- usability information ---- */

void wire_vui_from(const struct pelton_vui *in, Pelton__Vui *out)
{
    pelton__vui__init(out);
    out->video_format = in->video_format;
    out->overscan = in->overscan;
    out->fixed_frame_rate = in->fixed_frame_rate;
    out->num_units_in_tick = in->num_units_in_tick;
    out->time_scale = in->time_scale;
    out->reorder_frames = in->reorder_frames;
    out->hrd = in->hrd;
    out->pic_struct = in->pic_struct;
}

void wire_vui_to(const Pelton__Vui *in, struct pelton_vui *out)
{
    *out = (struct pelton_vui){0};
    if (in) {
        *out = (struct pelton_vui){
            .present = true,
            .video_format = (uint8_t)in->video_format,
            .overscan = in->overscan <= PELTON_OVERSCAN_APPROPRIATE
                            ? (enum pelton_overscan)in->overscan
                            : PELTON_OVERSCAN_UNKNOWN,
            .fixed_frame_rate = in->fixed_frame_rate,
            .num_units_in_tick = in->num_units_in_tick,
            .time_scale = in->time_scale,
            .reorder_frames = (uint8_t)in->reorder_frames,
            .hrd = in->hrd,
            .pic_struct = in->pic_struct,
        };
    }
}
