/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources of the configuration: see config_source.h. Keys land in fields one by one; source_check
 * then holds them against the kind of source.
 */
#include "daemon/config_source.h"

#include "camera/camera_params.h"
#include "daemon/config_secret.h"
#include "proto/blur.h"
#include "proto/near_name.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG_MAX_SOURCES = 256 };

static const char *const own_keys[] = {"uri", "user", "password", "password_file", "blur"};
enum { OWN_KEYS = sizeof(own_keys) / sizeof(own_keys[0]) };

static int field_set(char **field, const char *value, char why[CONFIG_WHY])
{
    char *text = strdup(value);
    if (!text) {
        snprintf(why, CONFIG_WHY, "out of memory");
        return -1;
    }
    free(*field);
    *field = text;
    return 0;
}

/* ---- one key ---- */

static int address_set(struct configured_source *s, const char *value, char why[CONFIG_WHY])
{
    const char *login;
    size_t n = source_login_length(value, &login);
    if (!value[0]) {
        snprintf(why, CONFIG_WHY, "uri: is empty");
        return -1;
    }
    if (n > 0 && memchr(login, ':', n)) {
        snprintf(why, CONFIG_WHY,
                 "uri: holds a password; write user: and password_file: beside it");
        return -1;
    }
    if (n > 0) {
        snprintf(why, CONFIG_WHY, "uri: holds a user; write user: beside it");
        return -1;
    }
    return source_scheme(value, &s->kind, why, CONFIG_WHY) ? field_set(&s->address, value, why)
                                                           : -1;
}

static int setting_refuse(const char *key, char why[CONFIG_WHY])
{
    struct near_name near = near_name_of(key, strlen(key));
    char also[96];
    const char *help, *name;
    for (unsigned i = 0; (name = camera_params_key(i, &help)) != NULL; i++)
        near_name_try_name(&near, name);
    for (unsigned i = 0; i < OWN_KEYS; i++)
        near_name_try_name(&near, own_keys[i]);
    for (unsigned i = 0; (name = rights_key(i)) != NULL; i++)
        near_name_try_name(&near, name);
    for (unsigned i = 0; (name = upkeep_keys[i].name) != NULL; i++)
        near_name_try_name(&near, name);
    snprintf(why, CONFIG_WHY, "%.60s: no key of a source%s", key,
             near_name_also(&near, also, sizeof(also)));
    return -1;
}

static struct source_setting *setting_find(const struct configured_source *s, const char *key)
{
    for (unsigned i = 0; i < s->n_settings; i++)
        if (!strcmp(s->settings[i].key, key))
            return &s->settings[i];
    return NULL;
}

const char *source_setting(const struct configured_source *s, const char *key)
{
    const struct source_setting *found = setting_find(s, key);
    return found ? found->value : NULL;
}

/* Appends an empty one; NULL: no room. */
static struct source_setting *setting_add(struct configured_source *s, const char *key)
{
    if (s->n_settings == SOURCE_SETTINGS)
        return NULL;
    struct source_setting *grown = realloc(s->settings, (s->n_settings + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    s->settings = grown;
    grown[s->n_settings] = (struct source_setting){.key = strdup(key)};
    return grown[s->n_settings].key ? &grown[s->n_settings++] : NULL;
}

static int setting_set(struct configured_source *s, const char *key, const char *value,
                       char why[CONFIG_WHY])
{
    if (!camera_params_known(key))
        return setting_refuse(key, why);
    struct source_setting *setting = setting_find(s, key);
    setting = setting ? setting : setting_add(s, key);
    if (!setting) {
        snprintf(why, CONFIG_WHY, "%s: more than %d settings, or no memory", key, SOURCE_SETTINGS);
        return -1;
    }
    return field_set(&setting->value, value, why);
}

static int secret_set(struct configured_source *s, const char *folder, const char *value,
                      char why[CONFIG_WHY])
{
    char secret[SECRET_SIZE];
    if (secret_read(folder, value, secret, why) < 0)
        return -1;
    int rc = field_set(&s->password_file, value, why);
    rc = rc ? rc : field_set(&s->password, secret, why);
    memset(secret, 0, sizeof(secret));
    return rc;
}

static int blur_set(struct configured_source *s, const char *value, char why[CONFIG_WHY])
{
    char cause[BLUR_WHY];
    if (blur_parse(value, s->blur, &s->n_blur, cause) == 0)
        return 0;
    snprintf(why, CONFIG_WHY, "blur: %s", cause);
    return -1;
}

int source_set(struct configured_source *s, const char *folder, const char *key, const char *value,
               char why[CONFIG_WHY])
{
    if (!strcmp(key, "uri"))
        return address_set(s, value, why);
    if (!strcmp(key, "user"))
        return field_set(&s->user, value, why);
    if (!strcmp(key, "password") && !s->password_file)
        return field_set(&s->password, value, why);
    if (!strcmp(key, "password_file") && (s->password_file || !s->password))
        return secret_set(s, folder, value, why);
    if (!strncmp(key, "read.", 5) || !strncmp(key, "control.", 8) || !strncmp(key, "device.", 7))
        return rights_set(&s->rights, key, value, why);
    if (upkeep_knows(key))
        return upkeep_set(&s->upkeep, folder, key, value, why);
    if (!strncmp(key, "password", 8) && (!key[8] || !strcmp(key + 8, "_file"))) {
        snprintf(why, CONFIG_WHY, "password and password_file: one of them");
        return -1;
    }
    return !strcmp(key, "blur") ? blur_set(s, value, why) : setting_set(s, key, value, why);
}

/* ---- the whole ---- */

static int login_check(const struct configured_source *s, const char **key, char why[CONFIG_WHY])
{
    *key = s->password_file ? "password_file" : s->password ? "password" : "user";
    if (s->kind != SOURCE_NETWORK) {
        snprintf(why, CONFIG_WHY, "%s: no key of this kind of source", *key);
        return -1;
    }
    if (!s->user || !s->user[0] || strchr(s->user, ':')) {
        snprintf(why, CONFIG_WHY, "%s: needs a user, without ':'", *key);
        return -1;
    }
    return 0;
}

static int camera_check(const struct configured_source *s, const char **key, char why[CONFIG_WHY])
{
    struct camera_params params;
    char address[CAMERA_ADDRESS], cause[CAMERA_WHY] = "";
    *key = "uri";
    bool fits = snprintf(address, sizeof(address), "%s", s->address) < (int)sizeof(address);
    /* alone the address need not be complete */
    bool alone = fits && camera_params_parse(address, &params, cause) == 0;
    for (unsigned i = 0; fits && i < s->n_settings; i++) {
        const struct source_setting *at = &s->settings[i];
        if (alone && camera_params_set(&params, at->key, at->value, why) < 0) {
            *key = at->key;
            return -1;
        }
        fits = camera_address_append(address, at->key, at->value);
    }
    if (!fits)
        snprintf(why, CONFIG_WHY, "the settings are too long");
    return !fits || camera_params_parse(address, &params, why) < 0 ? -1 : 0;
}

int source_check(struct configured_source *s, const char **key, char why[CONFIG_WHY])
{
    *key = NULL;
    if (!s->address) {
        snprintf(why, CONFIG_WHY, "source %s has no uri", s->name);
        return -1;
    }
    if ((s->user || s->password) && login_check(s, key, why) < 0)
        return -1;
    if (upkeep_check(&s->upkeep, s->kind, key, why) < 0)
        return -1;
    if (s->kind == SOURCE_CAMERA)
        return camera_check(s, key, why);
    if (s->n_settings == 0)
        return 0;
    *key = s->settings[0].key;
    snprintf(why, CONFIG_WHY, "%s: no key of this kind of source", *key);
    return -1;
}

/* ---- lists ---- */

struct configured_source *config_source_add(struct configured_source **sources, unsigned *n_sources,
                                            const char *name, char why[CONFIG_WHY])
{
    struct configured_source *grown;
    if (strlen(name) >= sizeof(grown->name) || *n_sources == CONFIG_MAX_SOURCES) {
        snprintf(why, CONFIG_WHY, "source %.64s: the name is too long, or there are more than %d",
                 name, CONFIG_MAX_SOURCES);
        return NULL;
    }
    for (unsigned i = 0; i < *n_sources; i++)
        if (!strcmp((*sources)[i].name, name)) {
            snprintf(why, CONFIG_WHY, "source %s: named twice", name);
            return NULL;
        }
    grown = realloc(*sources, (*n_sources + 1) * sizeof(*grown));
    if (!grown) {
        snprintf(why, CONFIG_WHY, "out of memory");
        return NULL;
    }
    *sources = grown;
    grown += (*n_sources)++;
    memset(grown, 0, sizeof(*grown));
    snprintf(grown->name, sizeof(grown->name), "%s", name);
    return grown;
}

void config_sources_free(struct configured_source *sources, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        source_clear(&sources[i]);
    free(sources);
}
