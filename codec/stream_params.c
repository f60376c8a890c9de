/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parameter sets of a stream. They are kept as received, so that a repeated set is recognised. A
 * PPS is parsed again when its SPS changes chroma_format_idc or a profile that decides on its end.
 */
#include "codec/diag.h"
#include "codec/nal.h"
#include "codec/parameter_sets.h"
#include "codec/stream.h"

#include <stdlib.h>

static uint8_t *bytes_duplicate(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + H264_BITS_PADDING);
    if (copy) {
        memcpy(copy, bytes, size);
        memset(copy + size, 0, H264_BITS_PADDING);
    }
    return copy;
}

/* Containers may show less than the SPS says: by less than a macroblock, at the right and below. */
static void crop_to_container(const struct h264_stream *s, struct h264_sps *sps)
{
    uint32_t width = sps->mb_width * 16u - sps->crop_right,
             height = sps->mb_height * 16u - sps->crop_bottom;
    bool fits = s->params.container_width <= width && s->params.container_height <= height &&
                (s->params.container_width + 15) / 16 == (width + 15) / 16 &&
                (s->params.container_height + 15) / 16 == (height + 15) / 16;
    if (!s->params.container_width || !s->params.container_height || sps->crop_left ||
        sps->crop_top || !fits)
        return;
    /* whole samples of chroma, and of both fields */
    uint32_t unit_x = sps->chroma_format_idc == 1 || sps->chroma_format_idc == 2 ? 2 : 1,
             unit_y = (sps->chroma_format_idc == 1 ? 2u : 1u) * (2u - sps->frame_mbs_only_flag);
    sps->crop_right =
        (uint16_t)((sps->mb_width * 16u - s->params.container_width) / unit_x * unit_x);
    sps->crop_bottom =
        (uint16_t)((sps->mb_height * 16u - s->params.container_height) / unit_y * unit_y);
}

static int refuse_size(struct h264_stream *s, struct h264_sps *sps, struct h264_diag *diag)
{
    int64_t width = sps->mb_width;
    s->sps[sps->id].refused = true;
    h264_sps_unref(sps);
    s->stats.refused[H264_LIMIT_PICTURE]++;
    return h264_fail(diag, H264_ERR_UNSUPPORTED, "pic_width_in_mbs_minus1", width - 1,
                     "the picture is larger than the daemon allows");
}

/* A broken set leaves the one before with its id, which may not hold any more. */
static void sps_refuse(struct h264_stream *s, uint8_t header, size_t size, int error)
{
    struct h264_bits b;
    h264_bits_init(&b, s->rbsp.bytes, size);
    h264_bits_skip(&b, 32); /* header, profile_idc, constraint flags, level_idc */
    uint32_t id = size > 4 ? h264_bits_ue(&b) : H264_MAX_SPS;
    if (error == H264_ERR_NOMEM)
        return;
    if (id < H264_MAX_SPS)
        s->sps[id].refused = true;
    h264_stream_judge_set(s, header, id >= H264_MAX_SPS || !s->sps[id].sps);
}

int h264_stream_store_sps(struct h264_stream *s, const uint8_t *nal, size_t size,
                          struct h264_diag *diag)
{
    struct h264_stored_sps *slot;
    struct h264_sps *sps;
    uint8_t *bytes;
    size_t n;
    int error = h264_rbsp_unescape(&s->rbsp, nal, size, &n);
    if (error)
        return error;
    error = s->view_index ? h264_subset_sps_parse(s->rbsp.bytes, n, &sps, diag)
                          : h264_sps_parse(s->rbsp.bytes, n, &sps, diag);
    if (error) {
        sps_refuse(s, nal[0], n, error);
        return error;
    }
    if (sps->mb_width > REC_MAX_SIDE_MBS || sps->mb_height > REC_MAX_SIDE_MBS ||
        (s->params.limits.frame_mbs &&
         (uint32_t)sps->mb_width * sps->mb_height > s->params.limits.frame_mbs))
        return refuse_size(s, sps, diag);
    h264_stream_judge_set(s, nal[0], false);
    crop_to_container(s, sps);
    s->habits.lost_set = false;
    slot = &s->sps[sps->id];
    if (slot->sps && slot->size == n && !memcmp(slot->bytes, s->rbsp.bytes, n)) {
        h264_sps_unref(sps);
        slot->refused = false;
        return H264_OK;
    }
    bytes = bytes_duplicate(s->rbsp.bytes, n);
    if (!bytes) {
        h264_sps_unref(sps);
        return H264_ERR_NOMEM;
    }
    error = h264_stream_finish_picture(s, diag); /* its further slices cannot follow a new SPS */
    free(slot->bytes);
    sps->serial = ++s->sps_count;
    h264_sps_unref(slot->sps);
    *slot = (struct h264_stored_sps){bytes, n, sps, false};
    h264_sps_unref(s->last_sps);
    s->last_sps = h264_sps_ref(sps);
    return error;
}

/* The profiles without an 8x8 transform have none of its elements in a PPS (A.2.1 to A.2.3). Some
 * encoders write junk there. As FFmpeg does it, a profile is believed where a constraint flag says
 * the same. */
static uint8_t pps_format(const struct h264_sps *sps)
{
    bool plain = sps->profile_idc == 66 || sps->profile_idc == 77 || sps->profile_idc == 88;
    return plain && sps->constraint_flags & 0xe0 ? H264_PPS_PLAIN : sps->chroma_format_idc;
}

/* Whether a PPS that was parsed for one format holds for the other. */
static bool same_pps(uint8_t a, uint8_t b)
{
    return a == b || (a < 3 && b < 3);
}

/* With the format of the SPS where it is known; where that fails, as others, as the SPS may still
 * change. */
static int parse_either(const struct h264_stream *s, size_t n, unsigned sps_id,
                        struct h264_pps **pps, uint8_t *chroma_format_idc, struct h264_diag *diag)
{
    static const uint8_t others[] = {1, 3, H264_PPS_PLAIN};
    const struct h264_sps *sps = s->sps[sps_id].sps;
    unsigned count = sps ? 2 : 3; /* where the SPS wants the elements, junk is damage */
    uint8_t format = sps ? pps_format(sps) : 1;
    int error = h264_pps_parse(s->rbsp.bytes, n, format, pps, diag);
    if (error == H264_ERR_DATA || error == H264_ERR_TRUNCATED) {
        unsigned k = 0;
        while (k < count && h264_pps_parse(s->rbsp.bytes, n, others[k], pps, NULL))
            k++;
        if (k == count)
            return error;
        format = others[k];
        error = H264_OK;
    }
    if (!error)
        *chroma_format_idc = format;
    return error;
}

int h264_stream_store_pps(struct h264_stream *s, const uint8_t *nal, size_t size,
                          struct h264_diag *diag)
{
    struct h264_stored_pps *slot;
    struct h264_pps *pps;
    unsigned pps_id, sps_id;
    uint8_t format, *bytes;
    size_t n;
    int error = h264_rbsp_unescape(&s->rbsp, nal, size, &n);
    if (error)
        return error;
    error = h264_pps_peek_ids(s->rbsp.bytes, n, &pps_id, &sps_id);
    if (error) {
        h264_stream_judge_set(s, nal[0], true);
        return h264_fail(diag, error, "pic_parameter_set_id", (int64_t)n,
                         "the picture parameter set is malformed");
    }
    slot = &s->pps[pps_id];
    if (slot->pps && slot->size == n && !memcmp(slot->bytes, s->rbsp.bytes, n)) {
        slot->refused = false;
        return H264_OK;
    }
    error = parse_either(s, n, sps_id, &pps, &format, diag);
    if (error) {
        slot->refused = error != H264_ERR_NOMEM;
        h264_stream_judge_set(s, nal[0], slot->refused && !slot->pps);
        return error;
    }
    bytes = bytes_duplicate(s->rbsp.bytes, n);
    if (!bytes) {
        h264_pps_unref(pps);
        return H264_ERR_NOMEM;
    }
    h264_stream_judge_set(s, nal[0], false);
    s->habits.clean_pps |= !pps->rest;
    free(slot->bytes);
    h264_pps_unref(slot->pps);
    *slot = (struct h264_stored_pps){bytes, n, pps, format, false};
    return H264_OK;
}

int h264_stream_find_params(struct h264_stream *s, uint32_t pps_id, const struct h264_sps **sps,
                            const struct h264_pps **pps, struct h264_diag *diag)
{
    struct h264_stored_pps *slot;
    const struct h264_sps *found;
    struct h264_pps *again;
    int error;
    if (pps_id >= H264_MAX_PPS)
        return h264_fail(diag, H264_ERR_DATA, "pic_parameter_set_id", pps_id,
                         "must be at most 255");
    slot = &s->pps[pps_id];
    if (!slot->pps)
        return h264_fail(diag, H264_ERR_NO_PARAMS, "pic_parameter_set_id", pps_id,
                         "this picture parameter set was never received");
    found = s->sps[slot->pps->sps_id].sps;
    if (!found)
        return h264_fail(diag, H264_ERR_NO_PARAMS, "seq_parameter_set_id", slot->pps->sps_id,
                         "this sequence parameter set was never received");
    if (!same_pps(pps_format(found), slot->chroma_format_idc)) {
        error = h264_pps_parse(slot->bytes, slot->size, pps_format(found), &again, diag);
        if (error)
            return error;
        h264_pps_unref(slot->pps);
        slot->pps = again;
        slot->chroma_format_idc = pps_format(found);
    }
    *sps = found;
    *pps = slot->pps;
    return H264_OK;
}

void h264_stream_free_params(struct h264_stream *s)
{
    for (unsigned i = 0; i < H264_MAX_PPS; i++) {
        free(s->pps[i].bytes);
        h264_pps_unref(s->pps[i].pps);
    }
    for (unsigned i = 0; i < H264_MAX_SPS; i++) {
        free(s->sps[i].bytes);
        h264_sps_unref(s->sps[i].sps);
    }
    h264_sps_unref(s->active);
    h264_sps_unref(s->last_sps);
}
