/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parts of one file, one for each device. They share a table that says who decodes which stretch
 * (daemon/stretch_table.h). The broker makes it and hands it to the workers, and never reads it.
 */
#ifndef PELTON_SHARED_FILE_H
#define PELTON_SHARED_FILE_H

#include "daemon/broker/stream_state.h"

/* A stream that has been admitted gets the table of its parts. Where the file is too short to be
 * shared, parts other than the first are refused. 0 or a negative code with *failure filled. */
int shared_file_admit(struct broker_stream *s, struct pelton_failure *failure);
/* A part whose device is not open yet waits while the first one may be done without it. */
bool shared_file_waits(const struct broker_stream *s, uint64_t now_ms);

#endif
