/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CAVLC of transform coefficient levels (9.2).
 */
#include "encode/cavlc_writer.h"

#include <stdlib.h>

/* ---- codes ---- */

/* A code of so many zeros, a one, and the rest out of `next`, which has `width` bits. Tables go on
 * where the code has ended: then it has no one. */
static struct cavlc_code code_of(unsigned length, unsigned zeros, unsigned next, unsigned width)
{
    unsigned rest = length > zeros ? length - zeros - 1 : 0;
    return (struct cavlc_code){(uint16_t)(length > zeros ? 1u << rest | next >> (width - rest) : 0),
                               (uint8_t)length};
}

static void build_coeff_token(struct cavlc_codes *c)
{
    for (unsigned column = 0; column < 5; column++)
        for (unsigned zeros = 0; zeros < 16; zeros++)
            for (unsigned next = 0; next < 8; next++) {
                unsigned entry = h264_cavlc_coeff_token[column][zeros][next];
                if (entry)
                    c->coeff_token[column][entry >> 2 & 31][entry & 3] =
                        code_of(entry >> 8, zeros, next, 3);
            }
    for (unsigned code = 0; code < 64; code++) {
        unsigned entry = h264_cavlc_coeff_token_8[code];
        if (entry != 255)
            c->coeff_token[H264_NC_8][entry >> 2][entry & 3] =
                (struct cavlc_code){(uint16_t)code, 6};
    }
}

/* max_coeff: 4 and 8 for chroma DC, else 16 */
static void build_total_zeros(struct cavlc_codes *c, unsigned max_coeff)
{
    for (unsigned total = 1; total < max_coeff; total++)
        for (unsigned zeros = 0; zeros < 10; zeros++)
            for (unsigned next = 0; next < 4; next++) {
                uint64_t window = (uint64_t)(4 | next) << 61 >> zeros;
                unsigned entry = h264_cavlc_zeros(window, total, max_coeff);
                struct cavlc_code *to = max_coeff == 4   ? c->total_zeros_420[total - 1]
                                        : max_coeff == 8 ? c->total_zeros_422[total - 1]
                                                         : c->total_zeros[total - 1];
                if (entry && (entry & 15) + total <= max_coeff)
                    to[entry & 15] = code_of(entry >> 4, zeros, next, 2);
            }
}

static void build_run_before(struct cavlc_codes *c)
{
    for (unsigned left = 1; left <= 7; left++)
        for (unsigned run = 0; run < 15; run++)
            for (unsigned bits = 0; bits < 8; bits++) {
                unsigned entry = h264_cavlc_run_before[left - 1][bits];
                if (left == 7 && run >= 7)
                    c->run_before[6][run] = (struct cavlc_code){1, (uint8_t)(run - 3)};
                else if (entry && (entry & 15) == run)
                    c->run_before[left - 1][run] = (struct cavlc_code){
                        (uint16_t)(bits >> (3 - (entry >> 4))), (uint8_t)(entry >> 4)};
            }
}

void cavlc_codes_build(struct cavlc_codes *c)
{
    *c = (struct cavlc_codes){0};
    build_coeff_token(c);
    build_total_zeros(c, 16);
    build_total_zeros(c, 4);
    build_total_zeros(c, 8);
    build_run_before(c);
    for (unsigned chroma = 0; chroma < 2; chroma++)
        for (unsigned inter = 0; inter < 2; inter++)
            for (unsigned code = 0; code < (chroma ? 48u : 16u); code++)
                c->cbp[chroma][inter][h264_cavlc_cbp[chroma][inter][code]] = (uint8_t)code;
}

static inline void put_code(struct bit_writer *w, struct cavlc_code code)
{
    bit_writer_u(w, code.length, code.bits);
}

/* ---- levels ---- */

/* level_prefix, its one, and level_suffix (9.2.2.1) */
static void put_level(struct bit_writer *w, uint32_t code, unsigned suffix_length)
{
    unsigned prefix = 15;
    if (code >> suffix_length < (suffix_length ? 15u : 14u)) {
        bit_writer_u(w, (code >> suffix_length) + 1, 1);
        bit_writer_u(w, suffix_length, code);
        return;
    }
    if (!suffix_length && code < 30) {
        bit_writer_u(w, 15, 1);
        bit_writer_u(w, 4, code - 14);
        return;
    }
    code -= suffix_length ? 15u << suffix_length : 30;
    while (prefix > 15 ? code - ((1u << (prefix - 3)) - 4096) >= 1u << (prefix - 3) : code >= 4096)
        prefix++;
    if (prefix > 15)
        code -= (1u << (prefix - 3)) - 4096;
    bit_writer_u(w, prefix + 1, 1);
    bit_writer_u(w, prefix - 3, code);
}

static void put_levels(struct bit_writer *w, const int32_t *nonzero, unsigned total, unsigned ones)
{
    unsigned suffix_length = total > 10 && ones < 3;
    for (unsigned i = 0; i < ones; i++)
        bit_writer_u(w, 1, nonzero[i] < 0);
    for (unsigned i = ones; i < total; i++) {
        uint32_t magnitude = (uint32_t)abs(nonzero[i]), code = 2 * magnitude - 2 + (nonzero[i] < 0);
        put_level(w, i == ones && ones < 3 ? code - 2 : code, suffix_length);
        if (!suffix_length)
            suffix_length = 1;
        if (magnitude > 3u << (suffix_length - 1) && suffix_length < 6)
            suffix_length++;
    }
}

/* total_zeros and run_before (9.2.3). at: the places of the levels, last one first */
static void put_runs(struct bit_writer *w, const struct cavlc_codes *codes, const uint8_t *at,
                     unsigned total, unsigned count)
{
    unsigned zeros = at[0] + 1u - total;
    if (total < count)
        put_code(w, count == 4   ? codes->total_zeros_420[total - 1][zeros]
                    : count == 8 ? codes->total_zeros_422[total - 1][zeros]
                                 : codes->total_zeros[total - 1][zeros]);
    for (unsigned i = 0; i + 1 < total && zeros; i++) {
        unsigned run = at[i] - at[i + 1] - 1u;
        put_code(w, codes->run_before[(zeros < 7 ? zeros : 7) - 1][run]);
        zeros -= run;
    }
}

unsigned cavlc_block(struct bit_writer *w, const struct cavlc_codes *codes,
                     enum h264_nc_class nc_class, const int32_t *level, unsigned count)
{
    int32_t nonzero[16];
    uint8_t at[16];
    unsigned total = 0, ones = 0;
    for (unsigned i = count; i-- > 0;) {
        if (!level[i])
            continue;
        at[total] = (uint8_t)i;
        nonzero[total++] = level[i];
    }
    while (ones < total && ones < 3 && abs(nonzero[ones]) == 1)
        ones++;
    put_code(w, codes->coeff_token[nc_class][total][ones]);
    if (total) {
        put_levels(w, nonzero, total, ones);
        put_runs(w, codes, at, total, count);
    }
    return total;
}
