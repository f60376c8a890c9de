/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration read again, on SIGHUP or when asked to: only its sources change while the
 * daemon runs.
 *
 * A source with the same address and settings is left alone, and so are its readers. One that is
 * named no more ends for its readers, with that reason. One that has changed is opened anew for
 * them: a new epoch, DISCONT, sequence numbers that go on. The failure modes are a file that is
 * wrong, and no memory: then nothing has changed, for all that is needed is made before anything is
 * touched.
 */
#include "daemon/broker/broker.h"

#include "daemon/config_source.h"
#include "daemon/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_all(struct named_source *n)
{
    while (n) {
        struct named_source *next = n->next;
        named_free(n);
        n = next;
    }
}

static struct named_source *make_all(struct broker *b, const struct configured_source *sources,
                                     unsigned count)
{
    struct named_source *first = NULL, **tail = &first;
    for (unsigned i = 0; i < count; i++) {
        *tail = named_create(b, &sources[i]);
        if (!*tail) {
            free_all(first);
            return NULL;
        }
        tail = &(*tail)->next;
    }
    return first;
}

static struct named_source **find(struct named_source **list, const char *name)
{
    while (*list && strcmp((*list)->name, name) != 0)
        list = &(*list)->next;
    return list;
}

static void end_readers(struct broker *b, struct named_source *n)
{
    for (struct stream *s = b->streams, *next; s; s = next) {
        next = s->next;
        if (s->named == n) {
            stream_withdraw(s);
            stream_fail(s, PELTON_ERR_NOT_FOUND, "pelton sources lists what there is",
                        "%s: the configuration names this source no more", n->name);
        }
    }
}

static void move_reader(struct stream *s, const struct named_source *n)
{
    stream_withdraw(s);
    int rc = source_move(s, n);
    if (rc < 0) {
        stream_fail(s, rc, "", "%s: the source cannot be opened as it is now", n->name);
        return;
    }
    s->state = STREAM_QUEUED;
    s->moved_base = s->next_sequence;
    s->discont = true;
    s->wait_ms = 0;
    s->strikes = 0;
    stream_keep_drops(s);
    if (s->replied)
        stream_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, "the configuration has changed");
    named_state(s, PELTON__SOURCE_STATE__STATE__OPENING, "the configuration has changed");
}

static void move_readers(struct broker *b, struct named_source *n)
{
    for (struct stream *s = b->streams, *next; s; s = next) {
        next = s->next;
        if (s->named == n)
            move_reader(s, n);
    }
}

static bool same(const struct named_source *a, const struct named_source *b)
{
    return strcmp(a->uri, b->uri) == 0 && a->n_blur == b->n_blur &&
           memcmp(a->blur, b->blur, a->n_blur * sizeof(a->blur[0])) == 0;
}

/* Takes over what `made` says of a source that was there before. */
static void update(struct broker *b, struct named_source *n, struct named_source *made,
                   struct pelton_reloaded *out)
{
    if (same(n, made)) {
        out->kept++;
        return;
    }
    char *before = n->uri;
    n->uri = made->uri;
    made->uri = before;
    n->n_blur = made->n_blur;
    memcpy(n->blur, made->blur, sizeof(n->blur));
    out->changed++;
    move_readers(b, n);
    named_tell(n, false);
}

static void apply(struct broker *b, struct named_source *made, struct pelton_reloaded *out)
{
    struct named_source *old = b->named, *list = NULL, **tail = &list;
    while (made) {
        struct named_source *fresh = made, **at = find(&old, fresh->name);
        made = fresh->next;
        fresh->next = NULL;
        if (*at) {
            struct named_source *n = *at;
            *at = n->next;
            n->next = NULL;
            update(b, n, fresh, out);
            named_free(fresh);
            fresh = n;
        } else {
            out->added++;
            named_tell(fresh, false);
        }
        *tail = fresh;
        tail = &fresh->next;
    }
    b->named = list;
    while (old) {
        struct named_source *next = old->next;
        end_readers(b, old);
        named_tell(old, true);
        named_free(old);
        old = next;
        out->removed++;
    }
}

int reload(struct broker *b, struct pelton_reloaded *out, char why[256])
{
    struct configured_source *sources = NULL;
    unsigned count = 0;
    struct pelton_reloaded result = {0};
    service_notify("RELOADING=1");
    int rc = settings_reread(b->settings, &sources, &count, result.note, why);
    struct named_source *made = rc == 0 ? make_all(b, sources, count) : NULL;
    if (rc == 0 && count > 0 && !made) {
        snprintf(why, 256, "out of memory");
        rc = -1;
    }
    if (rc == 0) {
        apply(b, made, &result);
        log_line(LOG_LEVEL_WARNING,
                 "reloaded: %u sources added, %u removed, %u changed, %u as before%s%s",
                 result.added, result.removed, result.changed, result.kept,
                 result.note[0] ? "; " : "", result.note);
        *out = result;
        recovery_pump(b);
    } else {
        log_line(LOG_LEVEL_ERROR, "not reloaded, all stays as it was: %s", why);
    }
    config_sources_free(sources, count);
    service_notify("READY=1");
    return rc;
}
