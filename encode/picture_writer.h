/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All slices of a picture, each by a thread of its own. Thread: one at a time for a writer.
 */
#ifndef PELTON_ENCODE_PICTURE_WRITER_H
#define PELTON_ENCODE_PICTURE_WRITER_H

#include "encode/slice_writer.h"

struct picture_writer;

/* slices: of a picture, at most ENCODING_SLICES. NULL without memory. */
struct picture_writer *picture_writer_create(unsigned slices);
void picture_writer_free(struct picture_writer *w); /* NULL is allowed */

/* All slices of the view in their order, and the end of the picture (picture_end). header: what all
 * of them share; slice_header_of fills in the rest. -1, and why, as slice_write does: that of the
 * first slice which fails. data: of all slices, instead of records; NULL: there are none. */
int picture_write(struct picture_writer *w, const struct slice_stream *stream,
                  const struct rec_view *view, const struct slice_data *data,
                  const struct h264_slice_header *header, struct bit_writer *out, char *why);

#endif
