/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages before a picture (D.1): every kind that the codec reads, and some that it passes on.
 * No message changes samples. Values are any that the syntax allows, and consistent with the
 * picture where the semantics demand it. The timing of the hypothetical reference decoder is not
 * kept. g->notes gets all messages as text.
 */
#include "gen.h"

#include "codec/parameter_sets.h"
#include "encode/sei_writer.h"
#include "tests/tools/sei_text.h"

#include <string.h>

struct messages {
    struct gen *g;
    struct rng *r;
    struct bit_writer nal; /* empty: none begun */
};

static unsigned bits(struct rng *r, unsigned n)
{
    return n ? rng_next(r) >> (32 - n) : 0;
}

/* payload as written, values as they are to be read. Several may share a NAL unit. */
static void put_message(struct messages *m, struct bit_writer *payload, const struct sei_values *v)
{
    if (rng_one_in(m->r, 2))
        sei_end(&m->nal, &m->g->out);
    sei_payload(&m->nal, v->type, payload);
    sei_values_print(m->g->notes, v);
}

static void put_buffering_period(struct messages *m)
{
    const struct h264_vui *vui = &m->g->sps.vui;
    struct sei_values v = {.type = H264_SEI_BUFFERING_PERIOD};
    struct bit_writer s = {0};
    v.period.seq_parameter_set_id = m->g->sps.id;
    for (unsigned k = 0; k < 2; k++) {
        v.period.count[k] = vui->cpb_count[k];
        for (unsigned i = 0; i < vui->cpb_count[k]; i++) {
            uint32_t delay = bits(m->r, vui->initial_cpb_removal_delay_length),
                     offset = bits(m->r, vui->initial_cpb_removal_delay_length);
            v.period.initial_cpb_removal_delay[k][i] = delay | 1;
            v.period.initial_cpb_removal_delay_offset[k][i] = offset;
        }
    }
    sei_buffering_period(vui, &v.period, &s);
    put_message(m, &s, &v);
}

/* hh:mm:ss, from seconds on only as much as the flags say */
static void choose_time(struct messages *m, struct h264_clock_timestamp *c)
{
    unsigned parts = c->full_timestamp_flag ? 3 : rng_below(m->r, 4);
    c->has_seconds = parts > 0;
    c->has_minutes = parts > 1;
    c->has_hours = parts > 2;
    if (c->has_seconds)
        c->seconds = (uint8_t)rng_below(m->r, 60);
    if (c->has_minutes)
        c->minutes = (uint8_t)rng_below(m->r, 60);
    if (c->has_hours)
        c->hours = (uint8_t)rng_below(m->r, 24);
}

static void choose_clock(struct messages *m, struct h264_clock_timestamp *c, unsigned offset_length)
{
    struct rng *r = m->r;
    uint32_t offset = bits(r, offset_length);
    *c = (struct h264_clock_timestamp){.present = true, .ct_type = (uint8_t)rng_below(r, 3)};
    c->nuit_field_based_flag = rng_one_in(r, 2);
    c->counting_type = (uint8_t)rng_below(r, 7);
    c->full_timestamp_flag = rng_one_in(r, 2);
    c->discontinuity_flag = rng_one_in(r, 2);
    c->cnt_dropped_flag = c->counting_type >= 2 && rng_one_in(r, 2);
    c->n_frames = (uint8_t)rng_below(r, 60);
    choose_time(m, c);
    if (offset_length)
        c->time_offset = (int32_t)((int64_t)offset -
                                   ((int64_t)(offset >> (offset_length - 1) & 1) << offset_length));
}

/* Table D-1 for what the picture is */
static unsigned choose_pic_struct(struct messages *m)
{
    const struct picture *p = &m->g->pic;
    if (p->structure != REC_FRAME)
        return p->structure == REC_TOP ? 1 : 2;
    if (m->g->sps.frame_mbs_only_flag)
        return m->g->sps.vui.fixed_frame_rate && rng_one_in(m->r, 2) ? 7 + rng_below(m->r, 2) : 0;
    return (p->poc[0] <= p->poc[1] ? 3 : 4) + 2 * rng_below(m->r, 2);
}

static void put_pic_timing(struct messages *m)
{
    static const uint8_t clocks[9] = {1, 1, 1, 2, 2, 3, 3, 2, 3}; /* NumClockTS */
    const struct h264_vui *vui = &m->g->sps.vui;
    struct sei_values v = {.type = H264_SEI_PIC_TIMING};
    struct h264_pic_timing *t = &v.timing;
    struct bit_writer s = {0};
    t->has_delays = vui->nal_hrd_present || vui->vcl_hrd_present;
    t->has_pic_struct = vui->pic_struct_present;
    if (t->has_delays) {
        t->cpb_removal_delay = bits(m->r, vui->cpb_removal_delay_length);
        t->dpb_output_delay = bits(m->r, vui->dpb_output_delay_length);
    }
    if (t->has_pic_struct) {
        t->pic_struct = (uint8_t)choose_pic_struct(m);
        t->clock_count = clocks[t->pic_struct];
        for (unsigned i = 0; i < t->clock_count; i++)
            if (rng_one_in(m->r, 2))
                choose_clock(m, &t->clock[i], t->has_delays ? vui->time_offset_length : 24);
    }
    sei_pic_timing(vui, t, &s);
    put_message(m, &s, &v);
}

/* Of an IDR picture: all is right from here on. */
static void put_recovery_point(struct messages *m)
{
    struct sei_values v = {.type = H264_SEI_RECOVERY_POINT,
                           .recovery = {.present = true, .exact_match_flag = true}};
    struct bit_writer s = {0};
    sei_recovery_point(&v.recovery, &s);
    put_message(m, &s, &v);
}

static void put_packing_values(struct rng *r, struct h264_frame_packing *p, struct bit_writer *s)
{
    p->type = (uint8_t)rng_below(r, 7);
    p->quincunx_sampling_flag = p->type == 0 || (p->type < 5 && rng_one_in(r, 2));
    p->content_interpretation_type = (uint8_t)rng_below(r, 3);
    p->spatial_flipping_flag = (p->type == 3 || p->type == 4) && rng_one_in(r, 2);
    p->frame0_flipped_flag = p->spatial_flipping_flag && rng_one_in(r, 2);
    p->current_frame_is_frame0_flag = p->type == 5 && rng_one_in(r, 2);
    p->frame0_self_contained_flag = p->type != 5 && rng_one_in(r, 2);
    p->frame1_self_contained_flag = p->type != 5 && rng_one_in(r, 2);
    bit_writer_u(s, 7, p->type);
    bit_writer_u(s, 1, p->quincunx_sampling_flag);
    bit_writer_u(s, 6, p->content_interpretation_type);
    bit_writer_u(s, 1, p->spatial_flipping_flag);
    bit_writer_u(s, 1, p->frame0_flipped_flag);
    bit_writer_u(s, 1, 0); /* field_views_flag */
    bit_writer_u(s, 1, p->current_frame_is_frame0_flag);
    bit_writer_u(s, 1, p->frame0_self_contained_flag);
    bit_writer_u(s, 1, p->frame1_self_contained_flag);
    for (unsigned i = 0; !p->quincunx_sampling_flag && p->type != 5 && i < 4; i++) {
        p->grid_position[i / 2][i % 2] = (uint8_t)rng_below(r, 16);
        bit_writer_u(s, 4, p->grid_position[i / 2][i % 2]);
    }
    bit_writer_u(s, 8, 0); /* frame_packing_arrangement_reserved_byte */
    p->repetition_period = rng_below(r, 16385);
    bit_writer_ue(s, p->repetition_period);
}

static void put_frame_packing(struct messages *m)
{
    struct sei_values v = {.type = H264_SEI_FRAME_PACKING};
    struct bit_writer s = {0};
    v.packing.frame_packing_arrangement_id = rng_below(m->r, 256);
    v.packing.cancel_flag = rng_one_in(m->r, 4);
    bit_writer_ue(&s, v.packing.frame_packing_arrangement_id);
    bit_writer_u(&s, 1, v.packing.cancel_flag);
    if (!v.packing.cancel_flag)
        put_packing_values(m->r, &v.packing, &s);
    bit_writer_u(&s, 1, 0); /* frame_packing_arrangement_extension_flag */
    put_message(m, &s, &v);
}

static void put_orientation(struct messages *m)
{
    struct sei_values v = {.type = H264_SEI_DISPLAY_ORIENTATION};
    struct h264_display_orientation *o = &v.orientation;
    struct bit_writer s = {0};
    o->cancel_flag = rng_one_in(m->r, 4);
    bit_writer_u(&s, 1, o->cancel_flag);
    if (!o->cancel_flag) {
        o->hor_flip = rng_one_in(m->r, 2);
        o->ver_flip = rng_one_in(m->r, 2);
        o->anticlockwise_rotation = (uint16_t)bits(m->r, 16);
        o->repetition_period = rng_below(m->r, 16385);
        bit_writer_u(&s, 1, o->hor_flip);
        bit_writer_u(&s, 1, o->ver_flip);
        bit_writer_u(&s, 16, o->anticlockwise_rotation);
        bit_writer_ue(&s, o->repetition_period);
        bit_writer_u(&s, 1, 0); /* display_orientation_extension_flag */
    }
    put_message(m, &s, &v);
}

static void put_colour_volume(struct messages *m)
{
    struct sei_values v = {.type = H264_SEI_MASTERING_DISPLAY},
                      light = {.type = H264_SEI_CONTENT_LIGHT};
    struct h264_mastering_display *d = &v.display;
    struct bit_writer s = {0};
    for (unsigned i = 0; i < 8; i++) {
        unsigned value = rng_below(m->r, 50001);
        *(i < 6 ? &d->primaries[i / 2][i % 2] : &d->white_point[i % 2]) = (uint16_t)value;
        bit_writer_u(&s, 16, value);
    }
    d->max_luminance = rng_next(m->r) | 1;
    d->min_luminance = rng_below(m->r, d->max_luminance);
    bit_writer_u(&s, 32, d->max_luminance);
    bit_writer_u(&s, 32, d->min_luminance);
    put_message(m, &s, &v);
    light.light.max_content_light_level = (uint16_t)bits(m->r, 16);
    light.light.max_pic_average_light_level = (uint16_t)bits(m->r, 16);
    bit_writer_u(&s, 16, light.light.max_content_light_level);
    bit_writer_u(&s, 16, light.light.max_pic_average_light_level);
    put_message(m, &s, &light);
}

static void put_transfer(struct messages *m)
{
    struct sei_values v = {.type = H264_SEI_ALTERNATIVE_TRANSFER,
                           .transfer = rng_one_in(m->r, 2) ? 14 : 18};
    struct bit_writer s = {0};
    bit_writer_u(&s, 8, v.transfer);
    put_message(m, &s, &v);
}

/* user_data_registered_itu_t_t35 of ATSC (A/53 part 4, 6.2.3, 6.2.4): closed captions, or the
 * active format */
static void put_registered(struct messages *m)
{
    struct sei_values v = {.type = H264_SEI_REGISTERED};
    uint8_t data[31 * 3];
    bool captions = rng_one_in(m->r, 2);
    unsigned count = rng_below(m->r, 32);
    struct bit_writer s = {0};
    bit_writer_u(&s, 24, 0xb50031);
    bit_writer_u(&s, 32, captions ? 0x47413934 : 0x44544731); /* GA94, DTG1 */
    if (captions) {
        v.user = SEI_USER_CAPTIONS;
        v.bytes = data;
        v.size = count * 3;
        bit_writer_u(&s, 16, 0x03c0 | count);
        bit_writer_u(&s, 8, 0xff);
        for (unsigned i = 0; i < v.size; i++)
            bit_writer_u(&s, 8, data[i] = (uint8_t)(i % 3 ? bits(m->r, 8) : 0xf8 | bits(m->r, 3)));
        bit_writer_u(&s, 8, 0xff);
    } else {
        v.user = SEI_USER_FORMAT;
        v.active_format = (uint8_t)(8 + rng_below(m->r, 4));
        bit_writer_u(&s, 16, 0x41f0u | v.active_format);
    }
    put_message(m, &s, &v);
}

/* What the codec passes on unread: other user data, filler, reserved types; types and sizes above
 * 254 take several bytes. */
static void put_bytes(struct messages *m)
{
    static const uint32_t types[5] = {H264_SEI_REGISTERED, H264_SEI_UNREGISTERED, 3, 220, 700};
    uint8_t data[600];
    struct sei_values v = {.type = types[rng_below(m->r, 5)], .bytes = data};
    struct bit_writer s = {0};
    v.size = 17 + rng_below(m->r, rng_one_in(m->r, 4) ? 580 : 30);
    for (unsigned i = 0; i < v.size; i++) {
        data[i] = (uint8_t)(v.type == 3 ? 0xff
                            : v.type == H264_SEI_REGISTERED && !i
                                ? 0x26
                                : bits(m->r, rng_one_in(m->r, 3) ? 2 : 8));
        bit_writer_u(&s, 8, data[i]);
    }
    put_message(m, &s, &v);
}

void sei_write(struct gen *g)
{
    static void (*const kinds[])(struct messages *) = {
        put_frame_packing, put_orientation, put_colour_volume, put_transfer,
        put_registered,    put_bytes,       put_bytes};
    struct rng r = rng_fork(g->pic.rng, 88);
    struct messages m = {.g = g, .r = &r};
    bool vui = g->sps.vui_present,
         delays = vui && (g->sps.vui.nal_hrd_present || g->sps.vui.vcl_hrd_present);

    if (g->pic.idr && vui)
        vui_print(g->notes, &g->sps.vui);
    if (!gen_use(g, &r, F_SEI, 1))
        return;
    if (delays && g->pic.idr)
        put_buffering_period(&m);
    if (delays || (vui && g->sps.vui.pic_struct_present))
        put_pic_timing(&m);
    if (g->pic.idr && rng_one_in(&r, 2))
        put_recovery_point(&m);
    for (unsigned n = rng_below(&r, 4); n; n--)
        kinds[rng_below(&r, sizeof(kinds) / sizeof(kinds[0]))](&m);
    sei_end(&m.nal, &g->out);
}
