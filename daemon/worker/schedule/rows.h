/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of a LIVE picture that are reconstructed before the picture is decoded.
 *
 * A picture of one slice takes its coder longer than the device. So a second coder, which follows
 * the first one, tells when some rows are derived and checked. The device reconstructs these while
 * the coder goes on. The picture's own batch then does the rest: its last rows, deblocking and
 * delivery. Rows that are done count for nothing where the picture turns out to be damaged. While
 * several LIVE pictures are in work none has parts.
 *
 * Thread: any, with the engine's lock.
 */
#ifndef PELTON_ROWS_H
#define PELTON_ROWS_H

#include "daemon/worker/schedule/schedule.h"

/* Before a coder follows the picture's only slice: its rows.step. */
void rows_begin(const struct schedule *s, struct picture *p);
/* Rows that may go once the first `mbs` macroblocks are followed and good; 0: no more than before.
 * The last rows stay behind: an error takes macroblocks back (codec/conceal.h). Thread: the one
 * that follows, without the lock. */
uint32_t rows_more(const struct schedule *s, const struct picture *p, uint32_t mbs);
void rows_ready(struct schedule *s, struct picture *p, uint32_t rows, const struct rec_seen *seen);
/* For tests, with a software device and debug.split=rows=N: the one that follows waits until the
 * device has the rows. Else it would be done before the device looked. */
bool rows_awaited(const struct schedule *s, const struct picture *p);
/* A picture of the store that has rows to be submitted, and its slot; NULL: none. */
struct picture *rows_take(struct schedule *s, struct slots *st);
/* Rows of a picture in its own batch that are done already. */
static inline uint32_t rows_done(const struct picture *p)
{
    bool whole = p->outcome == OUTCOME_WHOLE && p->motion.followed == p->pic->mb_count &&
                 !atomic_load(&p->pic->damage.missing_mbs);
    return whole ? p->rows.submitted : 0;
}

#endif
