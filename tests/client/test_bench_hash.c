/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Hashing threads of the bench. Every frame is hashed as the caller would hash it. Frames are
 * dropped in the order in which they came, even when the ring is full. Of a stream with two slots,
 * one slot always stays with the caller.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/bench_hash.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STREAMS = 90, FRAMES = 40, JOBS = STREAMS * FRAMES };

struct world {
    struct pelton *conn;
    struct pelton_stream *streams[STREAMS];
    struct bench_place places[STREAMS];
    struct bench_hashers *hashers;
    uint64_t hash[JOBS]; /* in the order in which they were put */
    uint64_t put, dropped;
};

static uint32_t random_below(uint32_t limit)
{
    return (uint32_t)rand() % limit;
}

static void open_streams(struct world *w)
{
    struct pelton_open_params params = {.fd = 0, .start_us = -1, .duration_us = -1};
    assert_int_equal(pelton_connect("fake.sock", 0, &w->conn), 0);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(pelton_open(w->conn, &params, 0, NULL, &w->streams[i]), 0);
}

static void close_streams(struct world *w)
{
    for (int i = 0; i < STREAMS; i++) {
        assert_false(w->places[i].held);
        pelton_stream_close(w->streams[i]); /* aborts where a frame was not released */
    }
    pelton_close(w->conn);
}

static void drop(struct world *w, const struct bench_job *job)
{
    assert_int_equal(job->n, w->dropped);
    assert_true(job->hashed && job->hash == w->hash[w->dropped]);
    w->dropped++;
    bench_hashers_drop(w->hashers);
}

/* A frame of stream i, if there is one left. */
static void put(struct world *w, unsigned i)
{
    struct pelton_frame frame;
    int rc = pelton_next(w->streams[i], 0, &frame);
    assert_true(rc == 0 || rc == 1);
    if (rc == 1) {
        if (bench_hashers_full(w->hashers))
            drop(w, bench_hashers_wait(w->hashers));
        w->hash[w->put] = bench_hash_frame(&frame);
        struct bench_job job = {
            .frame = frame, .stream = w->streams[i], .place = &w->places[i], .n = w->put++};
        bench_hashers_put(w->hashers, &job);
    }
}

static void with_threads(unsigned threads)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    open_streams(w);
    w->hashers = bench_hashers_open(threads);
    assert_non_null(w->hashers);
    assert_int_equal(bench_hashers_fd(w->hashers) >= 0, threads > 0);
    assert_null(bench_hashers_oldest(w->hashers));
    while (w->put < JOBS) {
        for (unsigned n = random_below(2 * STREAMS), i = random_below(STREAMS); n > 0; n--) {
            put(w, i);
            i = random_below(4) ? (i + 1) % STREAMS : i; /* the same again, too */
        }
        const struct bench_job *job;
        while (random_below(3) && (job = bench_hashers_oldest(w->hashers)) != NULL)
            drop(w, job);
    }
    const struct bench_job *job;
    while ((job = bench_hashers_wait(w->hashers)) != NULL)
        drop(w, job);
    assert_int_equal(w->dropped, JOBS);
    bench_hashers_close(w->hashers);
    close_streams(w);
    free(w);
}

static void in_order_without_threads(void **state)
{
    with_threads(0);
}

static void in_order_with_threads(void **state)
{
    with_threads(1);
    with_threads(2);
    with_threads(7);
}

/* A caller that waits for news hears that a frame is done, and may give it back. */
static void readable_when_done(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    open_streams(w);
    w->hashers = bench_hashers_open(1);
    assert_non_null(w->hashers);
    put(w, 0);
    assert_true(w->places[0].held);
    struct pollfd fd = {.fd = bench_hashers_fd(w->hashers), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 20000), 1);
    const struct bench_job *job = bench_hashers_oldest(w->hashers);
    assert_non_null(job);
    drop(w, job);
    bench_hashers_close(w->hashers);
    close_streams(w);
    free(w);
}

static void every_bit_counts(void **state)
{
    uint8_t samples[3][24 * 5];
    struct pelton_frame f = {.width = 20, .height = 5, .planes = 3};
    for (int p = 0; p < 3; p++) {
        memset(samples[p], p + 1, sizeof(samples[p]));
        f.data[p] = samples[p];
        f.stride[p] = 24;
        f.plane_width[p] = 20;
        f.plane_height[p] = 5;
    }
    uint64_t before = bench_hash_frame(&f);
    for (int p = 0; p < 3; p++) {
        for (size_t bit = 0; bit < 8 * sizeof(samples[p]); bit++) {
            samples[p][bit / 8] ^= (uint8_t)(1u << bit % 8);
            /* padding is no part of it */
            assert_int_equal(bench_hash_frame(&f) == before, bit / 8 % 24 >= 20);
            samples[p][bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

int main(void)
{
    const char *text = getenv("PELTON_SEED");
    unsigned seed =
        text && text[0] ? (unsigned)strtoul(text, NULL, 0) : (unsigned)(time(NULL) / 86400);
    printf("seed %u\n", seed);
    srand(seed);
    char frames[16];
    snprintf(frames, sizeof(frames), "%d", FRAMES);
    setenv("FAKE_FRAMES", frames, 1);
    setenv("FAKE_SLOTS", "2", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_without_threads), cmocka_unit_test(in_order_with_threads),
        cmocka_unit_test(readable_when_done), cmocka_unit_test(every_bit_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
