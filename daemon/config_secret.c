/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the configuration takes from outside of its file: see config_secret.h.
 */
#include "daemon/config_secret.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *secret_open(const char *folder, const char *name)
{
    char path[1024];
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    if (name[0] == '/')
        return fopen(name, "re");
    if (credentials && !strchr(name, '/') &&
        snprintf(path, sizeof(path), "%s/%s", credentials, name) < (int)sizeof(path)) {
        FILE *file = fopen(path, "re");
        if (file)
            return file;
    }
    if (snprintf(path, sizeof(path), "%s%s", folder ? folder : "", name) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(path, "re");
}

int secret_read(const char *folder, const char *name, char out[SECRET_SIZE], char why[CONFIG_WHY])
{
    FILE *file = secret_open(folder, name);
    if (!file) {
        snprintf(why, CONFIG_WHY, "password_file %.100s: %m", name);
        return -1;
    }
    bool good = fgets(out, SECRET_SIZE, file) != NULL;
    fclose(file);
    out[good ? strcspn(out, "\r\n") : 0] = 0;
    if (out[0])
        return 0;
    snprintf(why, CONFIG_WHY, "password_file %.100s: its first line is empty", name);
    return -1;
}

/* text stands behind "${"; *used receives its length with the '}'. NULL, with the reason. */
static const char *variable_find(const char *text, size_t *used, char why[CONFIG_WHY])
{
    char name[64];
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    if (n == 0 || text[n] != '}' || n >= sizeof(name)) {
        snprintf(why, CONFIG_WHY, "${%.40s: expected ${NAME}; $$ stands for $", text);
        return NULL;
    }
    memcpy(name, text, n);
    name[n] = 0;
    *used = n + 1;
    const char *value = getenv(name);
    if (!value)
        snprintf(why, CONFIG_WHY, "${%s}: the environment has no such variable", name);
    return value;
}

int environment_expand(const char *text, char *out, size_t size, char why[CONFIG_WHY])
{
    size_t n = 0;
    while (*text) {
        const char *part = text;
        size_t used = 1, length = 1;
        if (text[0] == '$' && text[1] == '$') {
            used = 2;
        } else if (text[0] == '$' && text[1] == '{') {
            part = variable_find(text + 2, &used, why);
            if (!part)
                return -1;
            used += 2;
            length = strlen(part);
        }
        if (length >= size - n) {
            snprintf(why, CONFIG_WHY, "the value is longer than %zu bytes", size - 1);
            return -1;
        }
        memcpy(out + n, part, length);
        n += length;
        text += used;
    }
    out[n] = 0;
    return 0;
}
