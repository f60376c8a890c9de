/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Damage of pictures. Each picture has the number of the latest damage that reaches it; numbers
 * count up with pictures. IDR pictures and recovery points (D.1.8, D.2.8) end earlier damage. From
 * the recovery point on, in output order, pictures are as if decoding had started at the picture
 * with the message.
 *
 * Recovery periods may overlap: the first is followed to its end, and messages meanwhile are
 * ignored.
 */
#include "codec/damage.h"
#include "codec/stream.h"

/* Pictures before the start of a stream count as one that was damaged. */
static uint32_t before_picture(uint32_t id)
{
    return id + 1;
}

uint32_t h264_damage_of(uint32_t id)
{
    return id + 2;
}

void h264_picture_damage(struct h264_picture *pic)
{
    pic->damage.latest = h264_damage_of(pic->id);
    pic->damage.corrupt = 1;
}

/* The first picture is none of an IDR: what it follows is lost. Without a message nothing tells
 * when that is over, and pictures are taken for complete from it on in output order. */
static void recovery_without_idr(struct h264_recovery_state *r, const struct h264_picture *pic)
{
    uint32_t before = before_picture(pic->id);
    bool later = pic->recovery.present && pic->recovery.recovery_frame_cnt;
    *r = (struct h264_recovery_state){.clean = before,
                                      .clean_before = before,
                                      .clean_poc = INT32_MIN,
                                      .lost = before,
                                      .leading = true,
                                      .hide = true,
                                      .leading_poc = later ? INT32_MAX : pic->output_poc,
                                      .foreign_next = r->foreign_next};
}

/* Decoding may start at the picture itself, so it predicts from none before. A message before
 * another one was that of a lost picture. */
static bool recovery_is_possible(const struct h264_recovery_state *r,
                                 const struct h264_picture *pic, const struct h264_slice_header *h)
{
    bool intra = h->type == H264_I || h->type == H264_SI;
    return intra || r->leading || pic->recovery.recovery_frame_cnt;
}

static void recovery_announce(struct h264_recovery_state *r, const struct h264_picture *pic,
                              const struct h264_slice_header *h)
{
    bool possible = recovery_is_possible(r, pic, h);
    if (pic->recovery.broken_link_flag && !r->leading) {
        r->leading = true;
        r->hide = false;
        r->leading_poc = pic->output_poc;
    }
    if (r->pending || !possible)
        return;
    r->pending = true;
    r->from_id = pic->id;
    r->from_frame_num = h->frame_num;
    r->frame_cnt = pic->recovery.recovery_frame_cnt;
}

/* pic is the recovery point. */
static void recovery_reach(struct h264_recovery_state *r, const struct h264_picture *pic)
{
    r->pending = false;
    r->clean_before = r->clean;
    r->clean = h264_damage_of(r->from_id);
    r->clean_poc = pic->output_poc;
    r->lost = 0;
    r->from_idr = false;
    if (r->leading && r->leading_poc == INT32_MAX)
        r->leading_poc = pic->output_poc;
}

static uint32_t recovery_frames_since(const struct h264_stream *s, uint32_t frame_num)
{
    return (frame_num - s->recovering.from_frame_num) & (s->dpb.max_frame_num - 1);
}

void h264_recovery_breach(struct h264_stream *s, enum h264_breach breach)
{
    struct h264_recovery_state *r = &s->recovering;
    if (breach == H264_BREACH_REFERENCE && !r->from_idr)
        return;
    r->doubt_next = true;
    r->foreign_next |= breach == H264_BREACH_SEQUENCE;
}

/* A picture that is damaged before it begins; a recovery point at pic itself ends that. */
static uint32_t damage_before(const struct h264_recovery_state *r, const struct h264_picture *pic)
{
    return r->lost ? r->lost : before_picture(pic->id);
}

static void recovery_doubt(struct h264_recovery_state *r, struct h264_picture *pic)
{
    r->doubt = damage_before(r, pic);
    r->doubt_id = pic->id;
    r->doubt_next = false;
}

void h264_recovery_breach_now(struct h264_stream *s, struct h264_picture *pic)
{
    struct h264_recovery_state *r = &s->recovering;
    if (!r->from_idr)
        return;
    recovery_doubt(r, pic);
    pic->damage.doubt = r->doubt;
    pic->damage.doubt_id = r->doubt_id;
}

/* What was before counts for pic. */
static void picture_inherit_doubt(struct h264_recovery_state *r, struct h264_picture *pic)
{
    if (r->doubt_next)
        recovery_doubt(r, pic);
    if (r->foreign_next)
        r->foreign = damage_before(r, pic);
    r->foreign_next = false;
    pic->damage.doubt = r->doubt;
    pic->damage.doubt_id = r->doubt_id;
    if (r->foreign && r->foreign >= pic->damage.clean)
        pic->damage.latest = r->foreign;
}

/* Decoding may start at pic (recovery_frame_cnt 0), and did not. */
static bool is_exact_at_once(const struct h264_recovery_state *r, const struct h264_picture *pic)
{
    return !pic->idr && pic->recovery.present && !pic->recovery.recovery_frame_cnt &&
           r->from_id == pic->id && !r->pending && !r->leading;
}

void h264_recovery_begin(struct h264_stream *s, const struct h264_slice_header *h,
                         struct h264_picture *pic)
{
    struct h264_recovery_state *r = &s->recovering;
    uint32_t id = pic->id;
    if (pic->first_field) {
        pic->damage.clean = pic->first_field->damage.clean;
        pic->damage.missing = pic->first_field->damage.missing;
        pic->damage.unrecovered = pic->first_field->damage.unrecovered;
        pic->damage.anew = pic->first_field->damage.anew;
        picture_inherit_doubt(r, pic);
        return;
    }
    if (pic->idr)
        *r = (struct h264_recovery_state){.clean = h264_damage_of(id),
                                          .clean_before = h264_damage_of(id),
                                          .clean_poc = INT32_MIN,
                                          .from_idr = true};
    else if (!s->started)
        recovery_without_idr(r, pic);
    if (!pic->idr && pic->recovery.present)
        recovery_announce(r, pic, h);
    if (r->pending && recovery_frames_since(s, h->frame_num) >= r->frame_cnt &&
        (h->nal_ref_idc || id == r->from_id))
        recovery_reach(r, pic);
    pic->damage.anew = is_exact_at_once(r, pic) ? h264_damage_of(id) : 0;
    pic->damage.clean =
        pic->output_poc >= r->clean_poc && !pic->damage.anew ? r->clean : r->clean_before;
    pic->damage.missing = r->lost ? r->lost : h264_damage_of(id);
    picture_inherit_doubt(r, pic);
    if (r->leading && pic->output_poc < r->leading_poc) {
        pic->damage.latest = pic->damage.missing;
        pic->damage.corrupt = 1;
        pic->damage.unrecovered = r->hide && !s->params.any_start;
    }
}

void h264_recovery_reset(struct h264_stream *s, uint32_t frame_num)
{
    struct h264_recovery_state *r = &s->recovering;
    r->recent = (struct h264_recent){0};
    r->clean_poc = INT32_MIN;
    r->leading = r->leading && r->leading_poc == INT32_MAX;
    if (r->pending) {
        r->frame_cnt -= recovery_frames_since(s, frame_num);
        r->from_frame_num = 0;
    }
}
