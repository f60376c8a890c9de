/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What workers hold, by use: pelton stats, pelton bench.
 *
 * Thread: any.
 */
#ifndef PELTON_MEMORY_REPORT_H
#define PELTON_MEMORY_REPORT_H

#include "proto/json.h"
#include "proto/pelton.h"

/* One line: totals in MB, and the uses that hold something. */
void memory_print(const char *head, const uint64_t gpu[PELTON_MEMORY_MOST],
                  const uint64_t host[PELTON_MEMORY_MOST]);
/* An object of totals and uses, bytes. */
void memory_json(struct json *j, const char *name, const uint64_t gpu[PELTON_MEMORY_MOST],
                 const uint64_t host[PELTON_MEMORY_MOST]);

#endif
