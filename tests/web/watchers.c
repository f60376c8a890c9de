/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Readers of named sources in shared memory, to see what HTTP costs them.
 *
 *   watchers SOCKET SECONDS FOLDER NAME...
 *
 * Each source gets a lossless and a latest reader on connections of their own. FOLDER/NAME gets a
 * line "SEQUENCE MD5" for each lossless frame. The end tells frames, lost and doubled ones by their
 * sequence, and ages, for each policy, as one line of words. Exit codes: 0, 1 failed.
 */
#include "tests/tools/md5.h"

#include <inttypes.h>
#include <pelton.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { READERS_MOST = 512, AGES = 20000, PATIENCE_MS = 60000 };

struct reader {
    struct pelton *conn;
    struct pelton_stream *stream;
    const char *name;
    FILE *sums; /* of a lossless reader */
    uint64_t next;
    bool begun;
};

struct tally {
    uint64_t frames, lost, doubled;
    uint64_t ages[AGES]; /* by tenth of a millisecond */
    double oldest_ms;
};

static struct reader readers[READERS_MOST];
static struct pollfd polls[READERS_MOST];
static unsigned n_readers;
static struct tally tallies[2]; /* lossless, latest */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int complain(const struct pelton *conn, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, pelton_failure(conn)->cause);
    return -1;
}

static int reader_open(const char *socket, const char *folder, const char *name, bool lossless)
{
    char text[512];
    struct reader *r = &readers[n_readers];
    struct pelton_open_params params;
    pelton_open_params_init(&params);
    snprintf(text, sizeof(text), "%s/%s", folder, name);
    r->name = name;
    r->sums = lossless ? fopen(text, "w") : NULL;
    snprintf(text, sizeof(text), "source:%s", name);
    params.uri = text;
    params.policy = lossless ? PELTON_LOSSLESS : PELTON_LATEST;
    params.depth = lossless ? 16 : 0;
    if (pelton_connect(socket, PATIENCE_MS, &r->conn) < 0)
        return complain(NULL, "connect");
    if (pelton_open(r->conn, &params, PATIENCE_MS, NULL, &r->stream) < 0)
        return complain(r->conn, name);
    polls[n_readers++] = (struct pollfd){.fd = pelton_fd(r->conn), .events = POLLIN};
    return 0;
}

static void sum_write(const struct reader *r, const struct pelton_frame *f)
{
    struct md5 sum;
    char text[33];
    md5_init(&sum);
    for (unsigned p = 0; p < f->planes; p++)
        for (uint32_t y = 0; y < f->plane_height[p]; y++)
            md5_update(&sum, f->data[p] + (size_t)y * f->stride[p], f->plane_width[p]);
    md5_finish(&sum, text);
    fprintf(r->sums, "%" PRIu64 " %s\n", f->sequence, text);
}

static void reader_take(struct reader *r, const struct pelton_frame *f)
{
    struct tally *t = &tallies[r->sums ? 0 : 1];
    double age_ms = (double)(now_ns() - f->received_ns) * 1e-6;
    size_t slot = age_ms < 0 ? 0 : (size_t)(age_ms * 10);
    t->frames++;
    t->lost += r->begun && f->sequence > r->next ? f->sequence - r->next : 0;
    t->doubled += r->begun && f->sequence < r->next;
    t->ages[slot < AGES ? slot : AGES - 1]++;
    t->oldest_ms = age_ms > t->oldest_ms ? age_ms : t->oldest_ms;
    r->next = f->sequence + 1;
    r->begun = true;
    if (r->sums)
        sum_write(r, f);
}

static int reader_turn(struct reader *r)
{
    struct pelton_frame frame;
    int rc;
    while ((rc = pelton_next(r->stream, 0, &frame)) > 0) {
        reader_take(r, &frame);
        pelton_release(r->stream, &frame);
    }
    return rc == PELTON_ERR_TIMEOUT ? 0 : complain(r->conn, r->name);
}

static int readers_turn(void)
{
    poll(polls, n_readers, 100);
    for (unsigned i = 0; i < n_readers; i++)
        if (polls[i].revents && reader_turn(&readers[i]) < 0)
            return -1;
    return 0;
}

static bool all_begun(void)
{
    for (unsigned i = 0; i < n_readers; i++)
        if (!readers[i].begun)
            return false;
    return true;
}

static double age_below(const struct tally *t, double share)
{
    uint64_t n = 0;
    for (size_t i = 0; i < AGES; i++)
        if ((double)(n += t->ages[i]) >= share * (double)t->frames)
            return (double)(i + 1) / 10;
    return AGES / 10.0;
}

static void tally_print(const char *policy, const struct tally *t)
{
    printf("%s frames %" PRIu64 " lost %" PRIu64 " doubled %" PRIu64
           " age_p50 %.1f age_p99 %.1f age_most %.1f\n",
           policy, t->frames, t->lost, t->doubled, age_below(t, 0.5), age_below(t, 0.99),
           t->oldest_ms);
}

/* The counts begin when each reader has had a frame. */
static int watch(double seconds)
{
    while (!all_begun())
        if (readers_turn() < 0)
            return -1;
    memset(tallies, 0, sizeof(tallies));
    puts("all read");
    fflush(stdout);
    for (int64_t end = now_ns() + (int64_t)(seconds * 1e9); now_ns() < end;)
        if (readers_turn() < 0)
            return -1;
    tally_print("lossless", &tallies[0]);
    tally_print("latest", &tallies[1]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 5 || 2 * (argc - 4) > READERS_MOST) {
        fputs("watchers SOCKET SECONDS FOLDER NAME...\n", stderr);
        return 2;
    }
    for (int i = 4; i < argc; i++)
        if (reader_open(argv[1], argv[3], argv[i], true) < 0 ||
            reader_open(argv[1], argv[3], argv[i], false) < 0)
            return 1;
    int rc = watch(strtod(argv[2], NULL));
    for (unsigned i = 0; i < n_readers; i++) {
        if (readers[i].sums)
            fclose(readers[i].sums);
        pelton_stream_close(readers[i].stream);
        pelton_close(readers[i].conn);
    }
    return rc < 0;
}
