/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rate control of an encoder that is simulated: lengths fall with QP, and cuts, noise and still
 * scenes come at random.
 */
#include "encode/rate_control.h"
#include "encode/bit_writer.h"
#include "tests/streamgen/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { PICTURES = 10000, IDR_PERIOD = 250 };

struct world {
    struct rng rng;
    struct encoding e;
    struct encoding_limits limits;
    struct rate_control rate;
    double detail, motion; /* of the scene */
    unsigned scene_left;
    unsigned tries, left_out;
    uint64_t filler;
};

static double uniform(struct world *w, double low, double high)
{
    return low + (high - low) * rng_below(&w->rng, 1 << 20) / (1 << 20);
}

static void begin_world(struct world *w, uint64_t seed, uint32_t rate)
{
    *w = (struct world){.rng = {seed}};
    encoding_default(&w->e, 1280, 720);
    w->e.rate = rate;
    w->e.rate_scale = 1;
    assert_int_equal(encoding_check(&w->e, &w->limits, (char[ENCODING_WHY]){0}), 0);
}

/* Another scene: noise, a still one, or any */
static bool next_picture(struct world *w)
{
    if (w->scene_left--)
        return false;
    w->scene_left = 1 + rng_below(&w->rng, 120);
    w->detail = exp(uniform(w, -2, 1));
    w->motion = rng_one_in(&w->rng, 4)   ? 0.01
                : rng_one_in(&w->rng, 4) ? 0.8
                                         : uniform(w, 0.05, 0.5);
    return true;
}

/* Bytes at a QP: a picture of 720p at QP 20 has about a bit a sample where it is intra. */
static uint64_t length_of(struct world *w, bool intra, int qp, double luck)
{
    double bits = 921600 * w->detail * (intra ? 1 : w->motion) * pow(2, (20 - qp) / 6.0) * luck;
    return (uint64_t)(bits / 8) + 400;
}

/* One picture within its cap; returns its bytes with filler. */
static uint64_t picture(struct world *w, bool idr)
{
    bool cut = next_picture(w), intra = idr || cut;
    unsigned kind = intra ? RATE_INTRA : RATE_INTER;
    double luck = uniform(w, 0.8, 1.25);
    uint64_t cap = rate_cap(&w->rate), bytes, filler;
    int qp = rate_qp(&w->rate, kind), next = qp;
    do {
        qp = next;
        bytes = length_of(w, intra, qp, luck);
        w->tries++;
        next = bytes > cap ? rate_again(&w->rate, qp, bytes) : qp;
    } while (bytes > cap && next >= 0);
    if (bytes > cap) { /* all of it is skipped */
        bytes = 300;
        kind = RATE_SKIPPED;
        w->left_out++;
    }
    if (bytes > cap)
        fail_msg("a skipped picture of %u bytes is above its cap", (unsigned)bytes);
    assert_in_range(qp, 0, 51);
    filler = rate_done(&w->rate, kind, qp, bytes);
    assert_true(filler == 0 || filler >= RATE_FILLER_LEAST);
    w->filler += filler;
    return bytes + filler;
}

/* A decoder's buffer of its own: it never lacks a picture, and never runs over. */
static void constant_rate(uint64_t bit_rate, uint64_t buffer, uint32_t rate, uint64_t seed)
{
    static struct world w;
    char why[ENCODING_WHY];
    struct rate_settings settings = {
        .mode = RATE_BITS, .qp = 12, .bit_rate = bit_rate, .buffer = buffer};
    double full, income = (double)bit_rate / rate, second = 0;
    begin_world(&w, seed, rate);
    assert_int_equal(rate_begin(&w.rate, &settings, &w.e, &w.limits, why), 0);
    full = (double)w.rate.full;
    for (unsigned i = 0; i < PICTURES; i++) {
        double bits = 8.0 * (double)picture(&w, i % IDR_PERIOD == 0);
        full -= bits;
        if (full < -1)
            fail_msg("picture %u comes %.0f bits late", i, -full);
        full += income;
        if (full > (double)w.rate.settings.buffer + 100)
            fail_msg("picture %u: the buffer holds %.0f bits more than it can", i,
                     full - (double)w.rate.settings.buffer);
        second += bits;
        if ((i + 1) % rate == 0) {
            if (fabs(second / (double)bit_rate - 1) > 0.03)
                fail_msg("second %u: %.2f of its rate", i / rate, second / (double)bit_rate);
            second = 0;
        }
    }
    print_message("%.2f tries a picture, %u of %u left out, filler %.1f percent\n",
                  (double)w.tries / PICTURES, w.left_out, PICTURES,
                  800.0 * (double)w.filler / ((double)bit_rate * PICTURES / rate));
    assert_true(w.tries < 1.5 * PICTURES);
    assert_true(w.left_out < PICTURES / 50);
}

static void constant(void **state)
{
    constant_rate(4000000, 0, 30, 1);
    constant_rate(4000000, 4000000, 25, 2);
    constant_rate(1000000, 200000, 25, 3);
    constant_rate(12000000, 1000000, 60, 4);
}

/* Constant QP is left only where the buffer asks for it. */
static void capped(void **state)
{
    static struct world w;
    struct rate_settings settings = {
        .mode = RATE_QP, .qp = 28, .bit_rate = 3000000, .buffer = 3000000};
    unsigned higher = 0;
    begin_world(&w, 5, 25);
    assert_int_equal(rate_begin(&w.rate, &settings, &w.e, &w.limits, (char[ENCODING_WHY]){0}), 0);
    for (unsigned i = 0; i < PICTURES; i++) {
        assert_true(rate_qp(&w.rate, RATE_INTER) >= 28);
        higher += rate_qp(&w.rate, RATE_INTER) > 28;
        picture(&w, false);
    }
    assert_in_range(higher, 1, PICTURES / 2);
    assert_int_equal(w.filler, 0);
    settings.bit_rate = 0;
    assert_int_equal(rate_begin(&w.rate, &settings, &w.e, &w.limits, (char[ENCODING_WHY]){0}), 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(rate_qp(&w.rate, RATE_INTRA), 28);
        assert_int_equal(rate_done(&w.rate, RATE_INTRA, 28, 500000), 0);
    }
}

/* QP of P pictures that cost so much a macroblock */
static int crf_qp(struct rate_control *r, uint64_t cost)
{
    for (unsigned i = 0; i < 20; i++)
        rate_complexity(r, 100 * cost, 100);
    return rate_qp(r, RATE_INTER);
}

/* 2.4 steps where the cost doubles, beside the 40 that each macroblock takes */
static void quality(void **state)
{
    static struct world w;
    struct rate_settings settings = {.mode = RATE_CRF, .qp = 23, .intra_less = 3};
    begin_world(&w, 5, 25);
    assert_int_equal(rate_begin(&w.rate, &settings, &w.e, &w.limits, (char[ENCODING_WHY]){0}), 0);
    assert_int_equal(rate_qp(&w.rate, RATE_INTRA), 20); /* nothing is known yet */
    assert_int_equal(crf_qp(&w.rate, 40), 23);
    assert_int_equal(rate_qp(&w.rate, RATE_INTRA), 20);
    assert_int_equal(crf_qp(&w.rate, 120), 25);
    assert_int_equal(crf_qp(&w.rate, 280), 28);
    assert_int_equal(crf_qp(&w.rate, 2520), 35);
    assert_int_equal(crf_qp(&w.rate, 0), 21);
    rate_complexity(&w.rate, 1000, 100); /* a picture alone counts half */
    assert_in_range(rate_qp(&w.rate, RATE_INTER), 21, 22);
}

static void refusals(void **state)
{
    static struct world w;
    char why[ENCODING_WHY];
    begin_world(&w, 6, 25);
    assert_int_equal(rate_begin(&w.rate, &(struct rate_settings){.mode = RATE_BITS, .qp = 12}, &w.e,
                                &w.limits, why),
                     -1);
    assert_string_equal(why, "bit rate 0: a constant bit rate needs one");
    assert_int_equal(rate_begin(&w.rate, &(struct rate_settings){.mode = RATE_QP, .qp = 52}, &w.e,
                                &w.limits, why),
                     -1);
    assert_string_equal(why, "qp 52: must be 0 to 51");
    assert_int_equal(
        rate_begin(&w.rate,
                   &(struct rate_settings){.mode = RATE_BITS, .qp = 12, .bit_rate = 100000000},
                   &w.e, &w.limits, why),
        -1);
    assert_string_equal(why, "bit rate 100000000: the level has 17500000; choose a higher level");
    assert_int_equal(
        rate_begin(&w.rate,
                   &(struct rate_settings){
                       .mode = RATE_BITS, .qp = 12, .bit_rate = 1000000, .buffer = 79999},
                   &w.e, &w.limits, why),
        -1);
    assert_string_equal(why, "buffer 79999 bits: less than two pictures at this rate; give 80000");
}

static void filler_unit(void **state)
{
    for (uint64_t bytes = RATE_FILLER_LEAST; bytes < 300; bytes++) {
        struct bit_writer out = {0};
        write_filler(bytes, &out);
        assert_int_equal(out.bits, 8 * bytes);
        assert_int_equal(out.data[4], 12);
        assert_int_equal(out.data[5], 0xff);
        assert_int_equal(out.data[bytes - 1], 0x80);
        bit_writer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(constant), cmocka_unit_test(capped),
                                       cmocka_unit_test(quality), cmocka_unit_test(refusals),
                                       cmocka_unit_test(filler_unit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
