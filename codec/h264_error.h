/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Errors of the codec. Functions return 0, or a negative enum h264_error. h264_error_text and
 * struct h264_diag give text for a person.
 */
#ifndef PELTON_H264_ERROR_H
#define PELTON_H264_ERROR_H

#include <stdint.h>

enum h264_error {
    H264_OK = 0,
    /* The bitstream breaks a rule. The damage is concealed or skipped, and decoding goes on. */
    H264_ERR_DATA = -1,
    /* The bitstream is valid but uses a tool that is refused. diag names the syntax element. */
    H264_ERR_UNSUPPORTED = -2,
    H264_ERR_NOMEM = -3,
    H264_ERR_NO_PARAMS = -4, /* refers to a parameter set that was never received */
    H264_ERR_TRUNCATED = -5  /* data ends inside a syntax structure */
};
const char *h264_error_text(int error);

/* Place and reason of an error. The function that returns a negative value fills it. */
struct h264_diag {
    const char *element; /* syntax element or rule, static string: "frame_mbs_only_flag" */
    int64_t value;       /* its value in the stream */
    const char *what; /* one clause of English, static: "interlaced coding is not supported yet" */
};

#endif
