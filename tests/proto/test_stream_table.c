/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of streams against a plain array, with random additions and removals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/stream_table.h"

#include <stdlib.h>

enum { IDS = 4096, STEPS = 200000 };

static char marks[IDS]; /* their addresses stand for streams */

static struct pelton_stream *stream_of(uint32_t id)
{
    return (struct pelton_stream *)&marks[id];
}

static void an_empty_table_has_no_streams(void **state)
{
    struct stream_table t = {0};
    assert_null(stream_table_find(&t, 0));
    assert_null(stream_table_find(&t, 7));
    stream_table_remove(&t, 7);
    assert_int_equal(t.count, 0);
    stream_table_free(&t);
}

static void number_zero_is_the_connection(void **state)
{
    struct stream_table t = {0};
    assert_int_equal(stream_table_add(&t, 1, stream_of(1)), 0);
    assert_null(stream_table_find(&t, 0));
    stream_table_remove(&t, 0);
    assert_ptr_equal(stream_table_find(&t, 1), stream_of(1));
    stream_table_free(&t);
}

static void equals_an_array(void **state)
{
    static struct pelton_stream *model[IDS];
    struct stream_table t = {0};
    uint32_t count = 0;
    srand(1);
    for (int i = 0; i < STEPS; i++) {
        uint32_t id = 1 + (uint32_t)rand() % (IDS - 1);
        if (rand() % 3 == 0) {
            count -= model[id] != NULL;
            model[id] = NULL;
            stream_table_remove(&t, id);
        } else if (!model[id]) {
            model[id] = stream_of(id);
            count++;
            assert_int_equal(stream_table_add(&t, id, model[id]), 0);
        }
        uint32_t other = (uint32_t)rand() % IDS;
        assert_ptr_equal(stream_table_find(&t, other), model[other]);
        assert_int_equal(t.count, count);
        assert_true(2 * t.used <= t.room);
    }
    stream_table_free(&t);
}

/* Ids that only grow, as a connection gives them, do not make the table grow. */
static void opening_and_closing_needs_no_memory(void **state)
{
    struct stream_table t = {0};
    for (uint32_t id = 1; id < 100000; id++) {
        assert_int_equal(stream_table_add(&t, id, stream_of(id % IDS)), 0);
        if (id > 8)
            stream_table_remove(&t, id - 8);
    }
    assert_true(t.room <= 64);
    stream_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_has_no_streams),
        cmocka_unit_test(number_zero_is_the_connection),
        cmocka_unit_test(equals_an_array),
        cmocka_unit_test(opening_and_closing_needs_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
