/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mb_pred() and sub_mb_pred() of inter macroblocks (7.3.5.1, 7.3.5.2): reference indices and
 * differences of vectors.
 */
#ifndef PELTON_ENTROPY_INTER_GLSL
#define PELTON_ENTROPY_INTER_GLSL

uint get_mvd(uvec4 edge, uint list, uint i)
{
    uvec2 words = list == 0u ? edge.xy : edge.zw;
    return (i < 2u ? words.x : words.y) >> (i & 1u) * 16u & 0xffffu;
}

/* v where rows or columns i to i + n - 1 of the list are. */
uvec4 put_mvd(uvec4 edge, uint list, uint i, uint n, uint v)
{
    uint set = (1u << n) - 1u << i + 4u * list;
    uvec4 mask = (uvec4(set) >> uvec4(0u, 2u, 4u, 6u) & 1u) * 0xffffu |
                 (uvec4(set) >> uvec4(1u, 3u, 5u, 7u) & 1u) * 0xffff0000u;
    return edge & ~mask | v * 0x10001u & mask;
}

/* ref_idx of quadrants [qx, qx + w) x [qy, qy + h) into word and the edges; used: the partition
 * uses the list. */
void read_ref_idx(uint list, uint qx, uint qy, uint w, uint h, bool used, bool coded,
                  inout uint word)
{
    uint v = 0u, bit = list * 2u;
    if (used && coded) {
        v = ref_idx(list, (left_refs >> (bit + qy) & 1u) | (top_refs >> (bit + qx) & 1u) << 1);
        if (v >= slice.num_ref[list])
            failed = true;
    }
    if (used) [[dont_unroll]]
        for (uint y = qy; y < qy + h; y++)
            word = put_bits(word, v * 0x101u, (y * 2u + qx) * 8u, w * 8u);
    uint ones = v != 0u ? 3u : 0u;
    left_refs = put_bits(left_refs, ones, bit + qy, h);
    top_refs = put_bits(top_refs, ones, bit + qx, w);
}

/* mvd of the partition of w x h blocks at column x, row y; edges */
void read_mvd(uint list, uint x, uint y, uint w, uint h, bool used)
{
    uint packed = 0u;
    if (used) {
        uint a = get_mvd(left_mvd, list, y), b = get_mvd(top_mvd, list, x);
        int mx = 0, my = 0;
        [[dont_unroll]] for (uint i = 0u; i < 2u; i++) {
            int v = mvd_component(i, (a >> 8u * i & 255u) + (b >> 8u * i & 255u));
            if (v != bitfieldExtract(v, 0, 16))
                failed = true;
            packed |= min(uint(abs(v)), 255u) << 8u * i;
            if (i == 0u)
                mx = v;
            else
                my = v;
        }
        motion[(slice.mb_base + mb_addr) * 34u + list * 16u + y * 4u + x] =
            (uint(mx) & 0xffffu) | uint(my) << 16;
    }
    left_mvd = put_mvd(left_mvd, list, y, h, packed);
    top_mvd = put_mvd(top_mvd, list, x, w, packed);
}

/* The lists of a quadrant: of its partition in 16x16, 16x8, 8x16. Nibbles of two bits. */
uint read_sub_types(inout uint sub, inout bool transform_8x8)
{
    uint lists = 0u;
    [[dont_unroll]] for (uint q = 0u; q < 4u; q++) {
        uint sub_type = sub_mb_type();
        uint t =
            slice.type == B_SLICE ? uint(tables.sub_b[sub_type]) : uint(tables.sub_p[sub_type]);
        uint shape = t & 15u;
        sub |= shape << 8u * q;
        lists |= (t >> 4) << 2u * q;
        if (shape == SUB_DIRECT ? !is_set(ENT_DIRECT_8X8) : shape != SUB_8X8)
            transform_8x8 = false;
    }
    return lists;
}

/* A list that no partition uses. */
void list_unused(uint list)
{
    uint rest = list == 0u ? 12u : 3u; /* bits of the other one */
    left_refs &= rest;
    top_refs &= rest;
    if (list == 0u)
        left_mvd.xy = top_mvd.xy = uvec2(0u);
    else
        left_mvd.zw = top_mvd.zw = uvec2(0u);
}

/* Partitions in order, all of list 0 before all of list 1, ref_idx before mvd: part k of `parts`,
 * whose lists are bits 2k of `lists`. ref0: P_8x8ref0, every ref_idx is 0. */
void inter_partitions(uint part, uint lists, uint sub, bool ref0)
{
    uint parts = part == PART_16X16 ? 1u : part == PART_8X8 ? 4u : 2u;
    uint w = part == PART_16X16 || part == PART_16X8 ? 2u : 1u,
         h = part == PART_16X16 || part == PART_8X16 ? 2u : 1u;
    lists &= (1u << 2u * parts) - 1u;
    [[dont_unroll]] for (uint list = 0u; list < 2u; list++) {
        uint word = 0xffffffffu, used = lists >> list & 0x55u;
        bool coded = slice.num_ref[list] > 1 && !ref0;
        if (used == 0u)
            list_unused(list);
        else if (coded) /* 924 bits: four of 33 bins */
            reader_reserve();
        [[dont_unroll]] for (uint k = 0u; k < parts && used != 0u; k++) {
            uint qx = part == PART_16X8 ? 0u : k & 1u, qy = part == PART_16X8 ? k : k >> 1;
            read_ref_idx(list, qx, qy, w, h, (used >> 2u * k & 1u) != 0u, coded, word);
        }
        write_refs(list, word);
    }
    [[dont_unroll]] for (uint list = 0u; list < 2u; list++) {
        uint used = lists >> list & 0x55u;
        [[dont_unroll]] for (uint k = 0u; k < parts && used != 0u && !failed; k++) {
            uint x = part == PART_16X8 ? 0u : (k & 1u) * 2u,
                 y = part == PART_16X8 ? 2u * k : k & 2u;
            bool here = (used >> 2u * k & 1u) != 0u;
            if (here) /* 880 bits of four mvd, and 427 of cbp and mb_qp_delta */
                reader_reserve();
            uint shape = part == PART_8X8 && here ? sub >> 8u * k & 255u : SUB_8X8;
            uint pw = shape == SUB_4X8 || shape == SUB_4X4 ? 1u : 2u * w,
                 ph = shape == SUB_8X4 || shape == SUB_4X4 ? 1u : 2u * h;
            [[dont_unroll]] for (uint j = y; j < y + 2u * h; j += ph) [[dont_unroll]]
                for (uint i = x; i < x + 2u * w; i += pw)
                    read_mvd(list, i, j, pw, ph, here);
        }
    }
}

#endif
