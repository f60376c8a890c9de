/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who may read and who may control a source, and who may have its frames in device memory: users
 * and groups of the configuration.
 */
#ifndef PELTON_SOURCE_RIGHTS_H
#define PELTON_SOURCE_RIGHTS_H

#include "daemon/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { ACCESS_MOST = 16, ACCESS_NAMES = 256 };

struct access_rule {
    bool given;     /* else everybody who may connect */
    bool inherited; /* from the rights for all sources */
    unsigned n_users, n_groups;
    uid_t users[ACCESS_MOST];
    gid_t groups[ACCESS_MOST];
    char user_names[ACCESS_NAMES], group_names[ACCESS_NAMES]; /* as written, commas between */
};

/* Who may control may read. Without a rule for control, readers may control. Without a rule for
 * device, nobody has frames in device memory: no driver makes them read-only. */
struct source_rights {
    struct access_rule read, control, device;
};

/* Who asks: its groups are the primary and the supplementary ones. */
struct access_subject {
    uid_t uid;
    const gid_t *groups;
    size_t n_groups;
};

/* Keys: users and groups of read, control and device, as read.users. NULL after the last one. */
const char *rights_key(unsigned index);
/* value: names or numbers with commas between; empty: nobody. 0, or -1 with the reason. */
int rights_set(struct source_rights *r, const char *key, const char *value, char why[CONFIG_WHY]);
/* Rules that are not given are taken over. */
void rights_inherit(struct source_rights *r, const struct source_rights *from);
bool rights_same(const struct source_rights *a, const struct source_rights *b);
bool rights_read(const struct source_rights *r, const struct access_subject *who);
bool rights_device(const struct source_rights *r, const struct access_subject *who);
bool rights_control(const struct source_rights *r, const struct access_subject *who);
/* "users ann, bob and group operators", or "nobody". */
void access_describe(const struct access_rule *rule, char *out, size_t size);
/* The rules that are given and not inherited, as key: "value" with `before` in front of each. */
void rights_print(const struct source_rights *r, const char *before, const char *after, FILE *to);

#endif
