/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages of workers.
 */
#ifndef PELTON_WORKER_MESSAGES_H
#define PELTON_WORKER_MESSAGES_H

#include "daemon/broker/worker_process.h"

void worker_message(struct worker_process *w, struct frame *f);

#endif
