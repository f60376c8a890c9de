/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The log of a private daemon, kept for the case that it cannot start.
 */
#ifndef CLIENT_DAEMON_LOG_H
#define CLIENT_DAEMON_LOG_H

#include "client/exit_code.h"

/* A descriptor for pelton_spawn, in memory and of limited size; -1: none. The caller closes it. */
int daemon_log_open(void);
/* Records why the daemon ended: the last line of its log. Returns 0 where it logged nothing. */
int daemon_log_cause(int fd, struct failure *f);

#endif
