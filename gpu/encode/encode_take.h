/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources that lie on the device: encode_take makes whole macroblocks of them.
 */
#ifndef PELTON_ENCODE_TAKE_H
#define PELTON_ENCODE_TAKE_H

#include "gpu/encode/gpu_encode.h"
#include "gpu/engine/pipeline.h"

struct gpu_submission;

struct encode_take {
    const struct gpu_layout *layout;
    VkPipeline pipeline; /* the device's */
};

/* bindings: those of the encoder's passes */
int encode_take_create(struct gpu *g, const struct gpu_bindings *bindings, struct encode_take *t);

/* Records the sources of a batch that lie on the device and are not loaded. set: of its bindings,
 * with FRAMES and PLANES. GPU_ERR_INVALID: a source does not lie in its host, or not by words. */
int encode_take_record(struct gpu *g, const struct encode_take *t,
                       const struct gpu_encode_params *params, struct gpu_submission *s,
                       VkDescriptorSet set, const struct enc_picture *pictures, uint32_t count,
                       const struct gpu_encode_source *sources);

#endif
