/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The border between bitstreams and shaders. Every index in a picture's records is checked here
 * once: shaders have no bounds tests of their own. A value that passes must be safe for them.
 */
#include "codec/abi/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Return with a reason where the condition does not hold. */
#define REQUIRE(condition, text)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            *reason = (text);                                                                      \
            return -1;                                                                             \
        }                                                                                          \
    } while (0)

/* luma4x4BlkIdx of the blocks in the left column and in the top row */
#define LEFT_COLUMN 0x0505u
#define TOP_ROW     0x0033u

/* Rows of macroblock records */
static uint32_t mb_rows(const struct rec_picture *head)
{
    return head->structure == REC_FRAME ? head->mb_height : head->mb_height / 2;
}

static int check_head(const struct rec_view *v, const char **reason)
{
    const struct rec_picture *head = &v->head;
    int bytes = head->bit_depth[0] == 8 && head->bit_depth[1] == 8 ? 2 : 4;
    REQUIRE(head->structure >= REC_TOP && head->structure <= REC_FRAME, "head: structure");
    REQUIRE(head->mbaff <= 1 && (!head->mbaff || head->structure == REC_FRAME), "head: mbaff");
    REQUIRE(head->chroma_format_idc <= 3, "head: chroma_format_idc");
    REQUIRE(head->colour_plane <= 2 && (!head->colour_plane || head->chroma_format_idc == 0),
            "head: colour_plane");
    for (int i = 0; i < 2; i++)
        REQUIRE(head->bit_depth[i] >= 8 && head->bit_depth[i] <= 14, "head: bit_depth");
    REQUIRE(head->coeff_bytes == bytes, "head: coeff_bytes");
    REQUIRE(head->mb_width > 0 && head->mb_height > 0, "head: empty picture");
    REQUIRE(head->structure == REC_FRAME ? !head->mbaff || head->mb_height % 2 == 0
                                         : head->mb_height % 2 == 0,
            "head: half a macroblock pair");
    REQUIRE((uint64_t)head->mb_width * mb_rows(head) == head->mb_count, "head: mb_count");
    REQUIRE(head->has_intra <= 1 && head->has_inter <= 1 && head->has_deblock <= 1, "head: flags");
    REQUIRE(v->mbs && (v->motion || !head->has_inter), "view: no macroblocks");
    REQUIRE(v->slices && v->slice_count > 0, "view: no slices");
    REQUIRE(v->scaling && v->scaling_count > 0, "view: no scaling lists");
    REQUIRE(v->coeffs || v->coeff_block_count == 0, "view: no coefficients");
    REQUIRE(v->weights || v->weight_count == 0, "view: no weights");
    return 0;
}

static int check_explicit(const struct rec_view *v, const struct rec_slice *s, const char **reason)
{
    uint32_t entries = 6u * (s->num_ref[0] + (s->slice_type == 1 ? s->num_ref[1] : 0u));
    REQUIRE((uint64_t)s->weights + entries <= v->weight_count, "slice: weights out of bounds");
    for (uint32_t i = 0; i < entries; i += 2) {
        int scale = 1 << (v->head.bit_depth[i % 6 > 0] - 8);
        int weight = v->weights[s->weights + i], offset = v->weights[s->weights + i + 1];
        REQUIRE(weight >= -128 && weight <= 128, "slice: explicit weight");
        REQUIRE(offset >= -128 * scale && offset <= 127 * scale, "slice: explicit offset");
    }
    return 0;
}

static int check_implicit(const struct rec_view *v, const struct rec_slice *s, const char **reason)
{
    uint32_t entries = (uint32_t)s->num_ref[0] * s->num_ref[1] * (v->head.mbaff ? 9u : 1u);
    REQUIRE(s->slice_type == 1, "slice: implicit weights outside of a B slice");
    REQUIRE((uint64_t)s->weights + entries <= v->weight_count, "slice: weights out of bounds");
    for (uint32_t i = 0; i < entries; i++)
        REQUIRE(v->weights[s->weights + i] >= -64 && v->weights[s->weights + i] <= 128,
                "slice: implicit weight");
    return 0;
}

/* SP and SI slices belong to a profile of 8-bit 4:2:0. */
static int check_switching(const struct rec_view *v, const struct rec_slice *s, const char **reason)
{
    REQUIRE(v->head.chroma_format_idc <= 1 && v->head.coeff_bytes == 2,
            "slice: SP or SI in this format");
    for (int i = 0; i < 3; i++)
        REQUIRE(s->qs[i] >= 0 && s->qs[i] <= REC_MAX_QP, "slice: QS");
    REQUIRE(s->sp_for_switch <= 1, "slice: sp_for_switch");
    return 0;
}

static int check_slice(const struct rec_view *v, const struct rec_slice *s, const char **reason)
{
    REQUIRE(s->slice_type <= 4, "slice: slice_type");
    if (s->slice_type >= 3 && check_switching(v, s, reason) < 0)
        return -1;
    REQUIRE(s->scaling < v->scaling_count, "slice: scaling");
    REQUIRE(s->log2_denom[0] <= REC_MAX_LOG2_DENOM && s->log2_denom[1] <= REC_MAX_LOG2_DENOM,
            "slice: log2_denom");
    REQUIRE(s->filter_offset_a >= -REC_MAX_FILTER_OFFSET &&
                s->filter_offset_a <= REC_MAX_FILTER_OFFSET,
            "slice: filter_offset_a");
    REQUIRE(s->filter_offset_b >= -REC_MAX_FILTER_OFFSET &&
                s->filter_offset_b <= REC_MAX_FILTER_OFFSET,
            "slice: filter_offset_b");
    for (int list = 0; list < 2; list++)
        REQUIRE(s->num_ref[list] <= (v->head.mbaff ? REC_MAX_REFS / 2 : REC_MAX_REFS),
                "slice: num_ref");
    REQUIRE(s->weight_mode <= REC_WEIGHT_IMPLICIT, "slice: weight_mode");
    if (s->weight_mode == REC_WEIGHT_EXPLICIT)
        return check_explicit(v, s, reason);
    if (s->weight_mode == REC_WEIGHT_IMPLICIT)
        return check_implicit(v, s, reason);
    return 0;
}

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

/* ---- intra ---- */

/* Where a macroblock is, and which neighbours the picture has for it. */
struct position {
    const struct rec_mb *mb, *other; /* other: of its pair in an MBAFF frame, else NULL */
    bool left, right;
    bool above, corner; /* above: B, and C where there is one; corner: D */
    bool above_right;
    /* A may be two macroblocks: left of a field macroblock a frame macroblock pair */
    bool split_left;
    /* A is rows of two macroblocks in turn: left of a frame macroblock a field macroblock pair */
    bool mixed_left;
};

static struct position position_of(const struct rec_view *v, uint32_t address, uint32_t x,
                                   uint32_t y)
{
    const struct rec_mb *mb = &v->mbs[address];
    uint32_t width = v->head.mb_width;
    struct position p = {.mb = mb, .left = x > 0, .right = x + 1 < width, .above = y > 0};
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

static int check_availability(const struct position *p, const char **reason)
{
    unsigned avail = p->mb->intra_avail;
    REQUIRE(avail < 64, "macroblock: intra_avail");
    REQUIRE(!(avail & REC_AVAIL_D8) || (p->mixed_left && !(avail & REC_AVAIL_A)),
            "macroblock: intra_avail: D8 where A_UPPER tells");
    REQUIRE((avail & REC_AVAIL_A) == 0 || (avail & REC_AVAIL_A) == REC_AVAIL_A || p->split_left,
            "macroblock: half of A where A is one macroblock");
    REQUIRE(p->left || !(avail & REC_AVAIL_A), "macroblock: neighbour left of the picture");
    REQUIRE(p->corner || !(avail & REC_AVAIL_D), "macroblock: neighbour D outside the picture");
    REQUIRE(p->above || !(avail & REC_AVAIL_B), "macroblock: neighbour above the picture");
    REQUIRE(p->above_right || !(avail & REC_AVAIL_C),
            "macroblock: neighbour C outside the picture, or not decoded yet");
    return 0;
}

/* What is there for a prediction of the whole macroblock */
static unsigned available_whole(const struct rec_mb *m)
{
    unsigned have = 0;
    if ((m->intra_avail & REC_AVAIL_A) == REC_AVAIL_A)
        have |= REC_NEED_LEFT;
    if (m->intra_avail & REC_AVAIL_B)
        have |= REC_NEED_TOP;
    if (m->intra_avail & REC_AVAIL_D)
        have |= REC_NEED_CORNER;
    return have;
}

/* Intra_4x4 with step 1, Intra_8x8 with step 4: bit blkIdx of each mask tells whether that block
 * has the neighbour. Blocks 0, 2, 8, 10 are the left column; the corner of block 8 lies beside the
 * upper half. */
static int check_nxn(const struct rec_mb *m, int step, const char **reason)
{
    bool upper = m->intra_avail & REC_AVAIL_A_UPPER, lower = m->intra_avail & REC_AVAIL_A_LOWER;
    bool b = m->intra_avail & REC_AVAIL_B, d = m->intra_avail & REC_AVAIL_D;
    unsigned left = ~LEFT_COLUMN | (upper ? 0x0005u : 0) | (lower ? 0x0500u : 0),
             top = ~TOP_ROW | (b ? TOP_ROW : 0);
    unsigned corner = ~(LEFT_COLUMN | TOP_ROW) | (upper ? 0x0104u : 0) | (lower ? 0x0400u : 0) |
                      (b ? TOP_ROW & ~1u : 0) | (d ? 1u : 0);
    for (int blk = 0; blk < 16; blk += step) {
        unsigned mode = m->intra_mode[blk >> 3] >> (4 * (blk & 7)) & 15;
        unsigned have = (left >> blk & 1) * REC_NEED_LEFT | (top >> blk & 1) * REC_NEED_TOP |
                        (corner >> blk & 1) * REC_NEED_CORNER;
        REQUIRE(mode <= REC_MAX_MODE_NXN, "macroblock: intra prediction mode of a block");
        REQUIRE((REC_NEEDS(REC_NEEDS_NXN, mode) & ~have) == 0,
                "macroblock: a block predicts from a neighbour that is not available");
    }
    return 0;
}

static int check_intra(const struct rec_view *v, const struct rec_mb *m, const char **reason)
{
    unsigned mode = m->intra_mode[0] & 15, have = available_whole(m);
    if (m->kind == REC_MB_INTRA_PCM)
        return 0;
    if (v->head.chroma_format_idc == 1 || v->head.chroma_format_idc == 2) {
        REQUIRE(m->intra_chroma_mode <= REC_MAX_MODE_CHROMA, "macroblock: intra_chroma_pred_mode");
        REQUIRE((REC_NEEDS(REC_NEEDS_CHROMA, m->intra_chroma_mode) & ~have) == 0,
                "macroblock: chroma predicts from a neighbour that is not available");
    }
    if (m->kind != REC_MB_INTRA_16X16)
        return check_nxn(m, m->kind == REC_MB_INTRA_8X8 ? 4 : 1, reason);
    REQUIRE(mode <= REC_MAX_MODE_16X16, "macroblock: Intra16x16PredMode");
    REQUIRE((REC_NEEDS(REC_NEEDS_16X16, mode) & ~have) == 0,
            "macroblock: Intra_16x16 predicts from a neighbour that is not available");
    return 0;
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

static int check_field(const struct rec_view *v, const struct position *p, const char **reason)
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
    struct position p = position_of(v, address, x, y);
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
    if (check_availability(&p, reason) < 0)
        return -1;
    return check_intra(v, m, reason);
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

static int check_begin(const struct rec_view *v, const char **reason)
{
    if (check_head(v, reason) < 0)
        return -1;
    for (uint32_t i = 0; i < v->slice_count; i++)
        if (check_slice(v, &v->slices[i], reason) < 0)
            return -1;
    return 0;
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
    if (check_begin(v, reason) < 0 || check_range(v, 0, v->head.mb_count, &seen, reason) < 0)
        return -1;
    return check_seen(v, &seen, reason);
}

/* A frame refers to frames, a field to fields; the samples that are being written may only be named
 * where a reference is missing, and reading them does no harm. */
static int check_references(const struct rec_view *v, const struct rec_slice *s,
                            uint32_t slot_count, const char **reason)
{
    bool frame = v->head.structure == REC_FRAME;
    for (int list = 0; list < 2; list++) {
        REQUIRE(s->num_ref[list] <= REC_MAX_REFS, "slice: num_ref");
        for (unsigned i = 0; i < s->num_ref[list]; i++) {
            unsigned structure = REC_REF_STRUCTURE(s->ref[list][i]);
            REQUIRE(frame ? structure == REC_FRAME
                          : structure == REC_TOP || structure == REC_BOTTOM,
                    "slice: structure of a reference");
            REQUIRE((uint32_t)REC_REF_SLOT(s->ref[list][i]) < slot_count,
                    "slice: slot of a reference");
        }
    }
    return 0;
}

static int check_slots(const struct rec_view *v, uint32_t slot_count, const char **reason)
{
    REQUIRE(v->head.slot < slot_count, "head: slot");
    for (uint32_t i = 0; i < v->slice_count; i++)
        if (check_references(v, &v->slices[i], slot_count, reason) < 0)
            return -1;
    return 0;
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
    int error = check_begin(view, &why);
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
    int error = check_slots(view, slot_count, &why);
    return validate_result(error, why, reason);
}

int records_validate(const struct rec_view *view, uint32_t slot_count, const char **reason)
{
    int error = records_validate_content(view, reason);
    return error < 0 ? error : records_validate_slots(view, slot_count, reason);
}
