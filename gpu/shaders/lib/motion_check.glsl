/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules that a macroblock's record must keep: those of codec/entropy_export.c and
 * codec/records_validate.c. They cover pictures of 8 bits in 4:2:0 or 4:0:0 without MBAFF, with P,
 * B and I slices. `nonzero` is a mask; any value of it is valid, as there.
 */
#ifndef PELTON_MOTION_CHECK_GLSL
#define PELTON_MOTION_CHECK_GLSL

/* rec_mb in words */
struct record {
    uint slice, coeff;
    uint coded_y, coded_cb, coded_cr, kind, flags;
    uvec3 qp; /* as bytes: what is negative is above 51 */
    uint chroma_mode, avail, deblock;
    uvec2 modes;
};
record mb;

record mb_of(uvec4 a, uvec4 b)
{
    return record(a.x, a.y, a.z & 0xffffu, a.z >> 16, a.w & 0xffffu, a.w >> 16 & 255u, a.w >> 24,
                  uvec3(b.x, b.x >> 8, b.x >> 16) & 255u, b.x >> 24, b.y & 255u, b.y >> 8 & 255u,
                  b.zw);
}

/* Neighbours that the picture has. */
struct place {
    bool left, top, right;
};

place place_of(uint addr, uint width)
{
    uint x = addr % width;
    return place(x > 0u, addr >= width, x + 1u < width);
}

bool has(uint flag)
{
    return (mb.flags & flag) != 0u;
}

/* Shapes that the slice's type has. */
bool syntax_good(der_slice slice, uvec2 words)
{
    uint part = words.x & 255u, subs = words.x >> 8 | words.y << 24, decoded = words.y >> 8 & 255u;
    bool good = decoded == 1u && part <= PART_INTRA && mb.kind <= REC_MB_INTER &&
                (mb.kind == REC_MB_INTER) == (part < PART_INTRA);
    if (part < PART_INTRA)
        good = good && slice.type != I_SLICE;
    if (part == PART_SKIP)
        good = good && slice.type == P_SLICE;
    if (part == PART_DIRECT)
        good = good && slice.type == B_SLICE;
    if (part == PART_8X8) [[unroll]]
        for (uint q = 0u; q < 4u; q++)
            good = good && bitfieldExtract(subs, int(8u * q), 8) <=
                               (slice.type == B_SLICE ? SUB_DIRECT : SUB_4X4);
    return good;
}

/* The bits of each quadrant are all set or all clear. */
bool whole_quadrants(uint coded)
{
    return coded == (coded & 0x1111u) * 15u;
}

bool coefficients_good(der_picture picture)
{
    uint chroma = picture.chroma_blocks != 0u ? 0xfu : 0u, both = mb.coded_cb | mb.coded_cr;
    uint count = uint(bitCount(mb.coded_y) + bitCount(mb.coded_cb) + bitCount(mb.coded_cr));
    if (mb.kind == REC_MB_INTRA_PCM &&
        (mb.coded_y != 0xffffu || mb.coded_cb != chroma || mb.coded_cr != chroma))
        return false;
    return (both & ~chroma) == 0u && (!has(REC_MB_TRANSFORM_8X8) || whole_quadrants(mb.coded_y)) &&
           (count == 0u ||
            (mb.coeff <= picture.coeff_blocks && count <= picture.coeff_blocks - mb.coeff));
}

/* REC_MB_SI belongs to slices that are not here. */
bool flags_good(der_slice slice)
{
    const uint known = REC_MB_FLAGS & ~REC_MB_SI;
    bool intra = mb.kind != REC_MB_INTER;
    return (mb.flags & ~known) == 0u && has(REC_MB_FIELD) == (slice.field != 0) &&
           (!intra || has(REC_MB_TRANSFORM_8X8) == (mb.kind == REC_MB_INTRA_8X8)) &&
           !(intra && has(REC_MB_SKIP)) &&
           (!has(REC_MB_TRANSFORM_8X8) || slice.transform_8x8 != 0) &&
           (!has(REC_MB_BYPASS) || slice.bypass != 0);
}

bool record_good(der_picture picture, der_slice slice, place p)
{
    uint edges =
        REC_DEBLOCK_INTERNAL | (p.left ? REC_DEBLOCK_LEFT : 0u) | (p.top ? REC_DEBLOCK_TOP : 0u);
    return flags_good(slice) && (mb.deblock & ~edges) == 0u &&
           all(lessThanEqual(mb.qp, uvec3(REC_MAX_QP))) && coefficients_good(picture);
}

/* Every quadrant of an inter macroblock has a reference, and only such as there are. */
bool refs_good(der_slice slice, uvec2 refs)
{
    bool good = true;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        int r0 = byte_at(refs.x, q), r1 = byte_at(refs.y, q);
        good = good && r0 >= -1 && r1 >= -1 && r0 < int(slice.num_ref[0]) &&
               r1 < int(slice.num_ref[1]) && (r0 & r1) >= 0;
    }
    return good;
}

/* ---- intra ---- */

/* Each block, of the size, has what its mode needs. Blocks in the left column have a neighbour to
 * the left where the macroblock has, and so on. */
bool nxn_good(uint have, uint step_)
{
    bool good = true;
    [[dont_unroll]] for (uint blk = 0u; blk < 16u; blk += step_) {
        uint mode = (blk < 8u ? mb.modes.x : mb.modes.y) >> 4u * (blk & 7u) & 15u;
        bool inner_x = (blk & 5u) != 0u, inner_y = (blk & 10u) != 0u;
        uint got = (inner_x ? REC_NEED_LEFT : have & REC_NEED_LEFT) |
                   (inner_y ? REC_NEED_TOP : have & REC_NEED_TOP);
        bool corner = inner_x   ? (inner_y || (have & REC_NEED_TOP) != 0u)
                      : inner_y ? (have & REC_NEED_LEFT) != 0u
                                : (have & REC_NEED_CORNER) != 0u;
        got |= corner ? REC_NEED_CORNER : 0u;
        good = good && mode <= REC_MAX_MODE_NXN && (REC_NEEDS(REC_NEEDS_NXN, mode) & ~got) == 0u;
    }
    return good;
}

/* Intra16x16PredMode, intra_chroma_pred_mode (Tables 8-4, 8-5) */
bool whole_good(uint have)
{
    uint mode = mb.modes.x & 15u;
    return mode <= REC_MAX_MODE_16X16 && (REC_NEEDS(REC_NEEDS_16X16, mode) & ~have) == 0u;
}

bool chroma_good(uint have)
{
    uint mode = mb.chroma_mode;
    return mode <= REC_MAX_MODE_CHROMA && (REC_NEEDS(REC_NEEDS_CHROMA, mode) & ~have) == 0u;
}

/* Without MBAFF both halves of A are one macroblock, and REC_AVAIL_D8 is not used. */
bool avail_good(place p)
{
    uint a = mb.avail & REC_AVAIL_A;
    uint there = (p.left ? REC_AVAIL_A : 0u) | (p.top ? REC_AVAIL_B : 0u) |
                 (p.top && p.right ? REC_AVAIL_C : 0u) | (p.top && p.left ? REC_AVAIL_D : 0u);
    return (mb.avail & ~there) == 0u && (a == 0u || a == REC_AVAIL_A);
}

bool intra_good(der_picture picture, place p, uvec2 refs)
{
    uint have = ((mb.avail & REC_AVAIL_A) != 0u ? REC_NEED_LEFT : 0u) |
                ((mb.avail & REC_AVAIL_B) != 0u ? REC_NEED_TOP : 0u) |
                ((mb.avail & REC_AVAIL_D) != 0u ? REC_NEED_CORNER : 0u);
    if (!avail_good(p) || (refs.x & refs.y) != 0xffffffffu)
        return false;
    if (mb.kind == REC_MB_INTRA_PCM)
        return true;
    if (picture.chroma_blocks != 0u && !chroma_good(have))
        return false;
    return mb.kind == REC_MB_INTRA_16X16 ? whole_good(have)
                                         : nxn_good(have, mb.kind == REC_MB_INTRA_8X8 ? 4u : 1u);
}

#endif
