/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rate control: the decoder's buffer (Annex C) as a leaky bucket, a budget of each second, and a
 * model of lengths by QP.
 */
#include "encode/rate_control.h"

#include "encode/bit_writer.h"

#include <inttypes.h>
#include <stdio.h>

#define LOG_ONE 64 /* of cost: a factor of 2 */

enum { QP_MOST = 51, INTRA_TIMES = 5, SMALL_SHARE = 16, LEAST_PICTURES = 2 };

/* log2(x) in 64ths, x >= 1 */
static int log2_64ths(uint64_t x)
{
    int whole = 63 - __builtin_clzll(x), result = whole;
    uint64_t y = whole > 31 ? x >> (whole - 31) : x << (31 - whole); /* 1 <= y / 2^31 < 2 */
    for (int i = 0; i < 6; i++) {
        y = y * y >> 31;
        result = 2 * result + (int)(y >> 32);
        y >>= y >> 32;
    }
    return result;
}

/* A step of QP changes the length by the sixth root of 2. */
static int cost_of(uint64_t bits, int qp)
{
    return log2_64ths(bits ? bits : 1) + qp * LOG_ONE / 6;
}

static int clamp_qp(int qp, int least)
{
    return qp < least ? least : qp > QP_MOST ? QP_MOST : qp;
}

/* ---- a picture's share of the rate ---- */

/* Bits that come in until the next picture; *left_over carries the fraction. */
static uint64_t income(const struct rate_control *r, uint64_t *left_over)
{
    uint64_t sum = r->settings.bit_rate * r->per_second_den + *left_over;
    *left_over = sum % r->per_second_num;
    return sum / r->per_second_num;
}

static uint64_t mean_income(const struct rate_control *r)
{
    return r->settings.bit_rate * r->per_second_den / r->per_second_num;
}

static void second_begin(struct rate_control *r)
{
    uint64_t pictures = (r->per_second_num + r->per_second_den / 2) / r->per_second_den;
    r->pictures_left = pictures ? (uint32_t)pictures : 1;
    r->given = r->settings.bit_rate * r->per_second_den * r->pictures_left / r->per_second_num;
    r->used = 0;
}

/* A.3.1: the first picture, and one that comes a picture's time after the one before it */
static void raw_caps(struct rate_control *r, const struct encoding_limits *limits)
{
    uint64_t mbs = (uint64_t)limits->mb_width * limits->mb_height, first = limits->mb_rate / 172,
             second = 384 * (uint64_t)limits->mb_rate / limits->min_cr;
    r->raw_cap = 384 * (mbs > first ? mbs : first) / limits->min_cr;
    r->raw_cap_next = second > UINT64_MAX / r->per_second_den
                          ? UINT64_MAX
                          : second * r->per_second_den / r->per_second_num;
}

int rate_begin(struct rate_control *r, const struct rate_settings *settings,
               const struct encoding *e, const struct encoding_limits *limits, char *why)
{
    uint64_t pixels = (uint64_t)limits->mb_width * limits->mb_height * 256;
    *r = (struct rate_control){.settings = *settings,
                               .per_second_num = e->rate ? e->rate : 25,
                               .per_second_den = e->rate ? e->rate_scale : 1};
    raw_caps(r, limits);
    if (settings->qp < 0 || settings->qp > QP_MOST)
        return snprintf(why, ENCODING_WHY, "qp %d: must be 0 to 51", settings->qp), -1;
    if (settings->mode == RATE_BITS && !settings->bit_rate)
        return snprintf(why, ENCODING_WHY, "bit rate 0: a constant bit rate needs one"), -1;
    if (settings->bit_rate > limits->bit_rate)
        return snprintf(why, ENCODING_WHY,
                        "bit rate %" PRIu64 ": the level has %" PRIu64 "; choose a higher level",
                        settings->bit_rate, limits->bit_rate),
               -1;
    if (!settings->buffer)
        r->settings.buffer = settings->bit_rate / 2;
    if (settings->bit_rate && r->settings.buffer < LEAST_PICTURES * mean_income(r))
        return snprintf(why, ENCODING_WHY,
                        "buffer %" PRIu64
                        " bits: less than two pictures at this rate; give %" PRIu64,
                        r->settings.buffer, LEAST_PICTURES * mean_income(r)),
               -1;
    r->full = r->settings.buffer / 10 * 9;
    /* a bit a sample at QP 20, a quarter of that in P pictures */
    r->cost[RATE_INTRA] = cost_of(pixels, 20);
    r->cost[RATE_INTER] = r->cost[RATE_INTRA] - 2 * LOG_ONE;
    second_begin(r);
    return 0;
}

/* ---- before a picture ---- */

/* Bits that the second may still take: 2 percent more than it was given, less a little for each
 * picture that is left of it */
static uint64_t second_cap(const struct rate_control *r)
{
    uint64_t most = r->given / 100 * 102,
             kept = mean_income(r) / SMALL_SHARE * (r->pictures_left - 1) + r->used;
    return most > kept ? most - kept : 0;
}

uint64_t rate_cap(const struct rate_control *r)
{
    uint64_t bits = r->settings.bit_rate ? r->full : UINT64_MAX, second;
    if (r->settings.mode == RATE_BITS) {
        second = second_cap(r);
        bits = second < bits ? second : bits;
    }
    return bits / 8 < r->raw_cap ? bits / 8 : r->raw_cap;
}

/* Bits that a picture should have: of the second's rest an equal share, and of an I picture several
 */
static uint64_t target(const struct rate_control *r, unsigned kind)
{
    uint64_t rest = r->given > r->used ? r->given - r->used : 0, share = rest / r->pictures_left,
             most = rate_cap(r) * 8 / 4 * 3;
    if (r->settings.mode != RATE_BITS) /* as the buffer allows: half of it */
        share = r->full / 2;
    else if (kind == RATE_INTRA)
        share = share * INTRA_TIMES < rest / 2 ? share * INTRA_TIMES : rest / 2;
    return share < most ? share : most;
}

/* QP rises by 2.4 where the cost doubles: the larger a change is from picture to picture, the less
 * is seen of it. */
enum {
    CRF_MIDDLE = 80, /* differences of samples a macroblock */
    CRF_LEAST = 40,  /* what a macroblock costs beside them */
    CRF_STEP = 154   /* 2.4 in 64ths */
};

void rate_complexity(struct rate_control *r, uint64_t cost, uint32_t mb_count)
{
    uint64_t now = (cost << 8) / mb_count + (CRF_LEAST << 8);
    r->complexity = r->complexity ? (r->complexity + now) / 2 : now;
}

static int crf_rise(const struct rate_control *r)
{
    int off = r->complexity ? log2_64ths(r->complexity) - log2_64ths(CRF_MIDDLE << 8) : 0;
    return (off * CRF_STEP + (1 << 11)) >> 12;
}

/* The least QP that a picture may have */
static int least_qp(const struct rate_control *r, unsigned kind)
{
    int qp = r->settings.qp;
    if (r->settings.mode == RATE_BITS)
        return qp;
    qp += r->settings.mode == RATE_CRF ? crf_rise(r) : 0;
    return clamp_qp(qp - (kind == RATE_INTRA ? r->settings.intra_less : 0), 0);
}

int rate_qp(const struct rate_control *r, unsigned kind)
{
    int least = least_qp(r, kind);
    uint64_t bits;
    if (!r->settings.bit_rate)
        return least;
    bits = target(r, kind);
    return clamp_qp((6 * (r->cost[kind] - log2_64ths(bits ? bits : 1)) + LOG_ONE - 1) / LOG_ONE,
                    least);
}

int rate_again(const struct rate_control *r, int qp, uint64_t bytes)
{
    uint64_t cap = rate_cap(r);
    int more = (6 * (log2_64ths(bytes) - log2_64ths(cap ? cap : 1)) + LOG_ONE - 1) / LOG_ONE + 1;
    if (qp == QP_MOST)
        return -1;
    return clamp_qp(qp + (more > 1 ? more : 1), qp + 1);
}

/* ---- after a picture ---- */

/* Filler that keeps the second within its rate at its end, and the buffer from running over */
static uint64_t filler_of(const struct rate_control *r, uint64_t coming)
{
    uint64_t least = r->given / 100 * 98, bits = 0, bytes;
    if (r->pictures_left == 1 && r->used < least)
        bits = least - r->used;
    if (r->full + coming > r->settings.buffer + bits)
        bits = r->full + coming - r->settings.buffer;
    bytes = (bits + 7) / 8;
    if (bytes && bytes < RATE_FILLER_LEAST)
        bytes = RATE_FILLER_LEAST;
    if (8 * bytes > r->full) /* none may come late */
        bytes = r->full / 8;
    return bytes < RATE_FILLER_LEAST ? 0 : bytes;
}

uint64_t rate_done(struct rate_control *r, unsigned kind, int qp, uint64_t bytes)
{
    uint64_t coming, filler = 0;
    r->raw_cap = r->raw_cap_next;
    if (kind < RATE_KINDS)
        r->cost[kind] = (r->cost[kind] + cost_of(8 * bytes, qp)) / 2;
    if (!r->settings.bit_rate)
        return 0;
    coming = income(r, &r->left_over);
    r->full -= 8 * bytes < r->full ? 8 * bytes : r->full;
    r->used += 8 * bytes;
    if (r->settings.mode == RATE_BITS) {
        filler = filler_of(r, coming);
        r->full -= 8 * filler;
        r->used += 8 * filler;
    }
    r->full += coming;
    if (r->full > r->settings.buffer)
        r->full = r->settings.buffer;
    if (--r->pictures_left == 0)
        second_begin(r);
    return filler;
}

void write_filler(uint64_t bytes, struct bit_writer *out)
{
    static const uint8_t head[5] = {0, 0, 0, 1, 12}, end[1] = {0x80}, ff[64] = {[0 ... 63] = 0xff};
    bit_writer_bytes(out, head, sizeof(head));
    for (uint64_t left = bytes - 6; left;) {
        size_t n = left < sizeof(ff) ? (size_t)left : sizeof(ff);
        bit_writer_bytes(out, ff, n);
        left -= n;
    }
    bit_writer_bytes(out, end, sizeof(end));
}
