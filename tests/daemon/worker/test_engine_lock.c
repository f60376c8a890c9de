/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine's lock and the maker of arrays, if the system gives no mutex or condition: they fail
 * cleanly. And the signals that leave with the lock.
 */
#include "daemon/worker/engine/engine.h"
#include "daemon/worker/memory/prefetch.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/engine/session_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static int calls, fail_at, alive;

int __real_uv_mutex_init(uv_mutex_t *mutex);
int __real_uv_cond_init(uv_cond_t *cond);
void __real_uv_mutex_destroy(uv_mutex_t *mutex);
void __real_uv_cond_destroy(uv_cond_t *cond);
int __wrap_uv_mutex_init(uv_mutex_t *mutex);
int __wrap_uv_cond_init(uv_cond_t *cond);
void __wrap_uv_mutex_destroy(uv_mutex_t *mutex);
void __wrap_uv_cond_destroy(uv_cond_t *cond);

static bool fails(void)
{
    bool now = ++calls == fail_at;
    alive += !now;
    return now;
}

int __wrap_uv_mutex_init(uv_mutex_t *mutex)
{
    return fails() ? UV_ENOMEM : __real_uv_mutex_init(mutex);
}

int __wrap_uv_cond_init(uv_cond_t *cond)
{
    return fails() ? UV_ENOMEM : __real_uv_cond_init(cond);
}

void __wrap_uv_mutex_destroy(uv_mutex_t *mutex)
{
    alive--;
    __real_uv_mutex_destroy(mutex);
}

void __wrap_uv_cond_destroy(uv_cond_t *cond)
{
    alive--;
    __real_uv_cond_destroy(cond);
}

static void begin(int at)
{
    calls = alive = 0;
    fail_at = at;
}

static void test_engine_lock_fails(void **state)
{
    struct engine *e = calloc(1, sizeof(*e));
    for (int at = 1; at <= 4; at++) {
        begin(at);
        assert_int_equal(engine_lock_init(e), PELTON_ERR_NOMEM);
        assert_int_equal(alive, 0);
    }
    begin(5);
    assert_int_equal(engine_lock_init(e), 0);
    engine_lock_destroy(e);
    assert_int_equal(alive, 0);
    free(e);
}

static void test_array_maker_fails(void **state)
{
    struct memory m;
    begin(0);
    assert_int_equal(memory_init(&m, 1), 0);
    for (int at = 1; at <= 2; at++) {
        begin(at);
        assert_null(array_maker_start(&m, NULL));
        assert_int_equal(alive, 0);
    }
    begin(0);
    memory_free(&m);
}

static void test_engine_create_fails(void **state)
{
    const struct engine_params params = {.threads = 1};
    struct engine *e = NULL;
    for (int at = 1; at <= 5; at++) { /* its lock, three conditions, the lock of its memory */
        begin(at);
        assert_int_equal(engine_create(NULL, &params, &e), PELTON_ERR_NOMEM);
        assert_null(e);
        assert_int_equal(alive, 0);
    }
}

/* The idle coder that rested last is taken first; nobody is taken twice. */
static void test_wakes(void **state)
{
    struct engine *e = calloc(1, sizeof(*e));
    struct coder coders[3] = {{.idle = true}, {.idle = true}, {.idle = true}};
    begin(0);
    assert_int_equal(engine_lock_init(e), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(uv_cond_init(&coders[i].wake), 0);
        coders[i].next_idle = e->threads.idle;
        e->threads.idle = &coders[i];
    }
    engine_lock(e);
    wake_coders(&e->schedule, 2);
    wake_device(&e->schedule);
    assert_true(coders[2].idle);
    engine_unlock(e);
    assert_false(coders[2].idle || coders[1].idle);
    assert_true(coders[0].idle);
    assert_ptr_equal(e->threads.idle, &coders[0]);
    assert_true(e->threads.device_signal);
    engine_lock(e);
    wake_coders(&e->schedule, UINT32_MAX);
    wake_coders(&e->schedule, 1); /* it does not overflow */
    e->threads.gpu_coder_sleeps = true;
    wake_gpu_coder(&e->schedule);
    engine_unlock(e);
    assert_null(e->threads.idle);
    assert_false(e->threads.gpu_coder_sleeps);
    assert_int_equal(e->schedule.wakes.coders, 0);
    for (unsigned i = 0; i < 3; i++)
        uv_cond_destroy(&coders[i].wake);
    engine_lock_destroy(e);
    free(e);
}

/* Those that a LIVE picture takes first are awake for it: one a slice, at most half of them. */
static void test_next(void **state)
{
    struct engine *e = calloc(1, sizeof(*e));
    struct coder coders[20];
    e->schedule.setting.coders = 20;
    for (unsigned i = 0; i < 20; i++) {
        coders[i] = (struct coder){.engine = e, .idle = true, .next_idle = e->threads.idle};
        e->threads.idle = &coders[i];
    }
    for (uint32_t slices = 1; slices <= 20; slices++) {
        e->schedule.live.coders = slices;
        uint32_t next = slices < LIVE_WATCH_CODERS ? slices : LIVE_WATCH_CODERS;
        for (uint32_t i = 0; i < 20; i++)
            assert_int_equal(coder_is_next(&coders[19 - i]), i < next);
    }
    e->schedule.setting.coders = 6;
    assert_true(coder_is_next(&coders[17]));
    assert_false(coder_is_next(&coders[16]));
    e->schedule.setting.coders = 1; /* the first of all in any case */
    assert_true(coder_is_next(&coders[19]));
    assert_false(coder_is_next(&coders[18]));
    e->schedule.setting.tuning.awake = 2;
    e->schedule.setting.coders = 20;
    assert_true(coder_is_next(&coders[18]));
    assert_false(coder_is_next(&coders[17]));
    e->threads.idle = NULL;
    assert_false(coder_is_next(&coders[19]));
    free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_lock_fails),
        cmocka_unit_test(test_array_maker_fails),
        cmocka_unit_test(test_engine_create_fails),
        cmocka_unit_test(test_wakes),
        cmocka_unit_test(test_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
