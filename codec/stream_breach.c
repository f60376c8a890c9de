/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaches of the standard in the numbers of a picture, in its parameter sets and in the bytes of
 * its slices. They tell of damaged headers, whose pictures decode without an error.
 *
 * Encoders may break a rule of numbers in each picture. So a breach that comes more often in a row
 * than MOST_IN_A_ROW is a habit, and not told.
 */
#include "codec/h264_picture.h"
#include "codec/stream.h"

#include <string.h>

enum { MOST_IN_A_ROW = 3 };

/* Whether a breach tells of damage. */
static bool counts(uint8_t *in_a_row, bool breach)
{
    *in_a_row = !breach ? 0 : *in_a_row < UINT8_MAX ? (uint8_t)(*in_a_row + 1) : UINT8_MAX;
    return breach && *in_a_row <= MOST_IN_A_ROW;
}

/* profile_idc of annexes A, F, G, H, I and J */
static bool profile_exists(unsigned profile_idc)
{
    static const uint8_t known[] = {44,  66,  77,  83,  86,  88,  100, 110,
                                    118, 122, 128, 134, 135, 138, 139, 244};
    return memchr(known, (int)profile_idc, sizeof(known)) != NULL;
}

/* FNV-1a of its size and first bytes, which a header and some macroblocks take. */
static uint32_t slice_hash(const uint8_t *nal, size_t size)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size && i < 256; i++)
        hash = (hash ^ nal[i]) * 16777619u;
    return hash;
}

/* A picture since the IDR picture had its POC: one of both stands elsewhere (8.2.1). The same slice
 * again is a picture that came twice. */
static void judge_order(struct h264_stream *s, const uint8_t *nal, size_t size)
{
    struct h264_recent *r = &s->recovering.recent;
    uint32_t hash = slice_hash(nal, size);
    unsigned most = sizeof(r->at) / sizeof(*r->at);
    bool same = false, twice = false;
    for (unsigned i = 0; i < most; i++) {
        bool poc = r->at[i].structure == s->cur->structure && r->at[i].poc == s->cur->output_poc;
        same |= poc;
        twice |= poc && r->at[i].size == (uint32_t)size && r->at[i].hash == hash;
    }
    if (counts(&s->habits.poc, same) || twice)
        h264_picture_damage(s->cur);
    r->at[r->next % most].structure = s->cur->structure;
    r->at[r->next % most].poc = s->cur->output_poc;
    r->at[r->next % most].size = (uint32_t)size;
    r->at[r->next++ % most].hash = hash;
}

/* 7.4.3, 8.2.1: an IDR picture begins with frame_num and POC 0, and its idr_pic_id is not that of
 * an IDR picture just before. Pictures that refer to one with another POC take it wrongly. */
static void judge_idr(struct h264_stream *s, const struct h264_slice_header *h)
{
    bool again = s->habits.after_idr && h->idr_pic_id == s->habits.idr_pic_id;
    if (counts(&s->habits.idr_frame_num, h->frame_num != 0))
        h264_picture_damage(s->cur);
    if (counts(&s->habits.idr_id, again))
        s->cur->damage.corrupt = 1; /* its samples are sound */
    if (counts(&s->habits.idr_poc, s->cur->output_poc != 0))
        h264_recovery_breach(s, H264_BREACH_ORDER);
    s->habits.idr_pic_id = h->idr_pic_id;
}

void h264_stream_judge_picture(struct h264_stream *s, const struct h264_slice_header *h,
                               const struct h264_pps *pps, const uint8_t *nal, size_t size)
{
    if (!profile_exists(s->cur->sps->profile_idc) || s->pps[pps->id].refused ||
        s->sps[s->cur->sps->id].refused)
        h264_picture_damage(s->cur);
    if (h->idr && !s->cur->first_field)
        judge_idr(s, h);
    if (!s->cur->first_field)
        s->habits.after_idr = h->idr;
    judge_order(s, nal, size);
}
