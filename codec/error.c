/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Error texts and diagnostics.
 */
#include "codec/diag.h"

const char *h264_error_text(int error)
{
    switch (error) {
    case H264_OK:
        return "no error";
    case H264_ERR_DATA:
        return "the bitstream breaks a rule";
    case H264_ERR_UNSUPPORTED:
        return "a coding tool that is not supported";
    case H264_ERR_NOMEM:
        return "out of memory";
    case H264_ERR_NO_PARAMS:
        return "a parameter set was never received";
    case H264_ERR_TRUNCATED:
        return "the data ends too early";
    }
    return "unknown error";
}

int h264_fail(struct h264_diag *diag, int error, const char *element, int64_t value,
              const char *what)
{
    if (diag) {
        diag->element = element;
        diag->value = value;
        diag->what = what;
    }
    return error;
}
