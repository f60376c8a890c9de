/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources as JSON, for the handlers that speak of them.
 */
#ifndef PELTON_API_SOURCES_H
#define PELTON_API_SOURCES_H

#include "proto/json.h"
#include "web/daemon_watch.h"
#include "web/http_request.h"

/* A raw camera: the daemon develops its frames. */
bool source_is_camera(const struct pelton_source *s);
/* It ends; cameras and network sources go on. */
bool source_is_file(const struct pelton_source *s);
const char *source_state_word(enum pelton_source_state state);
/* Its members, into an object that is open. */
void source_write(struct json *j, const struct watched_source *w, const struct watched_daemon *d);
/* The source that the request's path names. False: there is none, and the request is answered. */
bool source_named(struct http_request *r, struct watched_source *out, enum MHD_Result *result);

#endif
