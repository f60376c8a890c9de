/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What this machine leaves to the process: free memory and processors, under the limits of its
 * control groups, version 1 or 2.
 *
 * Thread: any.
 */
#ifndef PELTON_MACHINE_H
#define PELTON_MACHINE_H

#include <stdint.h>

/* Bytes of host memory that are free: for the system, and below each limit. root: "" in service;
 * tests have files of their own below it. 0: unknown. */
uint64_t machine_free_memory(const char *root);
/* `cpus`, or fewer where a quota of processor time says so; at least 1. */
unsigned machine_cpus(const char *root, unsigned cpus);
/* Of processors that the process may run on, within its quota; at most `most`. */
unsigned machine_threads(unsigned most);

#endif
