/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: NAL unit splitting, unescaping and step 1, from any bytes, in one access unit
 * or many.
 */
#include "fuzz.h"
#include "codec/h264_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct h264_stream_params params = {.low_delay_output = size & 1};
    struct h264_stream *s;
    struct h264_diag diag;
    if (h264_stream_create(&params, &s))
        return 0;
    size_t step = size > 4 ? (size_t)data[0] * 16 + 1 : size + 1;
    int64_t tag = 0;
    for (size_t at = 0; at < size; at += step, tag++) {
        h264_stream_feed(s, data + at, size - at < step ? size - at : step, tag, &diag);
        fuzz_drain(s, NULL);
    }
    h264_stream_flush(s);
    fuzz_drain(s, NULL);
    h264_stream_free(s);
    return 0;
}
