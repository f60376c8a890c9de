/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who may read and who may control a source: see source_rights.h. Names become numbers when the
 * configuration is read, so that nothing is looked up while the daemon serves.
 */
#include "daemon/source_rights.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *key;
    size_t rule; /* its offset */
    bool groups;
} keys[] = {
    {"read.users", offsetof(struct source_rights, read), false},
    {"read.groups", offsetof(struct source_rights, read), true},
    {"control.users", offsetof(struct source_rights, control), false},
    {"control.groups", offsetof(struct source_rights, control), true},
    {"device.users", offsetof(struct source_rights, device), false},
    {"device.groups", offsetof(struct source_rights, device), true},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

const char *rights_key(unsigned index)
{
    return index < KEYS ? keys[index].key : NULL;
}

/* uid_t and gid_t have the same range. */
static bool name_find(const char *name, bool group, uid_t *out)
{
    const struct group *g = group ? getgrnam(name) : NULL;
    const struct passwd *p = group ? NULL : getpwnam(name);
    char *end;
    if (g || p) {
        *out = g ? g->gr_gid : p->pw_uid;
        return true;
    }
    errno = 0;
    unsigned long number = strtoul(name, &end, 10);
    if (name[0] < '0' || name[0] > '9' || *end || errno || number >= UINT32_MAX)
        return false;
    *out = (uid_t)number;
    return true;
}

static int names_find(const char *key, const char *value, bool group, uid_t out[ACCESS_MOST],
                      unsigned *n, char why[CONFIG_WHY])
{
    for (*n = 0; *value;) {
        char name[64];
        size_t length = strcspn(value, ",");
        if (*n == ACCESS_MOST || length == 0 || length >= sizeof(name)) {
            snprintf(why, CONFIG_WHY, "%s: expected at most %d names, with commas between", key,
                     ACCESS_MOST);
            return -1;
        }
        snprintf(name, sizeof(name), "%.*s", (int)length, value);
        if (!name_find(name, group, &out[*n])) {
            snprintf(why, CONFIG_WHY, "%s: %s: there is no such %s", key, name,
                     group ? "group" : "user");
            return -1;
        }
        ++*n;
        value += length;
        value += *value == ',';
    }
    return 0;
}

int rights_set(struct source_rights *r, const char *key, const char *value, char why[CONFIG_WHY])
{
    int i = 0;
    while (i < KEYS && strcmp(keys[i].key, key) != 0)
        i++;
    if (i == KEYS || strlen(value) >= ACCESS_NAMES) {
        snprintf(why, CONFIG_WHY,
                 i == KEYS ? "%.60s: expected read, control or device, with users or groups"
                           : "%.60s: the list is too long",
                 key);
        return -1;
    }
    struct access_rule *rule = (struct access_rule *)((char *)r + keys[i].rule);
    rule->given = true;
    snprintf(keys[i].groups ? rule->group_names : rule->user_names, ACCESS_NAMES, "%s", value);
    return names_find(key, value, keys[i].groups, keys[i].groups ? rule->groups : rule->users,
                      keys[i].groups ? &rule->n_groups : &rule->n_users, why);
}

static void rule_inherit(struct access_rule *rule, const struct access_rule *from)
{
    if (rule->given || !from->given)
        return;
    *rule = *from;
    rule->inherited = true;
}

void rights_inherit(struct source_rights *r, const struct source_rights *from)
{
    rule_inherit(&r->read, &from->read);
    rule_inherit(&r->control, &from->control);
    rule_inherit(&r->device, &from->device);
}

static bool rule_same(const struct access_rule *a, const struct access_rule *b)
{
    return a->given == b->given && a->n_users == b->n_users && a->n_groups == b->n_groups &&
           memcmp(a->users, b->users, a->n_users * sizeof(a->users[0])) == 0 &&
           memcmp(a->groups, b->groups, a->n_groups * sizeof(a->groups[0])) == 0;
}

bool rights_same(const struct source_rights *a, const struct source_rights *b)
{
    return rule_same(&a->read, &b->read) && rule_same(&a->control, &b->control) &&
           rule_same(&a->device, &b->device);
}

/* ---- the question ---- */

static bool rule_names(const struct access_rule *rule, const struct access_subject *who)
{
    for (unsigned i = 0; i < rule->n_users; i++)
        if (rule->users[i] == who->uid)
            return true;
    for (unsigned i = 0; i < rule->n_groups; i++)
        for (size_t k = 0; k < who->n_groups; k++)
            if (rule->groups[i] == who->groups[k])
                return true;
    return false;
}

bool rights_read(const struct source_rights *r, const struct access_subject *who)
{
    return !r->read.given || rule_names(&r->read, who) ||
           (r->control.given && rule_names(&r->control, who));
}

bool rights_control(const struct source_rights *r, const struct access_subject *who)
{
    return r->control.given ? rule_names(&r->control, who) : rights_read(r, who);
}

bool rights_device(const struct source_rights *r, const struct access_subject *who)
{
    return r->device.given && rule_names(&r->device, who);
}

/* ---- texts ---- */

/* "group a", "groups a, b" */
static void names_describe(const char *kind, const char *names, unsigned n, char out[ACCESS_NAMES])
{
    size_t at = (size_t)snprintf(out, ACCESS_NAMES, "%s%s ", kind, n > 1 ? "s" : "");
    for (; *names && at + 3 < ACCESS_NAMES; names++) {
        out[at++] = *names;
        if (*names == ',')
            out[at++] = ' ';
    }
    out[at] = 0;
}

void access_describe(const struct access_rule *rule, char *out, size_t size)
{
    char users[ACCESS_NAMES] = "", groups[ACCESS_NAMES] = "";
    if (rule->n_users)
        names_describe("user", rule->user_names, rule->n_users, users);
    if (rule->n_groups)
        names_describe("group", rule->group_names, rule->n_groups, groups);
    if (rule->n_users || rule->n_groups)
        snprintf(out, size, "%.100s%s%.100s", users, users[0] && groups[0] ? " and " : "", groups);
    else
        snprintf(out, size, "nobody");
}

static void rule_print(const struct access_rule *rule, const char *name, const char *before,
                       const char *after, FILE *to)
{
    if (!rule->given || rule->inherited)
        return;
    fprintf(to, "%s%s.users: \"%s\"%s", before, name, rule->user_names, after);
    fprintf(to, "%s%s.groups: \"%s\"%s", before, name, rule->group_names, after);
}

void rights_print(const struct source_rights *r, const char *before, const char *after, FILE *to)
{
    rule_print(&r->read, "read", before, after, to);
    rule_print(&r->control, "control", before, after, to);
    rule_print(&r->device, "device", before, after, to);
}
