/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Quarantine: files by identity, other sources by address; how often a worker may be restarted.
 */
#include "daemon/broker/quarantine.h"
#include "daemon/broker/restart.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void addresses(void **state)
{
    struct quarantine q = {0};
    struct quarantine_key a = quarantine_key_of(-1, "rtsp://a"), b = quarantine_key_of(-1, "b");
    quarantine_add(&q, &a, 100);
    assert_true(quarantine_has(&q, &a, 99));
    assert_false(quarantine_has(&q, &a, 100));
    assert_false(quarantine_has(&q, &b, 0));
    quarantine_add(&q, &b, 200);
    assert_true(quarantine_has(&q, &a, 0));
    assert_true(quarantine_has(&q, &b, 150));
}

/* The name does not count: another descriptor of the same file is the same source, until the file
 * changes. */
static void files(void **state)
{
    char path[] = "/tmp/pelton-quarantine-XXXXXX";
    struct quarantine q = {0};
    int fd = mkstemp(path), other = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && other >= 0);
    unlink(path);
    struct quarantine_key key = quarantine_key_of(fd, "a name");
    quarantine_add(&q, &key, 100);
    key = quarantine_key_of(other, "another name");
    assert_true(quarantine_has(&q, &key, 0));
    assert_int_equal(write(fd, "x", 1), 1);
    key = quarantine_key_of(other, "a name");
    assert_false(quarantine_has(&q, &key, 0));
    close(fd);
    close(other);
}

static void the_oldest_gives_way(void **state)
{
    struct quarantine q = {0};
    char uri[16];
    for (int i = 0; i <= QUARANTINE_SIZE; i++) {
        snprintf(uri, sizeof(uri), "u%d", i);
        struct quarantine_key key = quarantine_key_of(-1, uri);
        quarantine_add(&q, &key, 100);
    }
    for (int i = 0; i <= QUARANTINE_SIZE; i++) {
        snprintf(uri, sizeof(uri), "u%d", i);
        struct quarantine_key key = quarantine_key_of(-1, uri);
        assert_int_equal(quarantine_has(&q, &key, 0), i > 0);
    }
}

static void restarts_are_counted(void **state)
{
    struct restart_policy p = {.limit = 2, .window_ms = 100};
    assert_true(restart_allowed(&p, 1000));
    assert_true(restart_possible(&p, 1010)); /* does not count */
    assert_true(restart_possible(&p, 1010));
    assert_true(restart_allowed(&p, 1010));
    assert_false(restart_possible(&p, 1099));
    assert_false(restart_allowed(&p, 1099));
    assert_true(restart_allowed(&p, 1100)); /* the first one is out of the window */
    assert_false(restart_allowed(&p, 1109));
    assert_true(restart_allowed(&p, 1110));
}

static void no_restart_at_all(void **state)
{
    struct restart_policy none = {.limit = 0, .window_ms = 100},
                          most = {.limit = RESTART_MAX, .window_ms = 100};
    assert_false(restart_allowed(&none, 1000));
    for (int i = 0; i < RESTART_MAX; i++)
        assert_true(restart_allowed(&most, 1000));
    assert_false(restart_allowed(&most, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(files),
        cmocka_unit_test(the_oldest_gives_way),
        cmocka_unit_test(restarts_are_counted),
        cmocka_unit_test(no_restart_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
