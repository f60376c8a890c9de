/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a client may do: see client_rights.h.
 *
 * The groups are those of the process that connected, at that moment (SO_PEERGROUPS). A user who
 * joins a group connects again to have its rights. The failure mode is a kernel that tells no
 * groups: then only the primary group counts.
 */
#include "daemon/broker/client_rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GROUPS_MOST = 65536 }; /* of Linux */

/* The supplementary groups; one place more is left. False: out of memory. */
static bool groups_ask(struct client *c, int fd)
{
    socklen_t size = 0;
    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size); /* ERANGE, and their size */
    if (size > GROUPS_MOST * sizeof(gid_t))
        size = 0;
    c->groups = malloc(size + sizeof(gid_t));
    if (!c->groups)
        return false;
    if (size == 0 || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, c->groups, &size) < 0)
        size = 0;
    c->n_groups = size / sizeof(gid_t);
    return true;
}

bool client_identify(struct client *c, int fd)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t length = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || !groups_ask(c, fd))
        return false;
    c->uid = peer.uid;
    c->pid = peer.pid;
    c->groups[c->n_groups++] = peer.gid;
    return true;
}

void client_free(struct client *c)
{
    free(c->groups);
    free(c);
}

bool client_administers(const struct client *c)
{
    return c->is_private || c->uid == 0 || c->uid == geteuid();
}

static struct access_subject subject_of(const struct client *c)
{
    return (struct access_subject){c->uid, c->groups, c->n_groups};
}

bool client_may_read(const struct client *c, const struct named_source *n)
{
    const struct access_subject who = subject_of(c);
    return client_administers(c) || rights_read(&n->config.rights, &who);
}

bool client_may_control(const struct client *c, const struct named_source *n)
{
    const struct access_subject who = subject_of(c);
    return client_administers(c) || rights_control(&n->config.rights, &who);
}

bool client_may_import(const struct client *c, const struct named_source *n)
{
    const struct access_subject who = subject_of(c);
    return client_administers(c) ||
           rights_device(n ? &n->config.rights : &c->broker->settings->rights, &who);
}

static int client_refuse(const struct named_source *n, const char *act, const char *key,
                         const struct access_rule *rule, struct pelton_failure *failure)
{
    char who[160], place[96];
    access_describe(rule, who, sizeof(who));
    if (rule->inherited)
        snprintf(place, sizeof(place), "rights.%s", key);
    else
        snprintf(place, sizeof(place), "sources.%s.%s", n->config.name, key);
    failure->code = PELTON_ERR_PERMISSION;
    snprintf(failure->cause, sizeof(failure->cause), "%s of \"%.40s\" is allowed to %.100s (%.80s)",
             act, n->config.name, who, place);
    snprintf(failure->hint, sizeof(failure->hint),
             rule->n_groups ? "join the group and log in again, or ask who administers the daemon"
                            : "ask who administers the daemon");
    return failure->code;
}

int client_refuse_read(const struct named_source *n, struct pelton_failure *failure)
{
    return client_refuse(n, "reading", "read", &n->config.rights.read, failure);
}

int client_refuse_control(const struct named_source *n, struct pelton_failure *failure)
{
    const struct source_rights *r = &n->config.rights;
    return r->control.given ? client_refuse(n, "control", "control", &r->control, failure)
                            : client_refuse(n, "control", "read", &r->read, failure);
}

int client_refuse_import(const struct named_source *n, const char *name,
                         struct pelton_failure *failure)
{
    char place[96] = "rights.device";
    bool own = n && n->config.rights.device.given && !n->config.rights.device.inherited;
    if (own)
        snprintf(place, sizeof(place), "sources.%.60s.device", n->config.name);
    failure->code = PELTON_ERR_PERMISSION;
    snprintf(failure->cause, sizeof(failure->cause),
             "%.80s: frames in device memory are not allowed to this user (%s)", name, place);
    snprintf(failure->hint, sizeof(failure->hint),
             "have the user added to %.80s.users, or read frames in host memory", place);
    return failure->code;
}
