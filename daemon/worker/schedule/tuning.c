/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See tuning.h.
 */
#include "daemon/worker/schedule/tuning.h"

#include "daemon/worker/schedule/knobs.h"

#include <stddef.h>
#include <string.h>

#define DIGITS 4 /* of a number */

struct tuning_name {
    const char *name;
    size_t offset;
    uint32_t most;
};
#define NAME(member, most)                                                                         \
    {                                                                                              \
        #member, offsetof(struct split_tuning, member), most                                       \
    }

static const struct tuning_name names[] = {
    NAME(batches, SPLIT_BATCHES),
    NAME(alone, SPLIT_BATCHES),
    NAME(pictures, SPLIT_PICTURES),
    NAME(halves, 32),
    NAME(halves_alone, 32),
    NAME(wait, 4096),
    NAME(part, 64),
    NAME(blocks, SPLIT_MB_BLOCKS),
    NAME(slots, 64),
    NAME(results, 64),
    NAME(waiting, 1024),
    NAME(first, 4096),
    NAME(kept, 8),
    NAME(ahead, 256),
    NAME(margin, 1000),
    NAME(margin_most, 1000),
    NAME(ready, 4096),
    NAME(choice, CHOICE_BYTES),
    NAME(join, JOIN_WAITING),
    NAME(worth, 1000),
    NAME(idle, 1024),
    NAME(cavlc, CAVLC_BOTH),
    NAME(early, 64),
    NAME(awake, 64),
    NAME(rows, 64),
    NAME(packed, PACKED_LEVELS),
    NAME(fetch, FETCH_NEEDED),
    NAME(width, 256),
    NAME(flight, BATCHES_IN_FLIGHT),
    NAME(share, 8),
    NAME(small, 64),
};

static const struct tuning_name *name_find(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i].name) == size && memcmp(names[i].name, text, size) == 0)
            return &names[i];
    return NULL;
}

/* *text: behind the number. */
static bool number_parse(const char **text, uint32_t most, uint32_t *out)
{
    uint32_t number = 0, digits = 0;
    for (; **text >= '0' && **text <= '9' && digits < DIGITS; (*text)++, digits++)
        number = number * 10 + (uint32_t)(**text - '0');
    if (!digits || number > most)
        return false;
    *out = number;
    return true;
}

bool split_tuning_parse(const char *text, struct split_tuning *out)
{
    struct split_tuning t = *out;
    bool more = text && *text;
    while (more) {
        size_t size = strcspn(text, "=");
        const struct tuning_name *n = name_find(text, size);
        if (!n)
            return false;
        text += size + (text[size] == '=');
        if (!number_parse(&text, n->most, (uint32_t *)((char *)&t + n->offset)) ||
            (*text && *text != ','))
            return false;
        more = *text == ',';
        text += more;
    }
    *out = t;
    return true;
}
