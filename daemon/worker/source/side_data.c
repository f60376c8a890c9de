/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What came with a picture beside its samples. Malformed messages are counted as left out, never an
 * error of the picture.
 */
#include "daemon/worker/source/side_data.h"

#include "codec/h264.h"
#include "codec/h264_error.h"
#include "proto/wire_side.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 2 * H264_SEI_MAX_MESSAGES }; /* two fields */

/* Under construction: pointers are those of the messages. */
struct builder {
    struct pelton_side_data side;
    struct pelton_sei_message list[LIST_MAX];
    uint32_t bytes; /* of list and captions */
    uint8_t captions[2 * H264_SEI_MAX_MESSAGES * 31 * 3];
};

static bool room_for(struct builder *b, uint32_t bytes)
{
    if (bytes > PELTON_SIDE_MAX_BYTES - b->bytes) {
        b->side.left_out++;
        return false;
    }
    b->bytes += bytes;
    return true;
}

static void add_raw(struct builder *b, const struct h264_sei_message *m)
{
    if (b->side.messages == LIST_MAX)
        b->side.left_out++;
    else if (room_for(b, m->size))
        b->list[b->side.messages++] = (struct pelton_sei_message){m->type, m->size, m->bytes};
}

static bool take_recovery_point(struct builder *b, const struct h264_sei_message *m)
{
    struct h264_recovery_point r;
    if (h264_sei_recovery_point(m, &r))
        return false;
    b->side.has |= PELTON_SIDE_RECOVERY_POINT;
    b->side.recovery_point.recovery_frame_cnt = r.recovery_frame_cnt;
    b->side.recovery_point.exact_match_flag = r.exact_match_flag;
    b->side.recovery_point.broken_link_flag = r.broken_link_flag;
    b->side.recovery_point.changing_slice_group_idc = r.changing_slice_group_idc;
    return true;
}

static void add_clock(struct builder *b, const struct h264_clock_timestamp *c)
{
    if (!c->present || b->side.clocks == PELTON_MAX_CLOCKS)
        return;
    b->side.clock[b->side.clocks++] = (struct pelton_clock_timestamp){
        .ct_type = c->ct_type,
        .counting_type = c->counting_type,
        .parts = (uint8_t)(c->has_hours     ? 7
                           : c->has_minutes ? 3
                                            : c->has_seconds),
        .hours = c->hours,
        .minutes = c->minutes,
        .seconds = c->seconds,
        .n_frames = c->n_frames,
        .nuit_field_based_flag = c->nuit_field_based_flag,
        .full_timestamp_flag = c->full_timestamp_flag,
        .discontinuity_flag = c->discontinuity_flag,
        .cnt_dropped_flag = c->cnt_dropped_flag,
        .time_offset = c->time_offset,
    };
}

/* Delays and structure are those of the first field; the clocks of both are given. */
static bool take_pic_timing(struct builder *b, const struct h264_sei_message *m,
                            const struct h264_sps *sps)
{
    struct h264_pic_timing t;
    if (h264_sei_pic_timing(m, sps, &t))
        return false;
    if (t.has_delays && !(b->side.has & PELTON_SIDE_DELAYS)) {
        b->side.has |= PELTON_SIDE_DELAYS;
        b->side.cpb_removal_delay = t.cpb_removal_delay;
        b->side.dpb_output_delay = t.dpb_output_delay;
    }
    if (t.has_pic_struct && !(b->side.has & PELTON_SIDE_PIC_STRUCT)) {
        b->side.has |= PELTON_SIDE_PIC_STRUCT;
        b->side.pic_struct = t.pic_struct;
    }
    for (unsigned i = 0; i < t.clock_count; i++)
        add_clock(b, &t.clock[i]);
    return true;
}

static bool take_frame_packing(struct builder *b, const struct h264_sei_message *m)
{
    struct h264_frame_packing p;
    if (h264_sei_frame_packing(m, &p))
        return false;
    b->side.has |= PELTON_SIDE_FRAME_PACKING;
    b->side.frame_packing = (struct pelton_frame_packing){
        .id = p.frame_packing_arrangement_id,
        .repetition_period = p.repetition_period,
        .cancel_flag = p.cancel_flag,
        .type = p.type,
        .content_interpretation_type = p.content_interpretation_type,
        .quincunx_sampling_flag = p.quincunx_sampling_flag,
        .spatial_flipping_flag = p.spatial_flipping_flag,
        .frame0_flipped_flag = p.frame0_flipped_flag,
        .field_views_flag = p.field_views_flag,
        .current_frame_is_frame0_flag = p.current_frame_is_frame0_flag,
        .frame0_self_contained_flag = p.frame0_self_contained_flag,
        .frame1_self_contained_flag = p.frame1_self_contained_flag,
        .grid_position = {p.grid_position[0][0], p.grid_position[0][1], p.grid_position[1][0],
                          p.grid_position[1][1]},
    };
    return true;
}

static bool take_display_orientation(struct builder *b, const struct h264_sei_message *m)
{
    struct h264_display_orientation o;
    if (h264_sei_display_orientation(m, &o))
        return false;
    b->side.has |= PELTON_SIDE_DISPLAY_ORIENTATION;
    b->side.display_orientation.cancel_flag = o.cancel_flag;
    b->side.display_orientation.hor_flip = o.hor_flip;
    b->side.display_orientation.ver_flip = o.ver_flip;
    b->side.display_orientation.anticlockwise_rotation = o.anticlockwise_rotation;
    b->side.display_orientation.repetition_period = o.repetition_period;
    return true;
}

static bool take_mastering_display(struct builder *b, const struct h264_sei_message *m)
{
    struct h264_mastering_display d;
    if (h264_sei_mastering_display(m, &d))
        return false;
    b->side.has |= PELTON_SIDE_MASTERING_DISPLAY;
    memcpy(b->side.mastering_display.primaries, d.primaries, sizeof(d.primaries));
    memcpy(b->side.mastering_display.white_point, d.white_point, sizeof(d.white_point));
    b->side.mastering_display.max_luminance = d.max_luminance;
    b->side.mastering_display.min_luminance = d.min_luminance;
    return true;
}

static bool take_content_light(struct builder *b, const struct h264_sei_message *m)
{
    struct h264_content_light l;
    if (h264_sei_content_light(m, &l))
        return false;
    b->side.has |= PELTON_SIDE_CONTENT_LIGHT;
    b->side.content_light.max_content_light_level = l.max_content_light_level;
    b->side.content_light.max_pic_average_light_level = l.max_pic_average_light_level;
    return true;
}

static bool take_transfer(struct builder *b, const struct h264_sei_message *m)
{
    uint8_t transfer;
    if (h264_sei_alternative_transfer(m, &transfer) || !transfer) /* 0 is reserved (Table E-4) */
        return false;
    b->side.has |= PELTON_SIDE_TRANSFER;
    b->side.preferred_transfer_characteristics = transfer;
    return true;
}

/* Captions and active format; other registered user data speaks for itself. */
static bool take_registered(struct builder *b, const struct h264_sei_message *m)
{
    const uint8_t *triplets;
    unsigned count;
    uint8_t format;
    int captions = h264_sei_captions(m, &triplets, &count),
        active = h264_sei_active_format(m, &format);
    if (!captions && b->side.captions_size + 3 * count <= sizeof(b->captions) &&
        room_for(b, 3 * count)) {
        memcpy(b->captions + b->side.captions_size, triplets, 3 * count);
        b->side.captions_size += 3 * count;
    }
    if (!active) {
        b->side.has |= PELTON_SIDE_ACTIVE_FORMAT;
        b->side.active_format = format;
    }
    return captions != H264_ERR_TRUNCATED && active != H264_ERR_TRUNCATED;
}

static void take(struct builder *b, const struct h264_sei_message *m, const struct h264_sps *sps,
                 enum pelton_side_request request)
{
    bool right = true,
         user_data = m->type == H264_SEI_REGISTERED || m->type == H264_SEI_UNREGISTERED;
    switch (m->type) {
    case H264_SEI_PIC_TIMING:
        right = take_pic_timing(b, m, sps);
        break;
    case H264_SEI_REGISTERED:
        right = take_registered(b, m);
        break;
    case H264_SEI_UNREGISTERED:
        right = m->size >= 16;
        break; /* uuid_iso_iec_11578 */
    case H264_SEI_RECOVERY_POINT:
        right = take_recovery_point(b, m);
        break;
    case H264_SEI_FRAME_PACKING:
        right = take_frame_packing(b, m);
        break;
    case H264_SEI_DISPLAY_ORIENTATION:
        right = take_display_orientation(b, m);
        break;
    case H264_SEI_MASTERING_DISPLAY:
        right = take_mastering_display(b, m);
        break;
    case H264_SEI_CONTENT_LIGHT:
        right = take_content_light(b, m);
        break;
    case H264_SEI_ALTERNATIVE_TRANSFER:
        right = take_transfer(b, m);
        break;
    }
    if (request == PELTON_SIDE_ALL || (user_data && right))
        add_raw(b, m);
    else
        b->side.left_out += !right;
}

static struct pelton_side_data *finish(struct builder *b)
{
    if (!b->side.has && !b->side.messages && !b->side.captions_size && !b->side.left_out)
        return NULL;
    b->side.message = b->list;
    b->side.captions = b->captions;
    return wire_side_copy(&b->side);
}

struct pelton_side_data *side_data_of(const struct h264_picture *pic,
                                      enum pelton_side_request request)
{
    if (request == PELTON_SIDE_NONE || !pic->sei)
        return NULL;
    struct builder *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    for (const struct h264_sei *sei = pic->sei; sei; sei = sei->next) {
        b->side.left_out += sei->left_out;
        for (uint32_t i = 0; i < sei->count; i++)
            take(b, &sei->messages[i], pic->sps, request);
    }
    struct pelton_side_data *out = finish(b);
    free(b);
    return out;
}

struct pelton_vui side_vui(const struct h264_sps *sps)
{
    const struct h264_vui *v = &sps->vui;
    if (!sps->vui_present)
        return (struct pelton_vui){0};
    return (struct pelton_vui){
        .present = true,
        .video_format = v->video_format,
        .overscan = !v->overscan_info_present ? PELTON_OVERSCAN_UNKNOWN
                    : v->overscan_appropriate ? PELTON_OVERSCAN_APPROPRIATE
                                              : PELTON_OVERSCAN_NOT_APPROPRIATE,
        .fixed_frame_rate = v->fixed_frame_rate,
        .num_units_in_tick = v->num_units_in_tick,
        .time_scale = v->time_scale,
        .reorder_frames = sps->reorder_frames,
        .hrd = v->nal_hrd_present || v->vcl_hrd_present,
        .pic_struct = v->pic_struct_present,
    };
}

/* ---- probes ---- */

static void count_message(struct side_probe *p, struct h264_picture *pic,
                          const struct h264_sei_message *m)
{
    uint32_t at = 0;
    while (at < p->out.types && p->out.type[at].type != m->type)
        at++;
    if (at == PELTON_MAX_SEI_TYPES)
        return;
    if (at == p->out.types) {
        p->out.type[p->out.types++].type = m->type;
        p->holders[at] = h264_picture_ref(pic);
        p->messages[at] = m;
    }
    p->out.type[at].count++;
}

void side_probe_add(struct side_probe *p, struct h264_picture *pic)
{
    p->out.pictures++;
    for (const struct h264_sei *sei = pic->sei; sei; sei = sei->next)
        for (uint32_t i = 0; i < sei->count; i++)
            count_message(p, pic, &sei->messages[i]);
}

void side_probe_end(struct side_probe *p)
{
    struct builder *b = calloc(1, sizeof(*b));
    for (uint32_t i = 0; i < p->out.types; i++)
        if (b)
            take(b, p->messages[i], p->holders[i]->sps, PELTON_SIDE_ALL);
    p->out.first = b ? finish(b) : NULL;
    for (uint32_t i = 0; i < p->out.types; i++) {
        h264_picture_unref(p->holders[i]);
        p->holders[i] = NULL;
    }
    free(b);
}
