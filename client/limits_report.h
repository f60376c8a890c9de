/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The daemon's limits and the rights that its processes have given up: pelton stats, pelton doctor.
 *
 * Thread: any.
 */
#ifndef PELTON_LIMITS_REPORT_H
#define PELTON_LIMITS_REPORT_H

#include "proto/json.h"
#include "proto/pelton.h"

/* "seccomp and Landlock", or what there is of them. */
const char *sandbox_text(uint32_t sandbox);
/* One line: the daemon's process and its workers. */
void sandbox_print(const struct pelton_status *s);
/* Prints what workers have encoded of cameras; nothing where that is nothing. */
void encoders_print(const struct pelton_status *s);
/* A table: limit, value, use, refusals. */
void limits_print(const struct pelton_status *s);
/* Members "processes" and "limits". */
void limits_json(struct json *j, const struct pelton_status *s);

#endif
