/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Quarantine: see quarantine.h.
 */
#include "daemon/broker/quarantine.h"

#include <string.h>
#include <sys/stat.h>

/* FNV-1a */
static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h ? h : 1;
}

struct quarantine_key quarantine_key_of(int fd, const char *uri)
{
    struct quarantine_key key = {0};
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        key.device = st.st_dev;
        key.inode = st.st_ino;
        key.size = (uint64_t)st.st_size;
        key.changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    } else {
        key.address = hash(uri);
    }
    return key;
}

void quarantine_add(struct quarantine *q, const struct quarantine_key *key, uint64_t until_ms)
{
    q->keys[q->next] = *key;
    q->until_ms[q->next] = until_ms;
    q->next = (q->next + 1) % QUARANTINE_SIZE;
}

bool quarantine_has(const struct quarantine *q, const struct quarantine_key *key, uint64_t now_ms)
{
    for (unsigned i = 0; i < QUARANTINE_SIZE; i++)
        if (q->until_ms[i] > now_ms && memcmp(&q->keys[i], key, sizeof(*key)) == 0)
            return true;
    return false;
}
