/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A source of a daemon that is followed for as long as the program runs: over a restart of the
 * daemon, the loss of a camera and the death of a worker.
 *
 * The happy path is relay_source_new, relay_source_next until it is negative, relay_source_release
 * for each frame, relay_source_free. No daemon, or none any more, is waited for, and told once. The
 * failure modes are those that time does not mend: no such source, no permission, a format that the
 * source cannot have. Thread: one at a time.
 */
#ifndef PELTON_RELAY_SOURCE_H
#define PELTON_RELAY_SOURCE_H

#include "client/exit_code.h"

struct relay_source;

/* socket: NULL: as libpelton chooses. name: of the configuration, or an address. Both borrowed. */
struct relay_source *relay_source_new(const char *socket, const char *name);
void relay_source_free(struct relay_source *s); /* NULL allowed */

/* The frames that are wanted from now on; width 0: in the source's own size. */
void relay_source_wish(struct relay_source *s, const char *pix_fmt, uint32_t width,
                       uint32_t height);
/* 1: *out is a frame. 0: none came within timeout_ms. Negative: the failure says why, and its code
 * is 0 where the source has ended. */
int relay_source_next(struct relay_source *s, int timeout_ms, struct pelton_frame *out,
                      struct failure *f);
void relay_source_release(struct relay_source *s, const struct pelton_frame *frame);
/* Nobody wants frames now: a camera may close. The next call opens it again. */
void relay_source_rest(struct relay_source *s);

#endif
