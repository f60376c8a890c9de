/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Random events, one after the other: clients come, open, ask, close and go; workers answer, send
 * frames, end sessions, lie and die; time goes by. After each turn the step comes to rest, and the
 * invariants of the broker hold. The seed is printed; an argument repeats it.
 */
#include "tests/daemon/broker/broker_world.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/reader_pool.h"
#include "daemon/broker/resting.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/worker_link.h"
#include "daemon/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 1000, TURNS = 500, CLIENTS = 6, STREAMS = 24, SLOTS = 8, NUMBERS = 1000 };

static struct broker_world w;
static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---- events ---- */

static struct client *any_client(void)
{
    struct client *c = w.b.clients;
    for (uint32_t i = w.b.n_clients ? below(w.b.n_clients) : 0; c && i; i--)
        c = c->next;
    return c && !c->closing ? c : NULL;
}

static struct broker_stream *any_stream(void)
{
    struct broker_stream *s = w.b.streams;
    for (uint32_t i = w.b.n_streams ? below(w.b.n_streams) : 0; s && i; i--)
        s = s->next;
    return s && s->state != STREAM_CLOSED ? s : NULL;
}

static void client_acts(uint32_t action)
{
    struct client *c = any_client();
    uint32_t number = 1 + below(NUMBERS);
    if (action == 0 && w.b.n_clients < CLIENTS)
        world_client(&w);
    if (action == 0)
        resting_make_room(&w.b);
    if (!c)
        return;
    if (action == 1)
        client_close(c, NULL);
    else if (action == 2)
        ask_devices(c, 9, below(2));
    else if (action > 2 && w.b.n_streams < STREAMS && !id_table_find(&c->streams, number)) {
        struct broker_stream *s = below(5) ? world_stream(c, number, (enum world_source)below(3))
                                           : world_probe(c, number);
        s->source.open->policy = below(3);
        s->delivery.credit = s->source.open->policy == PELTON_LOSSLESS ? UINT64_MAX : 0;
    }
}

static void reader_acts(struct broker_stream *s, uint32_t action)
{
    struct reader_pool *p = s->delivery.pools;
    Pelton__Release m = PELTON__RELEASE__INIT;
    if (action == 0) {
        stream_close(s);
    } else if (action == 1) {
        ask_stats(s, 9);
    } else if (action == 2) {
        ask_controls(s, 9, NULL);
    } else if (action < 6) {
        delivery_credit(s, below(3));
    } else if (p && p->n_slots) {
        m.epoch = p->epoch;
        m.slot = below(p->n_slots);
        m.generation = p->slots[m.slot].generation;
        delivery_release(s, &m);
    }
}

static void session_acts(struct broker_stream *s, uint32_t action)
{
    static const int codes[] = {
        0, 0, PELTON_ERR_INPUT, PELTON_ERR_DECODE, PELTON_ERR_CHANGED, PELTON_ERR_GPU_LOST};
    struct reader_pool *p = s->delivery.pools;
    if (s->state != STREAM_OPEN || !worker_running(s->worker))
        return;
    if (action == 0)
        world_eos(s, codes[below(sizeof(codes) / sizeof(*codes))]);
    else if (action == 1)
        world_short(s);
    else if (action < 3 && !s->replied)
        world_info(s);
    else if (action < 5 && s->replied && (!p || p->wid != s->wid))
        world_format(s, SLOTS);
    else if (p && p->wid == s->wid)
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            if (p->slots[slot].state == SLOT_FREE) {
                world_frame(s, s->delivery.next_sequence - s->delivery.sequence_base, slot);
                s->delivery.sent_ns -= below(2) ? 1000000000 : 0; /* it may have been long ago */
                break;
            }
}

static void worker_acts(struct worker_process *worker, uint32_t action)
{
    if (!worker_running(worker))
        return;
    if (action == 0)
        links_worker_dies(worker);
    else if (worker->question && below(4))
        world_says_devices(worker, worker->question, 1 + below(3));
    else if (worker->question)
        world_says_error(worker, worker->question, PELTON_ERR_NO_DEVICE);
    else if (w.b.last_request)
        world_says_devices(worker, 1 + below(w.b.last_request), 1);
}

static void event(void)
{
    struct broker_stream *s = any_stream();
    switch (below(8)) {
    case 0:
        client_acts(below(12));
        break;
    case 1:
        worker_acts(&w.b.workers[below(w.b.n_workers)], below(20));
        break;
    case 2:
    case 3:
        if (s)
            reader_acts(s, below(14));
        break;
    default:
        if (s)
            session_acts(s, below(16));
        break;
    }
}

/* ---- invariants ---- */

/* A worker has to say something of its device. */
static bool is_asked(void)
{
    for (unsigned i = 0; i < w.b.n_workers; i++)
        if (worker_running(&w.b.workers[i]) && w.b.workers[i].question)
            return true;
    return false;
}

/* Nothing that waits is left hanging. */
static void check_stream(const struct broker_stream *s)
{
    const struct broker *b = &w.b;
    bool open = s->state == STREAM_OPEN;
    CHECK(id_table_find(&s->client->streams, s->object_id) == s);
    CHECK((id_table_find(&b->streams_by_wid, s->wid) == s) == open);
    CHECK(s->state != STREAM_CLOSED && s->state != STREAM_OVER);
    CHECK(!s->client->closing);
    CHECK(!open || s->worker->spawned);
    CHECK(s->state != STREAM_WAITING || s->retry.retry_ms > w.now_ms);
    if (s->state == STREAM_QUEUED)
        CHECK(b->devices->state == DEVICES_READY ? s->worker && s->worker->trial : is_asked());
    CHECK(s->state != STREAM_RESTING || (s->source.resumable && !s->source.live && !s->probe));
    CHECK(s->state != STREAM_ENDED || s->eos_sent || s->delivery.head);
    CHECK(s->state != STREAM_ENDED || !s->source.named);
}

static void check_all(void)
{
    unsigned n = 0, open = 0, clients = 0;
    for (const struct broker_stream *s = w.b.streams; s; s = s->next) {
        check_stream(s);
        n++;
        open += s->state == STREAM_OPEN;
    }
    for (const struct client *c = w.b.clients; c; c = c->next, clients++)
        CHECK(!c->gone);
    CHECK(n == w.b.n_streams && open == w.b.streams_by_wid.count && clients == w.b.n_clients);
    for (unsigned i = 0; i < w.b.n_workers; i++) {
        const struct broker_stream *trial = w.b.workers[i].trial;
        CHECK(!w.b.workers[i].gone);
        CHECK(!trial || (trial->state == STREAM_OPEN && trial->worker == &w.b.workers[i]));
    }
}

static void run(uint64_t seed)
{
    static const char *const devices[] = {NULL, "cpu", "a,b", "all", "a,b,c"};
    random_state = seed;
    world_open(&w, devices[below(sizeof(devices) / sizeof(*devices))]);
    w.settings.limits.streams = 1 + below(STREAMS);
    w.settings.limits.resting = below(STREAMS);
    for (int i = 0; i < TURNS; i++) {
        for (uint32_t n = below(4); n; n--)
            event(); /* several in one turn */
        if (below(8) == 0)
            world_later(&w, below(2000));
        world_step(&w);
        check_all();
    }
    world_close(&w);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL) * RUNS;
    log_init("model", LOG_LEVEL_QUIET);
    for (uint64_t seed = first; seed < first + (argc > 1 ? 1 : RUNS); seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        fflush(stdout);
        run(seed);
    }
    return 0;
}
