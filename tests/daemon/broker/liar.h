/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A daemon for one client that a function plays, for tests of libpelton. It lies, or answers.
 */
#ifndef PELTON_TESTS_LIAR_H
#define PELTON_TESTS_LIAR_H

#include "tests/daemon/broker/harness.h"

#include <sys/types.h>

struct liar {
    pid_t pid;
    char socket[64];
};

/* Plays `serve` in a process of its own, with the connection of its one client. */
void liar_start(struct liar *l, void (*serve)(struct raw *r, int arg), int arg);

/* The same, and a client with one stream. */
void liar_open(struct liar *l, void (*serve)(struct raw *r, int arg), int arg, struct pelton **conn,
               struct pelton_stream **s);

void liar_stop(struct liar *l);

/* What `serve` says first. */
void liar_welcome(struct raw *r);

/* The same, and that the first stream is open: its number. */
uint32_t liar_accepts(struct raw *r);

#endif
