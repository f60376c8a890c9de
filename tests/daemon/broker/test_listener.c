/* SPDX-License-Identifier: BSD-2-Clause
 *
 * More clients than descriptors. Those that would take the last quarter are refused in words. Where
 * not even that is possible they wait, the log says so once, and they are served later.
 */
#include "tests/daemon/broker/harness.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CLIENTS = 40, DESCRIPTORS = 32, TICK_MS = 5 };

struct log_file {
    FILE *file;
    char text[16384];
};

/* The daemon's standard error goes to a file. */
static void daemon_start_logged(struct daemon *d, struct log_file *log)
{
    static const char *const values[] = {"hello_ms=600000", "ping_ms=10", NULL};
    int own = dup(STDERR_FILENO);
    log->file = tmpfile();
    CHECK(own >= 0 && log->file);
    setenv("PELTON_TEST_LOG", "1", 1);
    CHECK(dup2(fileno(log->file), STDERR_FILENO) >= 0);
    daemon_start(d, values);
    CHECK(dup2(own, STDERR_FILENO) >= 0);
    close(own);
}

/* How often the log says a word. */
static int log_count(struct log_file *log, const char *word)
{
    int count = 0;
    ssize_t n = pread(fileno(log->file), log->text, sizeof(log->text) - 1, 0);
    CHECK(n >= 0);
    log->text[n] = 0;
    for (const char *p = log->text; (p = strstr(p, word)); p++)
        count++;
    return count;
}

static void log_wait(struct log_file *log, const char *word)
{
    for (int64_t deadline = now_ms() + WAIT_MS; log_count(log, word) == 0; sleep_ms(5))
        CHECK(now_ms() < deadline);
}

/* Once a minute, also where the machine is that slow. */
static void check_told(struct log_file *log, int64_t since_ms)
{
    CHECK(log_count(log, "accept: ") <= 1 + (now_ms() - since_ms) / 60000);
}

static void limit_descriptors(const struct daemon *d, rlim_t most)
{
    struct rlimit r;
    CHECK_INT(prlimit(d->pid, RLIMIT_NOFILE, NULL, &r), 0);
    r.rlim_cur = most;
    CHECK_INT(prlimit(d->pid, RLIMIT_NOFILE, &r, NULL), 0);
}

/* The quota's words, before any hello. */
static void check_refused(struct raw *r)
{
    struct frame f;
    CHECK_INT(raw_receive(r, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_ERROR);
    Pelton__Error *m = (Pelton__Error *)wire_unpack(&f);
    CHECK(m && m->code == PELTON_ERR_LIMIT && m->retryable && strstr(m->message, "open files"));
    wire_free(&m->base);
}

static void the_last_quarter(void)
{
    struct daemon d;
    struct raw clients[CLIENTS];
    static const char *const values[] = {"hello_ms=600000", NULL};
    daemon_start(&d, values);
    limit_descriptors(&d, DESCRIPTORS);
    for (int i = 0; i < CLIENTS; i++)
        raw_connect(&clients[i], &d);
    check_refused(&clients[CLIENTS - 1]);
    raw_hello(&clients[0]);
    for (int i = 0; i < CLIENTS; i++)
        raw_close(&clients[i]);
    limit_descriptors(&d, 4 * DESCRIPTORS);
    struct pelton *conn = must_connect(&d);
    pelton_close(conn);
    daemon_stop(&d);
}

static void no_descriptors(void)
{
    int64_t start = now_ms();
    struct daemon d;
    struct log_file log;
    struct raw first, others[CLIENTS];
    daemon_start_logged(&d, &log);
    raw_connect(&first, &d);
    raw_hello(&first);
    limit_descriptors(&d, 4);
    for (int i = 0; i < CLIENTS; i++)
        raw_connect(&others[i], &d);
    log_wait(&log, "accept: Too many open files");
    sleep_ms(60 * TICK_MS); /* and the daemon tries again and again */
    check_told(&log, start);
    CHECK_INT(log_count(&log, "accepted again"), 0);
    limit_descriptors(&d, 8 * DESCRIPTORS);
    raw_hello(&others[CLIENTS - 1]);
    log_wait(&log, "new clients are accepted again");
    check_told(&log, start);
    for (int i = 0; i < CLIENTS; i++)
        raw_close(&others[i]);
    raw_close(&first);
    daemon_stop(&d);
    fclose(log.file);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {{"the_last_quarter", the_last_quarter},
                                        {"no_descriptors", no_descriptors}};
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
