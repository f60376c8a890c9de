/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The AVIOContext of a source that is a descriptor.
 */
#ifndef PELTON_SOURCE_IO_H
#define PELTON_SOURCE_IO_H

#include "daemon/worker/source/file_source.h"

/* Makes src->io for src->fd and finds src->size. Returns 0 or an AVERROR. */
int source_io_open(struct source *src);
void source_io_close(struct source *src);

#endif
