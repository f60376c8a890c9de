/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether libavcodec decodes in place of a device.
 */
#ifndef PELTON_WORKER_FALLBACK_H
#define PELTON_WORKER_FALLBACK_H

#include "daemon/settings.h"
#include "proto/wire.h"

#define FALLBACK_DEVICE "libavcodec" /* the --device that asks for it, GPU or not */

bool fallback_named(const char *device);
/* device: as asked for; NULL: auto. libavcodec was named, or there is no usable GPU and auto may
 * take libavcodec in its place. Opens no device. */
bool fallback_chosen(const struct settings *settings, const char *device);
/* What the broker is told of a device that is not open. */
void fallback_message(Pelton__Device *out);

#endif
