/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A session's source that is live: access units come from live_source.h, by the thread that reads
 * the source for all.
 */
#ifndef PELTON_LIVE_UNITS_H
#define PELTON_LIVE_UNITS_H

#include "daemon/worker/source/live_source.h"

/* As source_open. newest: of the units that were there before, the last one is shown, and those
 * before it are marked AV_PKT_FLAG_DISCARD. */
int source_live_open(struct source *src, struct live_sources *all, const struct live_wish *wish,
                     bool newest, const char *name, const atomic_bool *stop,
                     const struct source_watcher *watcher, struct pelton_failure *failure);

#endif
