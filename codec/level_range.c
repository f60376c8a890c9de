/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See level_range.h.
 */
#include "codec/level_range.h"

#include "codec/h264_params.h"

unsigned h264_level_shift(const struct h264_sps *sps, const struct h264_pps *pps)
{
    struct rec_scaling s;
    const uint8_t *weight = s.m4[0];
    unsigned least = 16, shift = 0;
    if (!sps->seq_scaling_matrix_present_flag && !pps->pic_scaling_matrix_present_flag)
        return 0;
    h264_pps_scaling(sps, pps, &s);
    for (unsigned i = 0; i < sizeof(s); i++)
        least = weight[i] < least ? weight[i] : least;
    while (16u >> shift > least)
        shift++;
    return shift;
}

/* (2^15 + 1 / 2) * 16 / (16 * normAdjust4x4(m, 0, 0) << qP / 6), qP from -36 on: the least of
 * LevelScale4x4, and rounding. */
int32_t h264_level_most(int qp, unsigned shift)
{
    static const uint32_t most[6] = {209718, 190653, 161321, 149798, 131074, 116510};
    unsigned from = (unsigned)(qp + 36);
    return (int32_t)(most[from % 6] << shift >> from / 6);
}
