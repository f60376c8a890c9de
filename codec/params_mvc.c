/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Subset sequence parameter set (7.3.2.1.3) of multiview streams: a sequence parameter set, then
 * the references between views (H.7.3.2.1.4). Those of the first two views are kept.
 */
#include "codec/diag.h"
#include "codec/parameter_sets.h"

#include <stdlib.h>

#define MAX_VIEWS     1024
#define MAX_VIEW_REFS 15

/* num_anchor_refs_lX[i] or num_non_anchor_refs_lX[i] and the view_id of each. Returns whether
 * `base` is the first of them. */
static bool parse_refs(struct h264_bits *b, uint32_t base)
{
    uint32_t count = h264_bits_ue(b);
    bool first = false;
    for (uint32_t i = 0; i < count && i <= MAX_VIEW_REFS && !h264_bits_overrun(b); i++) {
        uint32_t id = h264_bits_ue(b);
        if (i == 0)
            first = id == base;
    }
    return first;
}

static int mvc_parse_extension(struct h264_bits *b, struct h264_sps *sps, struct h264_diag *diag)
{
    uint32_t views = h264_bits_ue(b) + 1;
    if (views < 2 || views > MAX_VIEWS)
        return h264_fail(diag, H264_ERR_DATA, "num_views_minus1", (int64_t)views - 1,
                         "must be in 1 .. 1023");
    sps->num_views = (uint16_t)views;
    for (uint32_t i = 0; i < views; i++) {
        uint32_t id = h264_bits_ue(b);
        if (i < 2)
            sps->view_id[i] = (uint16_t)id;
    }
    for (unsigned anchor = 2; anchor-- > 0;)
        for (uint32_t i = 1; i < views && !h264_bits_overrun(b); i++)
            for (unsigned list = 0; list < 2; list++)
                if (parse_refs(b, sps->view_id[0]) && i == 1)
                    sps->view_refs[anchor] |= (uint8_t)(1 << list);
    if (h264_bits_overrun(b))
        return h264_fail(diag, H264_ERR_TRUNCATED, "seq_parameter_set_mvc_extension", views,
                         "the data ends too early");
    return H264_OK;
}

int h264_subset_sps_parse(const uint8_t *rbsp, size_t size, struct h264_sps **out,
                          struct h264_diag *diag)
{
    struct h264_sps *sps;
    struct h264_bits b;
    int error;
    h264_bits_init(&b, rbsp, size);
    error = h264_sps_parse_data(&b, &sps, diag);
    if (error)
        return error;
    if (sps->vui_broken) { /* where the extension begins is unknown */
        h264_sps_unref(sps);
        return h264_fail(diag, H264_ERR_DATA, "vui_parameters", (int64_t)size, "is broken");
    }
    if (sps->profile_idc == 118 || sps->profile_idc == 128) {
        h264_bits_skip(&b, 1); /* bit_equal_to_one */
        error = mvc_parse_extension(&b, sps, diag);
    }
    if (error) {
        h264_sps_unref(sps);
        return error;
    }
    *out = sps;
    return H264_OK;
}
