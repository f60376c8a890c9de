/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entry to step 2: scratch, and the variant for this processor (step2_bmi2.h).
 */
#include "codec/macroblock.h"

#include <stdlib.h>

struct h264_scratch *h264_scratch_create(void)
{
    return calloc(1, sizeof(struct h264_scratch));
}

void h264_scratch_free(struct h264_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->line);
    free(scratch->rbsp);
    free(scratch);
}

int h264_slice_decode_now(struct h264_slice *slice, struct h264_scratch *scratch)
{
#ifdef H264_BMI2
    if (__builtin_cpu_supports("bmi2"))
        return h264_slice_parse_bmi2(slice, scratch);
#endif
    return h264_slice_parse(slice, scratch);
}

int h264_slice_decode(struct h264_slice *slice, struct h264_scratch *scratch)
{
    return slice->hdr.redundant_pic_cnt ? H264_OK : h264_slice_decode_now(slice, scratch);
}
