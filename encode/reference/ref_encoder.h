/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A whole encoder in slow C: pictures to access units, by the decisions of decide.h and the writer
 * of slices. It is the oracle of the encoder on the GPU. One thread at a time.
 */
#ifndef PELTON_REF_ENCODER_H
#define PELTON_REF_ENCODER_H

#include "encode/rate_control.h"
#include "encode/reference/decide.h"

struct ref_encoder;

/* NULL, and why (ENCODING_WHY bytes): settings that are not good, or no memory. */
struct ref_encoder *ref_encoder_create(const struct encoding *settings, char *why);
void ref_encoder_free(struct ref_encoder *e); /* NULL is allowed */

/* Encode a picture. An IDR picture has parameter sets before it; the first one is always. The
 * access unit with its start codes is valid until the next call. 0, or -1 and why. */
int ref_encoder_picture(struct ref_encoder *e, const struct decider_source *source,
                        const struct decider_wish *wish, const uint8_t **unit, size_t *size,
                        char *why);

/* How a picture met its rate */
struct ref_encoder_rate {
    unsigned tries;
    bool skipped;    /* QP 51 was not enough: it repeats the one before, and is no IDR picture */
    bool over;       /* the first picture cannot repeat another: it is longer than its cap */
    uint64_t filler; /* bytes, in the access unit */
};

/* The same at the QP that rate control wishes: again at a higher one, as long as the access unit is
 * longer than its cap; at last it is skipped. Filler data stand at its end. */
int ref_encoder_rated(struct ref_encoder *e, struct rate_control *rate,
                      const struct decider_source *source, bool idr, const uint8_t **unit,
                      size_t *size, struct ref_encoder_rate *outcome, char *why);

/* For its reconstruction (decider_frame) and records (decider_work) */
const struct decider *ref_encoder_decider(const struct ref_encoder *e);

#endif
