/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A slice between two dispatches: its contexts, and its state at the beginning of a row. There the
 * left edge is not available, and the edges above stand in the lines.
 */
#ifndef PELTON_ENTROPY_PIECES_GLSL
#define PELTON_ENTROPY_PIECES_GLSL

/* By the `step` threads of the slice: 9.3.1.1, or as they were left. */
void fill_contexts(bool paused, uint index, uint thread, uint step)
{
    int qp = clamp(int(slice.qp), 0, 51);
    for (uint i = thread; i < uint(ENT_CONTEXTS); i += step) {
        int m = int(tables.init[slice.model][i][0]), n = int(tables.init[slice.model][i][1]);
        int pre = clamp(((m * qp) >> 4) + n, 1, 126);
        uint8_t first = uint8_t(pre >= 64 ? (pre - 64) << 1 | 1 : (63 - pre) << 1);
        contexts[context_base + i] = paused ? saved[index].contexts[i] : first;
    }
}

void piece_pause(uint index)
{
    [[dont_unroll]] for (uint i = 0u; i < uint(ENT_CONTEXTS); i++)
        saved[index].contexts[i] = contexts[context_base + i];
    saved[index].mb_addr = mb_addr;
    saved[index].ring = ring;
    saved[index].coeff_block_next = coeff_block_next;
    saved[index].coeff_block_end = coeff_block_end;
    saved[index].range = range;
    saved[index].value = value;
    saved[index].next_half = next_half;
    saved[index].qp = int8_t(qp);
    saved[index].ahead = int8_t(ahead);
    saved[index].last_delta = uint8_t(last_delta);
}

/* After slice_begin. */
void piece_resume(uint index)
{
    mb_addr = saved[index].mb_addr;
    mb_x = mb_addr % slice.mb_width;
    ring = saved[index].ring;
    coeff_block_next = saved[index].coeff_block_next;
    coeff_block_end = saved[index].coeff_block_end;
    range = saved[index].range;
    value = saved[index].value;
    next_half = saved[index].next_half;
    qp = int(saved[index].qp);
    ahead = int(saved[index].ahead);
    last_delta = uint(saved[index].last_delta);
    next_edge = load_edge(ring);
    after_edge = load_edge(ring + 1u < slice.mb_width ? ring + 1u : 0u);
}

#endif
