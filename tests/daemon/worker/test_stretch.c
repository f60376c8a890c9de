/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stretches of a file between IDR pictures, shared by several sessions.
 */
#include "codec/h264.h"
#include "daemon/stretch_table.h"
#include "daemon/worker/source/stretch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* 'I' an IDR picture, 'f' its second field, 'p' another picture, '-' an inferred frame. Says '_'
 * for each that is left out, else '.'. */
static void run_with(struct stretch *s, const char *pictures, uint64_t left, char *out)
{
    for (; *pictures; pictures++) {
        struct h264_picture pic = {.idr = *pictures == 'I' || *pictures == 'f',
                                   .first_field = *pictures == 'f' ? &pic : NULL,
                                   .non_existing = *pictures == '-'};
        bool left_out = stretch_leaves_out(s, &pic, left);
        assert_int_equal(stretch_left_out(&pic), left_out);
        *out++ = left_out ? '_' : '.';
    }
    *out = 0;
}

static void run(struct stretch *s, const char *pictures, char *out)
{
    run_with(s, pictures, UINT64_MAX, out);
}

static void test_alone(void **state)
{
    char out[32];
    struct stretch s = {.count = 1};
    run(&s, "IppIp-If", out);
    assert_string_equal(out, "........");
    s = (struct stretch){0};
    run(&s, "IppIp-If", out);
    assert_string_equal(out, "........");
}

/* Each picture is decoded by one session and left out by all others. */
static void test_shared(void **state)
{
    const char *file = "IfppIpp-pIpIIfppp";
    for (uint32_t count = 2; count <= 4; count++) {
        unsigned taken[32] = {0};
        for (uint32_t index = 0; index < count; index++) {
            char out[32];
            struct stretch s = {.index = index, .count = count};
            stretch_begin(&s);
            run(&s, file, out);
            for (size_t i = 0; file[i]; i++) {
                taken[i] += out[i] == '.';
                if (file[i] != 'I' && i) /* the same as the picture before */
                    assert_int_equal(out[i], out[i - 1]);
            }
        }
        for (size_t i = 0; file[i]; i++)
            assert_int_equal(taken[i], 1);
    }
}

/* The source begins again in the midst of a stretch: the next picture begins a new one. */
static void test_restart(void **state)
{
    char before[8], after[8];
    struct stretch s = {.count = 2};
    run(&s, "Ipp", before);
    stretch_restart(&s);
    run(&s, "pp", after);
    assert_int_not_equal(before[2], after[0]);
    assert_int_equal(after[0], after[1]);
}

/* ---- with a table ---- */

enum { JOIN_BYTES = 1000, RACE = 100000, RING = 1 << 15 };

static struct stretch_table *table_new(void)
{
    int fd = stretch_table_create();
    assert_true(fd >= 0);
    struct stretch_table *t = stretch_table_map(fd);
    assert_non_null(t);
    close(fd);
    return t;
}

static struct stretch part(struct stretch_table *t, uint32_t index)
{
    struct stretch s = {.index = index, .count = 3, .table = t, .join_bytes = JOIN_BYTES};
    stretch_begin(&s);
    return s;
}

/* Part 1 comes when part 0 has gone through four stretches, and has every second one from there. */
static void test_late_part(void **state)
{
    char out[16];
    struct stretch_table *t = table_new();
    struct stretch a = part(t, 0), b = part(t, 1);
    run(&a, "IpIpIpIp", out);
    assert_string_equal(out, "........");
    run(&b, "IpIpIpIpIpIpIp", out);
    assert_memory_equal(out, "________", 8); /* of part 0 */
    char rest[16];
    run(&a, "IpIpIp", rest);
    for (int i = 0; i < 6; i++)
        assert_true((rest[i] == '.') != (out[8 + i] == '.'));
    assert_true(strchr(rest, '.') && strchr(rest, '_'));
    stretch_table_unmap(t);
}

/* Whether a part joins follows from the bytes that are left: at the limit and beside it. */
static void test_enough_left(void **state)
{
    for (int more = -1; more <= 1; more++) {
        char out[8];
        struct stretch_table *t = table_new();
        struct stretch b = part(t, 1), a = part(t, 0);
        run_with(&b, "IpIp", (uint64_t)(JOIN_BYTES + more), out);
        assert_int_equal(stretch_table_joined(t, 1), more >= 0);
        assert_int_equal(strchr(out, '.') != NULL, more >= 0);
        run_with(&b, "Ip", 0, out); /* one that has joined goes on to the end */
        char other[8];
        run_with(&a, "IpIpIp", 0, other);
        assert_int_equal(strchr(other, '_') != NULL, more >= 0);
        stretch_table_unmap(t);
    }
}

/* The session of a new worker finds what it had before, whatever has joined since. */
static void test_again(void **state)
{
    char before[16], again[16], other[16];
    struct stretch_table *t = table_new();
    struct stretch a = part(t, 0), b = part(t, 1);
    run(&b, "IpIpIpIp", before);
    run(&a, "IpIpIpIp", other);
    stretch_table_join(t, 2);
    struct stretch new = part(t, 1);
    run(&new, "IpIpIpIp", again);
    assert_string_equal(again, before);
    stretch_table_unmap(t);
}

/* A picture before the first IDR picture is part 0's. */
static void test_no_beginning(void **state)
{
    char out[8];
    struct stretch_table *t = table_new();
    struct stretch a = part(t, 0), b = part(t, 1);
    run(&a, "ppp", out);
    assert_string_equal(out, "...");
    run(&b, "ppp", out);
    assert_string_equal(out, "___");
    stretch_table_unmap(t);
}

static void test_ring(void **state)
{
    struct stretch_table *t = table_new();
    assert_int_equal(stretch_table_owner(t, 5), STRETCH_NOBODY);
    assert_int_equal(stretch_table_assign(t, 5), 0);
    assert_int_equal(stretch_table_assign(t, RING + 4), 0);
    assert_int_equal(stretch_table_owner(t, 5), 0);
    assert_int_equal(stretch_table_assign(t, RING + 5), 0);
    assert_int_equal(stretch_table_owner(t, 5), STRETCH_PAST);
    assert_int_equal(stretch_table_assign(t, 5), STRETCH_PAST);
    stretch_table_unmap(t);
}

struct racer {
    struct stretch_table *t;
    uint32_t part;
    int8_t owner[RACE];
};

static void *race(void *arg)
{
    struct racer *r = arg;
    for (uint64_t n = 0; n < RACE; n++) {
        if (n == RACE / 4 * r->part)
            stretch_table_join(r->t, r->part);
        r->owner[n] = (int8_t)stretch_table_assign(r->t, n);
    }
    return NULL;
}

/* All see the same owner, except where one comes too late. */
static void test_race(void **state)
{
    static struct racer r[3];
    pthread_t thread[3];
    struct stretch_table *t = table_new();
    for (uint32_t i = 0; i < 3; i++) {
        r[i].t = t;
        r[i].part = i;
        assert_int_equal(pthread_create(&thread[i], NULL, race, &r[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    for (int n = 0; n < RACE; n++) {
        int owner = STRETCH_PAST;
        for (int i = 0; i < 3; i++) {
            assert_int_not_equal(r[i].owner[n], STRETCH_NOBODY);
            if (owner != STRETCH_PAST && r[i].owner[n] != STRETCH_PAST)
                assert_int_equal(r[i].owner[n], owner);
            owner = r[i].owner[n] != STRETCH_PAST ? r[i].owner[n] : owner;
        }
    }
    stretch_table_unmap(t);
}

static void test_no_table(void **state)
{
    int pair[2];
    assert_int_equal(pipe(pair), 0);
    assert_null(stretch_table_map(pair[0]));
    assert_null(stretch_table_map(-1));
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_restart),      cmocka_unit_test(test_late_part),
        cmocka_unit_test(test_enough_left),  cmocka_unit_test(test_again),
        cmocka_unit_test(test_no_beginning), cmocka_unit_test(test_ring),
        cmocka_unit_test(test_race),         cmocka_unit_test(test_no_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
