/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks of records: the head of a picture, its slices, their weights and references.
 */
#include "codec/records_check.h"

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
    REQUIRE(v->coeffs || v->packed || v->coeff_block_count == 0, "view: no coefficients");
    REQUIRE(!v->packed || (bytes == 2 && v->packed_words >= head->mb_count), "view: packed levels");
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

int records_check_begin(const struct rec_view *v, const char **reason)
{
    if (check_head(v, reason) < 0)
        return -1;
    for (uint32_t i = 0; i < v->slice_count; i++)
        if (check_slice(v, &v->slices[i], reason) < 0)
            return -1;
    return 0;
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

int records_check_slots(const struct rec_view *v, uint32_t slot_count, const char **reason)
{
    REQUIRE(v->head.slot < slot_count, "head: slot");
    for (uint32_t i = 0; i < v->slice_count; i++)
        if (check_references(v, &v->slices[i], slot_count, reason) < 0)
            return -1;
    return 0;
}
