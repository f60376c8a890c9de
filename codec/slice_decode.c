/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entry to step 2: scratch, and the choice of the build for this processor (step2_bmi2.h).
 */
#include "codec/h264_error.h"
#include "codec/macroblock.h"
#include "codec/slice_decode.h"

#include <stdlib.h>
#ifdef H264_BMI2
#include <cpuid.h>
#include <stdatomic.h>
#endif

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

/* CPUID is asked once: in a virtual machine it takes a while. */
bool h264_has_bmi2(void)
{
#ifdef H264_BMI2
    static atomic_int known; /* 1: no, 2: yes */
    unsigned a, b, c, d;
    int has = atomic_load_explicit(&known, memory_order_relaxed);
    if (!has) {
        has = 1 + (__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
                   __builtin_cpu_supports("ssse3") && __get_cpuid(0x80000001, &a, &b, &c, &d) &&
                   c & bit_LZCNT);
        atomic_store_explicit(&known, has, memory_order_relaxed);
    }
    return has == 2;
#else
    return false;
#endif
}

int h264_slice_decode_now(struct h264_slice *slice, struct h264_scratch *scratch)
{
#ifdef H264_BMI2
    if (h264_has_bmi2())
        return h264_slice_parse_bmi2(slice, scratch);
#endif
    return h264_slice_parse(slice, scratch);
}

int h264_slice_decode(struct h264_slice *slice, struct h264_scratch *scratch)
{
    return slice->hdr.redundant_pic_cnt ? H264_OK : h264_slice_decode_now(slice, scratch);
}
