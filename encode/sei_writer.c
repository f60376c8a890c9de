/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages.
 */
#include "encode/sei_writer.h"

#include "encode/header_writer.h"

/* payload_type and payload_size: ff_bytes and the rest */
static void write_number(size_t v, struct bit_writer *unit)
{
    for (; v >= 255; v -= 255)
        bit_writer_u(unit, 8, 255);
    bit_writer_u(unit, 8, (uint32_t)v);
}

void sei_bytes(struct bit_writer *unit, uint32_t type, const uint8_t *bytes, size_t size)
{
    write_number(type, unit);
    write_number(size, unit);
    bit_writer_bytes(unit, bytes, size);
}

void sei_payload(struct bit_writer *unit, uint32_t type, struct bit_writer *payload)
{
    if (payload->bits & 7)
        bit_writer_trailing(payload); /* bit_equal_to_one, bit_equal_to_zero */
    unit->failed |= payload->failed;
    sei_bytes(unit, type, payload->data, payload->bits / 8);
    bit_writer_free(payload);
}

void sei_append(struct bit_writer *unit, const struct bit_writer *other)
{
    unit->failed |= other->failed;
    bit_writer_bytes(unit, other->data, other->bits / 8);
}

void sei_end(struct bit_writer *unit, struct bit_writer *out)
{
    struct bit_writer nal = {0};
    if (unit->bits || unit->failed) {
        write_nal_header(0, 6, &nal);
        sei_append(&nal, unit);
        bit_writer_trailing(&nal);
        bit_writer_nal(out, &nal);
    }
    bit_writer_free(&nal);
    bit_writer_free(unit);
}

/* D.1.2 */
void sei_buffering_period(const struct h264_vui *vui, const struct h264_buffering_period *period,
                          struct bit_writer *payload)
{
    unsigned length = vui->initial_cpb_removal_delay_length;
    bit_writer_ue(payload, period->seq_parameter_set_id);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < vui->cpb_count[k]; i++) {
            bit_writer_u(payload, length, period->initial_cpb_removal_delay[k][i]);
            bit_writer_u(payload, length, period->initial_cpb_removal_delay_offset[k][i]);
        }
}

/* hh:mm:ss, from seconds on as much as there is */
static void write_time(const struct h264_clock_timestamp *c, struct bit_writer *s)
{
    const struct {
        bool has;
        uint8_t bits, value;
    } parts[3] = {{c->has_seconds, 6, c->seconds},
                  {c->has_minutes, 6, c->minutes},
                  {c->has_hours, 5, c->hours}};
    for (unsigned i = 0; i < 3; i++) {
        if (!c->full_timestamp_flag)
            bit_writer_u(s, 1, parts[i].has);
        if (!parts[i].has)
            return;
        bit_writer_u(s, parts[i].bits, parts[i].value);
    }
}

static void write_clock(const struct h264_clock_timestamp *c, unsigned offset_length,
                        struct bit_writer *s)
{
    bit_writer_u(s, 1, c->present);
    if (!c->present)
        return;
    bit_writer_u(s, 2, c->ct_type);
    bit_writer_u(s, 1, c->nuit_field_based_flag);
    bit_writer_u(s, 5, c->counting_type);
    bit_writer_u(s, 1, c->full_timestamp_flag);
    bit_writer_u(s, 1, c->discontinuity_flag);
    bit_writer_u(s, 1, c->cnt_dropped_flag);
    bit_writer_u(s, 8, c->n_frames);
    write_time(c, s);
    bit_writer_u(s, offset_length, (uint32_t)c->time_offset);
}

/* D.1.3 */
void sei_pic_timing(const struct h264_vui *vui, const struct h264_pic_timing *t,
                    struct bit_writer *payload)
{
    bool delays = vui->nal_hrd_present || vui->vcl_hrd_present;
    if (delays) {
        bit_writer_u(payload, vui->cpb_removal_delay_length, t->cpb_removal_delay);
        bit_writer_u(payload, vui->dpb_output_delay_length, t->dpb_output_delay);
    }
    if (!vui->pic_struct_present)
        return;
    bit_writer_u(payload, 4, t->pic_struct);
    for (unsigned i = 0; i < t->clock_count; i++)
        write_clock(&t->clock[i], delays ? vui->time_offset_length : 24, payload);
}

/* D.1.8 */
void sei_recovery_point(const struct h264_recovery_point *point, struct bit_writer *payload)
{
    bit_writer_ue(payload, point->recovery_frame_cnt);
    bit_writer_u(payload, 1, point->exact_match_flag);
    bit_writer_u(payload, 1, point->broken_link_flag);
    bit_writer_u(payload, 2, point->changing_slice_group_idc);
}

/* D.1.26 */
void sei_frame_packing(const struct h264_frame_packing *p, struct bit_writer *payload)
{
    bool grid = !p->quincunx_sampling_flag && p->type != 5;
    bit_writer_ue(payload, p->frame_packing_arrangement_id);
    bit_writer_u(payload, 1, p->cancel_flag);
    if (!p->cancel_flag) {
        bit_writer_u(payload, 7, p->type);
        bit_writer_u(payload, 1, p->quincunx_sampling_flag);
        bit_writer_u(payload, 6, p->content_interpretation_type);
        bit_writer_u(payload, 1, p->spatial_flipping_flag);
        bit_writer_u(payload, 1, p->frame0_flipped_flag);
        bit_writer_u(payload, 1, p->field_views_flag);
        bit_writer_u(payload, 1, p->current_frame_is_frame0_flag);
        bit_writer_u(payload, 1, p->frame0_self_contained_flag);
        bit_writer_u(payload, 1, p->frame1_self_contained_flag);
        for (unsigned i = 0; grid && i < 4; i++)
            bit_writer_u(payload, 4, p->grid_position[i / 2][i % 2]);
        bit_writer_u(payload, 8, 0); /* frame_packing_arrangement_reserved_byte */
        bit_writer_ue(payload, p->repetition_period);
    }
    bit_writer_u(payload, 1, 0); /* frame_packing_arrangement_extension_flag */
}

/* D.1.27 */
void sei_display_orientation(const struct h264_display_orientation *o, struct bit_writer *payload)
{
    bit_writer_u(payload, 1, o->cancel_flag);
    if (o->cancel_flag)
        return;
    bit_writer_u(payload, 1, o->hor_flip);
    bit_writer_u(payload, 1, o->ver_flip);
    bit_writer_u(payload, 16, o->anticlockwise_rotation);
    bit_writer_ue(payload, o->repetition_period);
    bit_writer_u(payload, 1, 0); /* display_orientation_extension_flag */
}

/* D.1.29 */
void sei_mastering_display(const struct h264_mastering_display *d, struct bit_writer *payload)
{
    for (unsigned i = 0; i < 6; i++)
        bit_writer_u(payload, 16, d->primaries[i / 2][i % 2]);
    for (unsigned i = 0; i < 2; i++)
        bit_writer_u(payload, 16, d->white_point[i]);
    bit_writer_u(payload, 32, d->max_luminance);
    bit_writer_u(payload, 32, d->min_luminance);
}

/* D.1.31 */
void sei_content_light(const struct h264_content_light *l, struct bit_writer *payload)
{
    bit_writer_u(payload, 16, l->max_content_light_level);
    bit_writer_u(payload, 16, l->max_pic_average_light_level);
}
