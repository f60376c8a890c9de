/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of connections: see http_connections.h.
 */
#include "web/http_connections.h"

#include "daemon/monotonic.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PEERS = 1024, LOOK_MS = 250, GUESSES = 10 };

enum connection_phase { PHASE_NEW, PHASE_REST, PHASE_WORK, PHASE_WAIT, PHASE_SEND };

/* An address, or the first 64 bits of one of IPv6: who has one of these has them all. */
struct http_peer {
    uint8_t address[8];
    uint64_t connections;
    double allowance; /* requests that may come at once */
    int64_t seen_ns;
    double guesses; /* wrong tokens that are not forgotten yet */
    int64_t guessed_ns;
};

struct http_connection {
    struct http_connections *table;
    struct http_connection *next, **link;
    struct http_peer *peer; /* NULL: there was no room for its address */
    _Atomic int phase;
    _Atomic int64_t since_ns; /* in this phase */
    atomic_bool cut;
    enum http_admission admission;
    int fd;
};

struct http_connections {
    struct web_limits limits;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool ending;
    struct http_connection *first;
    struct http_connection_counts counts;
    struct http_peer peers[PEERS];
};

/* ---- addresses ---- */

static void peer_key(const struct sockaddr *address, uint8_t key[8])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    memset(key, 0, 8);
    if (address->sa_family == AF_INET) {
        memcpy(key, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        const uint8_t *bytes =
            ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
        bool of_ipv4 = memcmp(bytes, mapped, sizeof(mapped)) == 0;
        memcpy(key, of_ipv4 ? bytes + 12 : bytes, of_ipv4 ? 4 : 8);
    }
}

static bool peer_is_free(const struct http_peer *p, int64_t now)
{
    return p->connections == 0 && now - p->seen_ns > 10 * INT64_C(1000000000) &&
           (p->guesses <= 0 || now - p->guessed_ns > 60 * INT64_C(1000000000));
}

/* The row of an address; the oldest one without connections makes room. */
static struct http_peer *peer_find(struct http_connections *t, const uint8_t key[8], int64_t now)
{
    struct http_peer *spare = NULL;
    for (size_t i = 0; i < PEERS; i++) {
        struct http_peer *p = &t->peers[i];
        if (p->seen_ns && memcmp(p->address, key, 8) == 0)
            return p;
        if (!p->seen_ns || peer_is_free(p, now))
            spare = !spare || p->seen_ns < spare->seen_ns ? p : spare;
    }
    if (spare) {
        *spare = (struct http_peer){.allowance = 2.0 * (double)t->limits.requests_per_second,
                                    .seen_ns = now};
        memcpy(spare->address, key, 8);
    }
    return spare;
}

static bool peer_may_ask(struct http_connections *t, struct http_peer *p, int64_t now)
{
    double rate = (double)t->limits.requests_per_second;
    p->allowance += rate * (double)(now - p->seen_ns) * 1e-9;
    p->allowance = p->allowance > 2 * rate ? 2 * rate : p->allowance;
    p->seen_ns = now;
    if (p->allowance < 1)
        return false;
    p->allowance -= 1;
    return true;
}

/* ---- time-outs ---- */

static void connection_phase_set(struct http_connection *c, enum connection_phase phase)
{
    atomic_store(&c->since_ns, monotonic_ns());
    atomic_store(&c->phase, (int)phase);
}

/* The limit of a phase, and what counts its misses. 0: the phase has none. */
static uint64_t phase_limit_ms(struct http_connections *t, const struct http_connection *c,
                               uint64_t **count)
{
    switch ((enum connection_phase)atomic_load(&c->phase)) {
    case PHASE_NEW:
        *count = &t->counts.cut_header;
        return c->admission == HTTP_ADMITTED || t->limits.header_ms < 1000 ? t->limits.header_ms
                                                                           : 1000;
    case PHASE_REST:
        *count = &t->counts.cut_idle;
        return t->limits.idle_ms;
    case PHASE_SEND:
        *count = &t->counts.cut_stall;
        return t->limits.stall_ms;
    case PHASE_WORK: /* its body must come, and its answer must be taken */
        *count = &t->counts.cut_idle;
        return t->limits.idle_ms;
    case PHASE_WAIT:
        break;
    }
    return 0;
}

static void connection_judge(struct http_connections *t, struct http_connection *c)
{
    uint64_t *count = NULL, limit = phase_limit_ms(t, c, &count);
    int64_t spent = monotonic_ns() - atomic_load(&c->since_ns);
    if (!limit || spent < (int64_t)limit * 1000000 || atomic_exchange(&c->cut, true))
        return;
    ++*count;
    shutdown(c->fd, SHUT_RDWR);
}

static void *connections_watch(void *ctx)
{
    struct http_connections *t = ctx;
    pthread_mutex_lock(&t->lock);
    while (!t->ending) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&t->wake, &t->lock, &until);
        for (struct http_connection *c = t->first; c; c = c->next)
            connection_judge(t, c);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct http_connections *http_connections_new(const struct web_limits *limits)
{
    struct http_connections *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->limits = *limits;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    if (pthread_create(&t->thread, NULL, connections_watch, t) == 0)
        return t;
    free(t);
    return NULL;
}

void http_connections_free(struct http_connections *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->ending = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    free(t);
}

void http_connections_count(struct http_connections *t, struct http_connection_counts *out)
{
    pthread_mutex_lock(&t->lock);
    *out = t->counts;
    pthread_mutex_unlock(&t->lock);
}

/* ---- one connection ---- */

/* An excess connection is kept for a moment, so that its refusal has words. */
static enum http_admission admission_of(struct http_connections *t, const struct http_peer *p)
{
    if (t->counts.open > t->limits.connections || !p)
        return HTTP_TOO_MANY;
    return p->connections > t->limits.connections_per_address ? HTTP_TOO_MANY_OF_ADDRESS
                                                              : HTTP_ADMITTED;
}

struct http_connection *http_connection_add(struct http_connections *t, int fd,
                                            const struct sockaddr *address)
{
    struct http_connection *c = calloc(1, sizeof(*c));
    uint8_t key[8];
    if (!c)
        return NULL;
    peer_key(address, key);
    c->table = t;
    c->fd = fd;
    connection_phase_set(c, PHASE_NEW);
    pthread_mutex_lock(&t->lock);
    c->peer = peer_find(t, key, monotonic_ns());
    if (c->peer)
        c->peer->connections++;
    t->counts.open++;
    t->counts.accepted++;
    c->admission = admission_of(t, c->peer);
    t->counts.refused_connections += c->admission != HTTP_ADMITTED;
    c->next = t->first;
    c->link = &t->first;
    if (c->next)
        c->next->link = &c->next;
    t->first = c;
    pthread_mutex_unlock(&t->lock);
    return c;
}

void http_connection_remove(struct http_connection *c)
{
    struct http_connections *t = c->table;
    pthread_mutex_lock(&t->lock);
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    if (c->peer)
        c->peer->connections--;
    t->counts.open--;
    pthread_mutex_unlock(&t->lock);
    free(c);
}

enum http_admission http_connection_asks(struct http_connection *c)
{
    struct http_connections *t = c->table;
    connection_phase_set(c, PHASE_WORK);
    if (c->admission != HTTP_ADMITTED)
        return c->admission;
    pthread_mutex_lock(&t->lock);
    bool may = peer_may_ask(t, c->peer, monotonic_ns());
    t->counts.refused_rate += !may;
    pthread_mutex_unlock(&t->lock);
    return may ? HTTP_ADMITTED : HTTP_TOO_OFTEN;
}

/* Ten wrong tokens at once; one is forgotten every six seconds. */
bool http_connection_may_guess(struct http_connection *c)
{
    struct http_connections *t = c->table;
    int64_t now = monotonic_ns();
    pthread_mutex_lock(&t->lock);
    struct http_peer *p = c->peer;
    p->guesses -= (double)(now - p->guessed_ns) * 1e-9 / 6;
    p->guesses = p->guesses < 0 ? 0 : p->guesses;
    p->guessed_ns = now;
    bool may = p->guesses < GUESSES;
    pthread_mutex_unlock(&t->lock);
    return may;
}

void http_connection_guessed(struct http_connection *c)
{
    pthread_mutex_lock(&c->table->lock);
    c->peer->guesses += 1;
    c->table->counts.refused_tokens++;
    pthread_mutex_unlock(&c->table->lock);
}

void http_connection_rests(struct http_connection *c)
{
    connection_phase_set(c, PHASE_REST);
}

void http_connection_waits(struct http_connection *c)
{
    connection_phase_set(c, PHASE_WAIT);
}

void http_connection_sends(struct http_connection *c)
{
    connection_phase_set(c, PHASE_SEND);
}

bool http_connection_gone(const struct http_connection *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    return atomic_load(&c->cut) || (poll(&p, 1, 0) > 0 && p.revents);
}
