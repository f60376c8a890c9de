/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What systemd wants to know: sd_notify(3) and its watchdog.
 */
#ifndef PELTON_SERVICE_H
#define PELTON_SERVICE_H

#include <uv.h>

void service_notify(const char *state);   /* nothing where systemd does not ask for it */
void service_watchdog(uv_timer_t *timer); /* starts it where systemd asks for it */

#endif
