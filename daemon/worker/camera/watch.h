/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Waiting for a device to be plugged in: inotify on the folders that lead to its path, which may be
 * a link of /dev/v4l/by-id.
 */
#ifndef PELTON_CAMERA_WATCH_H
#define PELTON_CAMERA_WATCH_H

#include "daemon/backoff.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns at until_ns (CLOCK_MONOTONIC), when wake_fd becomes readable, or, with true, when the
 * path can be opened after something has happened to it; absent: also when it can be at once.
 * Blocks; without inotify it only sleeps. */
bool watch_wait(const char *path, bool absent, int wake_fd, int64_t until_ns);

/* The time of the next try (CLOCK_MONOTONIC, ns). */
int64_t watch_backoff(struct backoff *b);
#define WATCH_HEALTHY_NS (BACKOFF_HEALTHY_MS * 1000000ll)

#endif
