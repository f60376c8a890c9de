/* SPDX-License-Identifier: BSD-2-Clause
 *
 * slice_data() (7.3.4), macroblock_layer() (7.3.5), mb_pred() and sub_mb_pred() (7.3.5.1, 7.3.5.2).
 */
#ifndef PELTON_ENTROPY_MB_GLSL
#define PELTON_ENTROPY_MB_GLSL

void slice_begin()
{
    coeff_block_next = coeff_block_end = 0u;
    coeff_blocks_per_mb = 16u + 2u * uint(slice.chroma_blocks);
    last_delta = 0u;
    failed = false;
    mb_addr = slice.first_mb;
    mb_x = mb_addr % slice.mb_width;
    ring = 0u;
    next_edge = after_edge = top_edge(0u, 0u, uvec4(0u));
    d_flags = 0u;
    qp = int(slice.qp);
    end_half = slice.word * 2u + (slice.size + 1u >> 1);
    engine_start(slice.start);
}

/* ---- neighbours (6.4.9), records ---- */

bool serves_intra(uint flags)
{
    return (flags & (is_set(ENT_CONSTRAINED_INTRA) ? EDGE_INTRA : EDGE_AVAILABLE)) != 0u;
}

void no_left_cbf(uint grid)
{
    left_cbf[0] = left_cbf[1] = left_cbf[2] = grid;
}

/* left_* hold what the macroblock before left. */
void neighbours_find()
{
    uint w = slice.mb_width, since = mb_addr - slice.first_mb;
    bool a = mb_x > 0u && since >= 1u, b = since >= w, c = mb_x + 1u < w && since + 1u >= w,
         d = mb_x > 0u && since >= w + 1u;
    if (!a) {
        left_flags = left_refs = left_modes = 0u;
        no_left_cbf(0u);
        left_cbp = 0x0fu;
        left_mvd = uvec4(0u);
    }
    top_edge edge = next_edge;
    next_edge = after_edge;
    if (since + 2u >= w)
        after_edge = load_edge(ring + 2u < w ? ring + 2u : ring + 2u - w);
    if (b) {
        top_flags = get_bits(edge.flags, 0u, EDGE_CBP);
        top_cbp = get_bits(edge.flags, EDGE_CBP, 6u);
        top_refs = get_bits(edge.flags, EDGE_REFS, 4u);
        top_modes = edge.modes & 0xffffu;
        top_cbf = edge.modes >> 16;
        top_mvd = edge.mvd;
    } else {
        top_flags = top_refs = top_modes = top_cbf = 0u;
        top_cbp = 0x0fu;
        top_mvd = uvec4(0u);
    }
    intra_avail = serves_intra(left_flags) ? uint(REC_AVAIL_A) : 0u;
    intra_avail |= serves_intra(top_flags) ? uint(REC_AVAIL_B) : 0u;
    intra_avail |=
        c && serves_intra(get_bits(next_edge.flags, 0u, EDGE_CBP)) ? uint(REC_AVAIL_C) : 0u;
    intra_avail |= d && serves_intra(d_flags) ? uint(REC_AVAIL_D) : 0u;
    bool within = slice.deblock_idc == 2;
    deblock = slice.deblock_idc == 1
                  ? 0u
                  : uint(REC_DEBLOCK_INTERNAL) |
                        ((within ? a : mb_x > 0u) ? uint(REC_DEBLOCK_LEFT) : 0u) |
                        ((within ? b : mb_addr >= w) ? uint(REC_DEBLOCK_TOP) : 0u);
}

/* The edges have run to the right and to the bottom: they are the macroblock's own. */
void neighbours_publish()
{
    d_flags = top_flags; /* of this slice or 0 */
    left_flags = own_flags;
    left_cbp = cbp;
    store_edge(ring, top_edge(own_flags | cbp << EDGE_CBP | top_refs << EDGE_REFS,
                              top_modes | top_cbf << 16, top_mvd));
    ring = ring + 1u == slice.mb_width ? 0u : ring + 1u;
}

void write_refs(uint list, uint word)
{
    motion[(slice.mb_base + mb_addr) * 34u + 32u + list] = word;
}

/* QPc of Cb, of Cr << 8 (8.5.6) */
uint chroma_qps(int luma)
{
    uint v = 0u;
    [[dont_unroll]] for (int i = 0; i < 2; i++)
        v |= uint(chroma_qpc[clamp(luma + int(slice.chroma_qp_offset[i]), 0, 51)]) << 8 * i;
    return v;
}

void write_record(uint part, uint sub)
{
    /* QPY of I_PCM: 7.4.5 */
    uint at = slice.mb_base + mb_addr, record_qp = kind == REC_MB_INTRA_PCM ? 0u : uint(qp);
    uint flags = mb_flags | (is_set(ENT_FIELD) ? uint(REC_MB_FIELD) : 0u);
    if (is_set(ENT_BYPASS) && record_qp == 0u && kind != REC_MB_INTRA_PCM)
        flags |= uint(REC_MB_BYPASS);
    mbs[at * 2u] = uvec4(slice.slice, coeff, coded_y | coded_c << 16,
                         coded_c >> 16 | kind << 16 | flags << 24);
    mbs[at * 2u + 1u] = uvec4(record_qp | chroma_qps(int(record_qp)) << 8 | chroma_mode << 24,
                              intra_avail | deblock << 8 | nonzero << 16, intra_modes);
    syntax[at] = uvec2(part | sub << 8, sub >> 24 | 1u << 8);
}

void no_motion_edges()
{
    left_mvd = top_mvd = uvec4(0u);
    left_refs = top_refs = 0u;
}

void no_mode_edges()
{
    left_modes = top_modes = is_set(ENT_CONSTRAINED_INTRA) && kind == REC_MB_INTER ? 0u : 0x3333u;
}

void no_residual()
{
    last_delta = 0u;
    no_left_cbf(0u);
    top_cbf = 0u;
}

/* P_Skip, B_Skip. Returns the shape. */
uint macroblock_skip()
{
    bool direct = slice.type == B_SLICE;
    kind = uint(REC_MB_INTER);
    mb_flags = uint(REC_MB_SKIP);
    if (!direct) {
        write_refs(0u, 0u);
        write_refs(1u, 0xffffffffu);
    }
    own_flags = EDGE_AVAILABLE | (direct ? 0u : EDGE_NOT_DIRECT);
    no_motion_edges();
    no_mode_edges();
    no_residual();
    return direct ? PART_DIRECT : PART_SKIP;
}

/* ---- intra ---- */

const uint NEED_A = REC_AVAIL_A, NEED_B = REC_AVAIL_B,
           NEED_ABD = REC_AVAIL_A | REC_AVAIL_B | REC_AVAIL_D;

/* Neighbours that the block at column x, row y has. */
uint block_avail(uint x, uint y)
{
    uint a = intra_avail & NEED_A;
    if (x != 0u && y != 0u)
        return NEED_ABD;
    if (x != 0u)
        return NEED_A | ((intra_avail & NEED_B) != 0u ? NEED_B | uint(REC_AVAIL_D) : 0u);
    if (y != 0u)
        return NEED_B | a | (a != 0u ? uint(REC_AVAIL_D) : 0u);
    return intra_avail & NEED_ABD;
}

/* Neighbours that Intra4x4PredMode and Intra8x8PredMode need (8.3.1.2, 8.3.2.2) */
uint mode_needs(uint mode)
{
    if (mode >= 4u && mode <= 6u)
        return NEED_ABD;
    return mode == 1u || mode == 8u ? NEED_A : mode == 2u ? 0u : NEED_B;
}

/* 8.3.1.1, 8.3.2.1. Both contexts stay in registers. */
void intra_nxn_modes(bool large)
{
    uint step = large ? 4u : 1u, ones = large ? 0xffu : 0xfu;
    uint flag_at = context_base + 68u, rem_at = context_base + 69u;
    uint flag_state = uint(contexts[flag_at]), rem_state = uint(contexts[rem_at]);
    bool all = (intra_avail & NEED_ABD) == NEED_ABD;
    [[dont_unroll]] for (uint blk = 0u; blk < 16u; blk += step) {
        uint x = (blk & 1u) | (blk >> 1 & 2u), y = (blk >> 1 & 1u) | (blk >> 2 & 2u);
        uint least = min(left_modes >> y * 4u & 15u, top_modes >> x * 4u & 15u); /* mode + 1 */
        uint mode = least == 0u ? 2u : least - 1u;
        engine_ready();
        if (!decide(states[flag_state], flag_state)) {
            uint rem = 0u;
            [[dont_unroll]] for (uint k = 1u; k < 8u; k <<= 1) {
                engine_ready();
                rem |= decide(states[rem_state], rem_state) ? k : 0u;
            }
            mode = rem < mode ? rem : rem + 1u;
        }
        if (!all && (mode_needs(mode) & ~block_avail(x, y)) != 0u)
            failed = true;
        uint nibble = mode << (blk & 7u) * 4u;
        intra_modes |= blk < 8u ? uvec2(nibble, 0u) : uvec2(0u, nibble);
        uint nibbles = (mode + 1u) * 0x11u & ones;
        left_modes = left_modes & ~(ones << y * 4u) | nibbles << y * 4u;
        top_modes = top_modes & ~(ones << x * 4u) | nibbles << x * 4u;
    }
    contexts[flag_at] = uint8_t(flag_state);
    contexts[rem_at] = uint8_t(rem_state);
}

/* 8.3.4 */
void intra_chroma_mode()
{
    if (slice.chroma_blocks == 0)
        return;
    chroma_mode = intra_chroma_pred_mode();
    if (chroma_mode != 0u)
        own_flags |= EDGE_CHROMA_MODE;
    uint needs = chroma_mode == 0u   ? 0u
                 : chroma_mode == 1u ? NEED_A
                 : chroma_mode == 2u ? NEED_B
                                     : NEED_ABD;
    if ((needs & ~intra_avail) != 0u)
        failed = true;
}

/* pcm_sample_luma, pcm_sample_chroma (7.3.5) */
void intra_pcm()
{
    uint byte = (engine_position() + 7u) >> 3,
         count = 256u + 128u * (uint(slice.chroma_blocks) >> 2);
    coeff_blocks_reserve();
    if (failed || byte > slice.size || count > slice.size - byte) {
        failed = true;
        return;
    }
    coeff = coeff_block_next;
    [[dont_unroll]] for (uint i = 0u; i < count; i++, byte++) {
        uint x, y, coeff_block;
        if (i < 256u) {
            x = i & 15u;
            y = i >> 4;
            coeff_block = (x >> 2 & 1u) | (y >> 2 & 1u) << 1 | (x >> 3) << 2 | (y >> 3) << 3;
        } else {
            x = i & 7u;
            y = i >> 3 & 7u;
            coeff_block = 16u + (i - 256u >> 6) * 4u + (x >> 2) + (y >> 2) * 2u;
        }
        uint sample_ = uint(halves[slice.word * 2u + (byte >> 1)]) >> (byte & 1u) * 8u & 255u;
        coeffs[(slice.coeff_block_base + coeff_block_next + coeff_block) * 16u + (y & 3u) * 4u +
               (x & 3u)] = int16_t(sample_);
    }
    coeff_block_next += count >> 4;
    coded_y = nonzero = 0xffffu;
    coded_c = slice.chroma_blocks == 0 ? 0u : 0xf000fu;
    own_flags |= EDGE_PCM | EDGE_NOT_I_NXN | EDGE_CBF_DC * 7u;
    cbp = 0x2fu;
    no_left_cbf(CBF_ALL);
    top_cbf = 0xffu;
    last_delta = 0u;
    engine_start(byte);
}

/* ---- inter ---- */

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
        v = ref_idx((left_refs >> (bit + qy) & 1u) | (top_refs >> (bit + qx) & 1u) << 1);
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
            int v = mvd_component(40u + 7u * i, (a >> 8u * i & 255u) + (b >> 8u * i & 255u));
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
        uint sub_type =
            walk(slice.type == B_SLICE ? uint(ENT_TREE_SUB_B) : uint(ENT_TREE_SUB_P), 0u);
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

/* Partitions in order, all of list 0 before all of list 1, ref_idx before mvd: part k of `parts`,
 * whose lists are bits 2k of `lists`. */
void inter_partitions(uint part, uint lists, uint sub)
{
    uint parts = part == PART_16X16 ? 1u : part == PART_8X8 ? 4u : 2u;
    uint w = part == PART_16X16 || part == PART_16X8 ? 2u : 1u,
         h = part == PART_16X16 || part == PART_8X16 ? 2u : 1u;
    [[dont_unroll]] for (uint list = 0u; list < 2u; list++) {
        uint word = 0xffffffffu;
        bool coded = slice.num_ref[list] > 1;
        [[dont_unroll]] for (uint k = 0u; k < parts; k++) {
            uint qx = part == PART_16X8 ? 0u : k & 1u, qy = part == PART_16X8 ? k : k >> 1;
            read_ref_idx(list, qx, qy, w, h, (lists >> (2u * k + list) & 1u) != 0u, coded, word);
        }
        write_refs(list, word);
    }
    [[dont_unroll]] for (uint list = 0u; list < 2u; list++) {
        [[dont_unroll]] for (uint k = 0u; k < parts && !failed; k++) {
            uint x = part == PART_16X8 ? 0u : (k & 1u) * 2u,
                 y = part == PART_16X8 ? 2u * k : k & 2u;
            bool used = (lists >> (2u * k + list) & 1u) != 0u;
            uint shape = part == PART_8X8 && used ? sub >> 8u * k & 255u : SUB_8X8;
            uint pw = shape == SUB_4X8 || shape == SUB_4X4 ? 1u : 2u * w,
                 ph = shape == SUB_8X4 || shape == SUB_4X4 ? 1u : 2u * h;
            [[dont_unroll]] for (uint j = y; j < y + 2u * h; j += ph) [[dont_unroll]]
                for (uint i = x; i < x + 2u * w; i += pw)
                    read_mvd(list, i, j, pw, ph, used);
        }
    }
}

/* ---- macroblock ---- */

void read_transform_size_8x8_flag()
{
    if (bin(399u + flags_inc(EDGE_TRANSFORM_8X8)) != 0u) {
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
    qp = (qp + delta + 52) % 52;
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
    inter_partitions(part, lists, sub);
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

/* True when the slice has gone through to its end. */
bool slice_data()
{
    [[dont_unroll]] do {
        if (mb_addr >= slice.end_mb)
            return false;
        neighbours_find();
        mb_flags = coded_y = coded_c = nonzero = chroma_mode = 0u;
        coeff = coeff_block_next;
        cbp = 0u;
        intra_modes = uvec2(0u);
        uint part, sub = 0u;
        if (slice.type != I_SLICE &&
            bin((slice.type == B_SLICE ? 24u : 11u) + flags_inc(EDGE_CODED)) != 0u)
            part = macroblock_skip();
        else
            macroblock(part, sub);
        write_record(part, sub);
        if (failed || engine_position() > slice.size * 8u)
            return false;
        neighbours_publish();
        mb_addr++;
        mb_x = mb_x + 1u == slice.mb_width ? 0u : mb_x + 1u;
    } while (!terminate());
    return mb_addr == slice.end_mb;
}

#endif
