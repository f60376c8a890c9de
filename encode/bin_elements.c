/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Binarizations of macroblock syntax elements.
 */
#include "encode/bin_elements.h"

#include "codec/cabac.h"

#include <stdlib.h>

/* Bins as a number, the first one in the highest place, one context each. */
static void bins_coded(struct bin_string *s, unsigned n, unsigned bins, const uint8_t *ctx)
{
    while (n--)
        bins_put(s, *ctx++, bins >> n & 1);
}

void bins_intra_16x16(struct bin_string *s, const uint8_t ctx[5], unsigned type)
{
    unsigned chroma = (type - 1) / 4 % 3;
    bins_terminate(s, type == 25);
    if (type == 25)
        return;
    bins_put(s, ctx[0], type > 12);
    bins_put(s, ctx[1], chroma > 0);
    if (chroma)
        bins_put(s, ctx[2], chroma == 2);
    bins_put(s, ctx[3], (type - 1) >> 1 & 1);
    bins_put(s, ctx[4], (type - 1) & 1);
}

/* 9.3.3.1.1.3 */
void bins_mb_type_i(struct bin_string *s, unsigned inc, unsigned type)
{
    static const uint8_t ctx[5] = {6, 7, 8, 9, 10};
    bins_put(s, 3 + inc, type > 0);
    if (type)
        bins_intra_16x16(s, ctx, type);
}

void bins_mb_type_p(struct bin_string *s, unsigned type)
{
    static const uint8_t text[4] = {0, 3, 2, 1};
    static const uint8_t ctx[4][3] = {{14, 15, 16}, {14, 15, 17}, {14, 15, 17}, {14, 15, 16}};
    static const uint8_t suffix[5] = {18, 19, 19, 20, 20};
    if (type < 4) {
        bins_coded(s, 3, text[type], ctx[type]);
        return;
    }
    bins_put(s, 14, 1);
    bins_put(s, 17, type > 5);
    if (type > 5)
        bins_intra_16x16(s, suffix, type - 5);
}

/* Table 9-38 */
void bins_sub_mb_type_p(struct bin_string *s, unsigned type)
{
    static const uint8_t length[4] = {1, 2, 3, 3}, text[4] = {1, 0, 3, 2}, ctx[3] = {21, 22, 23};
    bins_coded(s, length[type], text[type], ctx);
}

/* 9.3.3.1.1.6 */
void bins_ref_idx(struct bin_string *s, unsigned inc, unsigned value)
{
    unsigned ctx = 54 + inc;
    for (unsigned i = 0; i < value; i++) {
        bins_put(s, ctx, 1);
        ctx = i ? 59 : 58;
    }
    bins_put(s, ctx, 0);
}

/* UEG3, signedValFlag 1, uCoff 9 */
void bins_mvd(struct bin_string *s, unsigned vertical, unsigned sum, int mvd)
{
    unsigned magnitude = (unsigned)abs(mvd), base = vertical ? 47 : 40,
             ctx = base + (sum > 2) + (sum > 32);
    for (unsigned i = 0; i < 9; i++) {
        bins_put(s, ctx, magnitude > i);
        if (magnitude <= i)
            break;
        ctx = base + (i < 3 ? 3 + i : 6);
    }
    if (magnitude >= 9)
        bins_exp_golomb(s, 3, magnitude - 9);
    if (magnitude)
        bins_sign(s, mvd < 0);
}

void bins_intra_mode(struct bin_string *s, int rem)
{
    bins_put(s, 68, rem < 0);
    for (unsigned i = 0; i < 3 && rem >= 0; i++)
        bins_put(s, 69, (unsigned)rem >> i & 1);
}

/* 9.3.3.1.1.8 */
void bins_chroma_mode(struct bin_string *s, unsigned inc, unsigned mode)
{
    bins_put(s, 64 + inc, mode > 0);
    for (unsigned i = 1; i <= mode && i < 3; i++)
        bins_put(s, 67, mode > i);
}

/* 9.3.2.7 */
void bins_qp_delta(struct bin_string *s, bool last_delta, int delta)
{
    unsigned mapped = delta > 0 ? 2 * (unsigned)delta - 1 : 2 * (unsigned)-delta;
    for (unsigned i = 0; i <= mapped; i++)
        bins_put(s, i == 0 ? 60u + last_delta : i == 1 ? 62 : 63, i < mapped);
}

/* ---- residual_block_cabac() (7.3.5.3.3, 9.3.3.1.3) ---- */

enum { CHROMA_DC = 3 };

/* ctxIdxInc of the maps at place i of count */
static unsigned map_increment(unsigned category, bool field, unsigned count, unsigned i, bool last)
{
    if (count == 64)
        return last ? h264_cabac_last_8x8[i] : h264_cabac_sig_8x8[field][i];
    if (category == CHROMA_DC)
        return i / (count / 4) < 2 ? i / (count / 4) : 2;
    return i;
}

/* coeff_abs_level_minus1 and coeff_sign_flag of a level that is not 1 or -1; inc: the context of
 * the prefix after its first bin */
static void bins_larger(struct bin_string *s, unsigned inc, int32_t level)
{
    uint32_t rest = (uint32_t)abs(level) - 1;
    for (unsigned k = 1; k < 14 && rest >= k; k++)
        bins_put(s, inc, rest > k);
    if (rest >= 14)
        bins_exp_golomb(s, 0, rest - 14);
    bins_sign(s, level < 0);
}

/* Levels that are not 0, the last one first */
static void bins_levels(struct bin_string *s, unsigned category, const int32_t *nonzero, unsigned n)
{
    unsigned base = h264_cabac_abs_base[category], ones = 0, larger = 0,
             most = category == CHROMA_DC ? 3 : 4;
    while (n--) {
        bool one = (uint32_t)nonzero[n] + 1 <= 2;
        unsigned inc = larger ? 0 : ones < 3 ? ones + 1 : 4;
        unsigned sign = nonzero[n] < 0 ? BIN_SIGN_ONE : 0;
        bins_put(s, base + inc, !one);
        if (one) {
            s->codes[s->count - 1] |= (uint16_t)(BIN_SIGN | sign);
            ones++;
        } else {
            bins_larger(s, base + 5 + (larger < most ? larger : most), nonzero[n]);
            larger++;
        }
    }
}

/* The maps, as codes from out on; returns their end. Most places have no level, and one code each.
 */
static uint16_t *bins_maps(uint16_t *out, unsigned category, bool field, uint64_t places,
                           unsigned count)
{
    unsigned sig = h264_cabac_sig_base[field][category],
             last = h264_cabac_last_base[field][category], i = 0;
    for (; places; places &= places - 1, i++) {
        unsigned place = (unsigned)__builtin_ctzll(places), ends = !(places & (places - 1));
        for (; i < place; i++)
            *out++ = (uint16_t)((sig + map_increment(category, field, count, i, false)) << 1);
        if (i + 1 == count)
            break;
        *out++ = (uint16_t)((sig + map_increment(category, field, count, i, false)) << 1 | 1);
        *out++ = (uint16_t)((last + map_increment(category, field, count, i, true)) << 1 | ends);
    }
    return out;
}

void bins_residual(struct bin_string *s, unsigned category, bool field, uint64_t places,
                   const int32_t *nonzero, unsigned count)
{
    uint16_t *begin = s->codes + s->count, *end;
    /* the same function with a count that is known */
    if (count == 64)
        end = bins_maps(begin, category, field, places, 64);
    else if (category == CHROMA_DC)
        end = bins_maps(begin, CHROMA_DC, field, places, count);
    else
        end = bins_maps(begin, category, field, places, count == 15 ? 15 : 16);
    s->count += (size_t)(end - begin);
    bins_levels(s, category, nonzero, (unsigned)__builtin_popcountll(places));
}
