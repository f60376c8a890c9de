/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Payloads of SEI messages (D.1, semantics D.2).
 */
#include "codec/bits.h"
#include "codec/h264_error.h"
#include "codec/h264_params.h"
#include "codec/h264_sei.h"

/* A payload has no trailing bits that one could look for: all its bits count. */
static struct h264_bits payload_bits(const struct h264_sei_message *m)
{
    return (struct h264_bits){.data = m->bytes,
                              .size = m->size,
                              .end = (size_t)m->size * 8,
                              .limit = (size_t)m->size * 8 + 256};
}

int h264_sei_recovery_point(const struct h264_sei_message *m, struct h264_recovery_point *out)
{
    struct h264_bits b = payload_bits(m);
    struct h264_recovery_point r = {.present = true};
    uint32_t count = h264_bits_ue(&b);
    r.exact_match_flag = h264_bits_flag(&b);
    r.broken_link_flag = h264_bits_flag(&b);
    r.changing_slice_group_idc = (uint8_t)h264_bits_u(&b, 2);
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    if (count > 0xffff) /* MaxFrameNum - 1 at most (D.2.8) */
        return H264_ERR_DATA;
    r.recovery_frame_cnt = (uint16_t)count;
    *out = r;
    return H264_OK;
}

static int32_t read_signed(struct h264_bits *b, unsigned n)
{
    uint32_t v = h264_bits_u(b, n);
    if (n && n < 32 && v >> (n - 1))
        v |= UINT32_MAX << n;
    return (int32_t)v;
}

static struct h264_clock_timestamp clock_timestamp(struct h264_bits *b, unsigned time_offset_length)
{
    struct h264_clock_timestamp c = {.present = true};
    c.ct_type = (uint8_t)h264_bits_u(b, 2);
    c.nuit_field_based_flag = h264_bits_flag(b);
    c.counting_type = (uint8_t)h264_bits_u(b, 5);
    c.full_timestamp_flag = h264_bits_flag(b);
    c.discontinuity_flag = h264_bits_flag(b);
    c.cnt_dropped_flag = h264_bits_flag(b);
    c.n_frames = (uint8_t)h264_bits_u(b, 8);
    c.has_seconds = c.full_timestamp_flag || h264_bits_flag(b);
    if (c.has_seconds) {
        c.seconds = (uint8_t)h264_bits_u(b, 6);
        c.has_minutes = c.full_timestamp_flag || h264_bits_flag(b);
    }
    if (c.has_minutes) {
        c.minutes = (uint8_t)h264_bits_u(b, 6);
        c.has_hours = c.full_timestamp_flag || h264_bits_flag(b);
    }
    if (c.has_hours)
        c.hours = (uint8_t)h264_bits_u(b, 5);
    c.time_offset = read_signed(b, time_offset_length);
    return c;
}

int h264_sei_pic_timing(const struct h264_sei_message *m, const struct h264_sps *sps,
                        struct h264_pic_timing *out)
{
    static const uint8_t clocks[9] = {1, 1, 1, 2, 2, 3, 3, 2, 3}; /* NumClockTS (Table D-1) */
    const struct h264_vui *v = &sps->vui;
    struct h264_bits b = payload_bits(m);
    struct h264_pic_timing t = {0};
    if (!sps->vui_present)
        return H264_ERR_DATA;
    t.has_delays = v->nal_hrd_present || v->vcl_hrd_present;
    if (t.has_delays) {
        t.cpb_removal_delay = h264_bits_u(&b, v->cpb_removal_delay_length);
        t.dpb_output_delay = h264_bits_u(&b, v->dpb_output_delay_length);
    }
    t.has_pic_struct = v->pic_struct_present;
    if (t.has_pic_struct) {
        t.pic_struct = (uint8_t)h264_bits_u(&b, 4);
        t.clock_count = t.pic_struct < 9 ? clocks[t.pic_struct] : 0;
        for (unsigned i = 0; i < t.clock_count; i++)
            if (h264_bits_flag(&b))
                t.clock[i] = clock_timestamp(&b, t.has_delays ? v->time_offset_length : 24);
    }
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    *out = t;
    return H264_OK;
}

int h264_sei_buffering_period(const struct h264_sei_message *m, const struct h264_sps *sps,
                              struct h264_buffering_period *out)
{
    const struct h264_vui *v = &sps->vui;
    struct h264_bits b = payload_bits(m);
    struct h264_buffering_period p = {0};
    uint32_t id = h264_bits_ue(&b);
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    if (id != sps->id || !sps->vui_present)
        return H264_ERR_DATA;
    p.seq_parameter_set_id = (uint8_t)id;
    p.count[0] = v->nal_hrd_present ? v->cpb_count[0] : 0;
    p.count[1] = v->vcl_hrd_present ? v->cpb_count[1] : 0;
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < p.count[k]; i++) {
            p.initial_cpb_removal_delay[k][i] =
                h264_bits_u(&b, v->initial_cpb_removal_delay_length);
            p.initial_cpb_removal_delay_offset[k][i] =
                h264_bits_u(&b, v->initial_cpb_removal_delay_length);
        }
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    *out = p;
    return H264_OK;
}

int h264_sei_frame_packing(const struct h264_sei_message *m, struct h264_frame_packing *out)
{
    struct h264_bits b = payload_bits(m);
    struct h264_frame_packing p = {.frame_packing_arrangement_id = h264_bits_ue(&b)};
    p.cancel_flag = h264_bits_flag(&b);
    if (!p.cancel_flag) {
        p.type = (uint8_t)h264_bits_u(&b, 7);
        p.quincunx_sampling_flag = h264_bits_flag(&b);
        p.content_interpretation_type = (uint8_t)h264_bits_u(&b, 6);
        p.spatial_flipping_flag = h264_bits_flag(&b);
        p.frame0_flipped_flag = h264_bits_flag(&b);
        p.field_views_flag = h264_bits_flag(&b);
        p.current_frame_is_frame0_flag = h264_bits_flag(&b);
        p.frame0_self_contained_flag = h264_bits_flag(&b);
        p.frame1_self_contained_flag = h264_bits_flag(&b);
        for (unsigned i = 0; !p.quincunx_sampling_flag && p.type != 5 && i < 4; i++)
            p.grid_position[i / 2][i % 2] = (uint8_t)h264_bits_u(&b, 4);
        h264_bits_skip(&b, 8); /* frame_packing_arrangement_reserved_byte */
        p.repetition_period = h264_bits_ue(&b);
    }
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    *out = p;
    return H264_OK;
}

int h264_sei_display_orientation(const struct h264_sei_message *m,
                                 struct h264_display_orientation *out)
{
    struct h264_bits b = payload_bits(m);
    struct h264_display_orientation o = {.cancel_flag = h264_bits_flag(&b)};
    if (!o.cancel_flag) {
        o.hor_flip = h264_bits_flag(&b);
        o.ver_flip = h264_bits_flag(&b);
        o.anticlockwise_rotation = (uint16_t)h264_bits_u(&b, 16);
        o.repetition_period = h264_bits_ue(&b);
    }
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    *out = o;
    return H264_OK;
}

int h264_sei_mastering_display(const struct h264_sei_message *m, struct h264_mastering_display *out)
{
    struct h264_bits b = payload_bits(m);
    struct h264_mastering_display d;
    for (unsigned i = 0; i < 6; i++)
        d.primaries[i / 2][i % 2] = (uint16_t)h264_bits_u(&b, 16);
    for (unsigned i = 0; i < 2; i++)
        d.white_point[i] = (uint16_t)h264_bits_u(&b, 16);
    d.max_luminance = h264_bits_u(&b, 32);
    d.min_luminance = h264_bits_u(&b, 32);
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    *out = d;
    return H264_OK;
}

int h264_sei_content_light(const struct h264_sei_message *m, struct h264_content_light *out)
{
    struct h264_bits b = payload_bits(m);
    struct h264_content_light l;
    l.max_content_light_level = (uint16_t)h264_bits_u(&b, 16);
    l.max_pic_average_light_level = (uint16_t)h264_bits_u(&b, 16);
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    *out = l;
    return H264_OK;
}

int h264_sei_alternative_transfer(const struct h264_sei_message *m, uint8_t *out)
{
    if (!m->size)
        return H264_ERR_TRUNCATED;
    *out = m->bytes[0];
    return H264_OK;
}

/* What follows the identifier of ATSC user data (A/53 part 4, 6.2.2): country United States,
 * provider ATSC. */
static int atsc_data(const struct h264_sei_message *m, const char identifier[4],
                     const uint8_t **data, uint32_t *size)
{
    static const uint8_t atsc[3] = {0xb5, 0x00, 0x31};
    if (m->type != H264_SEI_REGISTERED || m->size < 7 || memcmp(m->bytes, atsc, 3) ||
        memcmp(m->bytes + 3, identifier, 4))
        return H264_ERR_DATA;
    *data = m->bytes + 7;
    *size = m->size - 7;
    return H264_OK;
}

int h264_sei_captions(const struct h264_sei_message *m, const uint8_t **triplets, unsigned *count)
{
    const uint8_t *data;
    uint32_t size;
    /* user_data_type_code: cc_data() */
    if (atsc_data(m, "GA94", &data, &size) || !size || data[0] != 3)
        return H264_ERR_DATA;
    if (size < 3)
        return H264_ERR_TRUNCATED;
    if (!(data[1] & 0x40)) /* process_cc_data_flag */
        return H264_ERR_DATA;
    if (size - 3 < 3u * (data[1] & 31)) /* cc_count */
        return H264_ERR_TRUNCATED;
    *triplets = data + 3;
    *count = data[1] & 31;
    return H264_OK;
}

int h264_sei_active_format(const struct h264_sei_message *m, uint8_t *out)
{
    const uint8_t *data;
    uint32_t size;
    if (atsc_data(m, "DTG1", &data, &size))
        return H264_ERR_DATA;
    if (!size)
        return H264_ERR_TRUNCATED;
    if (!(data[0] & 0x40)) /* active_format_flag */
        return H264_ERR_DATA;
    if (size < 2)
        return H264_ERR_TRUNCATED;
    *out = data[1] & 15;
    return H264_OK;
}
