/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstreamer/redundant_units.h"

#include "codec/slice_header.h"

#include <stdlib.h>

static void sps_keep(struct redundant_units *r, size_t size)
{
    struct h264_sps *sps = NULL;
    if (h264_sps_parse(r->rbsp.bytes, size, &sps, NULL) < 0)
        return;
    h264_sps_unref(r->sps[sps->id & 31]);
    r->sps[sps->id & 31] = sps;
}

/* Profiles with redundant pictures have no 4:4:4 format. */
static void pps_keep(struct redundant_units *r, size_t size)
{
    struct h264_pps *pps = NULL;
    if (h264_pps_parse(r->rbsp.bytes, size, 1, &pps, NULL) < 0)
        return;
    r->allowed |= pps->redundant_pic_cnt_present_flag;
    h264_pps_unref(r->pps[pps->id]);
    r->pps[pps->id] = pps;
}

static bool slice_is_redundant(const struct redundant_units *r, size_t size)
{
    uint32_t first_mb, type, pps_id;
    struct h264_slice_header header;
    size_t data_bit;
    if (!r->allowed || h264_slice_peek(r->rbsp.bytes, size, &first_mb, &type, &pps_id) < 0 ||
        pps_id > 255 || !r->pps[pps_id])
        return false;
    const struct h264_pps *pps = r->pps[pps_id];
    const struct h264_sps *sps = r->sps[pps->sps_id & 31];
    return sps &&
           h264_slice_header_parse(r->rbsp.bytes, size, sps, pps, &header, &data_bit, NULL) >= 0 &&
           header.redundant_pic_cnt > 0;
}

static bool is_slice(unsigned type)
{
    return type == H264_NAL_SLICE || type == H264_NAL_PARTITION_A || type == H264_NAL_IDR;
}

bool redundant_units_look(struct redundant_units *r, const uint8_t *unit, size_t size)
{
    struct h264_nal_iter it;
    const uint8_t *nal;
    size_t nal_size, n;
    h264_nal_iter_init(&it, unit, size, 0);
    while (h264_nal_next(&it, &nal, &nal_size)) {
        unsigned type = nal[0] & 31;
        bool slice = is_slice(type);
        bool set = type == H264_NAL_SPS || type == H264_NAL_PPS;
        if ((!set && !(slice && r->allowed)) || h264_rbsp_unescape(&r->rbsp, nal, nal_size, &n) < 0)
            continue;
        if (slice)
            return slice_is_redundant(r, n);
        if (type == H264_NAL_SPS)
            sps_keep(r, n);
        else
            pps_keep(r, n);
    }
    return false;
}

void redundant_units_forget(struct redundant_units *r)
{
    for (unsigned i = 0; i < 32; i++)
        h264_sps_unref(r->sps[i]);
    for (unsigned i = 0; i < 256; i++)
        h264_pps_unref(r->pps[i]);
    free(r->rbsp.bytes);
    *r = (struct redundant_units){0};
}
