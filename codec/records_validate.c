/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The border between bitstreams and shaders. Every index in a picture's records is checked here
 * once: shaders have no bounds tests of their own. A value that passes must be safe for them. Here
 * are macroblocks; records_validate_slices.c has pictures and slices, records_validate_intra.c
 * intra prediction.
 */
#include "codec/records_check.h"

#include <stddef.h>
#include <string.h>

/* The bits of each quadrant are all set or all clear. */
static bool whole_quadrants(unsigned coded)
{
    unsigned first = coded & 0x1111u;
    return coded == first * 15u;
}

static int check_coefficients(const struct rec_view *v, const struct rec_mb *m, const char **reason)
{
    static const uint16_t chroma_blocks[4] = {0, 0x000f, 0x00ff, 0xffff};
    unsigned chroma = chroma_blocks[v->head.chroma_format_idc];
    uint64_t bits = m->coded[0] | (uint64_t)m->coded[1] << 16 | (uint64_t)m->coded[2] << 32;
    if (bits == 0) {
        REQUIRE(m->kind != REC_MB_INTRA_PCM, "macroblock: I_PCM lacks samples");
        return 0;
    }
    REQUIRE(((m->coded[1] | m->coded[2]) & ~chroma) == 0,
            "macroblock: coded chroma blocks that the format lacks");
    if (m->flags & REC_MB_TRANSFORM_8X8) {
        REQUIRE(whole_quadrants(m->coded[0]), "macroblock: part of an 8x8 luma block is coded");
        if (v->head.chroma_format_idc == 3)
            REQUIRE(whole_quadrants(m->coded[1]) && whole_quadrants(m->coded[2]),
                    "macroblock: part of an 8x8 chroma block is coded");
    }
    if (m->kind == REC_MB_INTRA_PCM)
        REQUIRE(m->coded[0] == 0xffff && m->coded[1] == chroma && m->coded[2] == chroma,
                "macroblock: I_PCM lacks samples");
    REQUIRE(
        (uint64_t)m->coeff + 48 <=
                v->coeff_block_count || /* as many as there can be: counting them takes longer */
            (uint64_t)m->coeff + (unsigned)__builtin_popcountll(bits) <= v->coeff_block_count,
        "macroblock: coefficients out of bounds");
    return 0;
}

static int check_qp(const struct rec_view *v, const struct rec_mb *m, const char **reason)
{
    int luma_offset = 6 * (v->head.bit_depth[0] - 8),
        chroma_offset = 6 * (v->head.bit_depth[1] - 8);
    REQUIRE(m->qp[0] >= -luma_offset && m->qp[0] <= REC_MAX_QP, "macroblock: QPY");
    for (int i = 1; i < 3; i++)
        REQUIRE(m->qp[i] >= -chroma_offset && m->qp[i] <= REC_MAX_QP, "macroblock: QPC");
    return 0;
}

/* ---- neighbours ---- */

static struct rec_position position_of(const struct rec_view *v, uint32_t address, uint32_t x,
                                       uint32_t y)
{
    const struct rec_mb *mb = &v->mbs[address];
    uint32_t width = v->head.mb_width;
    struct rec_position p = {.mb = mb, .left = x > 0, .right = x + 1 < width, .above = y > 0};
    p.corner = p.above && p.left;
    p.above_right = p.above && p.right;
    if (!v->head.mbaff)
        return p;
    p.other = y & 1 ? mb - width : mb + width;
    p.mixed_left = p.left && !(mb->flags & REC_MB_FIELD) && (mb[-1].flags & REC_MB_FIELD);
    /* its own pair's top macroblock is above it (Table 6-4) */
    if ((y & 1) && !(mb->flags & REC_MB_FIELD)) {
        p.corner = p.left;
        p.above_right = false;
        return p;
    }
    p.above = y >= 2;
    p.corner = p.above && p.left;
    p.above_right = p.above && p.right;
    p.split_left = p.left && (mb->flags & REC_MB_FIELD) && !(mb[-1].flags & REC_MB_FIELD);
    return p;
}

/* ---- inter ---- */

static int check_quadrant(const struct rec_slice *s, const struct rec_motion *motion, int q,
                          int fields, const char **reason)
{
    for (int list = 0; list < 2; list++)
        REQUIRE(motion->ref_idx[list][q] >= -1 &&
                    motion->ref_idx[list][q] < s->num_ref[list] * fields,
                "motion: ref_idx");
    REQUIRE(motion->ref_idx[0][q] >= 0 || motion->ref_idx[1][q] >= 0,
            "motion: a quadrant without a reference");
    return 0;
}

/* fields: 2 for a field macroblock of an MBAFF frame, where an index names a field (8.4.2.1), else
 * 1 */
static int check_motion(const struct rec_slice *s, const struct rec_motion *motion, int fields,
                        const char **reason)
{
    uint32_t refs[2];
    memcpy(refs, motion->ref_idx, sizeof(refs));
    for (int q = 0; q < 4; q++) {
        if (check_quadrant(s, motion, q, fields, reason) < 0)
            return -1;
        if (refs[0] == (refs[0] & 255) * 0x01010101u && refs[1] == (refs[1] & 255) * 0x01010101u)
            return 0; /* as are the other three */
    }
    return 0;
}

static int check_no_motion(const struct rec_motion *motion, const char **reason)
{
    static const int8_t none[2][4] = {{-1, -1, -1, -1}, {-1, -1, -1, -1}};
    REQUIRE(memcmp(motion->ref_idx, none, sizeof(none)) == 0,
            "motion: an intra macroblock has references");
    return 0;
}

/* ---- the macroblock ---- */

static int check_field(const struct rec_view *v, const struct rec_position *p, const char **reason)
{
    bool field = p->mb->flags & REC_MB_FIELD;
    if (v->head.structure != REC_FRAME)
        REQUIRE(field, "macroblock: frame macroblock in a field picture");
    else if (!v->head.mbaff)
        REQUIRE(!field, "macroblock: field macroblock in a frame picture");
    else
        REQUIRE(field == !!(p->other->flags & REC_MB_FIELD),
                "macroblock: a pair of a frame and a field macroblock");
    return 0;
}

static int check_flags(const struct rec_view *v, const struct rec_mb *m, const char **reason)
{
    bool t8x8 = m->flags & REC_MB_TRANSFORM_8X8;
    unsigned slice_type = v->slices[m->slice].slice_type;
    REQUIRE(m->kind <= REC_MB_INTER, "macroblock: kind");
    REQUIRE((m->flags & ~REC_MB_FLAGS) == 0, "macroblock: flags");
    REQUIRE(m->kind == REC_MB_INTER || t8x8 == (m->kind == REC_MB_INTRA_8X8),
            "macroblock: transform size of an intra macroblock");
    REQUIRE(m->kind == REC_MB_INTER || !(m->flags & REC_MB_SKIP),
            "macroblock: skipped, but not inter");
    REQUIRE(!(m->flags & REC_MB_SI) || (m->kind == REC_MB_INTRA_4X4 && slice_type == 4),
            "macroblock: SI without Intra_4x4 prediction, or outside of an SI slice");
    REQUIRE(slice_type < 3 || !(m->flags & (REC_MB_TRANSFORM_8X8 | REC_MB_BYPASS)),
            "macroblock: 8x8 transform or lossless in an SP or SI slice");
    REQUIRE((m->deblock & ~REC_DEBLOCK_EDGES) == 0, "macroblock: deblock");
    return 0;
}

static int check_mb(const struct rec_view *v, uint32_t address, uint32_t x, uint32_t y,
                    const char **reason)
{
    const struct rec_mb *m = &v->mbs[address];
    struct rec_position p = position_of(v, address, x, y);
    REQUIRE(m->slice < v->slice_count, "macroblock: slice");
    REQUIRE(p.left || !(m->deblock & REC_DEBLOCK_LEFT),
            "macroblock: filters the picture's left border");
    REQUIRE(p.above || !(m->deblock & REC_DEBLOCK_TOP),
            "macroblock: filters the picture's top border");
    if (check_field(v, &p, reason) < 0 || check_flags(v, m, reason) < 0 ||
        check_qp(v, m, reason) < 0 || check_coefficients(v, m, reason) < 0)
        return -1;
    if (m->kind == REC_MB_INTER) {
        REQUIRE(v->motion, "view: an inter macroblock without motion");
        return check_motion(&v->slices[m->slice], &v->motion[address],
                            v->head.mbaff && (m->flags & REC_MB_FIELD) ? 2 : 1, reason);
    }
    if (v->motion && check_no_motion(&v->motion[address], reason) < 0)
        return -1;
    return records_check_intra(v, &p, reason);
}

/* coded, kind and flags in one word, qp in another */
static inline uint64_t coded_word(const struct rec_mb *m)
{
    uint64_t word;
    memcpy(&word, m->coded, sizeof(word));
    return word;
}

static inline uint32_t qp_word(const struct rec_mb *m)
{
    uint32_t word;
    memcpy(&word, m->qp, sizeof(word));
    return word;
}

_Static_assert(offsetof(struct rec_mb, kind) == offsetof(struct rec_mb, coded) + 6 &&
                   offsetof(struct rec_mb, flags) == offsetof(struct rec_mb, coded) + 7,
               "coded_word has them");
static const struct rec_mb coded_mask = {.coded = {0xffff, 0xffff, 0xffff}};
/* What these bits are in an inter macroblock of 4:2:0, and that they are 0 but for the kind */
static const struct rec_mb fixed_mask = {.coded = {0, 0xfff0, 0xfff0},
                                         .kind = 0xff,
                                         .flags = 0xff & ~(REC_MB_TRANSFORM_8X8 | REC_MB_SKIP)};
static const struct rec_mb fixed = {.kind = REC_MB_INTER};
/* Bytes that make the top bit of each QP above REC_MAX_QP, if it is not set already, and that bit:
 * carries come from those that have it only */
static const struct rec_mb qp_gap = {.qp = {127 - REC_MAX_QP, 127 - REC_MAX_QP, 127 - REC_MAX_QP}},
                           qp_top = {.qp = {-128, -128, -128}};

/* Whether an inter macroblock passes all that check_mb looks at, told with few tests, of a frame
 * without MBAFF in 4:2:0, 8 bits; false says nothing. edges: REC_DEBLOCK_* that it may have. */
static inline bool surely_good(const struct rec_view *v, const struct rec_mb *m, unsigned edges,
                               const struct rec_motion *motion)
{
    const struct rec_slice *s = &v->slices[m->slice < v->slice_count ? m->slice : 0];
    uint64_t coded = coded_word(m), wrong = (coded & coded_word(&fixed_mask)) ^ coded_word(&fixed);
    uint32_t qp = qp_word(m), refs[2];
    int ref0, ref1;
    if (wrong || m->slice >= v->slice_count || s->slice_type >= 3)
        return false;
    wrong = (m->deblock & ~edges) | ((qp | (qp + qp_word(&qp_gap))) & qp_word(&qp_top));
    wrong |= (m->flags & REC_MB_TRANSFORM_8X8) && !whole_quadrants(m->coded[0]);
    wrong |= (uint64_t)m->coeff + 24 > v->coeff_block_count && (coded & coded_word(&coded_mask));
    memcpy(refs, motion->ref_idx, sizeof(refs));
    ref0 = motion->ref_idx[0][0];
    ref1 = motion->ref_idx[1][0];
    wrong |= (refs[0] ^ (uint8_t)ref0 * 0x01010101u) | (refs[1] ^ (uint8_t)ref1 * 0x01010101u);
    wrong |= (unsigned)(ref0 + 1) > s->num_ref[0] || (unsigned)(ref1 + 1) > s->num_ref[1] ||
             (ref0 & ref1) < 0;
    return !wrong;
}

static int check_range(const struct rec_view *v, uint32_t from, uint32_t to, struct rec_seen *seen,
                       const char **reason)
{
    const struct rec_picture *head = &v->head;
    bool plain = head->structure == REC_FRAME && !head->mbaff && head->chroma_format_idc == 1 &&
                 head->coeff_bytes == 2 && v->motion;
    uint32_t x = from % head->mb_width, y = from / head->mb_width;
    unsigned inter = 0, intra = 0, deblock = 0;
    REQUIRE(from <= to && to <= head->mb_count, "view: a range outside the picture");
    for (uint32_t address = from; address < to; address++) {
        const struct rec_mb *m = &v->mbs[address];
        unsigned edges =
            REC_DEBLOCK_INTERNAL | (x > 0) * REC_DEBLOCK_LEFT | (y > 0) * REC_DEBLOCK_TOP;
        if (!(plain && surely_good(v, m, edges, &v->motion[address])) &&
            check_mb(v, address, x, y, reason) < 0)
            return -1;
        inter |= m->kind == REC_MB_INTER;
        intra |= m->kind != REC_MB_INTER;
        deblock |= m->deblock;
        if (++x == head->mb_width) {
            x = 0;
            y++;
        }
    }
    seen->intra |= intra != 0;
    seen->inter |= inter != 0;
    seen->deblock |= deblock != 0;
    return 0;
}

static int check_seen(const struct rec_view *v, const struct rec_seen *seen, const char **reason)
{
    REQUIRE(seen->intra == v->head.has_intra && seen->inter == v->head.has_inter &&
                seen->deblock == v->head.has_deblock,
            "head: has_intra, has_inter or has_deblock does not agree with the macroblocks");
    return 0;
}

/* coeff_block_count may have become less since the ranges were checked. */
static int check_end(const struct rec_view *v, const struct rec_seen *seen, const char **reason)
{
    for (uint32_t i = 0; i < v->head.mb_count; i++)
        if ((uint64_t)v->mbs[i].coeff + 48 > v->coeff_block_count &&
            check_coefficients(v, &v->mbs[i], reason) < 0)
            return -1;
    return check_seen(v, seen, reason);
}

static int check_content(const struct rec_view *v, const char **reason)
{
    struct rec_seen seen = {0};
    if (records_check_begin(v, reason) < 0 ||
        check_range(v, 0, v->head.mb_count, &seen, reason) < 0)
        return -1;
    return check_seen(v, &seen, reason);
}

static int validate_result(int error, const char *why, const char **reason)
{
    if (error < 0 && reason)
        *reason = why;
    return error;
}

int records_validate_content(const struct rec_view *view, const char **reason)
{
    const char *why = NULL;
    int error = check_content(view, &why);
    return validate_result(error, why, reason);
}

int records_validate_begin(const struct rec_view *view, const char **reason)
{
    const char *why = NULL;
    int error = records_check_begin(view, &why);
    return validate_result(error, why, reason);
}

int records_validate_range(const struct rec_view *view, uint32_t from, uint32_t to,
                           struct rec_seen *seen, const char **reason)
{
    const char *why = NULL;
    int error = check_range(view, from, to, seen, &why);
    return validate_result(error, why, reason);
}

int records_validate_end(const struct rec_view *view, const struct rec_seen *seen,
                         const char **reason)
{
    const char *why = NULL;
    int error = check_end(view, seen, &why);
    return validate_result(error, why, reason);
}

void records_seen_add(struct rec_seen *seen, const struct rec_seen *more)
{
    seen->intra |= more->intra;
    seen->inter |= more->inter;
    seen->deblock |= more->deblock;
}

int records_validate_slots(const struct rec_view *view, uint32_t slot_count, const char **reason)
{
    const char *why = NULL;
    int error = records_check_slots(view, slot_count, &why);
    return validate_result(error, why, reason);
}

int records_validate(const struct rec_view *view, uint32_t slot_count, const char **reason)
{
    int error = records_validate_content(view, reason);
    return error < 0 ? error : records_validate_slots(view, slot_count, reason);
}
