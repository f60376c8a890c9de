/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A camera that gives H.264 as a source of access units; see source.h.
 */
#ifndef PELTON_SOURCE_CAMERA_H
#define PELTON_SOURCE_CAMERA_H

#include "daemon/worker/source/file_source.h"

struct v4l2_streams;

/* As source_open; waits for a device that may be waited for. watcher is borrowed as long as the
 * source is open. */
int source_camera_open(struct source *src, struct v4l2_streams *streams, const char *uri,
                       const char *name, const atomic_bool *stop,
                       const struct source_watcher *watcher, struct pelton_failure *failure);
int source_camera_read(struct source *src, AVPacket *packet, struct pelton_failure *failure);
void source_camera_close(struct source *src);

#endif
