/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding: buffers, shared memory, and the state of the slice and of the current
 * macroblock.
 *
 * Only the neighbours' edges are kept. The "left" edge is in registers. The "top" edges are a ring:
 * the edge of the macroblock above stands where the current macroblock's edge will stand. Memory is
 * far away, so the ring is read two macroblocks ahead, and a picture is at least three wide
 * (ENT_MIN_WIDTH). Blocks come in an order in which columns and rows grow. So each block's state
 * replaces that of its neighbour. At the end both edges are the macroblock's own.
 */
#ifndef PELTON_ENTROPY_COMMON_GLSL
#define PELTON_ENTROPY_COMMON_GLSL

#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_control_flow_attributes : require

#include "codec/abi/entropy_abi.h"
#include "gpu/shaders/lib/entropy_args.h"

layout(local_size_x_id = 0) in;
/* Slices of a workgroup: 1 to ENT_SHARE_MOST, divides its size */
layout(constant_id = 1) const uint SHARE = 1u;

layout(set = 0, binding = ENT_BIND_TABLES, scalar) readonly buffer table_buffer
{
    ent_tables tables;
};
layout(set = 0, binding = ENT_BIND_SLICES, scalar) readonly buffer slice_buffer
{
    ent_slice slices[];
};
layout(set = 0, binding = ENT_BIND_BYTES, std430) readonly buffer byte_buffer
{
    uint words[];
};
/* the same */
layout(set = 0, binding = ENT_BIND_BYTES, std430) readonly buffer quad_buffer
{
    uvec4 quads[];
};
/* two each */
layout(set = 0, binding = ENT_BIND_MBS, std430) writeonly buffer mb_buffer
{
    uvec4 mbs[];
};
/* 34 each */
layout(set = 0, binding = ENT_BIND_MOTION, std430) writeonly buffer motion_buffer
{
    uint motion[];
};
layout(set = 0, binding = ENT_BIND_SYNTAX, std430) writeonly buffer syntax_buffer
{
    uvec2 syntax[];
};
layout(set = 0, binding = ENT_BIND_COEFFS, std430) writeonly buffer coeff_buffer
{
    int16_t coeffs[];
};
layout(set = 0, binding = ENT_BIND_RESULTS, scalar) buffer result_buffer
{
    ent_result results[];
};
/* ENT_COUNTS of each picture */
layout(set = 0, binding = ENT_BIND_COUNTS, std430) buffer count_buffer
{
    uint counts[];
};
/* struct top_edge, three each */
layout(set = 0, binding = ENT_BIND_LINES, std430) buffer line_buffer
{
    uvec2 lines[];
};
layout(set = 0, binding = ENT_BIND_STATES, scalar) buffer state_buffer
{
    ent_state saved[];
};

/* What a macroblock leaves to the one below. */
struct top_edge {
    uint flags; /* EDGE_* | cbp << 12 | ref_idx > 0 << 18, a bit for each column of both lists */
    /* nibbles, mode + 1, 0: none | coded_block_flag << 16: four columns of luma, two of Cb, two of
     * Cr */
    uint modes;
    /* CABAC: |mvd|, 255 at most: 16 bits a column, x and y; two words for each list. CAVLC:
     * total_coeff, a byte a column: four of luma; two of Cb, two of Cr. */
    uvec4 mvd;
};

/* Shared memory decides how many slices are at work at once: a multiprocessor of an H200 has 48 KB
 * of it for compute shaders. So tables are there once for all slices of a workgroup, a context is a
 * byte, and lines of neighbours are not there. Here is what both codings have. */
shared uint8_t scan[2 * 96]; /* frame, field: where a level goes, from these on: */
const uint SCAN_4X4 = 0u, SCAN_LUMA_DC = 16u, SCAN_8X8 = 32u, SCANS = 96u;
shared uint8_t chroma_qpc[52];
shared int16_t chroma_dc[SHARE * 8];

#ifdef PELTON_CAVLC
const bool CAVLC = true;
#else
const bool CAVLC = false;
#endif

/* mb_edge.flags of the CPU; all clear: not available */
const uint EDGE_AVAILABLE = 1u, EDGE_INTRA = 2u, EDGE_CODED = 4u, EDGE_NOT_I_NXN = 8u,
           EDGE_NOT_DIRECT = 16u, EDGE_TRANSFORM_8X8 = 32u, EDGE_CHROMA_MODE = 64u, EDGE_PCM = 128u,
           EDGE_CBF_DC = 256u;
const uint EDGE_CBP = 12u, EDGE_REFS = 18u; /* where they begin */

const uint P_SLICE = 0u, B_SLICE = 1u, I_SLICE = 2u;
const uint PART_16X16 = REC_PART_16X16, PART_16X8 = REC_PART_16X8, PART_8X16 = REC_PART_8X16,
           PART_8X8 = REC_PART_8X8, PART_SKIP = REC_PART_SKIP, PART_DIRECT = REC_PART_DIRECT,
           PART_INTRA = REC_PART_INTRA;
const uint SUB_8X8 = REC_SUB_8X8, SUB_8X4 = REC_SUB_8X4, SUB_4X8 = REC_SUB_4X8,
           SUB_4X4 = REC_SUB_4X4, SUB_DIRECT = REC_SUB_DIRECT;

/* of the slice */
ent_slice slice;
/* the slice's place in the workgroup, its part of shared memory; 1 where ENT_FIELD is set */
uint member, chroma_dc_base, field_pic;
uint ring; /* macroblocks since the slice's first one, modulo mb_width */
/* what is above the next macroblock, and above the one after that */
top_edge next_edge, after_edge;
uint coeff_block_next, coeff_block_end; /* in the picture */
uint coeff_blocks_per_mb;
int qp;
uint qps, pcm_qps; /* qps_of(qp), qps_of(0) */
uint last_delta;
bool failed;

/* of the macroblock */
uint mb_addr, mb_x;
uint d_flags;               /* of the macroblock above left */
uint left_flags, top_flags; /* EDGE_* */
uint left_cbp, top_cbp;
uint left_refs, top_refs;   /* ref_idx > 0: rows and columns, two bits for each list */
uint left_modes, top_modes; /* nibbles of rows and columns */
/* the grids of all components; columns: four bits of luma, two of Cb, two of Cr */
uint left_cbf[3], top_cbf;
uvec4 left_mvd, top_mvd;     /* rows and columns, two words for each list */
uvec2 left_total, top_total; /* CAVLC: the same of total_coeff: luma, chroma */
uint own_flags;
uint intra_avail, deblock;
uint cbp;
uint kind, mb_flags, coded_y, coded_c, nonzero, coeff, chroma_mode;
uvec2 intra_modes;

top_edge load_edge(uint at)
{
    uint i = (slice.line + at) * 3u;
    uvec2 first = lines[i];
    return top_edge(first.x, first.y, uvec4(lines[i + 1u], lines[i + 2u]));
}

void store_edge(uint at, top_edge edge)
{
    uint i = (slice.line + at) * 3u;
    lines[i] = uvec2(edge.flags, edge.modes);
    lines[i + 1u] = edge.mvd.xy;
    lines[i + 2u] = edge.mvd.zw;
}

bool is_set(uint flag)
{
    return (uint(slice.flags) & flag) != 0u;
}

/* Bits i of a word, n wide, become v. */
uint put_bits(uint word, uint v, uint i, uint n)
{
    return bitfieldInsert(word, v, int(i), int(n));
}

uint get_bits(uint word, uint i, uint n)
{
    return bitfieldExtract(word, int(i), int(n));
}

/* Most that the coefficient blocks of a macroblock take are reserved for a few macroblocks at once
 * (COEFF_BLOCK_CHUNK_MBS of the CPU). */
void coeff_blocks_reserve()
{
    if (coeff_block_end - coeff_block_next >= coeff_blocks_per_mb)
        return;
    uint n = min(slice.end_mb - mb_addr, 8u) * coeff_blocks_per_mb;
    uint start = atomicAdd(counts[slice.picture * ENT_COUNTS + ENT_COUNT_BLOCKS], n);
    if (start > slice.coeff_block_count || n > slice.coeff_block_count - start) {
        failed = true;
        coeff_block_next = coeff_block_end = 0u;
        return;
    }
    if (start != coeff_block_end) /* else the rest of the last chunk goes on in the new one */
        coeff_block_next = start;
    coeff_block_end = start + n;
}

/* What is left goes back where no other slice has taken more since. */
void coeff_blocks_return()
{
    if (coeff_block_next < coeff_block_end)
        atomicCompSwap(counts[slice.picture * ENT_COUNTS + ENT_COUNT_BLOCKS], coeff_block_end,
                       coeff_block_next);
}

#endif
