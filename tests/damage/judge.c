/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rules of NAL units and of access units; and which frames a breach reaches.
 */
#include "tests/damage/judge.h"
#include "codec/h264_picture.h"
#include "codec/macroblock.h"
#include "codec/nal.h"
#include "codec/parameter_sets.h"
#include "codec/stream.h"
#include "tests/tools/grow.h"

#include <stdlib.h>
#include <string.h>

static const char text_header[] = "7.3.3: a slice header is broken",
                  text_refused[] = "7.3: a NAL unit is refused",
                  text_name[] = "8.2.4, 8.2.5: a reference is named that is not there";

/* Of a picture, by its id. */
struct verdict {
    const char *own;    /* breach of the picture, or of what it refers to */
    const char *from;   /* breach that counts from this picture on */
    const char *second; /* of the second field: what refers to the first one does not rest on it */
    const char *alone;  /* breach of order before a picture that refers to none */
    uint32_t owner;     /* id of the picture that stands for its frame */
    bool marked;
};

struct judge {
    const struct breaches *allowed;
    struct breaches seen;
    struct verdict *at;
    unsigned count, capacity;
    struct h264_scratch *scratch;
    bool bad; /* no memory */

    /* before the next slice */
    const char *pending;     /* breach of order in units */
    const char *pending_own; /* of the picture in access unit own_tag alone */
    const char *slice;       /* of this slice, if its picture is decoded */
    int64_t own_tag;
    bool reserved;                /* this unit is of a reserved type, and no reference */
    bool unit_reference;          /* nal_ref_idc of the unit is not 0 */
    bool idr_came;                /* an IDR picture came */
    bool boundary, ended, prefix; /* an access unit begins; a sequence ended; units before it */
    int primary_pic_type;         /* of its delimiter, -1: none */
    uint32_t cur_id, cur_slices;  /* the picture that was built before this unit */

    /* of pictures before */
    const char *from;
    struct judge_numbers numbers;
};

struct judge *judge_create(const struct breaches *allowed)
{
    struct judge *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    j->allowed = allowed;
    j->primary_pic_type = -1;
    j->scratch = h264_scratch_create();
    if (j->scratch)
        return j;
    free(j);
    return NULL;
}

void judge_free(struct judge *j)
{
    if (!j)
        return;
    h264_scratch_free(j->scratch);
    free(j->at);
    judge_numbers_free(&j->numbers);
    free(j);
}

static bool has(const struct breaches *b, const char *text)
{
    for (unsigned i = 0; b && i < b->count; i++)
        if (strcmp(b->at[i], text) == 0)
            return true;
    return false;
}

/* The breach where it counts, else NULL. */
static const char *note(struct judge *j, const char *breach)
{
    if (!breach || has(j->allowed, breach))
        return NULL;
    if (!has(&j->seen, breach) && j->seen.count < JUDGE_BREACHES)
        j->seen.at[j->seen.count++] = breach;
    return breach;
}

static struct verdict *verdict_of(struct judge *j, uint32_t id)
{
    static struct verdict none;
    while (j->count <= id) {
        if (!grow_by_one(&j->at, j->count, &j->capacity, sizeof(*j->at))) {
            j->bad = true;
            none = (struct verdict){0};
            return &none;
        }
        j->at[j->count] = (struct verdict){.owner = j->count};
        j->count++;
    }
    return &j->at[id];
}

/* A breach of the picture with this id. */
static void breach_own(struct judge *j, uint32_t id, const char *breach)
{
    struct verdict *v = verdict_of(j, id);
    breach = note(j, breach);
    if (breach && !v->own)
        v->own = breach;
}

/* A breach that counts from that picture on. */
static void breach_from(struct judge *j, uint32_t id, const char *breach)
{
    struct verdict *v = verdict_of(j, id);
    breach = note(j, breach);
    if (breach && !v->from)
        v->from = breach;
}

static void breach_pending(struct judge *j, const char *breach)
{
    breach = note(j, breach);
    if (breach && !j->pending)
        j->pending = breach;
}

/* ---- NAL units ---- */

/* 7.4.1 */
static const char *nal_bytes(const uint8_t *nal, size_t size)
{
    if (nal[0] & 0x80)
        return "7.4.1: forbidden_zero_bit";
    for (size_t i = 0; i + 2 < size; i++) {
        if (nal[i] || nal[i + 1])
            continue;
        if (nal[i + 2] == 0 || nal[i + 2] == 2)
            return "7.4.1: bytes that may not occur within a NAL unit";
        if (nal[i + 2] == 3 && i + 3 < size && nal[i + 3] > 3)
            return "7.4.1: emulation_prevention_three_byte without need";
    }
    return NULL;
}

static const char *nal_type(const uint8_t *nal)
{
    unsigned type = nal[0] & 31, ref_idc = nal[0] >> 5 & 3;
    bool never = type == H264_NAL_SEI || (type >= H264_NAL_AUD && type <= H264_NAL_FILLER);
    bool always = type == H264_NAL_IDR || type == H264_NAL_SPS || type == H264_NAL_PPS ||
                  type == H264_NAL_SPS_EXTENSION || type == H264_NAL_SUBSET_SPS;
    if ((never && ref_idc) || (always && !ref_idc))
        return "7.4.1: nal_ref_idc does not fit nal_unit_type";
    return NULL;
}

static const char text_reserved[] = "7.4.1: nal_unit_type is reserved";

/* Units of these types are ignored. One that is no reference counts within its access unit alone.
 */
static void judge_reserved(struct judge *j, unsigned type)
{
    bool reserved = (type >= 16 && type <= 18) || type == 22 || type == 23;
    j->reserved = reserved && !j->unit_reference;
    if (reserved && j->unit_reference)
        breach_pending(j, text_reserved);
}

/* 7.4.1.2.3: what may stand between access units alone, and in which order */
static void nal_order(struct judge *j, const uint8_t *nal, size_t size)
{
    unsigned type = nal[0] & 31;
    bool begins =
        (type >= H264_NAL_SEI && type <= H264_NAL_AUD) || (type >= H264_NAL_PREFIX && type <= 18);
    if (type == H264_NAL_PREFIX)
        return; /* it belongs to the slice behind it */
    if (type == H264_NAL_AUD) {
        if (j->prefix || j->primary_pic_type >= 0)
            breach_pending(j, "7.4.1.2.3: a delimiter within an access unit");
        if (size != 2 || (nal[1] & 31) != 16)
            breach_pending(j, "7.3.2.4: the delimiter is broken");
        j->primary_pic_type = nal[size > 1] >> 5;
    } else if (begins) {
        j->prefix = true;
    }
    j->boundary |= begins;
    j->ended |= type == H264_NAL_END_SEQUENCE || type == H264_NAL_END_STREAM;
    j->numbers.after_idr &= !j->ended; /* the same sequence may come again */
}

/* 7.4.2.4, Table 7-5 */
static bool type_announced(int primary_pic_type, unsigned type)
{
    static const uint8_t allowed[8] = {1 << H264_I,
                                       1 << H264_I | 1 << H264_P,
                                       1 << H264_I | 1 << H264_P | 1 << H264_B,
                                       1 << H264_SI,
                                       1 << H264_SI | 1 << H264_SP,
                                       1 << H264_I | 1 << H264_SI,
                                       0x1f & ~(1 << H264_B),
                                       0x1f};
    return primary_pic_type < 0 || allowed[primary_pic_type] >> type & 1;
}

/* cabac_alignment_one_bit (7.3.4) */
static bool alignment_good(const struct h264_stream *s, size_t data_bit)
{
    for (; data_bit & 7; data_bit++)
        if (!(s->rbsp.bytes[data_bit >> 3] >> (7 - (data_bit & 7)) & 1))
            return false;
    return true;
}

/* A slice alone, before it is known of which picture it is. */
static void judge_slice(struct judge *j, struct h264_stream *s, const uint8_t *nal, size_t size)
{
    const struct h264_sps *sps;
    const struct h264_pps *pps;
    struct h264_slice_header h;
    size_t data_bit;
    if (h264_stream_parse_slice(s, nal, size, &sps, &pps, &h, &data_bit, NULL)) {
        if (j->unit_reference)
            breach_pending(j, text_header);
        return;
    }
    const char *breach = judge_sps(sps);
    breach = breach ? breach : judge_pps(sps, pps);
    j->slice = breach ? breach : judge_header(&h, sps, pps);
    if (pps->entropy_coding_mode_flag && !alignment_good(s, data_bit))
        breach_pending(j, "7.3.4: cabac_alignment_one_bit is 0");
    else if (!pps->entropy_coding_mode_flag && size > 3 && nal[size - 1] == 3 && !nal[size - 2] &&
             !nal[size - 3])
        breach_pending(j, "7.3.2.10: cabac_zero_words without CABAC");
    if (!h.redundant_pic_cnt && !type_announced(j->primary_pic_type, h.type))
        breach_pending(j, "7.4.2.4: a slice of a type that the delimiter does not announce");
    if (j->ended && !h.idr)
        breach_pending(j, "7.4.1.2.1: no IDR picture behind the end of a sequence");
    j->ended = false;
}

/* Bits behind the last element. */
static const char *sps_rest(const uint8_t *nal, size_t size)
{
    struct h264_bits b;
    struct h264_sps *sps;
    uint8_t *rbsp = malloc(size + H264_BITS_PADDING);
    bool rest = false;
    if (!rbsp)
        return NULL;
    h264_bits_init(&b, rbsp, h264_unescape(nal, size, rbsp, NULL));
    if (h264_sps_parse_data(&b, &sps, NULL) == H264_OK) {
        rest = h264_bits_more_data(&b);
        h264_sps_unref(sps);
    }
    free(rbsp);
    return rest ? "7.3.2.1: something follows the elements of the SPS" : NULL;
}

static bool is_slice(const uint8_t *nal)
{
    return (nal[0] & 31) == H264_NAL_SLICE || (nal[0] & 31) == H264_NAL_PARTITION_A ||
           (nal[0] & 31) == H264_NAL_IDR;
}

void judge_unit(struct judge *j, struct h264_stream *s, const uint8_t *nal, size_t size)
{
    j->cur_id = s->cur ? s->cur->id : UINT32_MAX;
    j->cur_slices = s->cur ? s->cur->slice_count : 0;
    j->unit_reference = nal[0] & 0x60;
    breach_pending(j, nal_bytes(nal, size));
    breach_pending(j, nal_type(nal));
    judge_reserved(j, nal[0] & 31);
    nal_order(j, nal, size);
    if ((nal[0] & 31) == H264_NAL_SPS)
        breach_pending(j, sps_rest(nal, size));
    if (is_slice(nal))
        judge_slice(j, s, nal, size);
}

/* Behind a unit: of a reserved one, its picture may have been before it, or come behind it. */
static void judge_own(struct judge *j, const struct h264_stream *s, bool within, bool taken)
{
    if (j->reserved) {
        j->pending_own = note(j, text_reserved);
        j->own_tag = s->tag;
    }
    if (!within && !taken)
        return;
    if (s->tag == j->own_tag)
        breach_own(j, s->cur->id, j->pending_own);
    j->pending_own = NULL;
}

void judge_fed(struct judge *j, struct h264_stream *s, int error)
{
    struct h264_picture *cur = s->cur;
    bool same = cur && cur->id == j->cur_id,
         taken = cur && (!same || cur->slice_count > j->cur_slices);
    /* behind a boundary, or in another access unit, it is of the next picture */
    bool within = !j->boundary && cur && (!s->have_tag || cur->tag == s->tag);
    if (taken || error < 0)
        breach_pending(j, j->slice);
    j->slice = NULL;
    if (error < 0 && taken) /* it is not refused */
        breach_pending(j, j->idr_came ? text_name : JUDGE_TEXT_BEGIN);
    else if (error < 0 && j->unit_reference)
        breach_pending(j, text_refused);
    else if (error < 0 && same && within)
        breach_own(j, cur->id, text_refused);
    if (same && taken && j->boundary)
        breach_pending(j, "7.4.1.2.3: a unit that begins an access unit is within a picture");
    if (j->pending && (taken || (error < 0 && within))) {
        breach_from(j, cur->id, j->pending);
        j->pending = error < 0 && !taken ? j->pending : NULL;
    }
    judge_own(j, s, within, taken);
    if (taken) {
        j->boundary = j->prefix = false;
        if (!same)
            j->primary_pic_type = -1;
    }
}

/* ---- numbers of pictures ---- */

/* Units before the picture are missing. */
static bool tells_of_loss(const char *breach)
{
    return breach == judge_text_gap || breach == text_header || breach == text_refused;
}

/* What makes breaches of order, in a picture that opens a frame or is a second field. */
static void judge_order(struct judge *j, const struct h264_picture *pic)
{
    const char *breaches[JUDGE_NUMBERS];
    if (pic->idr && !pic->first_field) {
        struct verdict *v = verdict_of(j, pic->id);
        v->from = v->from && tells_of_loss(v->from) ? NULL : v->from;
        j->from = NULL;
    }
    if (!j->numbers.begun && !pic->idr) { /* units before it may have lacked their sets */
        verdict_of(j, pic->id)->from = NULL;
        breach_from(j, pic->id, JUDGE_TEXT_BEGIN);
    }
    j->idr_came |= pic->idr;
    j->bad |= !judge_numbers(&j->numbers, pic, breaches);
    for (unsigned i = 0; i < JUDGE_NUMBERS; i++)
        breach_from(j, pic->id, breaches[i]);
}

/* ---- pictures ---- */

static void judge_slices(struct judge *j, const struct h264_picture *pic)
{
    bool ordered = !h264_stream_any_slice_order(pic->sps);
    uint32_t last = 0;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        struct h264_slice *slice = &pic->slices[i];
        breach_own(j, pic->id, judge_siblings(&pic->slices[0].hdr, &slice->hdr));
        if (slice->hdr.redundant_pic_cnt)
            continue;
        if (ordered && i && slice->hdr.first_mb <= last)
            breach_own(j, pic->id, "7.4.3: first_mb_in_slice does not rise");
        last = slice->hdr.first_mb;
        h264_slice_decode(slice, j->scratch);
        breach_own(j, pic->id, judge_slice_end(slice, j->scratch));
    }
}

void judge_before(struct judge *j, struct h264_picture *pic)
{
    verdict_of(j, pic->id)->owner = pic->plane0        ? verdict_of(j, pic->plane0->id)->owner
                                    : pic->first_field ? pic->first_field->id
                                                       : pic->id;
    if (pic->view || pic->non_existing)
        return;
    if (!pic->plane0)
        judge_order(j, pic);
    judge_slices(j, pic);
    h264_picture_free_arrays(pic); /* step 2 comes again */
    if (h264_picture_alloc(pic))
        j->bad = true;
}

/* Whether it refers to such pictures alone (below). An unmarked picture does not predict from
 * marked ones in its lists. */
static bool refers_to_alone(struct judge *j, const struct h264_picture *pic)
{
    bool all = true;
    for (uint32_t i = 0; i < pic->refs_held_count && all; i++) {
        const struct verdict *ref = verdict_of(j, pic->refs_held[i]->id);
        all = ref->marked || (!ref->own && ref->alone);
    }
    return all;
}

/* A picture that refers to none is as sound behind a loss as in a whole stream, and so is one that
 * refers to such pictures, where nothing is lost between them. */
static void inherit_alone(struct judge *j, struct verdict *v, bool refers)
{
    const char *own = v->from && (refers || !tells_of_loss(v->from)) ? v->from : NULL;
    v->own = v->own ? v->own : own;
    v->alone = v->own ? NULL : j->from;
}

/* What it refers to, and what counts since an earlier picture. */
static void inherit(struct judge *j, const struct h264_picture *pic)
{
    const char *own = NULL;
    struct verdict *v = verdict_of(j, pic->id);
    if (v->from && !j->from)
        j->from = v->from;
    if (refers_to_alone(j, pic)) {
        inherit_alone(j, verdict_of(j, pic->id), pic->refs_held_count > 0);
        return;
    }
    for (uint32_t i = 0; i < pic->refs_held_count && !own; i++) {
        const struct verdict *ref = verdict_of(j, pic->refs_held[i]->id);
        own = ref->marked ? NULL : ref->own;
    }
    v = verdict_of(j, pic->id);
    v->own = v->own ? v->own : j->from ? j->from : own;
}

void judge_after(struct judge *j, struct h264_picture *pic)
{
    struct rec_view view;
    if (!pic->view && !pic->non_existing) {
        if (atomic_load(&pic->damage.missing_mbs))
            breach_own(j, pic->id, "7.4.1.2: macroblocks are missing");
        else if (h264_picture_view(pic, &view) == 0)
            breach_own(j, pic->id, judge_macroblocks(pic, &view));
        inherit(j, pic);
    }
    struct verdict *v = verdict_of(j, pic->id);
    v->marked = pic->damage.corrupt;
    if (v->owner != pic->id) {
        const char *own = v->own, *alone = v->alone;
        if (own && !pic->first_field)
            breach_own(j, v->owner, own);
        v = verdict_of(j, verdict_of(j, pic->id)->owner);
        v->second = pic->first_field ? own : v->second;
        v->alone = v->alone ? v->alone : alone;
    }
}

const char *judge_frame(const struct judge *j, uint32_t id, bool *alone)
{
    const struct verdict *v = id < j->count ? &j->at[id] : NULL;
    *alone = v && !v->own && !v->second && v->alone;
    return !v ? NULL : v->own ? v->own : v->second ? v->second : v->alone;
}

const struct breaches judge_habits = {
    {JUDGE_TEXT_BEGIN, JUDGE_TEXT_PLAIN_PPS, JUDGE_TEXT_PLAIN_ELEMENTS, JUDGE_TEXT_VUI,
     JUDGE_TEXT_LEVEL_SIZE, JUDGE_TEXT_LEVEL_REFERENCES, JUDGE_TEXT_LEVEL_FIELDS,
     JUDGE_TEXT_LEVEL_VECTOR, JUDGE_TEXT_VUI_ORDER},
    9};

const struct breaches *judge_breaches(const struct judge *j)
{
    return &j->seen;
}

bool judge_good(const struct judge *j)
{
    return !j->bad;
}
