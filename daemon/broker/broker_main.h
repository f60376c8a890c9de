/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entry of the broker process.
 */
#ifndef PELTON_BROKER_MAIN_H
#define PELTON_BROKER_MAIN_H

struct settings;

int broker_run(const struct settings *settings); /* an exit code */

#endif
