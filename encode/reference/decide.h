/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From pictures to records: every decision of the encoder, as slow plain C. It is the oracle of the
 * shaders that decide. One thread at a time.
 */
#ifndef PELTON_DECIDE_H
#define PELTON_DECIDE_H

#include "encode/decider.h"
#include "reference/recon_ref.h"

struct decider;
struct picture_work;

/* Settings that encoding_check has passed, with its limits; both are copied. NULL without memory.
 */
struct decider *decider_create(const struct encoding *e, const struct encoding_limits *limits);
void decider_free(struct decider *d); /* NULL is allowed */
/* So many threads decide, instead of one. The records are the same. */
void decider_use_threads(struct decider *d, unsigned count);

/* Decide a picture. The records are valid until the next call. It may be decided again, with
 * another wish: nothing refers to it until decider_accept. 0, or -1: the records do not pass
 * records_validate, which is our bug. */
int decider_decide(struct decider *d, const struct decider_source *source,
                   const struct decider_wish *wish, struct rec_view *view);
/* The picture that was decided last becomes the newest reference. */
void decider_accept(struct decider *d);

/* The filtered reconstruction of the picture that was decided last: whole macroblocks */
const struct ref_frame *decider_frame(const struct decider *d);
/* All that the passes made (picture_work.h), for tests */
const struct picture_work *decider_work(const struct decider *d);

#endif
