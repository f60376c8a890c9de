/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: whole streams, both views, up to their records: slice data, motion,
 * concealment. The validator must accept the records. Inputs of odd size have packed levels.
 */
#include "fuzz.h"
#include "codec/h264_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct h264_stream_params params = {.views = 2, .late_arrays = size & 1};
    struct h264_scratch *scratch = h264_scratch_create();
    struct h264_stream *s;
    struct h264_diag diag;
    if (scratch && !h264_stream_create(&params, &s)) {
        h264_stream_feed(s, data, size, 0, &diag);
        h264_stream_flush(s);
        fuzz_drain(s, scratch);
        h264_stream_free(s);
    }
    h264_scratch_free(scratch);
    return 0;
}
