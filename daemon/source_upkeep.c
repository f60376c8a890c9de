/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How the daemon keeps a source of the configuration: see source_upkeep.h.
 */
#include "daemon/source_upkeep.h"

#include "camera/camera_values.h"

#include <string.h>

#define DAY_US 86400e6

const struct upkeep_key upkeep_keys[] = {
    {"always_on", "flag\tno\t\tcameras and network sources: open without readers"},
    {"close_after", "time\t0\t0 to 86400s\tcameras: how long it stays open after its last reader"},
    {"placeholder", "word\tnone\t\tnone or gray: picture for readers while the source is down"},
    {NULL, NULL},
};

static const char *const placeholder_words[] = {"none", "gray", NULL};

bool upkeep_knows(const char *key)
{
    const struct upkeep_key *k = upkeep_keys;
    while (k->name && strcmp(k->name, key) != 0)
        k++;
    return k->name != NULL;
}

static int upkeep_refuse(const char *key, const char *value, const char *expected,
                         char why[CONFIG_WHY])
{
    snprintf(why, CONFIG_WHY, "%s=%.60s: expected %s", key, value, expected);
    return -1;
}

int upkeep_set(struct source_upkeep *u, const char *key, const char *value, char why[CONFIG_WHY])
{
    double us;
    uint32_t word;
    if (!strcmp(key, "always_on"))
        return camera_parse_flag(value, &u->always_on)
                   ? 0
                   : upkeep_refuse(key, value, "yes or no", why);
    if (!strcmp(key, "close_after")) {
        if (!camera_parse_time(value, 0, DAY_US, &us))
            return upkeep_refuse(key, value, "a time up to a day, as 30s", why);
        u->close_after_ms = (uint64_t)(us / 1000);
        return 0;
    }
    if (!camera_parse_word(value, placeholder_words, &word))
        return upkeep_refuse(key, value, "none or gray", why);
    u->shown = (enum source_placeholder)word;
    return 0;
}

int upkeep_check(const struct source_upkeep *u, enum source_kind kind, const char **key,
                 char why[CONFIG_WHY])
{
    bool camera = kind == SOURCE_CAMERA, live = camera || kind == SOURCE_NETWORK;
    *key = u->close_after_ms && !camera ? "close_after"
           : u->always_on && !live      ? "always_on"
           : u->shown && !live          ? "placeholder"
                                        : NULL;
    if (!*key)
        return 0;
    snprintf(why, CONFIG_WHY, "%s: no key of this kind of source", *key);
    return -1;
}

bool upkeep_same(const struct source_upkeep *a, const struct source_upkeep *b)
{
    return a->always_on == b->always_on && a->close_after_ms == b->close_after_ms &&
           a->shown == b->shown;
}

void upkeep_print(const struct source_upkeep *u, FILE *to)
{
    if (u->always_on)
        fputs(", always_on: yes", to);
    if (u->close_after_ms)
        fprintf(to, ", close_after: \"%llums\"", (unsigned long long)u->close_after_ms);
    if (u->shown)
        fprintf(to, ", placeholder: %s", placeholder_words[u->shown]);
}
