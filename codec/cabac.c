/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Start of CABAC parsing: contexts (9.3.1.1) and engine (9.3.1.2).
 */
#include "codec/cabac.h"

void h264_cabac_init_rows(uint64_t *state, unsigned model, int qp, unsigned count)
{
    const int8_t(*mn)[2] = h264_cabac_init_mn[model];
    qp = qp < 0 ? 0 : qp > 51 ? 51 : qp;
    for (unsigned i = 0; i < count; i++) {
        int pre = ((mn[i][0] * qp) >> 4) + mn[i][1];
        int high;
        pre = pre < 1 ? 1 : pre > 126 ? 126 : pre;
        high = pre >= 64;
        state[i] = h264_cabac_rows[(high ? pre - 64 : 63 - pre) << 1 | high];
    }
}

void h264_cabac_init_contexts(struct h264_cabac *c, unsigned model, int qp, unsigned count)
{
    h264_cabac_init_rows(c->state, model, qp, count);
}

void h264_cabac_start(struct h264_cabac_engine *e, const uint8_t *data, const uint8_t *end)
{
    uint64_t word;
    memcpy(&word, data, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    e->value = word >> 8 << 8 | 1 << 7;
    e->range = (uint64_t)510 << 55;
    e->next = data < end ? data + 7 : end + H264_CABAC_SPENT;
    e->end = end;
}
