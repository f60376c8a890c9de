/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records of macroblocks before any decision: slices, which are runs of whole rows, QP, edges,
 * neighbours. Motion: none. Where all of the picture is skipped: that of P_Skip, and the samples of
 * the newest reference. Grid: groups of macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#define SEARCH_MBS     ENC_BEGIN_MBS
#define SEARCH_THREADS (16 * SEARCH_MBS)
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"
#include "gpu/shaders/lib/encode_samples.glsl"

layout(set = 0, binding = ENC_BIND_OFFSETS, scalar) readonly buffer offset_buffer
{
    int8_t offsets[];
};

/* QPC by qPI from 30 on (Table 8-15) */
const int qpc30[22] =
    int[22](29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39);

int chroma_qp(int qp)
{
    int i = clamp(qp + pictures[picture].chroma_qp_offset, 0, REC_MAX_QP);
    return i < 30 ? i : qpc30[i - 30];
}

uint slice_of(int row)
{
    uint count = min(uint(pictures[picture].slices), args.mb_height), i = 0u;
    while (i + 1u < count && uint(row) >= (i + 1u) * args.mb_height / count)
        i++;
    return i;
}

uint edges_of(bool same_slice)
{
    uint deblocking = uint(pictures[picture].deblocking);
    bool top = mb_at.y > 0 && (deblocking != 2u || same_slice);
    return deblocking == 1u ? 0u
                            : REC_DEBLOCK_INTERNAL | (mb_at.x > 0 ? REC_DEBLOCK_LEFT : 0u) |
                                  (top ? REC_DEBLOCK_TOP : 0u);
}

uint avail_of(bool above)
{
    return (mb_at.x > 0 ? REC_AVAIL_A : 0u) | (above ? REC_AVAIL_B : 0u) |
           (above && mb_at.x + 1 < int(args.mb_width) ? REC_AVAIL_C : 0u) |
           (above && mb_at.x > 0 ? REC_AVAIL_D : 0u);
}

void mb_store(bool skip)
{
    uint at = record_at(mb), slice = slice_of(mb_at.y);
    bool same_slice = mb_at.y > 0 && slice_of(mb_at.y - 1) == slice;
    int qp = clamp(int(pictures[picture].qp) + int(offsets[at]), 0, REC_MAX_QP);
    mbs[at].slice = slice;
    mbs[at].coeff = 0u;
    for (uint i = 0u; i < 3u; i++) {
        mbs[at].coded[i] = uint16_t(0);
        mbs[at].qp[i] = int8_t(i == 0u ? qp : chroma_qp(qp));
    }
    mbs[at].kind = uint8_t(skip ? REC_MB_INTER : REC_MB_INTRA_4X4);
    mbs[at].flags = uint8_t(skip ? REC_MB_SKIP : 0);
    mbs[at].intra_chroma_mode = uint8_t(0);
    mbs[at].intra_avail = uint8_t(avail_of(same_slice));
    mbs[at].deblock = uint8_t(edges_of(same_slice));
    mbs[at].nonzero = uint16_t(0);
    mbs[at].intra_mode[0] = mbs[at].intra_mode[1] = 0u;
}

/* Samples of the newest reference */
void samples_repeat()
{
    uint set = uint(pictures[picture].reference[0]);
    bool chroma = (uint(pictures[picture].flags) & ENC_CHROMA) != 0u;
    for (uint i = mb_thread(); i < (chroma ? 384u : 256u); i += MB_THREADS) {
        ivec3 at = sample_place(i);
        int from = at.z == 0 ? int(plane_origin(set, 0u)) + at.y * int(plane_stride(0u)) + at.x
                             : int(chroma_origin(set, uint(at.z) - 1u)) +
                                   at.y * int(luma_width() / 2u) + at.x;
        unfiltered[unfiltered_at(uint(at.z), at.xy)] = planes[from];
    }
}

void main()
{
    uint t = mb_thread();
    search_begin();
    if (!mb_is_there())
        return;
    bool skip = (uint(pictures[picture].flags) & ENC_SKIP_ALL) != 0u;
    own_clear();
    if (skip) {
        own_set(ivec4(0, 0, 2, 2), 0, ivec2(0));
        samples_repeat();
    }
    own_store(0u, t);
    if (t == 0u)
        mb_store(skip);
}
