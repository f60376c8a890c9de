/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs a fuzz target on kept inputs, without libFuzzer: replay FILE. The file holds inputs one
 * after the other, each behind its length (32 bits, little-endian). tests/fuzz/keep writes it.
 */
#include "tests/tools/read_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static int inputs_run(const uint8_t *pack, size_t size)
{
    size_t at = 0, length;
    for (int i = 0; at + 4 <= size; i++, at += length) {
        length = pack[at] | pack[at + 1] << 8 | pack[at + 2] << 16 | (size_t)pack[at + 3] << 24;
        at += 4;
        uint8_t *input = length <= size - at ? malloc(length ? length : 1) : NULL;
        if (!input)
            return -1;
        memcpy(input, pack + at, length);
        printf("input %d, %zu bytes\n", i, length);
        fflush(stdout);
        LLVMFuzzerTestOneInput(input, length);
        free(input);
    }
    return at == size && size ? 0 : -1;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    uint8_t *pack = argc == 2 ? read_file(argv[1], &size) : NULL;
    if (!pack) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    int rc = inputs_run(pack, size);
    free(pack);
    if (rc < 0)
        fprintf(stderr, "%s holds no inputs, or is cut off\n", argv[1]);
    return rc < 0;
}
