/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The exposure controller against a model of a scene and a sensor. The sensor delays by two frames,
 * and the measurement returns one frame later. The model has clipping and noise. Scenes are random;
 * the seed is printed.
 */
#include "camera/ae.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { PATCHES = 64, DELAY = 3 };

struct model {
    double patch[PATCHES]; /* share of the full scale per microsecond */
    double noise;
    struct ae_exposure pipe[DELAY];
    uint64_t random;
};

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static uint64_t seed(void)
{
    const char *text = getenv("PELTON_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

/* Patches over eight stops, so that some clip. mean: of the light where nothing clips, at 10 ms. */
static void scene(struct model *m, double mean)
{
    double sum = 0;
    for (int i = 0; i < PATCHES; i++)
        sum += m->patch[i] = exp2(-6 * uniform(&m->random));
    for (int i = 0; i < PATCHES; i++)
        m->patch[i] *= mean * PATCHES / sum / 10000;
}

static struct ae_measure expose(struct model *m)
{
    struct ae_measure out = {.in_effect = m->pipe[0]};
    for (int i = 0; i < PATCHES; i++) {
        double v =
            m->patch[i] * ae_total(&m->pipe[0]) * (1 + m->noise * (uniform(&m->random) - 0.5));
        out.clipped += v >= 1 ? 1.0 / PATCHES : 0;
        out.mean += (v >= 1 ? 1 : v) / PATCHES;
    }
    return out;
}

static struct ae_measure step(struct model *m, struct ae *ae)
{
    struct ae_measure seen = expose(m);
    ae_frame(ae, &seen);
    for (int i = 0; i + 1 < DELAY; i++)
        m->pipe[i] = m->pipe[i + 1];
    m->pipe[DELAY - 1] = ae->asked;
    return seen;
}

static void start(struct model *m, struct ae *ae, const struct ae_params *p)
{
    ae_init(ae, p, &(struct ae_exposure){1000, 1, 1});
    for (int i = 0; i < DELAY; i++)
        m->pipe[i] = ae->asked;
    for (int i = 0; i < 40; i++)
        step(m, ae);
}

/* Frames until the brightness stays within 5 % of the target; the largest excess beyond it on the
 * way. */
static int settle(struct model *m, struct ae *ae, bool brighter, double *overshoot)
{
    int settled = 0;
    *overshoot = 0;
    for (int i = 0; i < 60; i++) {
        double ratio = step(m, ae).mean / ae->params.target;
        double beyond = brighter ? 1 - ratio : ratio - 1;
        *overshoot = i >= 1 && beyond > *overshoot ? beyond : *overshoot;
        if (fabs(ratio - 1) > 0.05)
            settled = i + 1;
    }
    return settled;
}

static void test_jumps(void **state)
{
    struct model m = {.noise = 0.02, .random = seed()};
    printf("seed %llu\n", (unsigned long long)m.random);
    for (int round = 0; round < 200; round++) {
        struct ae_params p;
        struct ae ae;
        double over[2];
        ae_defaults(&p);
        p.flicker_us = round % 3 == 0 ? 0 : round % 3 == 1 ? 10000 : 1e6 / 120;
        scene(&m, 0.02 * exp2(2 * uniform(&m.random)));
        start(&m, &ae, &p);
        assert_int_equal(ae.state, AE_CONVERGED);
        for (int i = 0; i < PATCHES; i++)
            m.patch[i] *= 16;
        int up = settle(&m, &ae, true, &over[0]);
        for (int i = 0; i < PATCHES; i++)
            m.patch[i] /= 16;
        int down = settle(&m, &ae, false, &over[1]);
        if (up > 12 || down > 12 || over[0] >= 0.1 || over[1] >= 0.1)
            fail_msg("round %d: %d frames up, %d down, overshoot %.3f %.3f", round, up, down,
                     over[0], over[1]);
        double first = ae.asked.time_us * ae.asked.analogue * ae.asked.digital;
        for (int i = 0; i < 300; i++) {
            step(&m, &ae);
            assert_int_equal(ae.state, AE_CONVERGED);
            assert_true(ae_total(&ae.asked) == first);
        }
    }
}

static void test_split(void **state)
{
    struct ae_params p;
    ae_defaults(&p);
    p.time_step = 7.5;
    p.analogue_step = 0.0625;
    for (double total = 1; total < 1e8; total *= 1.01) {
        for (int flicker = 0; flicker < 2; flicker++) {
            p.flicker_us = flicker ? 10000 : 0;
            struct ae_exposure e = ae_split(&p, total);
            assert_true(e.time_us >= p.time_min && e.time_us <= p.time_max);
            assert_true(e.analogue >= p.analogue_min && e.analogue <= p.analogue_max);
            assert_true(e.digital >= 1 && e.digital <= p.digital_max);
            if (flicker && total >= 10000)
                assert_true(fabs(remainder(e.time_us, 10000)) < 1e-6);
            if (e.digital > 1.2) /* more than what rounding needs */
                assert_true(e.analogue > p.analogue_max - p.analogue_step);
            if (e.analogue > 1 && !flicker)
                assert_true(e.time_us > p.time_max - p.time_step || e.analogue < 1.5);
            if (total >= p.time_min && total <= p.time_max * 16)
                assert_true(fabs(ae_total(&e) / total - 1) < 1e-9);
        }
    }
}

static void test_limits(void **state)
{
    struct model m = {.random = seed()};
    struct ae_params p;
    struct ae ae;
    ae_defaults(&p);
    scene(&m, 1e-6); /* too dark for all gains */
    start(&m, &ae, &p);
    assert_int_equal(ae.state, AE_CONVERGED);
    assert_true(ae.asked.time_us == p.time_max && ae.asked.analogue == p.analogue_max &&
                ae.asked.digital == p.digital_max);
    scene(&m, 1e5); /* too bright for the shortest time */
    for (int i = 0; i < 40; i++)
        step(&m, &ae);
    assert_int_equal(ae.state, AE_CONVERGED);
    assert_true(ae.asked.time_us == p.time_min && ae.asked.analogue == 1 && ae.asked.digital == 1);
}

static void test_lock_and_ev(void **state)
{
    struct model m = {.random = seed()};
    struct ae_params p;
    struct ae ae;
    ae_defaults(&p);
    scene(&m, 0.05);
    start(&m, &ae, &p);
    double plain = ae_total(&ae.asked);
    p.ev = -1;
    ae_configure(&ae, &p);
    for (int i = 0; i < 20; i++)
        step(&m, &ae);
    assert_true(fabs(log2(plain / ae_total(&ae.asked)) - 1) < 0.2);
    ae_lock(&ae, true);
    struct ae_exposure held = ae.asked;
    scene(&m, 1);
    for (int i = 0; i < 20; i++)
        step(&m, &ae);
    assert_int_equal(ae.state, AE_LOCKED);
    assert_memory_equal(&held, &ae.asked, sizeof(held));
    ae_set(&ae, &(struct ae_exposure){5000, 100, 0.5});
    assert_true(ae.asked.time_us == 5000 && ae.asked.analogue == p.analogue_max &&
                ae.asked.digital == 1);
    ae_lock(&ae, false);
    assert_int_equal(ae.state, AE_SEARCHING);
    for (int i = 0; i < 20; i++)
        step(&m, &ae);
    assert_int_equal(ae.state, AE_CONVERGED);
}

static void test_bad_values(void **state)
{
    struct ae_params p;
    struct ae ae;
    ae_defaults(&p);
    assert_null(ae_check(&p));
    ae_init(&ae, &p, &(struct ae_exposure){1000, 1, 1});
    struct ae_exposure before = ae.asked;
    assert_false(ae_frame(&ae, &(struct ae_measure){NAN, 0, {1000, 1, 1}}));
    assert_false(ae_frame(&ae, &(struct ae_measure){0.2, NAN, {1000, 1, 1}}));
    assert_false(ae_frame(&ae, &(struct ae_measure){0.2, 0, {0, 1, 1}}));
    assert_memory_equal(&before, &ae.asked, sizeof(before));
    double *const fields[] = {&p.target,     &p.ev,           &p.dead_band,    &p.leave_band,
                              &p.slew,       &p.flicker_us,   &p.time_min,     &p.time_max,
                              &p.time_step,  &p.analogue_min, &p.analogue_max, &p.analogue_step,
                              &p.digital_max};
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        const double good = *fields[i], bad[] = {-9, 1e9, NAN};
        for (int k = 0; k < 3; k++) {
            *fields[i] = bad[k];
            assert_non_null(ae_check(&p));
        }
        *fields[i] = good;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jumps), cmocka_unit_test(test_split), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_lock_and_ev), cmocka_unit_test(test_bad_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
