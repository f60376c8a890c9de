/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What follows from all decisions: P_Skip by the true predictor, or the modes of an intra
 * macroblock, and its bit for the wavefront. Grid: groups of macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#define SEARCH_MBS     ENC_MARK_MBS
#define SEARCH_THREADS (8 * SEARCH_MBS)
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"
#include "gpu/shaders/lib/encode_marks.glsl"

layout(set = 0, binding = ENC_BIND_INTRA, scalar) readonly buffer intra_buffer
{
    enc_intra intra[];
};

void mark_intra(uint at)
{
    mbs[at].kind = intra[at].kind;
    mbs[at].intra_mode[0] = intra[at].modes[0];
    mbs[at].intra_mode[1] = intra[at].modes[1];
    mbs[at].intra_chroma_mode = intra[at].chroma_mode;
    mark_set();
    mbs[at].flags = uint8_t(uint(intra[at].kind) == REC_MB_INTRA_8X8 ? REC_MB_TRANSFORM_8X8 : 0);
}

void main()
{
    search_begin();
    uint at = record_at(mb);
    around_load();
    if (mb_thread() > 0u || !mb_is_there())
        return;
    if (uint(mbs[at].kind) != REC_MB_INTER) {
        mark_intra(at);
        return;
    }
    own_load(FIELD);
    if ((mbs[at].coded[0] | mbs[at].coded[1] | mbs[at].coded[2]) == uint16_t(0) &&
        own_is(predict_skip()))
        mbs[at].flags = uint8_t(uint(mbs[at].flags) | REC_MB_SKIP);
}
