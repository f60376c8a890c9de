/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Links without sockets or processes: client_link.h and worker_link.h for tests of the broker's
 * step. Every message is written down as one word or more, and the test reads them.
 */
#ifndef PELTON_TEST_FAKE_LINKS_H
#define PELTON_TEST_FAKE_LINKS_H

#include "daemon/broker/broker.h"

/* What was sent since the last call, in order, with ", " between: "w0 start, w0 Open 1, c1 Eos 3".
 * Clients are named by their pid, workers by their place. Valid until the next call. */
const char *links_take(void);
/* Workers cannot be started from now on, or can again. */
void links_refuse_start(bool refuse);
/* The process of a worker ends and is reaped; the next step sees that it is gone. */
void links_worker_dies(struct worker_process *w);

#endif
