/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Arrays that grow as they are filled.
 */
#ifndef PELTON_TESTS_GROW_H
#define PELTON_TESTS_GROW_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Room for one element more in an array of count elements. array: the address of its pointer.
 * False: no memory, and nothing changed. */
static inline bool grow_by_one(void *array, unsigned count, unsigned *capacity, size_t size)
{
    unsigned more = 2 * *capacity + 64;
    void *at;
    if (count < *capacity)
        return true;
    memcpy(&at, array, sizeof(at));
    at = realloc(at, more * size);
    if (!at)
        return false;
    memcpy(array, &at, sizeof(at));
    *capacity = more;
    return true;
}

#endif
