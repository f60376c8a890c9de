/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sources that killed workers, so that a client which opens one again and again costs nobody
 * else a restart. A file is known by its identity (device, inode, size, time of change), not by its
 * name, which the client chooses; anything else by its address.
 */
#ifndef PELTON_QUARANTINE_H
#define PELTON_QUARANTINE_H

#include <stdbool.h>
#include <stdint.h>

enum { QUARANTINE_SIZE = 16 };

struct quarantine_key {
    uint64_t device, inode, size, changed_ns;
    uint64_t address; /* hash of the URI, 0 for a descriptor */
};

struct quarantine {
    struct quarantine_key keys[QUARANTINE_SIZE];
    uint64_t until_ms[QUARANTINE_SIZE];
    unsigned next;
};

/* fd -1: by uri. */
struct quarantine_key quarantine_key_of(int fd, const char *uri);
void quarantine_add(struct quarantine *q, const struct quarantine_key *key, uint64_t until_ms);
bool quarantine_has(const struct quarantine *q, const struct quarantine_key *key, uint64_t now_ms);

#endif
