/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records and syntax of a macroblock and of those to its left (A) and above (B), for shaders that
 * code it. A workgroup has a macroblock, a thread a part of its syntax. They run twice: the first
 * time for the places of all parts (WRITE 0), the second time for their bits or codes.
 */
#ifndef PELTON_ENCODE_SYNTAX_GLSL
#define PELTON_ENCODE_SYNTAX_GLSL

#include "gpu/shaders/lib/encode_common.glsl"

#define SUM_THREADS ENC_PARTS_OF_MB
#include "gpu/shaders/lib/sums_before.glsl"

layout(constant_id = 0) const uint WRITE = 0;
layout(local_size_x = ENC_PARTS_OF_MB) in;

layout(set = 0, binding = ENC_BIND_MBS, scalar) readonly buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = 0, binding = ENC_BIND_MOTION, scalar) readonly buffer motion_buffer
{
    rec_motion motion[]; /* the first field is that of the last round */
};
layout(set = 0, binding = ENC_BIND_SYNTAX, scalar) readonly buffer syntax_buffer
{
    enc_syntax syntax[];
};
layout(set = 0, binding = ENC_BIND_TOTALS, scalar) readonly buffer total_buffer
{
    enc_total totals[];
};
layout(set = 0, binding = ENC_BIND_PLACES, scalar) buffer place_buffer
{
    enc_place places[];
};

uint picture, mb, at, at_a, at_b; /* mb: its address; at: records */
bool has_a, has_b, in_p;

#include "gpu/shaders/lib/encode_order.glsl"

uint mb_count()
{
    return args.mb_width * args.mb_height;
}

/* The first word of the picture's room, and their number */
uint data_first()
{
    return picture * mb_count() * ENC_BLOCKS * 8u;
}

uint data_words()
{
    return mb_count() * ENC_BLOCKS * 8u;
}

/* wanted: ENC_CAVLC or ENC_BINS. False: there is nothing to do. */
bool syntax_begin(uint wanted)
{
    picture = gl_WorkGroupID.z;
    mb = gl_WorkGroupID.x;
    at = picture * mb_count() + mb;
    uint flags = uint(pictures[picture].flags);
    if ((flags & wanted) == 0u || (WRITE != 0u && totals[picture].units > data_words() / 8u))
        return false;
    has_a = mb % args.mb_width > 0u && mbs[at - 1u].slice == mbs[at].slice;
    has_b = mb >= args.mb_width && mbs[at - args.mb_width].slice == mbs[at].slice;
    at_a = has_a ? at - 1u : at;
    at_b = has_b ? at - args.mb_width : at;
    in_p = pictures[picture].ref_count > 0u || (flags & ENC_SKIP_ALL) != 0u;
    return true;
}

/* The number of bits or codes of this thread's part, when all have counted */
void parts_store(uint size)
{
    uint total, before = sums_before(size, total);
    places[at].part[gl_LocalInvocationIndex] = uint16_t(before);
    if (gl_LocalInvocationIndex == 0u)
        places[at].count = total;
}

uint part_place()
{
    return places[at].at + uint(places[at].part[gl_LocalInvocationIndex]);
}

/* ---- the macroblock ---- */

bool is_intra(uint record)
{
    return uint(mbs[record].kind) != REC_MB_INTER;
}

bool is_nxn(uint record)
{
    return uint(mbs[record].kind) < REC_MB_INTRA_16X16;
}

bool is_skipped(uint record)
{
    return (uint(mbs[record].flags) & REC_MB_SKIP) != 0u;
}

bool has_chroma()
{
    return (uint(pictures[picture].flags) & ENC_CHROMA) != 0u;
}

bool may_transform_8x8()
{
    return (uint(pictures[picture].flags) & ENC_TRANSFORM_8X8) != 0u;
}

bool is_last()
{
    return mb + 1u == mb_count() || mbs[at + 1u].slice != mbs[at].slice;
}

/* Is the block of this part in the syntax? big: 8x8 blocks are whole */
bool has_block(uint part, bool big)
{
    uint cbp = uint(syntax[at].cbp), index = part - ENC_PART_LUMA;
    if (part == ENC_PART_LUMA_DC)
        return uint(mbs[at].kind) == REC_MB_INTRA_16X16;
    if (part < ENC_PART_CHROMA_DC)
        return (cbp >> index / 4u & 1u) != 0u && !(big && (index & 3u) != 0u);
    return part < ENC_PART_CHROMA ? cbp > 15u : part < ENC_PART_END && cbp > 31u;
}

/* QPY of the macroblock before, whose slice is the same, or its own */
int qp_before(uint record, uint steps)
{
    bool there = mb >= steps && mbs[at - min(mb, steps)].slice == mbs[at].slice;
    return there ? int(mbs[at - steps].qp[0]) : int(mbs[record].qp[0]);
}

/* mb_qp_delta (7.4.5) */
int qp_delta()
{
    int delta = (int(mbs[at].qp[0]) - qp_before(at, 1u) + 104) % 52;
    return delta > 25 ? delta - 52 : delta;
}

bool has_qp_delta()
{
    return uint(syntax[at].cbp) != 0u || uint(mbs[at].kind) == REC_MB_INTRA_16X16;
}

/* mb_type (Tables 7-11 and 7-13); intra types without the offset of P slices */
uint type_of()
{
    uint cbp = uint(syntax[at].cbp);
    if (!is_intra(at))
        return uint(syntax[at].part);
    return is_nxn(at) ? 0u
                      : 1u + (mbs[at].intra_mode[0] & 15u) + 4u * (cbp >> 4) +
                            ((cbp & 15u) != 0u ? 12u : 0u);
}

/* ---- intra modes (8.3.1.1, 8.3.2.1) ---- */

uint block_at(int x, int y)
{
    return uint(x & 1) | uint(y & 1) << 1 | uint(x & 2) << 1 | uint(y & 2) << 2;
}

int mode_of(uint record, uint blk)
{
    if (!is_nxn(record))
        return 2;
    blk = uint(mbs[record].kind) == REC_MB_INTRA_8X8 ? blk & 12u : blk;
    return int(mbs[record].intra_mode[blk >> 3] >> 4u * (blk & 7u) & 15u);
}

/* rem_intra_pred_mode; -1: the mode is the predicted one */
int mode_coded(uint blk)
{
    int x = int(blk & 1u | blk >> 1 & 2u), y = int(blk >> 1 & 1u | blk >> 2 & 2u);
    bool a = x > 0 || has_a, b = y > 0 || has_b;
    int left = mode_of(x > 0 ? at : at_a, block_at(x - 1 & 3, y));
    int top = mode_of(y > 0 ? at : at_b, block_at(x, y - 1 & 3));
    int predicted = a && b ? min(left, top) : 2, mode = mode_of(at, blk);
    return mode == predicted ? -1 : mode < predicted ? mode : mode - 1;
}

/* ---- partitions: the first quadrants of each ---- */

uint part_count()
{
    uint part = uint(syntax[at].part);
    return part == REC_PART_16X16 ? 1u : part == REC_PART_8X8 ? 4u : 2u;
}

uint part_quadrant(uint i)
{
    return uint(syntax[at].part) == REC_PART_16X8 ? 2u * i : i;
}

uint ref_of(uint record, uint q)
{
    return uint(max(int(motion[record].ref_idx[0][q]), 0));
}

#endif
