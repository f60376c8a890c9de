/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which part of a shared file decodes which stretch: see stretch_table.h.
 *
 * An entry is the stretch's number plus one, shifted by eight bits, and its part. It only grows.
 */
#include "daemon/stretch_table.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES = 1 << 15, PART_BITS = 8, CHUNK = 4096 };

struct stretch_table {
    _Atomic uint64_t joined; /* a bit each part */
    _Atomic uint64_t entry[ENTRIES];
};

static bool table_fill(int fd)
{
    static const char zeros[CHUNK];
    const uint64_t first = 1; /* part 0 */
    size_t rest = sizeof(struct stretch_table) - sizeof(first);
    bool right = write(fd, &first, sizeof(first)) == (ssize_t)sizeof(first);
    for (size_t n; right && rest; rest -= n) {
        n = rest < CHUNK ? rest : CHUNK;
        right = write(fd, zeros, n) == (ssize_t)n;
    }
    return right && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

int stretch_table_create(void)
{
    int fd = memfd_create("pelton-stretches", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && !table_fill(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

struct stretch_table *stretch_table_map(int fd)
{
    struct stat st;
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    int has = fcntl(fd, F_GET_SEALS);
    if (has < 0 || (has & seals) != seals || fstat(fd, &st) < 0 ||
        st.st_size != (off_t)sizeof(struct stretch_table))
        return NULL;
    void *t = mmap(NULL, sizeof(struct stretch_table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return t == MAP_FAILED ? NULL : t;
}

void stretch_table_unmap(struct stretch_table *t)
{
    if (t)
        munmap(t, sizeof(*t));
}

void stretch_table_join(struct stretch_table *t, uint32_t part)
{
    atomic_fetch_or(&t->joined, (uint64_t)1 << part);
}

bool stretch_table_joined(const struct stretch_table *t, uint32_t part)
{
    return atomic_load(&t->joined) >> part & 1;
}

static int owner_by(uint64_t entry, uint64_t number)
{
    uint64_t of = entry >> PART_BITS;
    if (of == number + 1)
        return (int)(entry & ((1 << PART_BITS) - 1));
    return of > number + 1 ? STRETCH_PAST : STRETCH_NOBODY;
}

int stretch_table_owner(const struct stretch_table *t, uint64_t number)
{
    return owner_by(atomic_load(&t->entry[number % ENTRIES]), number);
}

/* Of those that have joined, the one whose turn it is. */
static uint32_t turn_of(uint64_t joined, uint64_t number)
{
    unsigned skip = joined ? (unsigned)(number % (unsigned)__builtin_popcountll(joined)) : 0;
    for (; skip; skip--)
        joined &= joined - 1;
    return joined ? (uint32_t)__builtin_ctzll(joined) : 0;
}

int stretch_table_assign(struct stretch_table *t, uint64_t number)
{
    _Atomic uint64_t *entry = &t->entry[number % ENTRIES];
    uint64_t was = atomic_load(entry);
    while (owner_by(was, number) == STRETCH_NOBODY) {
        uint64_t now = (number + 1) << PART_BITS | turn_of(atomic_load(&t->joined), number);
        if (atomic_compare_exchange_strong(entry, &was, now))
            return owner_by(now, number);
    }
    return owner_by(was, number);
}
