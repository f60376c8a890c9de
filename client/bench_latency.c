/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Latency of the delivered run. A frame can leave a decoder when all pictures before it in output
 * order are there. A stream that reorders has a constant delay of `reordering` pictures: the
 * smallest for which no frame precedes its own access unit. So frame n in output order waits for
 * access unit n + reordering and for nothing later. The time from the arrival of that access unit
 * to the readable frame is the decoder's own.
 *
 * Each access unit is one frame. So the sorted arrival times of the frames are the arrival times of
 * the access units.
 */
#include "client/bench.h"

#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void bench_percentiles(double *ms, size_t n, struct percentiles *out)
{
    *out = (struct percentiles){0};
    if (n == 0)
        return;
    qsort(ms, n, sizeof(*ms), compare_doubles);
    out->p50 = ms[(n - 1) / 2];
    out->p95 = ms[(size_t)((double)(n - 1) * 0.95)];
    out->p99 = ms[(size_t)((double)(n - 1) * 0.99)];
    out->most = ms[n - 1];
}

static size_t rank_of(const int64_t *arrivals, size_t n, int64_t time)
{
    const int64_t *at = bsearch(&time, arrivals, n, sizeof(*arrivals), compare_times);
    return (size_t)(at - arrivals);
}

/* The n frames of one stream: since[i] becomes the arrival of the access unit that frame i waits
 * for. */
static unsigned demanded(const struct bench_sample *const *frames, size_t n, int64_t *arrivals,
                         int64_t *since)
{
    size_t reordering = 0;
    for (size_t i = 0; i < n; i++)
        arrivals[i] = frames[i]->received_ns;
    qsort(arrivals, n, sizeof(*arrivals), compare_times);
    for (size_t i = 0; i < n; i++) {
        size_t rank = rank_of(arrivals, n, frames[i]->received_ns);
        reordering = rank > i + reordering ? rank - i : reordering;
    }
    for (size_t i = 0; i < n; i++) {
        size_t needed = i + reordering;
        since[i] = arrivals[needed < n ? needed : n - 1];
    }
    return (unsigned)reordering;
}

struct scratch {
    const struct bench_sample **frames;
    int64_t *arrivals, *since;
    double *decoded, *taken;
};

static void live(struct bench *b, const struct scratch *m)
{
    size_t done = 0;
    for (uint32_t stream = 0; done < b->n_samples; stream++) {
        size_t n = 0;
        for (size_t i = 0; i < b->n_samples; i++)
            if (b->samples[i].stream == stream)
                m->frames[n++] = &b->samples[i];
        unsigned reordering = demanded(m->frames, n, m->arrivals, m->since);
        b->live.reordering = reordering > b->live.reordering ? reordering : b->live.reordering;
        for (size_t i = 0; i < n; i++, done++) {
            m->decoded[done] = (double)(m->frames[i]->decoded_ns - m->since[i]) * 1e-6;
            m->taken[done] = (double)(m->frames[i]->taken_ns - m->since[i]) * 1e-6;
        }
    }
    bench_percentiles(m->decoded, b->n_samples, &b->live.decoded);
    bench_percentiles(m->taken, b->n_samples, &b->live.taken);
}

void bench_latency(struct bench *b)
{
    size_t n = b->n_samples;
    struct scratch m = {
        .frames = malloc((n + 1) * sizeof(*m.frames)),
        .arrivals = malloc((n + 1) * sizeof(*m.arrivals)),
        .since = malloc((n + 1) * sizeof(*m.since)),
        .decoded = malloc((n + 1) * sizeof(*m.decoded)),
        .taken = malloc((n + 1) * sizeof(*m.taken)),
    };
    if (m.frames && m.arrivals && m.since && m.decoded && m.taken) {
        for (size_t i = 0; i < n; i++) {
            m.decoded[i] = (double)(b->samples[i].decoded_ns - b->samples[i].received_ns) * 1e-6;
            m.taken[i] = (double)(b->samples[i].taken_ns - b->samples[i].received_ns) * 1e-6;
        }
        bench_percentiles(m.decoded, n, &b->decoded);
        bench_percentiles(m.taken, n, &b->taken);
        if (b->o->bench.live)
            live(b, &m);
    }
    free(m.frames);
    free(m.arrivals);
    free(m.since);
    free(m.decoded);
    free(m.taken);
}
