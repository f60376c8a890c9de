/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of the daemon into access units, by encode/: pelton encode, and -c:v h264 of pipe and
 * record.
 */
#ifndef CLIENT_FRAME_ENCODER_H
#define CLIENT_FRAME_ENCODER_H

#include "client/options.h"

struct frame_encoder;

/* What can be said before anything is opened. Returns an exit code. */
int frame_encoder_check(const struct client_options *o, struct failure *f);

/* The pixel format that frames should have: others are converted. */
void frame_encoder_ask(const struct client_options *o, struct pelton_open_params *params);

/* What the options say. */
struct pelton_encoding frame_encoder_settings(const struct client_options *o);

struct encode_device;

/* device: where it decides; it outlives the encoder. rate: pictures a second. sets_apart: parameter
 * sets stand in a container's header, and not in the units. */
int frame_encoder_new(const struct client_options *o, struct encode_device *device,
                      struct pelton_rational rate, bool sets_apart, struct frame_encoder **out,
                      struct failure *f);
void frame_encoder_free(struct frame_encoder *e); /* NULL is allowed */

/* *unit is as the daemon's, with params.encoded. Its memory is the encoder's, until the next call.
 * A frame of another size, shape or colour begins another sequence: a key picture with new
 * parameter sets. Returns an exit code. */
int frame_encoder_push(struct frame_encoder *e, const struct pelton_frame *frame,
                       struct pelton_frame *unit, struct failure *f);

struct frame_encoder_sums {
    uint64_t pictures, keys, bytes, qp; /* qp: of all pictures together */
    uint64_t repeated;                  /* pictures that no QP could bring below their cap */
    uint64_t corrupt;                   /* frames that were damaged */
    uint64_t losses;                    /* of the device */
};
struct frame_encoder_sums frame_encoder_sums(const struct frame_encoder *e);

#endif
