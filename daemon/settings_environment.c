/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Keys of the configuration in the environment: see settings_environment.h.
 */
#include "daemon/settings_environment.h"

#include "daemon/log.h"
#include "daemon/settings_keys.h"
#include "proto/near_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char prefix[] = "PELTON_CONFIG_";

void environment_name(const char *key, char out[ENVIRONMENT_NAME])
{
    size_t n = strlen(prefix);
    memcpy(out, prefix, n);
    for (; *key && n + 1 < ENVIRONMENT_NAME; key++)
        out[n++] = *key == '.' ? '_' : (char)toupper((unsigned char)*key);
    out[n] = 0;
}

const char *environment_value(const char *key)
{
    char name[ENVIRONMENT_NAME];
    environment_name(key, name);
    return getenv(name);
}

static bool variable_known(const char *variable, size_t length)
{
    for (size_t i = 0; i < settings_key_count(); i++) {
        char name[ENVIRONMENT_NAME];
        environment_name(settings_key_name(i), name);
        if (strlen(name) == length && strncmp(name, variable, length) == 0)
            return true;
    }
    return false;
}

/* The key that was meant, as its variable. */
static const char *variable_hint(const char *variable, char out[96])
{
    char word[ENVIRONMENT_NAME];
    struct near_name near = near_name_of(variable, strlen(variable));
    for (size_t i = 0; i < settings_key_count(); i++) {
        environment_name(settings_key_name(i), word);
        near_name_try_name(&near, word);
    }
    return near_name_also(&near, out, 96);
}

static void variable_warn(const char *variable)
{
    const char *rest = variable + strlen(prefix);
    char also[96];
    if (strncmp(rest, "SOURCES", 7) == 0)
        log_line(LOG_LEVEL_WARNING,
                 "%s has no effect: sources are set by -c sources.NAME.KEY=VALUE, or by ${NAME} in "
                 "the file",
                 variable);
    else if (strncmp(rest, "LISTEN", 6) == 0)
        log_line(LOG_LEVEL_WARNING,
                 "%s has no effect: PELTON_SOCKET sets the path, -c listen.unix.KEY=VALUE the rest",
                 variable);
    else
        log_line(LOG_LEVEL_WARNING, "%s has no effect: there is no such key%s", variable,
                 variable_hint(variable, also));
}

void environment_check(void)
{
    for (char **at = environ; *at; at++) {
        size_t n = strcspn(*at, "=");
        char variable[128];
        if (strncmp(*at, prefix, strlen(prefix)) != 0 || variable_known(*at, n))
            continue;
        snprintf(variable, sizeof(variable), "%.*s", (int)(n < 120 ? n : 120), *at);
        variable_warn(variable);
    }
}
