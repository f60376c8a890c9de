/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC engine. The standard's encoder (9.3.4.2) writes bins, and the test reads them back:
 * contexts, bypass, termination, and restarts after raw bytes as for I_PCM. Built twice if step 2
 * is (step2_bmi2.h).
 */
#include "codec/cabac.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define CAPACITY (1 << 20)

struct encoder {
    uint8_t *data;
    size_t bits;
    uint32_t low, range, outstanding;
    bool first;
    uint8_t state[H264_CABAC_CONTEXTS];
};

enum op { OP_DECIDE, OP_BYPASS, OP_TERMINATE, OP_RAW };

struct bin {
    uint8_t op, value;
    uint16_t ctx;
};

static uint32_t seed;

static uint32_t rnd(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

static void write_bit(struct encoder *e, unsigned bit)
{
    assert_true(e->bits / 8 < CAPACITY);
    e->data[e->bits / 8] |= (uint8_t)(bit << (7 - e->bits % 8));
    e->bits++;
}

static void put_bit(struct encoder *e, unsigned bit)
{
    if (e->first)
        e->first = false;
    else
        write_bit(e, bit);
    for (; e->outstanding; e->outstanding--)
        write_bit(e, !bit);
}

static void encoder_start(struct encoder *e)
{
    e->low = 0;
    e->range = 510;
    e->first = true;
    e->outstanding = 0;
}

static void renorm(struct encoder *e)
{
    while (e->range < 256) {
        if (e->low < 256) {
            put_bit(e, 0);
        } else if (e->low >= 512) {
            e->low -= 512;
            put_bit(e, 1);
        } else {
            e->low -= 256;
            e->outstanding++;
        }
        e->range <<= 1;
        e->low <<= 1;
    }
}

static void encode(struct encoder *e, unsigned ctx, unsigned bin)
{
    unsigned s = e->state[ctx], lps = h264_cabac_states[s].lps[e->range >> 6 & 3],
             is_lps = bin != (s & 1);
    e->range -= lps;
    if (is_lps) {
        e->low += e->range;
        e->range = lps;
    }
    e->state[ctx] = h264_cabac_states[s].next[is_lps];
    renorm(e);
}

static void encode_bypass(struct encoder *e, unsigned bin)
{
    e->low <<= 1;
    if (bin)
        e->low += e->range;
    if (e->low >= 1024) {
        put_bit(e, 1);
        e->low -= 1024;
    } else if (e->low < 512) {
        put_bit(e, 0);
    } else {
        e->low -= 512;
        e->outstanding++;
    }
}

static void encode_terminate(struct encoder *e, unsigned bin)
{
    e->range -= 2;
    if (bin) {
        e->low += e->range;
        e->range = 2;
        renorm(e);
        put_bit(e, e->low >> 9 & 1);
        write_bit(e, e->low >> 8 & 1);
        write_bit(e, 1);
    } else {
        renorm(e);
    }
}

static void init_states(uint8_t *state)
{
    for (unsigned i = 0; i < H264_CABAC_CONTEXTS; i++)
        state[i] = (uint8_t)(i % 126);
}

static void init_contexts(struct h264_cabac *c)
{
    uint8_t state[H264_CABAC_CONTEXTS];
    init_states(state);
    for (unsigned i = 0; i < H264_CABAC_CONTEXTS; i++)
        c->state[i] = h264_cabac_rows[state[i]];
}

/* pStateIdx << 1 | valMPS of a context */
static unsigned state_of(const uint64_t *context)
{
    unsigned s = 0;
    while (s < 128 && h264_cabac_rows[s] != *context)
        s++;
    assert_true(s < 128);
    assert_int_equal(h264_cabac_states[s].mps, s & 1);
    return s;
}

static void write_bins(struct encoder *e, struct bin *bins, unsigned n, unsigned bias)
{
    encoder_start(e);
    init_states(e->state);
    for (unsigned i = 0; i < n; i++) {
        struct bin *b = &bins[i];
        unsigned kind = rnd(100);
        b->ctx = (uint16_t)rnd(H264_CABAC_CONTEXTS);
        b->value = rnd(100) < bias;
        b->op = kind < 70 ? OP_DECIDE : kind < 95 ? OP_BYPASS : kind < 99 ? OP_TERMINATE : OP_RAW;
        if (b->op == OP_DECIDE) {
            encode(e, b->ctx, b->value);
        } else if (b->op == OP_BYPASS) {
            encode_bypass(e, b->value);
        } else if (b->op == OP_TERMINATE) {
            encode_terminate(e, 0);
        } else { /* a terminating bin, alignment, ctx % 5 bytes, a new start */
            encode_terminate(e, 1);
            e->bits = (e->bits + 7) & ~(size_t)7;
            for (unsigned k = 0; k < b->ctx % 5u * 8; k++)
                write_bit(e, k & 1);
            encoder_start(e);
        }
    }
    encode_terminate(e, 1);
}

/* Either way to decode a bin */
static unsigned decide(struct h264_cabac_engine *e, uint64_t *context, bool branch)
{
    unsigned bin;
    if (!branch)
        return h264_cabac_decide(e, context);
    bin = h264_cabac_bin(e, context);
    h264_cabac_ready(e);
    return bin;
}

static void read_bins(const struct encoder *e, const struct bin *bins, unsigned n)
{
    const uint8_t *end = e->data + (e->bits + 7) / 8;
    static struct h264_cabac c;
    init_contexts(&c);
    h264_cabac_start(&c.e, e->data, end);
    for (unsigned i = 0; i < n; i++) {
        const struct bin *b = &bins[i];
        if (i % 5 == 0)
            h264_cabac_fill(&c.e);
        if (b->op == OP_DECIDE) {
            assert_int_equal(decide(&c.e, &c.state[b->ctx], i & 1), b->value);
        } else if (b->op == OP_BYPASS) {
            assert_int_equal(h264_cabac_bypass(&c.e), b->value);
        } else if (b->op == OP_TERMINATE) {
            assert_int_equal(h264_cabac_terminate(&c.e), 0);
        } else {
            const uint8_t *raw;
            assert_int_equal(h264_cabac_terminate(&c.e), 1);
            raw = h264_cabac_tail(&c.e);
            for (unsigned k = 0; k < b->ctx % 5u; k++)
                assert_int_equal(raw[k], 0x55);
            h264_cabac_start(&c.e, raw + b->ctx % 5u, end);
        }
        assert_false(h264_cabac_overrun(&c.e));
    }
    assert_int_equal(h264_cabac_terminate(&c.e), 1);
    assert_ptr_equal(h264_cabac_tail(&c.e), end);
    for (unsigned i = 0; i < H264_CABAC_CONTEXTS; i++)
        assert_int_equal(state_of(&c.state[i]), e->state[i]);
}

static void bins_round_trip(void **state)
{
    static const unsigned bias[5] = {0, 3, 50, 97, 100};
    struct bin *bins = calloc(20000, sizeof(*bins));
    static struct encoder e;
    assert_non_null(bins);
    seed = 4711;
    print_message("seed %u\n", seed);
    e.data = malloc(CAPACITY + H264_BITS_PADDING);
    assert_non_null(e.data);
    for (unsigned run = 0; run < 300; run++) {
        unsigned n = run < 100 ? run : rnd(20000);
        memset(e.data, 0, CAPACITY + H264_BITS_PADDING);
        e.bits = 0;
        write_bins(&e, bins, n, bias[run % 5]);
        read_bins(&e, bins, n);
    }
    free(e.data);
    free(bins);
}

/* 9.3.2.3: values of every size in bypass bins */
static void exp_golomb(void **state)
{
    static struct encoder e;
    static struct h264_cabac c;
    e.data = calloc(1, CAPACITY + H264_BITS_PADDING);
    assert_non_null(e.data);
    for (unsigned k = 0; k <= 3; k += 3) {
        memset(e.data, 0, CAPACITY);
        e.bits = 0;
        encoder_start(&e);
        for (uint32_t v = 0; v < 1u << 20; v += 1 + v / 7) {
            uint32_t rest = v;
            unsigned order = k;
            for (; rest >= 1u << order; order++) {
                encode_bypass(&e, 1);
                rest -= 1u << order;
            }
            encode_bypass(&e, 0);
            while (order--)
                encode_bypass(&e, rest >> order & 1);
        }
        encode_terminate(&e, 1);
        h264_cabac_start(&c.e, e.data, e.data + (e.bits + 7) / 8);
        for (uint32_t v = 0; v < 1u << 20; v += 1 + v / 7)
            assert_int_equal(h264_cabac_exp_golomb(&c.e, k), v);
        assert_int_equal(h264_cabac_terminate(&c.e), 1);
    }
    free(e.data);
}

/* Bins past the end are noticed, and reading goes on without harm. */
static void overrun(void **state)
{
    static uint8_t data[16 + H264_BITS_PADDING];
    static struct h264_cabac c;
    for (unsigned size = 0; size <= 16; size++) {
        memset(data, 0, sizeof(data));
        memset(data, 0x6a, size);
        init_contexts(&c);
        h264_cabac_start(&c.e, data, data + size);
        assert_int_equal(h264_cabac_overrun(&c.e), size == 0);
        for (unsigned i = 0; i < 16 * 8 + 64; i++)
            h264_cabac_bypass(&c.e);
        assert_true(h264_cabac_overrun(&c.e));
        for (unsigned i = 0; i < 5000; i++)
            h264_cabac_decide(&c.e, &c.state[i % H264_CABAC_CONTEXTS]);
    }
}

/* 9.3.1.1, from the (m, n) of Tables 9-12 to 9-33 by hand */
static void contexts(void **state)
{
    static struct h264_cabac c;
    /* ctxIdx 3: (20, -15): preCtxState 17 */
    h264_cabac_init_contexts(&c, 0, 26, H264_CABAC_CONTEXTS);
    assert_int_equal(state_of(&c.state[3]), (63 - 17) << 1);
    /* ctxIdx 2: (3, 74): preCtxState 83 */
    h264_cabac_init_contexts(&c, 0, 51, H264_CABAC_CONTEXTS);
    assert_int_equal(state_of(&c.state[2]), (83 - 64) << 1 | 1);
    for (unsigned model = 0; model < 4; model++)
        for (int qp = -36; qp < 52; qp++) {
            h264_cabac_init_contexts(&c, model, qp, H264_CABAC_CONTEXTS);
            for (unsigned i = 0; i < H264_CABAC_CONTEXTS; i++)
                assert_true(state_of(&c.state[i]) < 126);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bins_round_trip),
                                       cmocka_unit_test(exp_golomb), cmocka_unit_test(overrun),
                                       cmocka_unit_test(contexts)};
#ifdef __BMI2__
    if (!__builtin_cpu_supports("bmi2"))
        return 77;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
