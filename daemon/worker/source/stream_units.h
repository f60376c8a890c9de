/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Access units that leave as they came (pelton_open_params.encoded). Step 1 reads their headers;
 * nothing is decoded. Thread: that of the source.
 */
#ifndef PELTON_STREAM_UNITS_H
#define PELTON_STREAM_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

struct units {
    unsigned nal_length;
    uint8_t *sets; /* the present parameter sets; NULL: none yet */
    size_t sets_size;
    bool sets_changed; /* since the last pool */
    bool awaits_key;   /* at the start, and after a drop */
    bool entry;        /* step 1: decoding may begin at the present one */
    bool has_poc;
    int32_t poc; /* of the present one; from an IDR picture on */
    /* times of byte streams, in time_base: decoding time of the next one, of the last IDR picture
     */
    int64_t next_dts, idr_dts;
    int32_t poc_step; /* of one frame */
};

/* When the source is open. Without memory the stream has failed. */
void units_open(struct stream *st);
void units_close(struct units *u);
/* Pictures of step 1 tell where decoding may begin, and go. */
void units_drain(struct stream *st);
/* The access unit in st->packet, after step 1. too_large: it is refused by a limit. Waits for room
 * where nothing may be dropped. */
void units_feed(struct stream *st, bool too_large);

#endif
