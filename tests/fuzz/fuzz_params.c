/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: parameter sets. The input is an RBSP. Its first byte chooses SPS or PPS, as a
 * NAL unit header does.
 */
#include "fuzz.h"

#include "codec/parameter_sets.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct h264_diag diag;
    struct h264_sps *sps = NULL;
    struct h264_pps *pps = NULL;
    uint8_t *rbsp = calloc(1, size + H264_BITS_PADDING);
    if (!rbsp)
        return 0;
    memcpy(rbsp, data, size);
    if (h264_sps_parse(rbsp, size, &sps, &diag))
        sps = NULL;
    if (h264_pps_parse(rbsp, size, sps ? sps->chroma_format_idc : size & 3, &pps, &diag))
        pps = NULL;
    if (sps && pps) {
        struct rec_scaling scaling;
        h264_pps_scaling(sps, pps, &scaling);
    }
    h264_pps_unref(pps);
    h264_sps_unref(sps);
    free(rbsp);
    return 0;
}
