/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engines of a worker, one a device: "--device all" takes every GPU of the machine, a list "A,B" those it names. Whole streams
 * are shared out; each engine has its own threads, windows and frame stores, so that devices do not wait for each other.
 *
 * Thread: the loop thread.
 */
#ifndef PELTON_ENGINES_H
#define PELTON_ENGINES_H

#include "daemon/worker/session.h"

enum { ENGINES_MAX = 16 };

struct engines {
    struct engines_entry {
        struct engines *set;
        struct engine *engine;
        uint32_t streams;
    } entries[ENGINES_MAX];
    uint32_t count, open; /* open: engine_close has not called back */
    void (*closed)(void *ctx);
    void *ctx;
};

/* Opens what params->device names, threads shared out among them; 0 where they are open already. After an error some may be open:
 * engines_close closes them. enum pelton_error. */
int engines_open(struct engines *set, uv_loop_t *loop, const struct engine_params *params);
/* The engine with the fewest streams; the caller gives it back when its stream ends. */
struct engines_entry *engines_take(struct engines *set);
void engines_give(struct engines_entry *entry); /* NULL allowed */
/* Asynchronous; closed is called at once where none is open. */
void engines_close(struct engines *set, void (*closed)(void *ctx), void *ctx);

#endif
