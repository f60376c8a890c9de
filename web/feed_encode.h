/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From a frame of the daemon to the bytes of a tap: planes without padding, or JPEG. What the
 * daemon did not scale or convert is done here, by libswscale: nowhere else. A JPEG file that the
 * daemon has made is copied.
 */
#ifndef PELTON_FEED_ENCODE_H
#define PELTON_FEED_ENCODE_H

#include "web/web_feed.h"

struct feed_encoder;

struct feed_encoder *feed_encoder_new(const struct feed_key *key); /* NULL: no memory */
void feed_encoder_free(struct feed_encoder *e);
/* The daemon has made it: it is a JPEG file. */
bool feed_is_file(const struct pelton_frame *frame);
/* True: *out is the caller's. False: why says what failed. */
bool feed_encode(struct feed_encoder *e, const struct pelton_frame *frame, struct web_frame **out,
                 struct pelton_failure *why);

#endif
