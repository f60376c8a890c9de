/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where frames come from: the connection to a daemon, and the input as it is handed over.
 */
#ifndef CLIENT_SOURCE_H
#define CLIENT_SOURCE_H

#include "client/options.h"

/* A running daemon where one is named or found and no private one is asked for, else a private
 * daemon. Tells of a software device. */
int connection_open(const struct options *o, struct pelton **out, struct failure *f);

/* Says once, on stderr, that frames come from a software device. */
void announce_device(const struct pelton_device *device);

struct source {
    const char *uri;  /* for a daemon to open, or NULL */
    int fd;           /* else the open file; -1 none */
    bool owned;       /* fd is ours to close */
    const char *name; /* as typed */
};
int source_open(const char *name, struct source *out, struct failure *f);
void source_close(struct source *s);

/* Everything that -ss, -t, … say about an input. */
void source_params(const struct options *o, const struct source *s, struct pelton_open_params *out);
int timeout_ms(const struct options *o);
/* As pelton_open; says on stderr when a source is waited for. name: as typed. Returns an exit code.
 */
int source_stream(const struct options *o, struct pelton *conn,
                  const struct pelton_open_params *params, const char *name,
                  struct pelton_info *info, struct pelton_stream **out, struct failure *f);

const char *source_state_name(enum pelton_source_state state);

#endif
