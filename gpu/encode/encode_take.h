/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources that lie on the device: encode_take makes whole macroblocks of them.
 */
#ifndef PELTON_ENCODE_TAKE_H
#define PELTON_ENCODE_TAKE_H

#include "gpu/encode/gpu_encode.h"
#include "gpu/engine/pipeline.h"

struct encode_batch;
struct encode_pictures;
struct gpu_submission;

struct encode_take {
    const struct gpu_layout *layout;
    VkPipeline pipeline; /* the device's */
};

/* bindings: those of the encoder's passes */
int encode_take_create(struct gpu *g, const struct gpu_bindings *bindings, struct encode_take *t);

/* Records the sources that lie on the device and are not loaded, into FRAMES and PLANES of the
 * batch. GPU_ERR_INVALID: a source does not lie in its host, or not by words. */
int encode_take_record(const struct encode_batch *b, struct gpu_submission *s,
                       const struct encode_pictures *of);

#endif
