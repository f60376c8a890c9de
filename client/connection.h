/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection to a daemon.
 */
#ifndef CLIENT_CONNECTION_H
#define CLIENT_CONNECTION_H

#include "client/options.h"

/* Connects to a running daemon, where one is named or found and no option asks for a private one.
 * Where none runs, starts a private daemon, unless the input is a name of a configuration. The
 * caller closes it by pelton_close. Returns an exit code. */
int connection_open(const struct client_options *o, struct pelton **out, struct failure *f);

/* Warns once a run that frames come from a software device. */
void announce_device(const struct pelton_device *device);

/* "libavcodec" or "pelton", for JSON. */
const char *decoder_name(bool libavcodec);
/* " (software)", " (no GPU)" or nothing, to follow its name. */
const char *device_kind(const struct pelton_device *device);

/* --timeout for libpelton: milliseconds, -1: for ever. */
int timeout_ms(const struct client_options *o);

#endif
