/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the stand-ins for devices: numbers from the environment.
 */
#ifndef PELTON_TESTS_SESSION_REFERENCE_H
#define PELTON_TESTS_SESSION_REFERENCE_H

#include <stdlib.h>

static inline unsigned long reference_number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

#endif
