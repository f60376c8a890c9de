/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A broker without sockets, processes or a clock of its own, for tests of its step. Messages of
 * workers go the real way, from packed bytes; those of clients change state directly.
 */
#ifndef PELTON_TEST_BROKER_WORLD_H
#define PELTON_TEST_BROKER_WORLD_H

#include "daemon/broker/ask.h"
#include "daemon/broker/broker_step.h"
#include "daemon/broker/broker_stream.h"
#include "daemon/broker/client.h"
#include "daemon/broker/devices.h"
#include "tests/daemon/broker/fake_links.h"

struct broker_world {
    struct broker b;
    struct settings settings;
    uint64_t now_ms;
    int n_clients;
};

/* device: as --device; NULL: one device */
void world_open(struct broker_world *w, const char *device);
/* Every client goes; nothing is left, which a sanitizer build checks. */
void world_close(struct broker_world *w);
struct client *world_client(struct broker_world *w);
/* Steps until nothing changes any more, at most ten times; returns what was sent meanwhile. */
const char *world_step(struct broker_world *w);
const char *world_later(struct broker_world *w, uint64_t ms); /* the same after ms */

/* A stream of a file (it can be opened again), a pipe (it cannot), a network source (live). */
enum world_source { WORLD_FILE, WORLD_PIPE, WORLD_LIVE };
struct broker_stream *world_stream(struct client *c, uint32_t object_id, enum world_source source);
struct broker_stream *world_probe(struct client *c, uint32_t object_id);

/* From the stream's worker. */
void world_info(struct broker_stream *s);
void world_format(struct broker_stream *s, uint32_t slots); /* always epoch 1 of its session */
void world_frame(struct broker_stream *s, uint64_t sequence, uint32_t slot);
/* From the client: the frame with that sequence number of the worker. */
void world_release(struct broker_stream *s, uint64_t sequence, uint32_t slot);
void world_short(struct broker_stream *s); /* of memory */
void world_eos(struct broker_stream *s, int code);
/* From that worker, to a question with this request number. */
void world_says_devices(struct worker_process *w, uint32_t request, unsigned devices);
void world_says_error(struct worker_process *w, uint32_t request, int code);

#endif
