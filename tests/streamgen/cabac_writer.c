/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC encoding engine (9.3.4).
 */
#include "cabac_writer.h"

#include "codec/cabac.h"

void cabac_contexts(struct cabac_writer *w, unsigned model, int qp)
{
    qp = qp < 0 ? 0 : qp > 51 ? 51 : qp;
    for (unsigned i = 0; i < 1024; i++) {
        int pre = (h264_cabac_init_mn[model][i][0] * qp >> 4) + h264_cabac_init_mn[model][i][1];
        pre = pre < 1 ? 1 : pre > 126 ? 126 : pre;
        w->state[i] = (uint8_t)(pre <= 63 ? (63 - pre) << 1 : (pre - 64) << 1 | 1);
    }
}

void cabac_begin(struct cabac_writer *w, struct sink *out)
{
    w->out = out;
    w->low = 0;
    w->range = 510;
    w->outstanding = 0;
    w->first = 1;
}

/* 9.3.4.2, PutBit */
static void put_bit(struct cabac_writer *w, unsigned b)
{
    if (w->first)
        w->first = 0;
    else
        sink_u(w->out, 1, b);
    for (; w->outstanding; w->outstanding--)
        sink_u(w->out, 1, 1 - b);
}

/* One doubling of codILow */
static void shift(struct cabac_writer *w)
{
    if (w->low < 0x100) {
        put_bit(w, 0);
    } else if (w->low >= 0x200) {
        w->low -= 0x200;
        put_bit(w, 1);
    } else {
        w->low -= 0x100;
        w->outstanding++;
    }
    w->low <<= 1;
}

/* RenormE */
static void renorm(struct cabac_writer *w)
{
    while (w->range < 0x100) {
        shift(w);
        w->range <<= 1;
    }
}

void cabac_put(struct cabac_writer *w, unsigned ctx, unsigned bin)
{
    uint8_t *state = &w->state[ctx], s = *state;
    uint32_t lps = h264_cabac_states[s].lps[w->range >> 6 & 3];
    w->range -= lps;
    if (bin != (s & 1)) {
        w->low += w->range;
        w->range = lps;
        *state = h264_cabac_states[s].next[1];
    } else {
        *state = h264_cabac_states[s].next[0];
    }
    renorm(w);
}

void cabac_bypass(struct cabac_writer *w, unsigned bin)
{
    w->low <<= 1;
    if (bin)
        w->low += w->range;
    if (w->low >= 0x400) {
        put_bit(w, 1);
        w->low -= 0x400;
    } else if (w->low < 0x200) {
        put_bit(w, 0);
    } else {
        w->low -= 0x200;
        w->outstanding++;
    }
}

void cabac_terminate(struct cabac_writer *w, unsigned bin)
{
    w->range -= 2;
    if (!bin) {
        renorm(w);
        return;
    }
    w->low += w->range;
    w->range = 2; /* EncodeFlush */
    renorm(w);
    put_bit(w, w->low >> 9 & 1);
    sink_u(w->out, 2, (w->low >> 7 & 3) | 1);
}

void cabac_exp_golomb(struct cabac_writer *w, unsigned k, uint32_t v)
{
    while (v >= 1u << k) {
        cabac_bypass(w, 1);
        v -= 1u << k++;
    }
    cabac_bypass(w, 0);
    while (k--)
        cabac_bypass(w, v >> k & 1);
}
