/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a service tells systemd: sd_notify(3), without its library. Any thread.
 */
#ifndef PELTON_NOTIFY_H
#define PELTON_NOTIFY_H

void service_notify(const char *state); /* nothing where systemd does not ask for it */

#endif
