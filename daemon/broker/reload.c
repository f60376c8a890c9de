/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration read again, on SIGHUP or when asked to: only its sources change while the
 * daemon runs.
 *
 * A source with the same address and settings is left alone, and so are its readers, but for those
 * that its rules admit no more. A source that
 * is named no more ends for its readers, with that reason. A source that has changed is opened
 * again for them: a new epoch, DISCONT, sequence numbers that go on. The failure modes are a wrong
 * file and no memory. Then nothing changes, because everything is made before anything is touched.
 */
#include "daemon/broker/reload.h"

#include "daemon/broker/broker_stream.h"
#include "daemon/broker/client_rights.h"
#include "daemon/broker/named.h"
#include "daemon/broker/opened_source.h"
#include "daemon/broker/service.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/stream_messages.h"

#include "daemon/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sources_free(struct named_source *n)
{
    while (n) {
        struct named_source *next = n->next;
        named_free(n);
        n = next;
    }
}

static struct named_source *sources_create(struct broker *b,
                                           const struct configured_source *sources, unsigned count)
{
    struct named_source *first = NULL, **tail = &first;
    for (unsigned i = 0; i < count; i++) {
        *tail = named_create(b, &sources[i]);
        if (!*tail) {
            sources_free(first);
            return NULL;
        }
        tail = &(*tail)->next;
    }
    return first;
}

static struct named_source **sources_find(struct named_source **list, const char *name)
{
    while (*list && strcmp((*list)->config.name, name) != 0)
        list = &(*list)->next;
    return list;
}

static void end_readers(struct broker *b, struct named_source *n)
{
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        if (s->source.named == n) {
            stream_withdraw(s);
            stream_fail(s, PELTON_ERR_NOT_FOUND, "pelton sources lists what there is",
                        "%s: the configuration names this source no more", n->config.name);
        }
        if (s->source.origin == n)
            s->source.origin = NULL;
    }
}

/* Those that the rules admit no more. */
static void refuse_readers(struct broker *b, struct named_source *n)
{
    struct pelton_failure failure;
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        if (s->source.named != n)
            continue;
        bool device = s->source.open->transport == PELTON_DEVICE;
        if (!client_may_read(s->client, n))
            client_refuse_read(n, &failure);
        else if (device && !client_may_import(s->client, n))
            client_refuse_import(n, stream_name(s), &failure);
        else
            continue;
        stream_withdraw(s);
        stream_fail(s, failure.code, failure.hint, "%s", failure.cause);
    }
}

static void move_reader(struct broker_stream *s, const struct named_source *n)
{
    static const char cause[] = "the configuration has changed";
    struct pelton_failure failure = {0};
    stream_withdraw(s);
    int rc = source_move(s, n, &failure);
    if (rc < 0) {
        delivery_forget(s);
        stream_fail(s, rc, failure.hint, "%s", failure.cause);
        return;
    }
    stream_enter(s, STREAM_QUEUED);
    s->delivery.moved_base = s->delivery.next_sequence;
    s->delivery.discont = true;
    backoff_reset(&s->retry.backoff);
    s->deaths.strikes = 0;
    delivery_keep_drops(&s->delivery);
    delivery_hide(s);
    if (s->replied)
        stream_send_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, cause);
    named_state(s, PELTON__SOURCE_STATE__STATE__OPENING, cause);
}

static void move_readers(struct broker *b, struct named_source *n)
{
    for (struct broker_stream *s = b->streams; s; s = s->next)
        if (s->source.named == n)
            move_reader(s, n);
}

/* A source that was there before gets address and rectangles of `made`. */
static void source_update(struct broker *b, struct named_source *n, struct named_source *made,
                          struct pelton_reloaded *out)
{
    bool same_address = source_same(&n->config, &made->config),
         same_rights = rights_same(&n->config.rights, &made->config.rights),
         same = same_address && upkeep_same(&n->config.upkeep, &made->config.upkeep);
    named_set_rights(n, &made->config.rights);
    upkeep_swap(&n->config.upkeep, &made->config.upkeep);
    if (!same_rights)
        refuse_readers(b, n);
    out->kept += same && same_rights;
    out->changed += !same || !same_rights;
    if (!same)
        n->kept = (struct kept_stream){.stream = n->kept.stream};
    broker_changed(b);
    if (same_address)
        return;
    struct configured_source before = n->config;
    n->config = made->config;
    made->config = before;
    upkeep_swap(&n->config.upkeep, &made->config.upkeep); /* it was taken over above */
    n->controls.n = 0;                                    /* those of the new settings count */
    move_readers(b, n);
    named_tell(n, false);
}

/* Readers of bytes that the new rectangles would show. */
static void refuse_units(struct broker *b)
{
    struct pelton_failure failure;
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        if (s->state == STREAM_ENDED || s->state == STREAM_CLOSED ||
            source_still_gives_units(s, &failure) == PELTON_OK)
            continue;
        stream_withdraw(s);
        delivery_forget(s);
        stream_fail(s, failure.code, failure.hint, "%s", failure.cause);
    }
}

static void sources_replace(struct broker *b, struct named_source *made,
                            struct pelton_reloaded *out)
{
    struct named_source *old = b->named, *list = NULL, **tail = &list;
    while (made) {
        struct named_source *fresh = made, **at = sources_find(&old, fresh->config.name);
        made = fresh->next;
        fresh->next = NULL;
        if (*at) {
            struct named_source *n = *at;
            *at = n->next;
            n->next = NULL;
            source_update(b, n, fresh, out);
            named_free(fresh);
            fresh = n;
        } else {
            out->added++;
            broker_changed(b);
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
    refuse_units(b);
}

int reload(struct broker *b, struct pelton_reloaded *out, char why[256])
{
    struct configured_source *sources = NULL;
    unsigned count = 0;
    struct pelton_reloaded result = {0};
    service_notify("RELOADING=1");
    int rc = settings_reread(b->settings, &sources, &count, result.note, why);
    struct named_source *made = rc == 0 ? sources_create(b, sources, count) : NULL;
    if (rc == 0 && count > 0 && !made) {
        snprintf(why, 256, "out of memory");
        rc = -1;
    }
    if (rc == 0) {
        sources_replace(b, made, &result);
        log_line(LOG_LEVEL_NOTICE,
                 "reloaded: %u sources added, %u removed, %u changed, %u as before%s%s",
                 result.added, result.removed, result.changed, result.kept,
                 result.note[0] ? "; " : "", result.note);
        *out = result;
    } else {
        log_line(LOG_LEVEL_ERROR, "not reloaded, all stays as it was: %s", why);
    }
    config_sources_free(sources, count);
    service_notify("READY=1");
    return rc;
}
