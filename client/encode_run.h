/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of one input or several into access units by an encoder: pelton encode, and -c:v h264 of
 * pipe and record. All inputs share one connection and one device, so their pictures share batches.
 */
#ifndef CLIENT_ENCODE_RUN_H
#define CLIENT_ENCODE_RUN_H

#include "client/options.h"

/* files: outputs are files of their own; else standard output or a server. Returns an exit code. */
int encode_run(struct client_options *o, bool files, struct failure *f);

#endif
