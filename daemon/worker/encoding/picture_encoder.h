/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of a pool into access units, for the readers of a source that gives no H.264 itself. The
 * GPU decides where there is one, else the C of encode/reference. A device that fails is replaced
 * by that C, and the next picture is IDR.
 *
 * Thread: one at a time calls an encoder; encoders are independent.
 */
#ifndef PELTON_PICTURE_ENCODER_H
#define PELTON_PICTURE_ENCODER_H

#include "daemon/worker/feed/feed.h"
#include "encode/encoder.h"

struct gpu_encoder;
struct picture_encoder;

struct picture_encoder_params {
    struct gpu_encoder *gpu; /* NULL: the CPU decides */
    unsigned threads;        /* of the CPU's decisions */
    uint32_t quality;        /* as pelton encode -crf */
    uint64_t bit_rate;       /* bits a second that are never passed; 0: without limit */
    int64_t key_ns;          /* an IDR picture as often */
    struct pelton_rational rate;
    const struct feed_format *format; /* of the frames: yuv420p; borrowed for the call */
};

/* 0; or -1, and why (ENCODING_WHY bytes). */
int picture_encoder_new(const struct picture_encoder_params *params, struct picture_encoder **out,
                        char *why);
void picture_encoder_free(struct picture_encoder *e); /* NULL is allowed */

/* samples: a slot of the format. captured_ns: of the picture. wants_key: a reader waits for an IDR
 * picture; it comes at once, at most twice a second. 0, and *unit, valid until the next call; or
 * -1, and why: the encoder is of no more use. */
int picture_encoder_push(struct picture_encoder *e, const uint8_t *samples, int64_t captured_ns,
                         bool wants_key, struct encoder_unit *unit, char *why);
/* It decides on the GPU. */
bool picture_encoder_on_gpu(const struct picture_encoder *e);

#endif
