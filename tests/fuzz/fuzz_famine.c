/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes of another target one whose k-th allocation fails: its own function is renamed, and the
 * linker wraps malloc, calloc and realloc. The last two bytes of the input say k.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int fuzz_plenty(const uint8_t *data, size_t size); /* the other target */
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);

static _Atomic long left; /* allocations until the one that fails; none below 1 */

static int fails(void)
{
    return atomic_fetch_sub(&left, 1) == 1;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return -1;
    unsigned k = data[size - 2] % 8 ? data[size - 1] : data[size - 1] | data[size - 2] << 5;
    atomic_store(&left, (long)k + 1);
    int rc = fuzz_plenty(data, size - 2);
    atomic_store(&left, 0);
    return rc;
}
