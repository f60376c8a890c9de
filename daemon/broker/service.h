/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What systemd wants to know of the daemon: sd_notify(3) and its watchdog.
 */
#ifndef PELTON_SERVICE_H
#define PELTON_SERVICE_H

#include "daemon/notify.h"

#include <uv.h>

void service_watchdog(uv_timer_t *timer); /* starts it where systemd asks for it */

#endif
