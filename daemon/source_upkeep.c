/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How the daemon keeps a source of the configuration: see source_upkeep.h.
 */
#include "daemon/source_upkeep.h"

#include "camera/camera_values.h"
#include "daemon/config_print.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DAY_US 86400e6

const struct upkeep_key upkeep_keys[] = {
    {"always_on", "flag\tno\t\tcameras and network sources: open without readers"},
    {"close_after", "time\t0\t0 to 86400s\tcameras: how long it stays open after its last reader"},
    {"placeholder",
     "word\tnone\t\tnone, gray, last or FILE.png: picture for readers while it is down"},
    {NULL, NULL},
};

static const char *const placeholder_words[] = {"none", "gray", "last", NULL};

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

/* A number alone would be microseconds, as cameras have them. */
static bool has_unit(const char *value)
{
    size_t n = strlen(value);
    return n > 0 && value[n - 1] == 's';
}

static bool is_picture(const char *value)
{
    size_t n = strlen(value);
    return strchr(value, '/') || (n > 4 && strcasecmp(value + n - 4, ".png") == 0);
}

static int placeholder_set(struct source_upkeep *u, const char *folder, const char *value,
                           char why[CONFIG_WHY])
{
    uint32_t word = PLACEHOLDER_FILE;
    if (!is_picture(value) && !camera_parse_word(value, placeholder_words, &word))
        return upkeep_refuse("placeholder", value, "none, gray, last or the name of a PNG file",
                             why);
    struct source_upkeep made = {.shown = (enum source_placeholder)word};
    if (word == PLACEHOLDER_FILE) {
        made.picture = picture_read(folder, value, why);
        made.picture_file = made.picture ? strdup(value) : NULL;
        if (!made.picture)
            return -1;
    }
    if (word == PLACEHOLDER_FILE && !made.picture_file) {
        upkeep_clear(&made);
        snprintf(why, CONFIG_WHY, "out of memory");
        return -1;
    }
    upkeep_clear(u);
    u->shown = made.shown;
    u->picture = made.picture;
    u->picture_file = made.picture_file;
    return 0;
}

int upkeep_set(struct source_upkeep *u, const char *folder, const char *key, const char *value,
               char why[CONFIG_WHY])
{
    double us;
    if (!strcmp(key, "always_on"))
        return camera_parse_flag(value, &u->always_on)
                   ? 0
                   : upkeep_refuse(key, value, "yes or no", why);
    if (!strcmp(key, "close_after")) {
        if (!camera_parse_time(value, 0, DAY_US, &us) || (us > 0 && !has_unit(value)))
            return upkeep_refuse(key, value, "a time up to a day with its unit, as 30s", why);
        u->close_after_ms = (uint64_t)(us / 1000);
        return 0;
    }
    return placeholder_set(u, folder, value, why);
}

bool upkeep_copy(const struct source_upkeep *from, struct source_upkeep *out)
{
    *out = *from;
    out->picture = picture_ref(from->picture);
    out->picture_file = from->picture_file ? strdup(from->picture_file) : NULL;
    if (!from->picture_file || out->picture_file)
        return true;
    upkeep_clear(out);
    return false;
}

void upkeep_clear(struct source_upkeep *u)
{
    picture_unref(u->picture);
    free(u->picture_file);
    u->picture = NULL;
    u->picture_file = NULL;
    u->shown = PLACEHOLDER_NONE;
}

void upkeep_swap(struct source_upkeep *a, struct source_upkeep *b)
{
    struct source_upkeep before = *a;
    *a = *b;
    *b = before;
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
           a->shown == b->shown && picture_same(a->picture, b->picture);
}

void upkeep_print(const struct source_upkeep *u, FILE *to)
{
    if (u->always_on)
        fputs(", always_on: yes", to);
    if (u->close_after_ms)
        fprintf(to, ", close_after: \"%llums\"", (unsigned long long)u->close_after_ms);
    if (u->shown)
        fputs(", placeholder: ", to);
    if (u->shown == PLACEHOLDER_FILE)
        config_print_value(u->picture_file, to);
    else if (u->shown)
        fputs(placeholder_words[u->shown], to);
}
