/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CAVLC: Exp-Golomb codes (9.1) and the syntax elements of macroblocks, as codec/bits.h and
 * codec/mb_layer.c read them. They have the names of entropy_elements.glsl, and take arguments that
 * only contexts need.
 *
 * The next bits are the upper `ahead` ones of `value`, and those below are 0. After bits_ready
 * there are 16 at least.
 */
#ifndef PELTON_ENTROPY_CODES_GLSL
#define PELTON_ENTROPY_CODES_GLSL

const uint RUN_NONE = 0xffffffffu;
uint skip_run; /* what is left of mb_skip_run; RUN_NONE: the next one is to be read */
uint end_bit;  /* of rbsp_stop_one_bit */

void bits_ready()
{
    reader_fill(16, 16);
}

/* After bits_ready, 16 at most. */
void bits_skip(uint n)
{
    value <<= n;
    ahead -= int(n);
}

/* u(n), 16 at most */
uint bits_read(uint n)
{
    bits_ready();
    uint v = value >> 1 >> (31u - n);
    bits_skip(n);
    return v;
}

/* Zero bits before the first one, `most` of them at most. */
uint bits_zeros(uint most)
{
    return min(31u - uint(findMSB(value | 1u)), most);
}

/* There are no contexts. */
void fill_contexts(bool paused, uint index, uint thread, uint step)
{
}

uvec4 category_of(uint block)
{
    return uvec4(0u);
}

/* At a byte of the slice's RBSP */
void engine_start(uint byte)
{
    reader_begin(slice.word * 2u + (byte >> 1));
    value = 0u;
    ahead = 0;
    bits_ready();
    bits_skip((byte & 1u) * 8u);
}

/* The last byte of the RBSP has the stop bit. */
void coder_begin()
{
    uint last = slice.size - 1u;
    uint byte = words[slice.word + (last >> 2)] >> (last & 3u) * 8u & 255u;
    end_bit = last * 8u + 7u - uint(max(findLSB(byte), 0));
    skip_run = RUN_NONE;
    engine_start(slice.start >> 3);
    bits_ready();
    bits_skip(slice.start & 7u);
}

void coder_pause(uint index)
{
    saved[index].coder = skip_run;
}

void coder_resume(uint index)
{
    skip_run = saved[index].coder;
}

bool overrun()
{
    return engine_position() > end_bit;
}

/* More than 15 zeros before the one. */
uint ue_long(uint zeros)
{
    bits_skip(zeros);
    if (zeros == 16u) {
        bits_ready();
        uint more = bits_zeros(16u);
        failed = failed || more == 16u; /* no code is so long */
        bits_skip(more);
        zeros += more;
    }
    zeros = min(zeros, 31u);
    bits_read(1u);
    uint high = bits_read(max(zeros, 16u) - 16u), low = bits_read(min(zeros, 16u));
    return (1u << zeros) - 1u + (high << 16 | low);
}

uint ue()
{
    bits_ready();
    uint zeros = bits_zeros(16u);
    if (zeros > 7u)
        return ue_long(zeros);
    uint v = (value >> 31u - 2u * zeros) - 1u;
    bits_skip(2u * zeros + 1u);
    return v;
}

int se()
{
    uint k = ue();
    return (k & 1u) != 0u ? int((k >> 1) + 1u) : -int(k >> 1);
}

/* An element below `end`, or 0. */
uint ue_below(uint end)
{
    uint v = ue();
    failed = failed || v >= end;
    return v < end ? v : 0u;
}

uint mb_type()
{
    return ue_below(26u + (slice.type == I_SLICE ? 0u : slice.type == P_SLICE ? 5u : 23u));
}

uint sub_mb_type()
{
    return ue_below(slice.type == B_SLICE ? 13u : 4u);
}

/* te(v) */
uint ref_idx(uint list, uint inc)
{
    return slice.num_ref[list] == 2 ? 1u - bits_read(1u) : ue();
}

int mvd_component(uint i, uint sum)
{
    return se();
}

int mb_qp_delta()
{
    return se();
}

bool transform_size_8x8_flag()
{
    return bits_read(1u) != 0u;
}

void modes_begin()
{
}

void modes_end()
{
}

/* -1: prev_intra4x4_pred_mode_flag, else rem_intra4x4_pred_mode */
int intra_pred_mode()
{
    return bits_read(1u) != 0u ? -1 : int(bits_read(3u));
}

uint intra_chroma_pred_mode()
{
    return ue_below(4u);
}

/* Table 9-4 */
uint coded_block_pattern()
{
    uint chroma = slice.chroma_blocks == 0 ? 0u : 1u, inter = kind == REC_MB_INTER ? 1u : 0u;
    return uint(tables.cbp[chroma][inter][ue_below(chroma != 0u ? 48u : 16u)]);
}

bool mb_skipped()
{
    if (slice.type != I_SLICE && skip_run == RUN_NONE)
        skip_run = ue_below(slice.end_mb - mb_addr + 1u);
    return slice.type != I_SLICE && skip_run != 0u;
}

/* After a macroblock: whether nothing follows. A run is followed by a macroblock, or by nothing. */
bool slice_ends()
{
    bool skipped = slice.type != I_SLICE && skip_run != 0u;
    skip_run = skipped ? skip_run - 1u : RUN_NONE;
    return (!skipped || skip_run == 0u) && engine_position() >= end_bit;
}

bool ends_at_stop_bit()
{
    return engine_position() == end_bit;
}

#endif
