/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC encoding engine (9.3.4): the mirror of the decoding engine, bit by bit.
 */
#ifndef PELTON_STREAMGEN_CABAC_WRITER_H
#define PELTON_STREAMGEN_CABAC_WRITER_H

#include "sink.h"

struct cabac_writer {
    struct sink *out;
    uint32_t low, range;  /* codILow, codIRange */
    uint32_t outstanding; /* bitsOutstanding */
    uint8_t first;        /* firstBitFlag */
    uint8_t state[1024];  /* pStateIdx << 1 | valMPS */
};

/* 9.3.1.1. model: 0 for I and SI slices, else 1 + cabac_init_idc; qp: SliceQPY */
void cabac_contexts(struct cabac_writer *w, unsigned model, int qp);
/* 9.3.4.1: out is at a byte boundary. */
void cabac_begin(struct cabac_writer *w, struct sink *out);
void cabac_put(struct cabac_writer *w, unsigned ctx, unsigned bin);
void cabac_bypass(struct cabac_writer *w, unsigned bin);
/* bin 1 flushes; the last bit written stands for rbsp_stop_one_bit at the end of a slice. */
void cabac_terminate(struct cabac_writer *w, unsigned bin);
/* Exp-Golomb of order k in bypass bins (9.3.2.3) */
void cabac_exp_golomb(struct cabac_writer *w, unsigned k, uint32_t v);

#endif
