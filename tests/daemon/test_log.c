/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The log: its limit, levels, names of levels, bytes that are not printed, lines that are too long,
 * and the prefix for the journal.
 */
#include "daemon/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

struct capture {
    int saved, file;
    char text[4096];
};

static void capture_begin(struct capture *c)
{
    c->file = memfd_create("stderr", MFD_CLOEXEC);
    c->saved = dup(STDERR_FILENO);
    assert_true(c->file >= 0 && c->saved >= 0);
    assert_true(dup2(c->file, STDERR_FILENO) >= 0);
}

/* What was written to stderr since capture_begin. */
static const char *capture_end(struct capture *c)
{
    assert_true(dup2(c->saved, STDERR_FILENO) >= 0);
    ssize_t n = pread(c->file, c->text, sizeof(c->text) - 1, 0);
    assert_true(n >= 0);
    c->text[n] = 0;
    close(c->file);
    close(c->saved);
    return c->text;
}

static void levels(void **state)
{
    struct capture c;
    log_init("role", LOG_LEVEL_WARNING);
    capture_begin(&c);
    log_line(LOG_LEVEL_INFO, "not this");
    log_line(LOG_LEVEL_WARNING, "this %d", 1);
    log_line(LOG_LEVEL_ERROR, "and this");
    assert_string_equal(capture_end(&c), "role: this 1\nrole: and this\n");
    log_init("role", LOG_LEVEL_QUIET);
    capture_begin(&c);
    log_line(LOG_LEVEL_ERROR, "nothing");
    assert_string_equal(capture_end(&c), "");
    log_init("role", LOG_LEVEL_DEBUG);
    capture_begin(&c);
    log_line(LOG_LEVEL_QUIET, "no level of a line");
    log_line(LOG_LEVEL_DEBUG + 1, "no level at all");
    log_line(LOG_LEVEL_DEBUG, "all");
    assert_string_equal(capture_end(&c), "role: all\n");
}

/* A name given by a client can neither add a line nor steer a terminal; UTF-8 stays. */
static void control_bytes(void **state)
{
    struct capture c;
    log_init("role", LOG_LEVEL_INFO);
    capture_begin(&c);
    log_line(LOG_LEVEL_INFO, "%s", "a\nrole: forged\r\x1b[2J\t\x7f caf\xc3\xa9");
    assert_string_equal(capture_end(&c), "role: a?role: forged??[2J?? caf\xc3\xa9\n");
}

static void long_lines(void **state)
{
    struct capture c;
    char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    log_init("role", LOG_LEVEL_INFO);
    capture_begin(&c);
    log_line(LOG_LEVEL_INFO, "%s", text);
    log_line(LOG_LEVEL_INFO, "next");
    capture_end(&c);
    const char *end = strchr(c.text, '\n');
    assert_non_null(end);
    assert_in_range((size_t)(end - c.text), 1000, 1024);
    assert_string_equal(end + 1, "role: next\n");
}

static void journal(void **state)
{
    struct capture c;
    log_init("role", LOG_LEVEL_DEBUG);
    setenv("JOURNAL_STREAM", "8:1", 1);
    capture_begin(&c);
    log_line(LOG_LEVEL_ERROR, "e");
    log_line(LOG_LEVEL_WARNING, "w");
    log_line(LOG_LEVEL_INFO, "i");
    log_line(LOG_LEVEL_DEBUG, "d");
    capture_end(&c);
    unsetenv("JOURNAL_STREAM");
    assert_string_equal(c.text, "<3>role: e\n<4>role: w\n<6>role: i\n<7>role: d\n");
}

static time_t second_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* So many lines of one kind within a second. Returns those that were written. */
static unsigned written_of(unsigned lines)
{
    struct capture c;
    time_t begun;
    unsigned written;
    do {
        begun = second_now();
        while (second_now() == begun) /* no earlier lines count */
            usleep(1000);
        begun++;
        written = 0;
        capture_begin(&c);
        for (unsigned i = 0; i < lines; i++)
            log_line(LOG_LEVEL_WARNING, "%s", "flood");
        for (const char *at = capture_end(&c); (at = strstr(at, "flood")); at++)
            written++;
    } while (second_now() != begun);
    return written;
}

static void limit(void **state)
{
    log_init("role", LOG_LEVEL_WARNING);
    log_limit(5);
    assert_int_equal(written_of(4), 4);
    assert_int_equal(written_of(5), 5);
    uint64_t before = log_left_out();
    assert_int_equal(written_of(6), 5);
    assert_true(log_left_out() > before);
    struct capture c;
    time_t begun = second_now();
    while (second_now() == begun)
        usleep(1000);
    capture_begin(&c);
    log_line(LOG_LEVEL_WARNING, "%s", "flood");
    assert_non_null(strstr(capture_end(&c), "1 lines like the next one were left out\n"));
    log_limit(0);
}

int main(void)
{
    unsetenv("JOURNAL_STREAM");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),  cmocka_unit_test(control_bytes), cmocka_unit_test(long_lines),
        cmocka_unit_test(journal), cmocka_unit_test(limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
