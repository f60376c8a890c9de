/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Weighted sample prediction (8.4.2.3): the weights of a quadrant, and their use.
 */
#ifndef PELTON_WEIGHT_GLSL
#define PELTON_WEIGHT_GLSL

layout(set = SET_BATCH, binding = BIND_WEIGHTS, scalar) readonly buffer weight_buffer
{
    int16_t weights[];
};

struct weight_pair {
    int w0, w1; /* one list: w0 */
    int offset; /* o, or (o0 + o1 + 1) >> 1 */
    int log2_denom;
};

/* Weights of component c; ref0 and ref1 are the indices, negative where the list is unused. The
 * slice has a weight mode. field: pair_field (lib/place.glsl). */
weight_pair weights_of(rec_picture picture, uint slice, int ref0, int ref1, uint c, uint field)
{
    uint at = picture.weight_base + slices[slice].weights, count0 = uint(slices[slice].num_ref[0]),
         count1 = uint(slices[slice].num_ref[1]);
    if (uint(slices[slice].weight_mode) == REC_WEIGHT_IMPLICIT) {
        /* tables of twice as many rows and columns behind that of frames */
        if (INTERLACED != 0u && field != 0u) {
            at += count0 * count1 * (field == REC_TOP ? 1u : 5u);
            count1 *= 2u;
        }
        int w1 = int(weights[at + uint(max(ref0, 0)) * count1 + uint(max(ref1, 0))]);
        return weight_pair(64 - w1, w1, 0, 5);
    }
    if (INTERLACED != 0u && field != 0u) {
        ref0 >>= 1; /* -1 stays */
        ref1 >>= 1;
    }
    int denom = int(slices[slice].log2_denom[c == 0u ? 0 : 1]);
    uint at0 = at + uint(max(ref0, 0)) * 6u + 2u * c,
         at1 = at + (count0 + uint(max(ref1, 0))) * 6u + 2u * c;
    if (ref0 >= 0 && ref1 >= 0)
        return weight_pair(int(weights[at0]), int(weights[at1]),
                           (int(weights[at0 + 1u]) + int(weights[at1 + 1u]) + 1) >> 1, denom);
    uint used = ref0 >= 0 ? at0 : at1;
    return weight_pair(int(weights[used]), 0, int(weights[used + 1u]), denom);
}

/* top: largest sample. */
ivec4 weigh_one(weight_pair w, ivec4 p, int top)
{
    int rounding = w.log2_denom > 0 ? 1 << (w.log2_denom - 1) : 0;
    return clamp(((p * w.w0 + rounding) >> w.log2_denom) + w.offset, 0, top);
}

ivec4 weigh_both(weight_pair w, ivec4 p, ivec4 q, int top)
{
    return clamp(((p * w.w0 + q * w.w1 + (1 << w.log2_denom)) >> (w.log2_denom + 1)) + w.offset, 0,
                 top);
}

#endif
