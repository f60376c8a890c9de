/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources of the command line, -c sources.NAME.KEY=VALUE: see config_source.h. Everybody may read a
 * command line, so no password stands there.
 */
#include "daemon/config_reader.h"

#include <stdlib.h>
#include <string.h>

static struct configured_source *source_find(struct configured_source *sources, unsigned n,
                                             const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(sources[i].name, name))
            return &sources[i];
    return NULL;
}

/* On a copy, so that a wrong value changes nothing. */
static int override_key(struct configured_source *source, const char *key, const char *value,
                        char why[CONFIG_WHY])
{
    struct configured_source changed;
    const char *unused;
    if (!strcmp(key, "password")) {
        snprintf(why, CONFIG_WHY, "password: everybody may read a command line; use password_file");
        return -1;
    }
    if (!source_copy(source, &changed)) {
        snprintf(why, CONFIG_WHY, "out of memory");
        return -1;
    }
    if (source_set(&changed, NULL, key, value, why) < 0 ||
        source_check(&changed, &unused, why) < 0) {
        source_clear(&changed);
        return -1;
    }
    source_clear(source);
    *source = changed;
    return 0;
}

static int override_new(const char *name, const char *key, const char *value,
                        struct configured_source **sources, unsigned *n_sources,
                        char why[CONFIG_WHY])
{
    if (strcmp(key, "uri") != 0 || !value[0]) {
        snprintf(why, CONFIG_WHY, "no source of this name, and no uri for a new one");
        return -1;
    }
    struct configured_source *s = config_source_add(sources, n_sources, name, why);
    if (!s)
        return -1;
    if (override_key(s, key, value, why) == 0)
        return 0;
    source_clear(s);
    --*n_sources;
    return -1;
}

int config_override(const char *text, struct configured_source **sources, unsigned *n_sources,
                    char why[CONFIG_WHY])
{
    char name[64], key[CONFIG_KEY], cause[CONFIG_WHY] = "";
    const char *from = text + strlen("sources."), *dot = strchr(from, '.'),
               *equal = strchr(from, '=');
    if (!dot || !equal || dot > equal || dot == from || (size_t)(dot - from) >= sizeof(name) ||
        (size_t)(equal - dot - 1) >= sizeof(key)) {
        snprintf(why, CONFIG_WHY, "-c %.100s: expected sources.NAME.KEY=VALUE", text);
        return -1;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(dot - from), from);
    snprintf(key, sizeof(key), "%.*s", (int)(equal - dot - 1), dot + 1);
    struct configured_source *source = source_find(*sources, *n_sources, name);
    int rc = source ? override_key(source, key, equal + 1, cause)
                    : override_new(name, key, equal + 1, sources, n_sources, cause);
    if (rc < 0)
        snprintf(why, CONFIG_WHY, "-c sources.%s: %.150s", name, cause);
    return rc;
}
