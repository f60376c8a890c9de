/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The bodies of the interface in the form of JSON Schema 2020-12, as OpenAPI 3.1 has it.
 */
#ifndef PELTON_API_SCHEMAS_H
#define PELTON_API_SCHEMAS_H

#include "proto/json.h"
#include "web/http_request.h"

/* The schema of a route's answer, and of its request's body. NULL: it is not JSON, or there is
 * none.
 */
const char *api_answer_schema(const struct http_route *route);
const char *api_request_schema(const struct http_route *route);
/* {"$ref": ...} of a schema of this name. */
void api_schema_refer(struct json *j, const char *member, const char *name);
/* The member "schemas", into "components". */
void api_schemas_write(struct json *j);
/* The events of /api/v1/events, each with its schema: the member "x-events" of that operation. */
void api_events_describe(struct json *j);

#endif
