/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the fuzz targets: runs the pictures of a stream through steps 2 and 3 and the
 * validator.
 */
#ifndef PELTON_FUZZ_H
#define PELTON_FUZZ_H

#include "codec/h264.h"
#include "codec/h264_stream.h"

#include <stdlib.h>

/* Take everything that waits in both queues of s. With scratch each picture is decoded up to its
 * records, and what records_validate() refuses is our bug: concealment has to leave valid records.
 * Where the stream leaves arrays to the caller, levels are packed: in little room, which grows. */
void fuzz_drain(struct h264_stream *s, struct h264_scratch *scratch);

#endif
