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
    MOST_IN_SEQUENCES = 48,
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

/* A set that came damaged holds until it comes again. So its breaches count in many slices or
 * pictures, though others between them have none. */
static bool counts_by_sequence(struct h264_stream *s, enum h264_sequence_rule rule, bool breach)
{
    struct h264_sequence_habit *h = &s->habits.by_sequence[rule];
    if (breach && h->times < UINT8_MAX)
        h->times++;
    h->met |= breach;
    return breach && h->times <= MOST_IN_SEQUENCES;
}

static void sequences_begin(struct h264_stream *s)
{
    for (unsigned i = 0; i < H264_SEQUENCE_RULES; i++) {
        struct h264_sequence_habit *h = &s->habits.by_sequence[i];
        if (!h->met)
            *h = (struct h264_sequence_habit){.met = false};
        h->met = false;
    }
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

/* Behind a lost IDR picture pictures refer to nothing that is there. */
void h264_stream_lose_slice(struct h264_stream *s, uint8_t header)
{
    lose_unit(s, header & 0x60);
    if (s->started && (header & 31) == H264_NAL_IDR && !(s->cur && s->cur->idr))
        h264_recovery_breach(s, H264_BREACH_SEQUENCE);
}

void h264_stream_judge_set(struct h264_stream *s, uint8_t header, bool refused)
{
    if (h264_stream_breach_counts(s, H264_RULE_SETS, refused))
        lose_unit(s, header & 0x60);
}

/* 7.4.1 */
static bool is_reserved(unsigned type)
{
    return (type >= 16 && type <= 18) || type == 22 || type == 23;
}

/* 7.4.1: whether units of this type have nal_ref_idc 0 always, or never. One of a reserved type is
 * ignored, so that no reference needs it. */
static bool misfit(unsigned type, unsigned nal_ref_idc)
{
    bool always = type == H264_NAL_SEI || (type >= H264_NAL_AUD && type <= H264_NAL_FILLER),
         never = type == H264_NAL_IDR || type == H264_NAL_SPS || type == H264_NAL_PPS ||
                 type == H264_NAL_SPS_EXTENSION || type == H264_NAL_SUBSET_SPS;
    return nal_ref_idc ? always || is_reserved(type) : never;
}

void h264_stream_judge_unit(struct h264_stream *s, uint8_t header)
{
    unsigned type = header & 31, nal_ref_idc = header >> 5 & 3;
    if (header & 0x80) {
        lose_unit(s, true);
        s->habits.lost_set = true;
    } else if (counts(&s->habits.misfits[type], misfit(type, nal_ref_idc))) {
        lose_unit(s, true);
        s->habits.misfit = type == H264_NAL_IDR;
        s->habits.lost_set |= is_reserved(type);
    } else if (is_reserved(type)) {
        s->habits.lost = true; /* it is ignored, but where a field is missing */
    }
}

bool h264_stream_trusts_sei(const struct h264_stream *s, uint8_t header)
{
    unsigned in_a_row = s->habits.misfits[H264_NAL_SEI];
    return !s->started || !(header & 0x60) || in_a_row > MOST_IN_A_ROW;
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
    bool met = false, twice = false, reference = pic->nal_ref_idc;
    for (unsigned i = 0; i < most; i++) {
        bool poc = r->at[i].structure && low <= r->at[i].high && r->at[i].low <= high;
        met |= poc && i != first;
        reference |= poc && i != first && r->at[i].reference;
        twice |= poc && r->at[i].structure == pic->structure && r->at[i].size == (uint32_t)size &&
                 r->at[i].hash == hash;
    }
    if (h264_stream_breach_counts(s, H264_RULE_POC, met) || twice) {
        h264_picture_damage(s->cur);
        /* the picture before may be the wrong one; a field may be a reference without its
         * nal_ref_idc: then the other field is alone */
        if (pic->nal_ref_idc || (!twice && (reference || pic->structure != REC_FRAME)))
            h264_recovery_breach(s, H264_BREACH_ORDER);
    }
    if (first < most && r->at[first].structure) {
        low = low < r->at[first].low ? low : r->at[first].low;
        high = high > r->at[first].high ? high : r->at[first].high;
        r->at[first].low = low;
        r->at[first].high = high;
    }
    r->at[own].structure = pic->structure;
    r->at[own].reference = pic->nal_ref_idc;
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
        h264_picture_damage(s->cur);
    if (h264_stream_breach_counts(s, H264_RULE_IDR_POC, s->cur->output_poc != 0)) {
        h264_picture_damage(s->cur);
        h264_recovery_breach(s, H264_BREACH_ORDER);
    }
    s->habits.idr_pic_id = h->idr_pic_id;
}

/* 7.4.1.2.1: an IDR picture follows the end of a sequence. */
static void judge_sequence_end(struct h264_stream *s, const struct h264_slice_header *h)
{
    bool breach = s->habits.over_before && !h->idr;
    s->habits.over_before = false;
    if (h264_stream_breach_counts(s, H264_RULE_END, breach)) {
        h264_picture_damage(s->cur);
        h264_recovery_breach_now(s, s->cur);
    }
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

/* 7.4.2.1.1: with max_num_ref_frames 0 all pictures are intra. */
static void judge_references(struct h264_stream *s, const struct h264_slice_header *h)
{
    bool predicts = h->type == H264_P || h->type == H264_B || h->type == H264_SP;
    if (h264_stream_breach_counts(s, H264_RULE_REFERENCES,
                                  predicts && !s->cur->sps->max_num_ref_frames)) {
        h264_picture_damage(s->cur);
        h264_recovery_breach(s, H264_BREACH_ORDER);
    }
}

/* It stands elsewhere; its samples are sound. Encoders may give all pictures one frame_num, but not
 * behind those that they have counted (7.4.3). */
void h264_stream_judge_frame_num(struct h264_stream *s, bool repeats, bool counts)
{
    bool told = h264_stream_breach_counts(s, H264_RULE_FRAME_NUM, repeats);
    s->habits.counted = !s->cur->idr && (s->habits.counted || counts);
    if (told || (repeats && s->habits.counted))
        s->cur->damage.corrupt = 1;
}

/* A.3: Table A-1 has the level. */
static bool level_exists(unsigned level_idc)
{
    static const uint8_t known[] = {9,  10, 11, 12, 13, 20, 21, 22, 30, 31,
                                    32, 40, 41, 42, 50, 51, 52, 60, 61, 62};
    return memchr(known, (int)level_idc, sizeof(known)) != NULL;
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

static void judge_format(struct h264_stream *s, const struct h264_sps *sps)
{
    bool breach = !format_fits(sps) || !level_exists(sps->level_idc);
    if (counts_by_sequence(s, H264_SEQUENCE_FORMAT, breach)) {
        h264_picture_damage(s->cur);
        h264_recovery_breach(s, H264_BREACH_ORDER);
    }
}

void h264_stream_judge_picture(struct h264_stream *s, const struct h264_slice_header *h,
                               const struct h264_pps *pps, const uint8_t *nal, size_t size)
{
    if (!profile_exists(s->cur->sps->profile_idc) || s->pps[pps->id].refused ||
        s->sps[s->cur->sps->id].refused || s->habits.lost_set)
        h264_picture_damage(s->cur);
    if (!s->cur->first_field)
        s->habits.doubt_pairs =
            (s->habits.doubt_pairs || s->habits.lost) && h->field_pic_flag && !h->idr;
    s->habits.lost = s->habits.lost_set = false;
    judge_sequence_end(s, h);
    if (h->idr && !s->cur->first_field) {
        sequences_begin(s);
        judge_idr(s, h);
    }
    judge_format(s, s->cur->sps);
    if (!s->cur->first_field)
        s->habits.after_idr = h->idr;
    judge_order(s, nal, size);
    judge_references(s, h);
    judge_tag(s);
}

/* Fields come in pairs of one order. Where a unit was lost, a field may be alone, or stand as the
 * first one of the next frame's first. That goes on until a pair has the order of those before, or
 * an IDR picture or a coded frame comes: no field before those belongs to a field behind them. */
bool h264_stream_field_is_odd(struct h264_stream *s, const struct h264_picture *first)
{
    bool other = s->habits.first_parity && s->habits.first_parity != first->structure,
         odd = s->habits.doubt_pairs && (!first->paired || other);
    if (first->paired && !other)
        s->habits.doubt_pairs = false;
    if (first->paired && !s->habits.doubt_pairs)
        s->habits.first_parity = first->structure;
    return odd || (s->habits.lost && !first->paired);
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

/* A.2.2, A.2.4: slice groups and redundant pictures are of Baseline and Extended. */
static bool groups_fit(const struct h264_sps *sps, const struct h264_pps *pps)
{
    bool low = sps->profile_idc == BASELINE || sps->profile_idc == EXTENDED;
    return low || (pps->num_slice_groups == 1 && !pps->redundant_pic_cnt_present_flag);
}

/* 7.4.2.2: slices may come back into the range, each by its slice_qp_delta. */
static bool quantiser_fits(const struct h264_sps *sps, const struct h264_pps *pps)
{
    return pps->pic_init_qp >= -6 * (sps->bit_depth[0] - 8);
}

/* A.2.1 */
static bool baseline_fits(const struct h264_sps *sps, const struct h264_pps *pps,
                          const struct h264_slice_header *h)
{
    return sps->profile_idc != BASELINE || (h->type != H264_B && !pps->weighted_pred_flag &&
                                            !pps->weighted_bipred_idc && sps->frame_mbs_only_flag);
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
    return quantiser_fits(sps, pps) && groups_fit(sps, pps) && baseline_fits(sps, pps, h) &&
           (!switching || sps->profile_idc == EXTENDED) &&
           (!pps->entropy_coding_mode_flag || !low) &&
           (!pps->transform_8x8_mode_flag || (!low && sps->profile_idc != MAIN)) && inference;
}

/* 7.4.3: without arbitrary slice order addresses rise, in each colour plane. */
static bool order_fits(const struct h264_stream *s, const struct h264_slice *slice)
{
    if (h264_stream_any_slice_order(slice->sps) || slice->hdr.redundant_pic_cnt)
        return true;
    for (uint32_t i = slice->index; i-- > 0;) {
        const struct h264_slice_header *before = &s->cur->slices[i].hdr;
        if (!before->redundant_pic_cnt && before->colour_plane_id == slice->hdr.colour_plane_id)
            return before->first_mb < slice->hdr.first_mb;
    }
    return true;
}

/* Encoders write junk behind a PPS where their profile has no elements (A.2.1 to A.2.3). Those that
 * do write it behind each. */
static bool set_is_odd(const struct h264_stream *s, const struct h264_slice *slice)
{
    return slice->sps->vui.rest ||
           (slice->pps->rest &&
            (s->habits.clean_pps || s->pps[slice->pps->id].chroma_format_idc != H264_PPS_PLAIN));
}

void h264_stream_judge_slice(struct h264_stream *s, const struct h264_slice *slice)
{
    const struct h264_slice_header *h = &slice->hdr, *first = &s->cur->slices[0].hdr;
    bool other = h != first && !siblings_fit(first, h);
    bool siblings = h264_stream_breach_counts(s, H264_RULE_SIBLINGS, other),
         tools = counts_by_sequence(s, H264_SEQUENCE_TOOLS, !tools_fit(slice->sps, slice->pps, h));
    if (h264_stream_breach_counts(s, H264_RULE_ORDER, !order_fits(s, slice)))
        h264_picture_damage(s->cur);
    if (siblings || tools || s->habits.misaligned || s->habits.misfit || set_is_odd(s, slice)) {
        h264_picture_damage(s->cur);
        h264_recovery_breach(s, H264_BREACH_ORDER); /* its marking may be wrong, too */
    }
    s->habits.misaligned = s->habits.misfit = false;
}
