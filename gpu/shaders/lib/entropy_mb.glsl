/* SPDX-License-Identifier: BSD-2-Clause
 *
 * slice_data() (7.3.4) and macroblock_layer() (7.3.5).
 */
#ifndef PELTON_ENTROPY_MB_GLSL
#define PELTON_ENTROPY_MB_GLSL

void read_transform_size_8x8_flag()
{
    if (transform_size_8x8_flag()) {
        mb_flags |= uint(REC_MB_TRANSFORM_8X8);
        own_flags |= EDGE_TRANSFORM_8X8;
    }
}

/* All that follows coded_block_pattern. */
void residual()
{
    if (cbp == 0u && kind != REC_MB_INTRA_16X16) {
        no_residual();
        return;
    }
    if (kind != REC_MB_INTER) { /* coded_block_flag of what is not available (9.3.3.1.1.9) */
        if ((left_flags & EDGE_AVAILABLE) == 0u)
            no_left_cbf(CBF_ALL);
        top_cbf = (top_flags & EDGE_AVAILABLE) != 0u ? top_cbf : 0xffu;
    }
    int delta = mb_qp_delta();
    if (delta < -26 || delta > 25)
        failed = true;
    last_delta = delta != 0 ? 1u : 0u;
    if (delta != 0)
        set_qp((qp + delta + 52) % 52);
    if (!failed)
        coeff_blocks_reserve();
    coeff = coeff_block_next;
    if (!failed)
        residual_blocks();
}

/* Prediction syntax of an intra macroblock but I_PCM. */
void intra_prediction(uint type)
{
    if (type != 0u) { /* Table 7-11 */
        own_flags |= EDGE_NOT_I_NXN;
        kind = uint(REC_MB_INTRA_16X16);
        cbp = (type - 1u) / 4u % 3u << 4 | (type > 12u ? 15u : 0u);
        intra_modes.x = type - 1u & 3u;
        uint needs = intra_modes.x == 0u   ? NEED_B
                     : intra_modes.x == 1u ? NEED_A
                     : intra_modes.x == 2u ? 0u
                                           : NEED_ABD;
        if ((needs & ~intra_avail) != 0u || (cbp > 15u && slice.chroma_blocks == 0))
            failed = true;
        no_mode_edges();
    } else {
        if (is_set(ENT_TRANSFORM_8X8))
            read_transform_size_8x8_flag();
        bool large = mb_flags != 0u;
        kind = uint(large ? REC_MB_INTRA_8X8 : REC_MB_INTRA_4X4);
        intra_nxn_modes(large);
    }
    intra_chroma_mode();
}

/* Returns whether transform_size_8x8_flag may be there. */
bool inter_prediction(uint type, out uint part, out uint sub)
{
    uint t = slice.type == B_SLICE ? uint(tables.type_b[type]) : uint(tables.type_p[type]);
    uint lists = t >> 4;
    bool transform_8x8 = is_set(ENT_TRANSFORM_8X8);
    part = t & 15u;
    sub = 0u;
    kind = uint(REC_MB_INTER);
    no_mode_edges();
    if (part == PART_DIRECT) {
        own_flags &= ~EDGE_NOT_DIRECT;
        no_motion_edges();
        return transform_8x8 && is_set(ENT_DIRECT_8X8);
    }
    if (part == PART_8X8)
        lists = read_sub_types(sub, transform_8x8);
    inter_partitions(part, lists, sub, CAVLC && slice.type == P_SLICE && type == 4u);
    return transform_8x8;
}

/* macroblock_layer(); each of its elements is parsed at one place, whatever comes before:
 * instructions have to be fetched, and hundreds of slices are each at another one. */
void macroblock(out uint part, out uint sub)
{
    uint inter = slice.type == I_SLICE ? 0u : slice.type == P_SLICE ? 5u : 23u;
    bool transform_8x8 = false;
    part = PART_INTRA;
    sub = 0u;
    own_flags = EDGE_AVAILABLE | EDGE_CODED | EDGE_NOT_DIRECT;
    uint type = mb_type();
    if (type < inter) {
        transform_8x8 = inter_prediction(type, part, sub);
    } else {
        write_refs(0u, 0xffffffffu);
        write_refs(1u, 0xffffffffu);
        no_motion_edges();
        own_flags |= EDGE_INTRA;
        if (type - inter == 25u) {
            kind = uint(REC_MB_INTRA_PCM);
            no_mode_edges();
            intra_pcm();
            return;
        }
        intra_prediction(type - inter);
    }
    if (kind != REC_MB_INTRA_16X16)
        cbp = coded_block_pattern();
    if (transform_8x8 && (cbp & 15u) != 0u)
        read_transform_size_8x8_flag();
    if (!failed)
        residual();
}

/* Of what this dispatch has decoded. */
uint piece_weight(uint first_bit, uint first_mb)
{
    return (engine_position() - first_bit >> 3) + ENT_MB_WEIGHT * (mb_addr - first_mb);
}

/* Rows that weigh `piece`, or all to the end of the slice. Returns the status. */
uint slice_data(uint piece)
{
    uint first_bit = engine_position(), first_mb = mb_addr;
    [[dont_unroll]] do {
        if (mb_addr >= slice.end_mb)
            return uint(ENT_FAILED);
        reader_reserve(); /* 1,008 bits: all of an intra macroblock but its blocks */
        neighbours_find();
        mb_flags = coded_y = coded_c = nonzero = chroma_mode = 0u;
        coeff = coeff_block_next;
        cbp = 0u;
        intra_modes = uvec2(0u);
        uint part, sub = 0u;
        if (mb_skipped())
            part = macroblock_skip();
        else
            macroblock(part, sub);
        write_record(part, sub);
        if (failed || overrun())
            return uint(ENT_FAILED);
        neighbours_publish();
        mb_addr++;
        mb_x = mb_x + 1u == slice.mb_width ? 0u : mb_x + 1u;
        if (slice_ends())
            return uint(mb_addr == slice.end_mb && ends_at_stop_bit() ? ENT_COMPLETE : ENT_FAILED);
    } while (mb_x != 0u || piece_weight(first_bit, first_mb) < piece);
    return uint(ENT_PAUSED);
}

#endif
