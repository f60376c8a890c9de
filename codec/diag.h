/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Errors with their place and reason.
 */
#ifndef PELTON_CODEC_DIAG_H
#define PELTON_CODEC_DIAG_H

#include "codec/h264_error.h"

/* Fills *diag, unless it is NULL, and returns `error`. element and what are static strings. */
int h264_fail(struct h264_diag *diag, int error, const char *element, int64_t value,
              const char *what);

#endif
