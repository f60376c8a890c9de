/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Crops frames and writes them to host memory: three planes, NV12 or luma alone, in the sample size
 * of the frames. One thread writes one 32-bit word. x is the word in a row, y the row, plane below
 * plane, z the delivery. recon_push.first_picture is the first delivery of the group; all of a
 * group share the format. With PELTON_BLUR, a second compilation, samples inside rectangles leave
 * blurred (lib/blur.glsl).
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#include "gpu/shaders/lib/format.glsl"
#include "gpu/shaders/lib/sample.glsl"

layout(local_size_x = 64, local_size_y = 4) in;

layout(set = SET_BATCH, binding = BIND_DELIVER, scalar) readonly buffer deliver_buffer
{
    recon_deliver_args deliveries[];
};
layout(set = SET_BATCH, binding = BIND_FRAME_Y,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cr;
layout(set = SET_HOST, binding = HOST_BINDING, scalar) writeonly buffer host_buffer
{
    uint host[];
};

layout(constant_id = 0) const uint FORMAT = DELIVER_I420;
/* every plane is cropped by whole texels from the left: no word lies across two */
layout(constant_id = 1) const uint ALIGNED = 0u;

#define SHIFT_X (FORMAT == DELIVER_I444 ? 0u : 1u) /* of chroma */
#define SHIFT_Y (FORMAT == DELIVER_I444 || FORMAT == DELIVER_I422 ? 0u : 1u)

/* The word of samples x.. of a row, or with ALIGNED that of the texel of x; those to the right of
 * the frame repeat its last texel and are never inside the crop. */
#ifdef PELTON_WIDE
#define WORD_SAMPLES 2u
#define FUNNEL(image, x, y, slot)                                                                  \
    int t = int((x) >> 2), last = imageSize(image).x - 1;                                          \
    uvec2 lo = imageLoad(image, ivec3(min(t, last), y, slot)).xy;                                  \
    if (ALIGNED != 0u || ((x)&1u) == 0u)                                                           \
        return ((x)&2u) == 0u ? lo.x : lo.y;                                                       \
    uint hi = imageLoad(image, ivec3(min(t + 1, last), y, slot)).x;                                \
    return ((x)&2u) == 0u ? lo.x >> 16 | lo.y << 16 : lo.y >> 16 | hi << 16;
#else
#define WORD_SAMPLES 4u
#define FUNNEL(image, x, y, slot)                                                                  \
    int t = int((x) >> 2), last = imageSize(image).x - 1;                                          \
    uint shift = ((x)&3u) * 8u;                                                                    \
    uint lo = imageLoad(image, ivec3(min(t, last), y, slot)).x;                                    \
    if (ALIGNED != 0u || shift == 0u)                                                              \
        return lo >> shift;                                                                        \
    uint hi = imageLoad(image, ivec3(min(t + 1, last), y, slot)).x;                                \
    return (lo >> shift) | (hi << (32u - shift));
#endif

uint load_y(uint x, uint y, uint slot){FUNNEL(frame_y, x, y, slot)}

uint load_cb(uint x, uint y, uint slot){FUNNEL(frame_cb, x, y, slot)}

uint load_cr(uint x, uint y, uint slot){FUNNEL(frame_cr, x, y, slot)}

uint interleave(uint cb, uint cr)
{
    return (cb & 0xffu) | (cr & 0xffu) << 8 | (cb & 0xff00u) << 8 | (cr & 0xff00u) << 16;
}

#ifdef PELTON_BLUR
#include "gpu/shaders/lib/blurred.glsl"

/* A word of a row of a plane, NV12's second one included. What lies behind the last column fills
 * the word, and is as that is. */
uint blurred_word(uint value, uint plane, uint word, uint row, uint last, uint index)
{
    const uint bits = 32u / WORD_SAMPLES;
    bool pairs = FORMAT == DELIVER_NV12 && plane != 0u;
    uint result = 0u;
    for (uint i = 0u; i < WORD_SAMPLES; i++) {
        uint at = WORD_SAMPLES * word + i, x = min(pairs ? at >> 1 : at, last);
        uint s = blurred(bitfieldExtract(value, int(bits * i), int(bits)),
                         pairs ? 1u + (i & 1u) : plane, x, row, index);
        result |= s << (bits * i);
    }
    return result;
}
#endif

void main()
{
    uint index = push.first_picture + gl_GlobalInvocationID.z;
    recon_deliver_args d = deliveries[index];
    uint word = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
    uint chroma_width = (d.width + SHIFT_X) >> SHIFT_X,
         chroma_height = (d.height + SHIFT_Y) >> SHIFT_Y;
    uint plane = 0u, samples = d.width;
    if (row >= d.height) {
        row -= d.height;
        plane = row >= chroma_height ? 2u : 1u;
        row -= plane == 2u ? chroma_height : 0u;
        samples = FORMAT == DELIVER_NV12 ? 2u * chroma_width : chroma_width;
    }
    uint planes = FORMAT == DELIVER_GRAY ? 1u : FORMAT == DELIVER_NV12 ? 2u : 3u;
    if (plane >= planes || (plane != 0u && row >= chroma_height) || word * WORD_SAMPLES >= samples)
        return;
    uint value;
    if (FORMAT == DELIVER_GRAY || plane == 0u) {
        value = load_y(d.crop_x + WORD_SAMPLES * word, (d.crop_y + row) * d.row_step + d.row_first,
                       d.slot);
    } else {
        uint y = ((d.crop_y >> SHIFT_Y) + row) * d.row_step + d.row_first, x = d.crop_x >> SHIFT_X;
        if (FORMAT == DELIVER_NV12)
            value =
                interleave(load_cb(x + 2u * word, y, d.slot), load_cr(x + 2u * word, y, d.slot));
        else if (plane == 1u)
            value = load_cb(x + WORD_SAMPLES * word, y, d.slot);
        else
            value = load_cr(x + WORD_SAMPLES * word, y, d.slot);
    }
#ifdef PELTON_BLUR
    value =
        blurred_word(value, plane, word, row, (plane == 0u ? d.width : chroma_width) - 1u, index);
#endif
    host[d.offset[plane] + row * d.stride[plane] + word] = value;
}
