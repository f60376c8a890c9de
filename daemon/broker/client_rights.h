/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a client may do: by its user and its groups when it connected, and by the rules of the
 * configuration. A private client, root and the daemon's own user may do everything.
 */
#ifndef PELTON_CLIENT_RIGHTS_H
#define PELTON_CLIENT_RIGHTS_H

#include "daemon/broker/client.h"
#include "daemon/broker/named.h"

/* Asks the kernel for user and groups of the peer. False: not a Unix socket, or no memory. */
bool client_identify(struct client *c, int fd);
void client_free(struct client *c);
/* Whether it may do what an administrator may. */
bool client_administers(const struct client *c);
bool client_may_read(const struct client *c, const struct named_source *n);
bool client_may_control(const struct client *c, const struct named_source *n);
/* Frames in device memory; n NULL: of a file, or of an address that is no named source. */
bool client_may_import(const struct client *c, const struct named_source *n);
/* The rule that refuses it; PELTON_ERR_PERMISSION. */
int client_refuse_read(const struct named_source *n, struct pelton_failure *failure);
int client_refuse_control(const struct named_source *n, struct pelton_failure *failure);
/* name: of the stream */
int client_refuse_import(const struct named_source *n, const char *name,
                         struct pelton_failure *failure);

#endif
