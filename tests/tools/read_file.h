/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads a whole file into memory.
 */
#ifndef PELTON_TESTS_READ_FILE_H
#define PELTON_TESTS_READ_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* malloc'd; NULL where it cannot be read or there is no memory. */
static inline uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long length;
    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0) {
        data = malloc((size_t)length + 1);
        *size = data ? fread(data, 1, (size_t)length, file) : 0;
        if (data && *size != (size_t)length) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

#endif
