/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A slice between two dispatches: its state at the beginning of a row. There the left edge is not
 * available, and the edges above stand in the lines.
 */
#ifndef PELTON_ENTROPY_PIECES_GLSL
#define PELTON_ENTROPY_PIECES_GLSL

void piece_pause(uint index)
{
    coder_pause(index);
    saved[index].mb_addr = mb_addr;
    saved[index].ring = ring;
    saved[index].coeff_block_next = coeff_block_next;
    saved[index].coeff_block_end = coeff_block_end;
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
    coder_resume(index);
    value = saved[index].value;
    reader_begin(saved[index].next_half);
    set_qp(int(saved[index].qp));
    ahead = int(saved[index].ahead);
    last_delta = uint(saved[index].last_delta);
    next_edge = load_edge(ring);
    after_edge = load_edge(ring + 1u < slice.mb_width ? ring + 1u : 0u);
}

#endif
