/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Building, reading and packing the index of a file.
 */
#include "daemon/worker/source/file_index.h"

#include "gpu/engine/cache_file.h"

#include <stdlib.h>
#include <string.h>

static const char magic[8] = "peltonX1";

/* A packed index: this, frames, keys. */
struct index_head {
    char magic[8];
    uint64_t identity, frames, n_keys;
    uint64_t sum; /* of what follows */
};

struct file_index *file_index_create(uint64_t identity)
{
    struct file_index *x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    atomic_init(&x->refs, 1);
    x->identity = identity;
    return x;
}

struct file_index *file_index_ref(struct file_index *x)
{
    atomic_fetch_add(&x->refs, 1);
    return x;
}

void file_index_unref(struct file_index *x)
{
    if (!x || atomic_fetch_sub(&x->refs, 1) != 1)
        return;
    free(x->pts);
    free(x->keys);
    free(x);
}

/* Room for one more of *at; false: no memory. */
static bool grow(void **at, uint64_t count, uint64_t *room, size_t size)
{
    uint64_t more = *room ? 2 * *room : 64;
    if (count < *room)
        return true;
    void *grown = count < FILE_INDEX_MOST ? realloc(*at, more * size) : NULL;
    if (!grown)
        return false;
    *at = grown;
    *room = more;
    return true;
}

bool file_index_add_frame(struct file_index *x, int64_t pts)
{
    void *at = x->pts;
    bool good = grow(&at, x->frames, &x->pts_room, sizeof(*x->pts));
    x->pts = at;
    if (good)
        x->pts[x->frames++] = pts;
    return good;
}

bool file_index_add_key(struct file_index *x, const struct index_key *key)
{
    void *at = x->keys;
    bool good = grow(&at, x->n_keys, &x->key_room, sizeof(*x->keys));
    x->keys = at;
    if (good)
        x->keys[x->n_keys++] = *key;
    return good;
}

const struct index_key *file_index_key(const struct file_index *x, uint64_t number)
{
    uint64_t low = 0, high = x->n_keys;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (x->keys[middle].number <= number)
            low = middle;
        else
            high = middle;
    }
    return &x->keys[low];
}

uint64_t file_index_at(const struct file_index *x, int64_t pts)
{
    uint64_t low = 0, high = x->frames;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (x->pts[middle] <= pts)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t content_size(uint64_t frames, uint64_t keys)
{
    return frames * sizeof(int64_t) + keys * sizeof(struct index_key);
}

size_t file_index_bytes(const struct file_index *x)
{
    return sizeof(*x) + content_size(x->frames, x->n_keys);
}

void *file_index_pack(const struct file_index *x, size_t *size)
{
    size_t content = content_size(x->frames, x->n_keys);
    struct index_head head = {.identity = x->identity, .frames = x->frames, .n_keys = x->n_keys};
    uint8_t *block = malloc(sizeof(head) + content), *at = block + sizeof(head);
    if (!block)
        return NULL;
    if (x->frames)
        memcpy(at, x->pts, x->frames * sizeof(*x->pts));
    if (x->n_keys)
        memcpy(at + x->frames * sizeof(*x->pts), x->keys, x->n_keys * sizeof(*x->keys));
    memcpy(head.magic, magic, sizeof(magic));
    head.sum = cache_checksum(at, content);
    memcpy(block, &head, sizeof(head));
    *size = sizeof(head) + content;
    return block;
}

static bool head_valid(const struct index_head *head, size_t content, const uint8_t *at,
                       uint64_t identity)
{
    return !memcmp(head->magic, magic, sizeof(magic)) && head->identity == identity &&
           head->frames <= FILE_INDEX_MOST && head->n_keys <= FILE_INDEX_MOST && head->n_keys &&
           content == content_size(head->frames, head->n_keys) &&
           head->sum == cache_checksum(at, content);
}

/* What the lookups rely on. */
static bool keys_valid(const struct file_index *x)
{
    for (uint64_t i = 0; i < x->n_keys; i++) {
        const struct index_key *key = &x->keys[i];
        if (key->number > x->frames || (i ? key->number < key[-1].number : key->number != 0))
            return false;
    }
    return true;
}

struct file_index *file_index_unpack(const void *block, size_t size, uint64_t identity)
{
    struct index_head head;
    const uint8_t *at = (const uint8_t *)block + sizeof(head);
    if (size < sizeof(head))
        return NULL;
    memcpy(&head, block, sizeof(head));
    if (!head_valid(&head, size - sizeof(head), at, identity))
        return NULL;
    struct file_index *x = file_index_create(identity);
    if (!x)
        return NULL;
    x->pts = malloc(head.frames * sizeof(*x->pts) + 1);
    x->keys = malloc(head.n_keys * sizeof(*x->keys));
    if (x->pts && x->keys) {
        memcpy(x->pts, at, head.frames * sizeof(*x->pts));
        memcpy(x->keys, at + head.frames * sizeof(*x->pts), head.n_keys * sizeof(*x->keys));
        x->frames = x->pts_room = head.frames;
        x->n_keys = x->key_room = head.n_keys;
        if (keys_valid(x))
            return x;
    }
    file_index_unref(x);
    return NULL;
}
