/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the parts of the library: faults.c, which describes it, and faults_vulkan.c.
 */
#ifndef PELTON_TEST_FAULTS_H
#define PELTON_TEST_FAULTS_H

#include <stdbool.h>

/* PELTON_FAULT_OF is that word. */
bool fault_of(const char *kind);
/* A wanted call has come from there: whether it is the one that fails. */
bool fault_here(bool wanted, const char *name, const void *caller);

#define CALLER __builtin_return_address(0)

#endif
