/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The state of a slice, neighbours (6.4.9) and their edges, and the record of a macroblock.
 */
#ifndef PELTON_ENTROPY_NEIGHBOURS_GLSL
#define PELTON_ENTROPY_NEIGHBOURS_GLSL

/* QPY, QPc of Cb << 8, of Cr << 16 (8.5.6) */
uint qps_of(int luma)
{
    uint cb = chroma_qpc[clamp(luma + int(slice.chroma_qp_offset[0]), 0, 51)],
         cr = chroma_qpc[clamp(luma + int(slice.chroma_qp_offset[1]), 0, 51)];
    return uint(luma) | cb << 8 | cr << 16;
}

void set_qp(int luma)
{
    qp = luma;
    qps = qps_of(luma);
}

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
    pcm_qps = qps_of(0);
    set_qp(int(slice.qp));
    ring_base = member * RING;
    end_quad = (slice.word >> 2) + (slice.size + 15u >> 4);
    coder_begin();
}

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
        left_total = uvec2(0u);
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
        top_total = edge.mvd.xy;
    } else {
        top_flags = top_refs = top_modes = top_cbf = 0u;
        top_cbp = 0x0fu;
        top_mvd = uvec4(0u);
        top_total = uvec2(0u);
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
                              CAVLC ? top_modes : top_modes | top_cbf << 16,
                              CAVLC ? uvec4(top_total, 0u, 0u) : top_mvd));
    ring = ring + 1u == slice.mb_width ? 0u : ring + 1u;
}

void write_refs(uint list, uint word)
{
    motion[(slice.mb_base + mb_addr) * 34u + 32u + list] = word;
}

void write_record(uint part, uint sub)
{
    /* QPY of I_PCM: 7.4.5 */
    uint at = slice.mb_base + mb_addr;
    uint flags = mb_flags | (is_set(ENT_FIELD) ? uint(REC_MB_FIELD) : 0u);
    if (is_set(ENT_BYPASS) && qp == 0 && kind != REC_MB_INTRA_PCM)
        flags |= uint(REC_MB_BYPASS);
    mbs[at * 2u] = uvec4(slice.slice, coeff, coded_y | coded_c << 16,
                         coded_c >> 16 | kind << 16 | flags << 24);
    mbs[at * 2u + 1u] = uvec4((kind == REC_MB_INTRA_PCM ? pcm_qps : qps) | chroma_mode << 24,
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
    left_total = top_total = uvec2(0u);
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

#endif
