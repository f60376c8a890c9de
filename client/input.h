/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An input of the command line: a file, standard input, or an address that the daemon opens.
 */
#ifndef CLIENT_INPUT_H
#define CLIENT_INPUT_H

#include "client/connection.h"

struct client_input {
    const char *uri;  /* for the daemon to open, or NULL */
    int fd;           /* the open file; -1: none */
    bool owned;       /* input_close closes fd */
    const char *name; /* for messages: as typed, without a password */
    char *hidden;     /* memory for name; NULL: of a file */
};
/* Opens a file, or keeps an address (the string stays the caller's). Returns an exit code; *out
 * needs no closing then. */
int input_open(const char *name, struct client_input *out, struct failure *f);
void input_close(struct client_input *s);
/* A file or an address: what the daemon does not encode is opened again, and encoded here. */
bool input_opens_again(const struct client_input *s);

/* Fills *out with all that the options say about an input. It borrows from s and o. */
void input_params(const struct client_options *o, const struct client_input *s,
                  struct pelton_open_params *out);
/* As pelton_open. Says on stderr when it waits for a source. Returns an exit code. */
int input_subscribe(const struct client_options *o, struct pelton *conn,
                    const struct pelton_open_params *params, const char *name,
                    struct pelton_info *info, struct pelton_stream **out, struct failure *f);
/* Of encoded video: it has no sound. */
void input_tell_sound(const char *name, const struct pelton_info *info);
/* A plain word names a source of the configuration: the first input becomes its address, in buffer.
 * Returns an exit code. */
int input_resolve_name(struct client_options *o, char *buffer, size_t size, struct failure *f);

#endif
