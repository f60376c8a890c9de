/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What an Open to a worker carries beyond the client's: whose it is, and the fields of the named
 * source. A client's own values of these fields reach no worker.
 */
#ifndef PELTON_OPEN_FIELDS_H
#define PELTON_OPEN_FIELDS_H

#include "daemon/broker/stream_state.h"
#include "daemon/config_source.h"

struct open_fields {
    Pelton__Setting settings[SOURCE_SETTINGS + 1], *list[SOURCE_SETTINGS + 1];
    Pelton__Login login;
    struct wire_controls controls;
    /* the client's, to be put back */
    size_t n_settings, n_controls;
    Pelton__Setting **client_settings;
    Pelton__Control **client_controls;
    Pelton__Login *client_login;
    protobuf_c_boolean client_shared;
    uint64_t client_reader;
};

/* fields lives until open_fields_detach. */
void open_fields_attach(struct broker_stream *s, struct open_fields *fields);
void open_fields_detach(struct broker_stream *s, const struct open_fields *fields);

#endif
