/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What an Open to a worker carries beyond the client's: see open_fields.h.
 */
#include "daemon/broker/open_fields.h"

#include "daemon/broker/client.h"
#include "daemon/broker/named.h"

#include <string.h>

static void setting_attach(Pelton__Open *o, struct open_fields *fields, const char *key,
                           const char *value)
{
    Pelton__Setting *m = &fields->settings[o->n_settings];
    pelton__setting__init(m);
    m->key = (char *)key;
    m->value = (char *)value;
    fields->list[o->n_settings++] = m;
}

/* A device that is absent is waited for, unless the configuration says otherwise. */
static bool waits_by_default(const struct configured_source *c)
{
    bool device =
        strncmp(c->address, "v4l2://", 7) == 0 || strncmp(c->address, "libcamera://", 12) == 0;
    return device && !strstr(c->address, "wait=") && !source_setting(c, "wait");
}

static void controls_attach(struct broker_stream *s, struct open_fields *fields)
{
    Pelton__Open *o = s->source.open;
    const struct kept_controls *k =
        s->source.origin ? &s->source.origin->controls : s->source.controls;
    fields->n_controls = o->n_controls;
    fields->client_controls = o->controls;
    o->n_controls = k ? k->n : 0;
    o->controls = fields->controls.list;
    if (k)
        wire_controls_from(k->list, k->n, &fields->controls);
}

void open_fields_attach(struct broker_stream *s, struct open_fields *fields)
{
    Pelton__Open *o = s->source.open;
    fields->n_settings = o->n_settings;
    fields->client_settings = o->settings;
    fields->client_login = o->login;
    o->n_settings = 0;
    o->settings = fields->list;
    o->login = NULL;
    controls_attach(s, fields);
    fields->client_shared = o->shared;
    o->shared = s->source.origin && s->source.origin->config.kind == SOURCE_NETWORK;
    fields->client_reader = o->reader;
    o->reader = s->client->number;
    if (!s->source.origin)
        return;
    const struct configured_source *c = &s->source.origin->config;
    for (unsigned i = 0; i < c->n_settings; i++)
        setting_attach(o, fields, c->settings[i].key, c->settings[i].value);
    if (waits_by_default(c))
        setting_attach(o, fields, "wait", "yes");
    if (!c->user)
        return;
    pelton__login__init(&fields->login);
    fields->login.user = c->user;
    fields->login.password = c->password ? c->password : fields->login.password;
    o->login = &fields->login;
}

void open_fields_detach(struct broker_stream *s, const struct open_fields *fields)
{
    Pelton__Open *o = s->source.open;
    o->n_settings = fields->n_settings;
    o->settings = fields->client_settings;
    o->login = fields->client_login;
    o->n_controls = fields->n_controls;
    o->controls = fields->client_controls;
    o->shared = fields->client_shared;
    o->reader = fields->client_reader;
}
