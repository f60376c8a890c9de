/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See media_graph.h.
 */
#include "camera/media_graph.h"

#include <stdio.h>
#include <string.h>

/* MEDIA_LNK_FL_LINK_TYPE */
enum { LINK_TYPE_SHIFT = 28, LINK_DATA = 0, LINK_INTERFACE = 1 };

/* ---- the graph ---- */

static int fail(char why[MEDIA_WHY], int code, const char *text)
{
    snprintf(why, MEDIA_WHY, "%s", text);
    return code;
}

static int entity_find(const struct media_graph *g, uint32_t id)
{
    for (uint32_t i = 0; i < g->n_entities; i++)
        if (g->entities[i].id == id)
            return (int)i;
    return -1;
}

static bool entities_read(const struct media_description *from, struct media_graph *out)
{
    for (uint32_t i = 0; i < from->n_entities; i++) {
        const struct media_v2_entity *e = &from->entities[i];
        if (entity_find(out, e->id) >= 0)
            return false;
        struct media_entity *made = &out->entities[out->n_entities++];
        *made = (struct media_entity){.id = e->id, .function = e->function};
        memcpy(made->name, e->name, sizeof(e->name));
        made->name[sizeof(made->name) - 1] = 0;
    }
    return true;
}

/* ids[i]: of out->pads[i] */
static bool pads_read(const struct media_description *from, struct media_graph *out, uint32_t *ids)
{
    for (uint32_t i = 0; i < from->n_pads; i++) {
        const struct media_v2_pad *p = &from->pads[i];
        int entity = entity_find(out, p->entity_id);
        bool sink = p->flags & MEDIA_PAD_FL_SINK, source = p->flags & MEDIA_PAD_FL_SOURCE;
        if (entity < 0 || sink == source || p->index >= MEDIA_PADS)
            return false;
        ids[out->n_pads] = p->id;
        out->pads[out->n_pads++] = (struct media_pad){(uint32_t)entity, p->index, sink};
    }
    return true;
}

static int id_find(const uint32_t *ids, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return (int)i;
    return -1;
}

static bool link_read_data(const struct media_v2_link *l, struct media_graph *out,
                           const uint32_t *ids)
{
    int source = id_find(ids, out->n_pads, l->source_id),
        sink = id_find(ids, out->n_pads, l->sink_id);
    if (source < 0 || sink < 0 || out->pads[source].sink || !out->pads[sink].sink)
        return false;
    out->links[out->n_links++] =
        (struct media_link){.source = (uint32_t)source,
                            .sink = (uint32_t)sink,
                            .enabled = l->flags & MEDIA_LNK_FL_ENABLED,
                            .immutable = l->flags & MEDIA_LNK_FL_IMMUTABLE};
    return true;
}

/* An entity's device node. */
static bool link_read_interface(const struct media_description *from, const struct media_v2_link *l,
                                struct media_graph *out)
{
    int entity = entity_find(out, l->sink_id);
    for (uint32_t i = 0; i < from->n_interfaces && entity >= 0; i++) {
        const struct media_v2_interface *n = &from->interfaces[i];
        if (n->id != l->source_id)
            continue;
        struct media_entity *e = &out->entities[entity];
        e->node_type = n->intf_type;
        e->major = n->devnode.major;
        e->minor = n->devnode.minor;
        return true;
    }
    return false;
}

/* Other kinds (ancillary ones) carry no picture. */
static bool links_read(const struct media_description *from, struct media_graph *out,
                       const uint32_t *ids)
{
    for (uint32_t i = 0; i < from->n_links; i++) {
        const struct media_v2_link *l = &from->links[i];
        uint32_t type = l->flags >> LINK_TYPE_SHIFT;
        if ((type == LINK_DATA && !link_read_data(l, out, ids)) ||
            (type == LINK_INTERFACE && !link_read_interface(from, l, out)))
            return false;
    }
    return true;
}

int media_graph_build(const struct media_description *from, struct media_graph *out,
                      char why[MEDIA_WHY])
{
    uint32_t ids[MEDIA_PADS];
    out->n_entities = out->n_pads = out->n_links = 0;
    if (from->n_entities > MEDIA_ENTITIES || from->n_pads > MEDIA_PADS ||
        from->n_links > MEDIA_LINKS || from->n_interfaces > MEDIA_INTERFACES)
        return fail(why, -1, "its graph is larger than any known one");
    if (!entities_read(from, out))
        return fail(why, -1, "its graph has two entities of one number");
    if (!pads_read(from, out, ids))
        return fail(why, -1, "its graph has a pad of no entity or no direction");
    if (!links_read(from, out, ids))
        return fail(why, -1, "its graph has a link to nothing");
    return 0;
}

int media_graph_video(const struct media_graph *g, uint32_t major, uint32_t minor)
{
    for (uint32_t i = 0; i < g->n_entities; i++) {
        const struct media_entity *e = &g->entities[i];
        if (e->node_type == MEDIA_INTF_T_V4L_VIDEO && e->major == major && e->minor == minor)
            return (int)i;
    }
    return -1;
}

/* ---- ways ---- */

enum { FAR = 1 << 20, CHANGE = 1 << 8 /* a changed link costs more than all hops */ };

/* The search: from the video node against the stream. */
struct search {
    const struct media_graph *g;
    bool origin[MEDIA_ENTITIES];
    uint32_t cost[MEDIA_ENTITIES];
    int next[MEDIA_ENTITIES]; /* the link towards the video node */
};

/* Where pictures begin: a sensor, or a receiver whose sinks are plugs. Not a node that memory
 * enters by: parameters of a processor. */
static bool is_origin(const struct media_graph *g, uint32_t entity)
{
    bool sinks = false, sources = false;
    for (uint32_t i = 0; i < g->n_pads; i++) {
        sinks |= g->pads[i].entity == entity && g->pads[i].sink;
        sources |= g->pads[i].entity == entity && !g->pads[i].sink;
    }
    const struct media_entity *e = &g->entities[entity];
    return sources && e->node_type != MEDIA_INTF_T_V4L_VIDEO &&
           (!sinks || e->function == MEDIA_ENT_F_CAM_SENSOR);
}

/* Bellman and Ford: as many rounds as there are entities at most, so loops end. A way that costs
 * more than MEDIA_HOPS hops is cut when it is walked. */
static void search_run(struct search *s, uint32_t video)
{
    const struct media_graph *g = s->g;
    for (uint32_t i = 0; i < g->n_entities; i++) {
        s->origin[i] = i != video && is_origin(g, i);
        s->cost[i] = FAR;
        s->next[i] = -1;
    }
    s->cost[video] = 0;
    for (uint32_t round = 0, changed = 1; round < g->n_entities && changed; round++) {
        changed = 0;
        for (uint32_t i = 0; i < g->n_links; i++) {
            const struct media_link *l = &g->links[i];
            uint32_t from = g->pads[l->source].entity, to = g->pads[l->sink].entity;
            bool passes = s->cost[to] < FAR && (l->enabled || !l->immutable) && !s->origin[to];
            uint32_t cost = passes ? s->cost[to] + 1 + (l->enabled ? 0 : CHANGE) : FAR;
            if (cost >= s->cost[from])
                continue;
            s->cost[from] = cost;
            s->next[from] = (int)i;
            changed = 1;
        }
    }
}

/* Names with commas between, as far as there is room. */
static void name_append(char *list, size_t size, const char *name)
{
    size_t n = strlen(list);
    if (n + strlen(name) + 3 < size)
        snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
}

static int no_sensor(const struct search *s, uint32_t video, const char *sensor,
                     char why[MEDIA_WHY])
{
    char list[80] = "";
    for (uint32_t i = 0; i < s->g->n_entities; i++)
        if (s->origin[i] && s->cost[i] < FAR)
            name_append(list, sizeof(list), s->g->entities[i].name);
    if (sensor[0])
        snprintf(why, MEDIA_WHY, "no way from a sensor \"%.40s\"; there is %s", sensor,
                 list[0] ? list : "none");
    else
        snprintf(why, MEDIA_WHY, "no sensor behind %.60s", s->g->entities[video].name);
    return MEDIA_NO_SENSOR;
}

/* The sensor's index, or negative. Of several, one whose links are all enabled. */
static int sensor_choose(const struct search *s, uint32_t video, const char *sensor,
                         char why[MEDIA_WHY])
{
    int best = -1;
    uint32_t n = 0;
    char list[80] = "";
    for (uint32_t i = 0; i < s->g->n_entities; i++) {
        const char *name = s->g->entities[i].name;
        if (!s->origin[i] || s->cost[i] >= FAR || (sensor[0] && strcmp(sensor, name) != 0))
            continue;
        n++;
        name_append(list, sizeof(list), name);
        best = best < 0 || s->cost[i] < s->cost[best] ? (int)i : best;
    }
    if (best < 0)
        return no_sensor(s, video, sensor, why);
    if (n > 1 && s->cost[best] >= CHANGE && !sensor[0]) {
        snprintf(why, MEDIA_WHY, "several sensors could be connected: %s", list);
        return MEDIA_SEVERAL;
    }
    return best;
}

static int switch_add(const struct media_graph *g, uint32_t link, bool enable,
                      struct media_plan *out, char why[MEDIA_WHY])
{
    const struct media_link *l = &g->links[link];
    if (l->immutable) {
        snprintf(why, MEDIA_WHY, "the link from %.50s to %.50s is immutable",
                 g->entities[g->pads[l->source].entity].name,
                 g->entities[g->pads[l->sink].entity].name);
        return MEDIA_IMMUTABLE;
    }
    if (out->n_switches == MEDIA_SWITCHES)
        return fail(why, MEDIA_TOO_LONG, "too many links would have to change");
    out->switches[out->n_switches++] = (struct media_switch){link, enable};
    return 0;
}

/* A sink takes one stream: its other links are disabled first. */
static int link_take(const struct media_graph *g, uint32_t link, struct media_plan *out,
                     char why[MEDIA_WHY])
{
    int rc = 0;
    for (uint32_t i = 0; i < g->n_links && rc == 0; i++)
        if (i != link && g->links[i].sink == g->links[link].sink && g->links[i].enabled)
            rc = switch_add(g, i, false, out, why);
    return rc < 0 || g->links[link].enabled ? rc : switch_add(g, link, true, out, why);
}

/* The hops from entity `at` on. */
static int plan_walk(const struct search *s, int at, struct media_plan *out, char why[MEDIA_WHY])
{
    const struct media_graph *g = s->g;
    int sink = -1;
    while (out->n_hops < MEDIA_HOPS) {
        int link = s->next[at];
        struct media_hop *hop = &out->hops[out->n_hops++];
        *hop = (struct media_hop){(uint32_t)at, sink, link < 0 ? -1 : (int)g->links[link].source};
        if (link < 0)
            return 0;
        sink = (int)g->links[link].sink;
        at = (int)g->pads[sink].entity;
    }
    return fail(why, MEDIA_TOO_LONG, "the way from the sensor passes too many entities");
}

/* The link between two hops. */
static bool is_on_way(const struct media_plan *plan, const struct media_link *l)
{
    for (uint32_t i = 0; i + 1 < plan->n_hops; i++)
        if ((int)l->source == plan->hops[i].source && (int)l->sink == plan->hops[i + 1].sink)
            return true;
    return false;
}

static bool sides_have(const struct media_plan *plan, uint32_t link)
{
    for (uint32_t i = 0; i < plan->n_sides; i++)
        if (plan->sides[i] == link)
            return true;
    return false;
}

/* What leads from an entity off the way. */
static int sides_of(const struct media_graph *g, uint32_t entity, struct media_plan *out,
                    char why[MEDIA_WHY])
{
    int rc = 0;
    for (uint32_t i = 0; i < g->n_links && rc == 0; i++) {
        const struct media_link *l = &g->links[i];
        if (g->pads[l->source].entity != entity || !l->enabled || is_on_way(out, l))
            continue;
        if (!l->immutable)
            rc = switch_add(g, i, false, out, why);
        else if (!sides_have(out, i) && out->n_sides < MEDIA_SIDES)
            out->sides[out->n_sides++] = i;
    }
    return rc;
}

static int plan_sides(const struct media_graph *g, struct media_plan *out, char why[MEDIA_WHY])
{
    int rc = 0;
    for (uint32_t i = 0; i + 1 < out->n_hops && rc == 0; i++)
        rc = sides_of(g, out->hops[i].entity, out, why);
    for (uint32_t i = 0; i < out->n_sides && rc == 0; i++)
        rc = sides_of(g, g->pads[g->links[out->sides[i]].sink].entity, out, why);
    return rc;
}

int media_plan_make(const struct media_graph *g, uint32_t video, const char *sensor,
                    struct media_plan *out, char why[MEDIA_WHY])
{
    struct search s = {.g = g};
    out->n_hops = out->n_sides = out->n_switches = 0;
    if (video >= g->n_entities)
        return fail(why, MEDIA_NO_SENSOR, "the video node is not in the graph");
    search_run(&s, video);
    int at = sensor_choose(&s, video, sensor, why);
    if (at < 0)
        return at;
    int rc = plan_walk(&s, at, out, why);
    rc = rc < 0 ? rc : plan_sides(g, out, why);
    for (; at >= 0 && (uint32_t)at != video && rc == 0;
         at = (int)g->pads[g->links[s.next[at]].sink].entity)
        rc = link_take(g, (uint32_t)s.next[at], out, why);
    return rc;
}

int media_control_owner(const bool *has, uint32_t n, bool sub_devices_first)
{
    if (n && !sub_devices_first && has[n - 1])
        return (int)n - 1;
    for (uint32_t i = 0; i < n; i++)
        if (has[i])
            return (int)i;
    return -1;
}
