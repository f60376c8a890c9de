/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the protocol tests: checks, a daemon with the fake engine on a socket of its own, raw
 * connections, processes.
 */
#ifndef PELTON_TEST_HARNESS_H
#define PELTON_TEST_HARNESS_H

#include "proto/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, __func__, #condition);  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CHECK_INT(have, want)                                                                      \
    do {                                                                                           \
        long long have_ = (long long)(have), want_ = (long long)(want);                            \
        if (have_ != want_) {                                                                      \
            fprintf(stderr, "%s:%d: %s: %s is %lld, not %lld\n", __FILE__, __LINE__, __func__,     \
                    #have, have_, want_);                                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Limits for a machine that is busy with other things. Waiting costs nothing where things go well.
 * WAIT_MS: for anything that has to come. LATE_MS: by how much something that has a time may come
 * late; less than the daemon's own limits that would end it otherwise. */
enum { WAIT_MS = 60000, LATE_MS = 4000 };

struct test {
    const char *name;
    void (*run)(void);
};
/* Runs all, or those named in argv, each in a process of its own under a time limit; 0 where all
 * have passed. */
int tests_main(int argc, char **argv, const struct test *tests, size_t count);

struct daemon {
    pid_t pid;
    char socket[64];
};
/* Starts peltond_fake with further -c values (NULL-terminated, may be NULL) and waits until it
 * listens. */
void daemon_start(struct daemon *d, const char *const *values);
/* SIGTERM; it has to end with 0, which in a sanitizer build says: no leak. */
void daemon_stop(struct daemon *d);
const char *fake_program(void);

struct pelton *must_connect(const struct daemon *d);
struct pelton *must_spawn(const char *const *values);
/* A memory file, or with pipe a pipe's reading end, that holds the script. */
int script_fd(const char *script);
int script_pipe(const char *script);
struct pelton_open_params script_params(int fd, const char *name);
/* Opens a script of which the name is also the name of the stream. */
struct pelton_stream *must_open(struct pelton *conn, const char *script,
                                const struct pelton_open_params *more);
void check_pels(const struct pelton_frame *f); /* as the fake engine paints them */
void must_next(struct pelton_stream *s, uint64_t sequence, struct pelton_frame *out);
/* Frames until the end, released at once: their number. Checks that each sequence follows and that
 * the pels fit. */
uint64_t drain_stream(struct pelton_stream *s, uint64_t from);

pid_t child_of(pid_t pid);
/* Children but for a daemon's spawner; their number. */
int children_of(pid_t pid, pid_t out[], int room); /* the first child, waited for; 0: none */
bool process_ends(pid_t pid, int limit_ms);        /* false where it still runs */
int64_t now_ms(void);
void sleep_ms(int ms);
void strings_equal(const char *have, const char *want, const char *file, int line);
#define CHECK_TEXT(have, want) strings_equal(have, want, __FILE__, __LINE__)

/* A raw connection: bytes and frames without libpelton. */
struct raw {
    int fd;
    struct frame_reader reader;
};
void raw_connect(struct raw *r, const struct daemon *d);
void raw_hello(struct raw *r); /* and takes the welcome */
void raw_send(struct raw *r, unsigned type, uint32_t request, uint32_t object,
              const ProtobufCMessage *body, int fd);
/* The next frame within limit_ms: 1; 0 nothing came; negative enum frame_error. */
int raw_receive(struct raw *r, int limit_ms, struct frame *out);
void raw_close(struct raw *r);

#endif
