/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaches of the standard in the numbers of a picture, in its parameter sets and in the bytes of
 * its slices. They tell of damaged headers, whose pictures decode without an error.
 *
 * Encoders may break a rule in each picture. So a breach that comes more often in a row than
 * MOST_IN_A_ROW is a habit, and not told.
 */
#include "codec/h264_picture.h"
#include "codec/parameter_sets.h"
#include "codec/stream.h"

#include <string.h>

enum {
    MOST_IN_A_ROW = 3,
    BASELINE = 66,
    MAIN = 77,
    EXTENDED = 88,
    HIGH = 100,
    HIGH_10 = 110,
    HIGH_422 = 122,
    LEVEL_3 = 30
};

static bool counts(uint8_t *in_a_row, bool breach)
{
    *in_a_row = !breach ? 0 : *in_a_row < UINT8_MAX ? (uint8_t)(*in_a_row + 1) : UINT8_MAX;
    return breach && *in_a_row <= MOST_IN_A_ROW;
}

bool h264_stream_breach_counts(struct h264_stream *s, enum h264_rule rule, bool breach)
{
    return counts(&s->habits.in_a_row[rule], breach);
}

/* ---- units ---- */

/* What is lost may have been a picture, or the second field of one. */
static void lose_unit(struct h264_stream *s, bool reference)
{
    bool within = s->cur && s->have_tag && s->cur->tag == s->tag && !s->cur_boundary;
    if (!s->started)
        return;
    s->habits.lost = true;
    if (within)
        h264_picture_damage(s->cur);
    if (reference && !(within && s->cur->structure == REC_FRAME))
        h264_recovery_breach(s, H264_BREACH_ORDER);
}

void h264_stream_lose_slice(struct h264_stream *s, unsigned nal_ref_idc)
{
    lose_unit(s, nal_ref_idc != 0);
}

/* 7.4.1: whether units of this type have nal_ref_idc 0 always, or never. */
static bool misfit(unsigned type, unsigned nal_ref_idc)
{
    bool always = type == H264_NAL_SEI || (type >= H264_NAL_AUD && type <= H264_NAL_FILLER),
         never = type == H264_NAL_IDR || type == H264_NAL_SPS || type == H264_NAL_PPS ||
                 type == H264_NAL_SPS_EXTENSION || type == H264_NAL_SUBSET_SPS;
    return nal_ref_idc ? always : never;
}

void h264_stream_judge_unit(struct h264_stream *s, uint8_t header)
{
    unsigned type = header & 31, nal_ref_idc = header >> 5 & 3;
    if (header & 0x80) {
        lose_unit(s, true);
        s->habits.lost_set = true;
    } else if (type < 16 && counts(&s->habits.misfits[type], misfit(type, nal_ref_idc))) {
        lose_unit(s, true);
    } else if ((type >= 16 && type <= 18) || type == 22 || type == 23) {
        s->habits.lost = true; /* reserved: it is ignored, but where a field is missing */
    }
}

/* ---- pictures ---- */

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

/* Frames and single fields have POC apart from each other (8.2.1). A picture since the IDR picture
 * has that of this one: one of both stands elsewhere. The same slice again is a picture that came
 * twice. */
static void judge_order(struct h264_stream *s, const uint8_t *nal, size_t size)
{
    struct h264_recent *r = &s->recovering.recent;
    const struct h264_picture *pic = s->cur;
    const unsigned most = sizeof(r->at) / sizeof(*r->at), own = r->next % most,
                   first = pic->first_field ? (r->next + most - 1) % most : most;
    uint32_t hash = slice_hash(nal, size);
    int32_t low = pic->poc[0] < pic->poc[1] ? pic->poc[0] : pic->poc[1],
            high = pic->poc[0] < pic->poc[1] ? pic->poc[1] : pic->poc[0];
    bool met = false, twice = false;
    for (unsigned i = 0; i < most; i++) {
        bool poc = r->at[i].structure && low <= r->at[i].high && r->at[i].low <= high;
        met |= poc && i != first;
        twice |= poc && r->at[i].structure == pic->structure && r->at[i].size == (uint32_t)size &&
                 r->at[i].hash == hash;
    }
    if (h264_stream_breach_counts(s, H264_RULE_POC, met) || twice) {
        h264_picture_damage(s->cur);
        if (pic->nal_ref_idc)
            h264_recovery_breach(s, H264_BREACH_ORDER);
    }
    if (first < most && r->at[first].structure) {
        low = low < r->at[first].low ? low : r->at[first].low;
        high = high > r->at[first].high ? high : r->at[first].high;
        r->at[first].low = low;
        r->at[first].high = high;
    }
    r->at[own].structure = pic->structure;
    r->at[own].low = low;
    r->at[own].high = high;
    r->at[own].size = (uint32_t)size;
    r->at[own].hash = hash;
    r->next++;
}

/* 7.4.3, 8.2.1: an IDR picture begins with frame_num and POC 0, and its idr_pic_id is not that of
 * an IDR picture just before. Pictures that refer to one with another POC take it wrongly. */
static void judge_idr(struct h264_stream *s, const struct h264_slice_header *h)
{
    bool again = s->habits.after_idr && h->idr_pic_id == s->habits.idr_pic_id;
    if (h264_stream_breach_counts(s, H264_RULE_IDR_FRAME_NUM, h->frame_num != 0))
        h264_picture_damage(s->cur);
    if (h264_stream_breach_counts(s, H264_RULE_IDR_ID, again))
        s->cur->damage.corrupt = 1; /* its samples are sound */
    if (h264_stream_breach_counts(s, H264_RULE_IDR_POC, s->cur->output_poc != 0)) {
        h264_picture_damage(s->cur);
        h264_recovery_breach(s, H264_BREACH_ORDER);
    }
    s->habits.idr_pic_id = h->idr_pic_id;
}

/* An access unit has one primary picture, or two fields of a frame or of a non-reference pair
 * (7.4.1.2). Of two pictures in a unit one is foreign, or a unit between them is damaged. Parameter
 * sets that came with the first one may garble the second. Who feeds all with one tag has no access
 * units. */
static void judge_tag(struct h264_stream *s)
{
    bool same = s->have_tag && s->habits.tag == s->tag,
         again = same && s->habits.several && !s->cur->first_field &&
                 !s->cur->sps->separate_colour_plane_flag &&
                 !h264_stream_any_slice_order(s->cur->sps);
    if (h264_stream_breach_counts(s, H264_RULE_UNIT, again)) {
        h264_picture_damage(s->cur);
        h264_recovery_breach(s, H264_BREACH_ORDER);
    }
    s->habits.several |= !same && s->started && s->cur->id > 0;
    s->habits.tag = s->tag;
}

void h264_stream_judge_picture(struct h264_stream *s, const struct h264_slice_header *h,
                               const struct h264_pps *pps, const uint8_t *nal, size_t size)
{
    if (!profile_exists(s->cur->sps->profile_idc) || s->pps[pps->id].refused ||
        s->sps[s->cur->sps->id].refused || s->habits.lost_set)
        h264_picture_damage(s->cur);
    s->habits.lost = s->habits.lost_set = false;
    if (h->idr && !s->cur->first_field)
        judge_idr(s, h);
    if (!s->cur->first_field)
        s->habits.after_idr = h->idr;
    judge_order(s, nal, size);
    judge_tag(s);
}

/* ---- slices ---- */

void h264_stream_judge_alignment(struct h264_stream *s, const struct h264_pps *pps, size_t data_bit)
{
    bool zero = false;
    for (; pps->entropy_coding_mode_flag && data_bit & 7; data_bit++)
        zero |= !(s->rbsp.bytes[data_bit >> 3] >> (7 - (data_bit & 7)) & 1);
    s->habits.misaligned = h264_stream_breach_counts(s, H264_RULE_ALIGNMENT, zero);
}

static bool same_marking(const struct h264_slice_header *a, const struct h264_slice_header *b)
{
    bool same = a->mmco_count == b->mmco_count &&
                a->no_output_of_prior_pics_flag == b->no_output_of_prior_pics_flag &&
                a->long_term_reference_flag == b->long_term_reference_flag &&
                a->adaptive_marking_flag == b->adaptive_marking_flag;
    for (unsigned i = 0; i < a->mmco_count && same; i++)
        same = a->mmco[i].op == b->mmco[i].op && a->mmco[i].a == b->mmco[i].a &&
               a->mmco[i].b == b->mmco[i].b;
    return same;
}

/* 7.4.3: what slices of a picture have in common. */
static bool siblings_fit(const struct h264_slice_header *a, const struct h264_slice_header *b)
{
    bool groups =
             a->pps_id != b->pps_id || a->slice_group_change_cycle == b->slice_group_change_cycle,
         types = !((a->notes | b->notes) & H264_NOTE_TYPE_OF_ALL) || a->type == b->type;
    return groups && types && same_marking(a, b);
}

/* A.2: the profile has the depth, the chroma format, and lossless macroblocks. */
static bool format_fits(const struct h264_sps *sps)
{
    unsigned depth = sps->bit_depth[0] > sps->bit_depth[1] ? sps->bit_depth[0] : sps->bit_depth[1];
    unsigned most_depth = sps->profile_idc == HIGH ? 8 : 10,
             most_chroma = sps->profile_idc == HIGH_422 ? 2 : 1;
    if (sps->profile_idc != HIGH && sps->profile_idc != HIGH_10 && sps->profile_idc != HIGH_422)
        return true;
    return depth <= most_depth && sps->chroma_format_idc <= most_chroma &&
           !sps->qpprime_y_zero_transform_bypass_flag;
}

/* A.2, A.3.3: tools that the profile and level have. Baseline and Main have none of the elements at
 * the end of a PPS, but encoders that call themselves so write them. direct_8x8_inference_flag
 * matters to B slices alone. */
static bool tools_fit(const struct h264_sps *sps, const struct h264_pps *pps,
                      const struct h264_slice_header *h)
{
    bool switching = h->type == H264_SP || h->type == H264_SI,
         low = sps->profile_idc == BASELINE || sps->profile_idc == EXTENDED,
         inference = h->type != H264_B || sps->direct_8x8_inference_flag ||
                     (sps->frame_mbs_only_flag && (low || sps->level_idc < LEVEL_3));
    return format_fits(sps) && (!switching || sps->profile_idc == EXTENDED) &&
           (!pps->entropy_coding_mode_flag || !low) &&
           (!pps->transform_8x8_mode_flag || (!low && sps->profile_idc != MAIN)) && inference;
}

/* Encoders write junk behind a PPS where their profile has no elements (A.2.1 to A.2.3). */
static bool set_is_odd(const struct h264_stream *s, const struct h264_slice *slice)
{
    return slice->sps->vui.rest ||
           (slice->pps->rest && s->pps[slice->pps->id].chroma_format_idc != H264_PPS_PLAIN);
}

void h264_stream_judge_slice(struct h264_stream *s, const struct h264_slice *slice)
{
    const struct h264_slice_header *h = &slice->hdr, *first = &s->cur->slices[0].hdr;
    bool other = h != first && !siblings_fit(first, h);
    bool siblings = h264_stream_breach_counts(s, H264_RULE_SIBLINGS, other),
         tools =
             h264_stream_breach_counts(s, H264_RULE_TOOLS, !tools_fit(slice->sps, slice->pps, h));
    if (siblings || tools || s->habits.misaligned || set_is_odd(s, slice)) {
        h264_picture_damage(s->cur);
        h264_recovery_breach(s, H264_BREACH_ORDER); /* its marking may be wrong, too */
    }
    s->habits.misaligned = false;
}
