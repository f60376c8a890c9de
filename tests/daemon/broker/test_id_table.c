/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of numbers, against an array.
 */
#include "daemon/broker/id_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { IDS = 3000, ROUNDS = 200000 };

static void empty(void **state)
{
    struct id_table t = {0};
    assert_null(id_table_find(&t, 1));
    id_table_remove(&t, 1);
    id_table_free(&t);
}

static void against_an_array(void **state)
{
    static char values[IDS], present[IDS];
    struct id_table t = {0};
    uint32_t random = 1, count = 0;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1664525 + 1013904223;
        /* numbers that follow each other, and far ones */
        uint32_t n = (random >> 8) % IDS, id = n % 2 ? n : n << 16;
        assert_ptr_equal(id_table_find(&t, id), present[n] ? &values[n] : NULL);
        if (present[n]) {
            id_table_remove(&t, id);
        } else {
            assert_true(id_table_reserve(&t, t.count + 1));
            id_table_put(&t, id, &values[n]);
        }
        present[n] = !present[n];
        count += present[n] ? 1 : -1u;
        assert_int_equal(t.count, count);
    }
    for (uint32_t n = 0; n < IDS; n++)
        assert_ptr_equal(id_table_find(&t, n % 2 ? n : n << 16), present[n] ? &values[n] : NULL);
    id_table_free(&t);
}

static void room_that_was_reserved(void **state)
{
    struct id_table t = {0};
    char value;
    assert_true(id_table_reserve(&t, 100));
    const void *entries = t.entries;
    for (uint32_t i = 0; i < 100; i++)
        id_table_put(&t, i * 4096, &value);
    assert_ptr_equal(t.entries, entries);
    assert_true(id_table_reserve(&t, 100));
    assert_ptr_equal(t.entries, entries);
    id_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty),
        cmocka_unit_test(against_an_array),
        cmocka_unit_test(room_that_was_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
