/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writing that always notices interrupts. A timer breaks a blocking write off every second. So an
 * interrupt is noticed even if its signal came just before the write, and a paused reader does not
 * silence us towards the daemon. After an interrupt the rest is written only while somebody reads
 * it.
 */
#include "client/sink.h"
#include "client/ui.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { GRACE_MS = 1000, SMALL = 512 /* fits into any pipe that poll calls writable */ };

static void on_timer(int number)
{
}

static void timer_catch(void)
{
    struct sigaction act = {.sa_handler = on_timer};
    sigemptyset(&act.sa_mask);
    sigaction(SIGALRM, &act, NULL);
}

void sink_break(pthread_t writer)
{
    timer_catch();
    pthread_kill(writer, SIGALRM);
}

static void timer_set(int seconds)
{
    struct itimerval t = {.it_interval = {.tv_sec = seconds}, .it_value = {.tv_sec = seconds}};
    timer_catch();
    setitimer(ITIMER_REAL, &t, NULL);
}

static ssize_t write_interrupted(int fd, const uint8_t *data, size_t size)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (poll(&p, 1, GRACE_MS) <= 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    return write(fd, data, size < SMALL ? size : SMALL);
}

/* Handles a write that returned n. False: an error; a signal is none. */
static bool advance(struct sink *s, ssize_t n, const uint8_t **data, size_t *size)
{
    if (n < 0 && errno != EINTR) {
        s->error = errno;
        return false;
    }
    n = n < 0 ? 0 : n;
    *data += n;
    *size -= (size_t)n;
    s->bytes += (uint64_t)n;
    return true;
}

static bool write_slow(struct sink *s, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = interrupted() ? write_interrupted(s->fd, data, size) : write(s->fd, data, size);
        if (n < 0 && errno == ETIMEDOUT && interrupted()) {
            s->error = EINTR;
            return false;
        }
        if (!advance(s, n, &data, &size))
            return false;
        if (size > 0 && s->idle && !interrupted())
            s->idle(s->idle_ctx);
    }
    return true;
}

static bool write_file(struct sink *s, const uint8_t *data, size_t size)
{
    while (size > 0)
        if (!advance(s, write(s->fd, data, size), &data, &size))
            return false;
    return true;
}

bool sink_write(struct sink *s, const uint8_t *data, size_t size)
{
    struct stat st;
    if (s->error)
        return false;
    if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode))
        return write_file(s, data, size);
    timer_set(1);
    bool ok = write_slow(s, data, size);
    timer_set(0);
    return ok;
}
